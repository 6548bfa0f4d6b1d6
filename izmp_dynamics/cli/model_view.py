"""How `izmp model` shows a robot."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from izmp_dynamics.cli.model_frames import (
    Fold,
    folds,
    hidden_links,
    sensor_frames,
    without_frame,
)
from izmp_dynamics.cli.terminal import printable
from izmp_dynamics.model.audit import Problem
from izmp_dynamics.model.kinematic_tree import TreeSegment
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel


def show_model(
    console: Console, model: RobotModel, robot: RobotFile | None = None, full: bool = False
) -> None:
    """Print summary, tree, joints and sensor frames.

    Args:
        console: prints.
        model: of the robot.
        robot: its file, if there is one: it says which frames are those of sensors.
        full: whether nothing is folded away.
    """
    folded = {} if full else folds(model)
    _print_summary(console, model)
    console.print(_tree(model, folded))
    console.print(_joint_table(model, folded))
    _print_frames(console, model, robot, folded)
    if folded:
        console.print(Text('… folded away; --all shows everything', style='dim'))


def model_facts(model: RobotModel, robot: RobotFile | None = None) -> dict[str, Any]:
    """What `show_model` prints in full, for programs, in SI units."""
    zero = model.tree.inertia_at_rest().getCOG()
    kinds = {segment.joint: segment.kind for segment in model.tree.segments}
    limits = (
        model.position_lower, model.position_upper, model.velocity_limit, model.effort_limit
    )  # fmt: skip
    return {
        'name': model.name,
        'root': model.root,
        'mass': model.total_mass,
        'centre_of_mass': [zero[k] for k in range(3)],
        'sha256': model.sha256,
        'links': [
            {
                'name': segment.link, 'parent': segment.parent, 'joint': segment.joint,
                'kind': segment.kind, 'mass': segment.segment.getInertia().getMass(),
            }
            for segment in model.tree.segments
        ],
        'joints': [
            {'name': name, 'kind': kinds[name]}
            | dict(zip(('lower', 'upper', 'velocity', 'effort'), found, strict=True))
            for name, *found in zip(model.joint_names, *limits, strict=True)
        ],
        'frames': sensor_frames(model, robot),
    }  # fmt: skip


def show_problems(console: Console, problems: Sequence[Problem]) -> None:
    """Print what is wrong with the URDF."""
    console.print(f'\nProblems: {len(problems) or "none"}')
    for problem in problems:
        style = 'red' if problem.severity == 'error' else 'yellow'
        console.print(Text(printable(f'  {problem.severity}: {problem}'), style=style))


def _print_summary(console: Console, model: RobotModel) -> None:
    com = model.tree.inertia_at_rest().getCOG()
    console.print(Text(printable(f"Robot '{model.name}'"), style='bold'))
    console.print(
        f"  root link '{printable(model.root)}', {model.dof} independent joints, "
        f'{len(model.frame_names)} links\n'
        f'  mass {model.total_mass:.3f} kg\n'
        f'  centre of mass at q = 0, in the frame of {printable(model.root)}: '
        f'x {com[0]:.4f}, y {com[1]:.4f}, z {com[2]:.4f} m\n'
        f'  SHA-256 {model.sha256}',
        markup=False,
    )


def _tree(model: RobotModel, folded: Mapping[str, Fold]) -> Tree:
    tree = Tree(_link_label(model.root, model.tree.root_inertia.getMass(), None))
    branches = {model.root: tree}
    hidden = hidden_links(folded)
    for segment in model.tree.segments:
        if segment.link in hidden:
            continue
        mass = segment.segment.getInertia().getMass()
        branches[segment.link] = branches[segment.parent].add(
            _link_label(segment.link, mass, segment)
        )
    for link, fold in folded.items():
        branches[link].add(Text(fold.text, style='dim'))
    return tree


def _link_label(link: str, mass: float, segment: TreeSegment | None) -> Text:
    label = Text(printable(link), style='bold' if mass else 'dim')
    if mass:
        label.append(f'  {mass:.3f} kg', style='cyan')
    if segment is not None and segment.kind != 'fixed':
        label.append(printable(f'  ← {segment.joint} ({segment.kind})'), style='not bold')
        if segment.driver != segment.joint:
            relation = f' = {segment.multiplier:g} · {segment.driver} + {segment.offset:g}'
            label.append(printable(relation), style='dim')
    return label


def _joint_table(model: RobotModel, folded: Mapping[str, Fold]) -> Table:
    table = Table(title=f'{model.dof} independent joints, in the order of q', title_justify='left')
    table.add_column('joint', overflow='fold')
    for heading in ('lower', 'upper', 'velocity', 'effort'):
        table.add_column(heading, justify='right')
    table.add_column('unit')
    kinds = {segment.joint: segment.kind for segment in model.tree.segments}
    hidden = {joint for fold in folded.values() for joint in fold.joints}
    for k, name in enumerate(model.joint_names):
        if name in hidden:
            continue
        limits = (
            model.position_lower[k],
            model.position_upper[k],
            model.velocity_limit[k],
            model.effort_limit[k],
        )
        unit = 'rad, N·m' if kinds[name] == 'revolute' else 'm, N'
        table.add_row(Text(printable(name)), *(_limit(value) for value in limits), unit)
    number = len(hidden & set(model.joint_names))
    if number:
        table.add_row(Text(f'… {number} more', style='dim'))
    return table


def _limit(value: float) -> str:
    return f'{value:.3f}' if np.isfinite(value) else '–'


def _print_frames(
    console: Console, model: RobotModel, robot: RobotFile | None, folded: Mapping[str, Fold]
) -> None:
    """Print where the frames of sensors and soles are, and where their axes point."""
    title = f'Frames at q = 0, in the frame of {printable(model.root)}'
    if robot is None:
        title += ' (massless links at the ends of the tree; with a robot file: its sensors)'
    table = Table(title=f'\n{title}', title_justify='left')
    for heading in ('frame', 'fixed to'):
        table.add_column(heading, overflow='fold')
    for heading in ('x [m]', 'y [m]', 'z [m]'):
        table.add_column(heading, justify='right')
    for heading in ('its x', 'its y', 'its z'):
        table.add_column(heading)
    bodies = _bodies(model)
    frames = sensor_frames(model, robot, hidden_links(folded))
    for frame in frames:
        name = f'{frame.role}: {frame.link}' if frame.role else frame.link
        body = bodies[model.mount(frame.link).body]
        place = (f'{value + 0.0:.4f}' for value in frame.p)
        table.add_row(Text(printable(name)), Text(printable(body)), *place, *frame.axes)
    console.print(table if frames else Text(f'\n{title}: none'))
    unknown = [] if robot is None else without_frame(robot)
    if unknown:
        sentence = f'Frame as their messages name it: {", ".join(unknown)}'
        console.print(Text(printable(sentence), style='dim'))


def _bodies(model: RobotModel) -> dict[int, str]:
    """Body → the link that its joint moves."""
    bodies = {0: model.root}
    for segment in model.tree.segments:
        bodies.setdefault(model.mount(segment.link).body, segment.link)
    return bodies
