"""How `izmp model` shows a robot at q = 0: tree, joints, frames of sensors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.rotations import from_rpy
from izmp_dynamics.cli.terminal import printable
from izmp_dynamics.model.audit import Problem
from izmp_dynamics.model.kinematic_tree import TreeSegment
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel

ALIGNED = 1.0
"""An axis that deviates less from one of the root's is said to be that one [°]."""


@dataclass(frozen=True)
class SensorFrame:
    """A frame at q = 0.

    Attributes:
        role: what it is, e.g. 'IMU' or 'sole of left'; empty if not known.
        link: its name.
        R: (3, 3) root_R_frame.
        p: (3,) its origin in the root frame [m].
    """

    role: str
    link: str
    R: Array
    p: Array

    @property
    def axes(self) -> tuple[str, str, str]:
        """Where x, y and z point, in the axes of the root: e.g. '+x', '−z 7.5° off'."""
        x, y, z = (direction(self.R[:, k]) for k in range(3))
        return x, y, z


def direction(axis: Array) -> str:
    """The axis of the root next to a unit vector (3,), and how far off it is."""
    k = int(np.argmax(np.abs(axis)))
    name = f'{"+" if axis[k] > 0 else "−"}{"xyz"[k]}'
    angle = float(np.degrees(np.arccos(np.clip(abs(axis[k]), -1.0, 1.0))))
    return name if angle < ALIGNED else f'{name} {angle:.1f}° off'


def sensor_frames(model: RobotModel, robot: RobotFile | None = None) -> list[SensorFrame]:
    """Frames of IMU, soles and force sensors by the robot file; without it all that may be some.

    Without a robot file these are the massless links at the ends of the tree. The frame of a
    sensor that the robot file does not state is named by its messages; then the massless links
    on the root and on the feet are added, one of which it may be.

    Args:
        model: of the robot.
        robot: its file.

    Raises:
        UnknownNameError: if the robot file names a link that the robot does not have.
    """
    zero = np.zeros(model.dof)
    frames = []
    if robot is not None:
        for role, link, turn in _stated(model, robot):
            R, p = model.frame_pose(link, zero)
            frames.append(SensorFrame(role, link, R @ turn, p))
    bodies = {model.mount(frame.link).body for frame in frames} | {0}
    if robot is None or without_frame(robot):
        known = {frame.link for frame in frames}
        frames += [
            SensorFrame('', link, *model.frame_pose(link, zero))
            for link in _ends(model)
            if link not in known and (robot is None or model.mount(link).body in bodies)
        ]
    return frames


def _ends(model: RobotModel) -> list[str]:
    """Massless links at the ends of the tree."""
    parents = {segment.parent for segment in model.tree.segments}
    return [
        segment.link
        for segment in model.tree.segments
        if segment.link not in parents and not segment.segment.getInertia().getMass()
    ]


def without_frame(robot: RobotFile) -> list[str]:
    """Sensors whose frame only their messages name."""
    names = [] if robot.imu.frame or robot.imu.from_position else ['IMU']
    names += [
        f'accelerometer {k}' for k, part in enumerate(robot.accelerometers) if not part.frame
    ]
    names += [
        f'force sensor of {foot.name}'
        for foot in robot.feet
        if foot.wrench and not foot.wrench.frame
    ]
    return names


def _stated(model: RobotModel, robot: RobotFile) -> Iterator[tuple[str, str, Array]]:
    """Role, link, how the sensor is turned against it."""
    straight = np.eye(3)
    if robot.imu.frame and not robot.imu.from_position:
        yield 'IMU', robot.imu.frame, from_rpy(robot.imu.rotation)
    for k, sensor in enumerate(robot.accelerometers):
        if sensor.frame:
            yield f'accelerometer {k}', sensor.frame, straight
    if robot.position is not None:
        yield 'position', robot.position.frame or model.root, straight
    for foot in robot.feet:
        ball = '' if foot.radius is None else f' (ball, radius {1e3 * foot.radius:g} mm)'
        yield f'sole of {foot.name}{ball}', foot.sole_frame, straight
        if foot.wrench and foot.wrench.frame:
            turn = from_rpy(foot.wrench.rotation)
            yield f'force sensor of {foot.name}', foot.wrench.frame, turn


def show_model(console: Console, model: RobotModel, robot: RobotFile | None = None) -> None:
    """Print summary, tree, joints and sensor frames.

    Args:
        console: prints.
        model: of the robot.
        robot: its file, if there is one: it says which frames are those of sensors.
    """
    _print_summary(console, model)
    console.print(_tree(model))
    console.print(_joint_table(model))
    _print_frames(console, model, robot)


def model_facts(model: RobotModel, robot: RobotFile | None = None) -> dict[str, Any]:
    """What `show_model` prints in full, for programs, in SI units."""
    kinds = {segment.joint: segment.kind for segment in model.tree.segments}
    limits = (
        model.position_lower, model.position_upper, model.velocity_limit, model.effort_limit
    )  # fmt: skip
    return {
        'name': model.name,
        'root': model.root,
        'mass': model.total_mass,
        'centre_of_mass': model.com(np.zeros(model.dof)).tolist(),
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
    com = model.com(np.zeros(model.dof))
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
    tree = Tree(_link_label(model.root, model.tree.inertias[model.root].getMass(), None))
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


def _print_frames(console: Console, model: RobotModel, robot: RobotFile | None) -> None:
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
    frames = sensor_frames(model, robot)
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
