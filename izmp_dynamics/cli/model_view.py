"""How `izmp model` shows a robot."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from izmp_dynamics.cli.terminal import printable
from izmp_dynamics.model.audit import Problem
from izmp_dynamics.model.kinematic_tree import TreeSegment
from izmp_dynamics.model.robot_model import RobotModel


def show_model(console: Console, model: RobotModel) -> None:
    """Print summary, tree, joints and sensor frames."""
    _print_summary(console, model)
    console.print(_tree(model))
    console.print(_joint_table(model))
    _print_mounts(console, model)


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


def _tree(model: RobotModel) -> Tree:
    tree = Tree(_link_label(model.root, model.tree.root_inertia.getMass(), None))
    branches = {model.root: tree}
    for segment in model.tree.segments:
        mass = segment.segment.getInertia().getMass()
        branches[segment.link] = branches[segment.parent].add(
            _link_label(segment.link, mass, segment)
        )
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


def _joint_table(model: RobotModel) -> Table:
    table = Table(title=f'{model.dof} independent joints, in the order of q', title_justify='left')
    table.add_column('joint', overflow='fold')
    for heading in ('lower', 'upper', 'velocity', 'effort'):
        table.add_column(heading, justify='right')
    table.add_column('unit')
    kinds = {segment.joint: segment.kind for segment in model.tree.segments}
    for k, name in enumerate(model.joint_names):
        limits = (
            model.position_lower[k],
            model.position_upper[k],
            model.velocity_limit[k],
            model.effort_limit[k],
        )
        unit = 'rad, N·m' if kinds[name] == 'revolute' else 'm, N'
        table.add_row(Text(printable(name)), *(_limit(value) for value in limits), unit)
    return table


def _limit(value: float) -> str:
    return f'{value:.3f}' if np.isfinite(value) else '–'


def _print_mounts(console: Console, model: RobotModel) -> None:
    parents = {segment.parent for segment in model.tree.segments}
    mounts = [
        segment.link
        for segment in model.tree.segments
        if segment.link not in parents and not segment.segment.getInertia().getMass()
    ]
    on_root = [name for name in mounts if model.mounted_on_root(name)]
    elsewhere = [name for name in mounts if name not in on_root]
    console.print('\nSensor frames and soles (massless links at the ends of the tree)')
    for where, found in (('fixed to the root', on_root), ('on other links', elsewhere)):
        console.print(printable(f'  {where}: {", ".join(found) or "none"}'), markup=False)
