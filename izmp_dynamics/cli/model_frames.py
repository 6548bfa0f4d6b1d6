"""What of a robot is shown: the frames of its sensors, and what of its tree is folded away."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.rotations import from_rpy
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
        polygon: (V, 2) corners of a sole in its frame [m]; None for others.
    """

    role: str
    link: str
    R: Array
    p: Array
    polygon: Array | None = None

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


def sensor_frames(
    model: RobotModel, robot: RobotFile | None = None, hidden: Collection[str] = ()
) -> list[SensorFrame]:
    """Frames of IMU, soles and force sensors by the robot file; without it all that may be some.

    Without a robot file these are the massless links at the ends of the tree. The frame of a
    sensor that the robot file does not state is named by its messages; then the massless links
    on the root and on the feet are added, one of which it may be.

    Args:
        model: of the robot.
        robot: its file.
        hidden: links that are left out unless the robot file names them.

    Raises:
        UnknownNameError: if the robot file names a link that the robot does not have.
    """
    zero = np.zeros(model.dof)
    frames = []
    if robot is not None:
        for role, link, turn, polygon in _stated(model, robot):
            R, p = model.frame_pose(link, zero)
            frames.append(SensorFrame(role, link, R @ turn, p, polygon))
    bodies = {model.mount(frame.link).body for frame in frames} | {0}
    if robot is None or without_frame(robot):
        known = {frame.link for frame in frames}
        frames += [
            SensorFrame('', link, *model.frame_pose(link, zero))
            for link in _ends(model)
            if link not in {*known, *hidden}
            and (robot is None or model.mount(link).body in bodies)
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


def _stated(model: RobotModel, robot: RobotFile) -> Iterator[tuple[str, str, Array, Array | None]]:
    """Role, link, how the sensor is turned against it, polygon."""
    straight = np.eye(3)
    if robot.imu.frame and not robot.imu.from_position:
        yield 'IMU', robot.imu.frame, from_rpy(robot.imu.rotation), None
    for k, sensor in enumerate(robot.accelerometers):
        if sensor.frame:
            yield f'accelerometer {k}', sensor.frame, straight, None
    if robot.position is not None:
        yield 'position', robot.position.frame or model.root, straight, None
    for foot in robot.feet:
        ball = '' if foot.radius is None else f' (ball, radius {1e3 * foot.radius:g} mm)'
        yield f'sole of {foot.name}{ball}', foot.sole_frame, straight, np.array(foot.corners)
        if foot.wrench and foot.wrench.frame:
            turn = from_rpy(foot.wrench.rotation)
            yield f'force sensor of {foot.name}', foot.wrench.frame, turn, None


MANY_JOINTS = 4
"""So many joints beyond a link are folded away, if they carry little."""

MANY_ENDS = 8
"""More massless links than these at one link are folded away (the patches of a skin)."""

LITTLE_MASS = 0.02
"""What they carry at most, as part of the mass of the robot [-]."""


@dataclass(frozen=True)
class Fold:
    """What is folded away beyond a link.

    Attributes:
        joints: names of the joints that move.
        links: names of all links.
        mass: of all of them [kg].
    """

    joints: tuple[str, ...]
    links: frozenset[str]
    mass: float

    @property
    def text(self) -> str:
        """E.g. '… 19 joints, 0.213 kg' or '… 22 massless links'."""
        if not self.joints:
            return f'… {len(self.links)} massless links'
        return f'… {len(self.joints)} joints, {self.mass:.3g} kg'


def folds(model: RobotModel) -> dict[str, Fold]:
    """Link → what is folded away beyond it; the outermost ones only."""
    children: dict[str, list[TreeSegment]] = {}
    for segment in model.tree.segments:
        children.setdefault(segment.parent, []).append(segment)
    found: dict[str, Fold] = {}
    hidden: set[str] = set()
    for link in (model.root, *(segment.link for segment in model.tree.segments)):
        if link in hidden or link not in children:
            continue
        beyond: list[TreeSegment] = []
        pending = list(children[link])
        while pending:
            segment = pending.pop(0)
            beyond.append(segment)
            pending += children.get(segment.link, [])
        joints = tuple(segment.joint for segment in beyond if segment.kind != 'fixed')
        mass = sum(segment.segment.getInertia().getMass() for segment in beyond)
        if len(joints) >= MANY_JOINTS and mass <= LITTLE_MASS * model.total_mass:
            links = frozenset(segment.link for segment in beyond)
            found[link] = Fold(joints, links, mass)
            hidden |= links
    for link, segments in children.items():
        ends = frozenset(s.link for s in segments if _is_bare_end(s, children))
        if len(ends) > MANY_ENDS and link not in hidden and link not in found:
            found[link] = Fold((), ends, 0.0)
    return found


def hidden_links(folded: Mapping[str, Fold]) -> frozenset[str]:
    """All links that are folded away."""
    return frozenset().union(*(fold.links for fold in folded.values()))


def _is_bare_end(segment: TreeSegment, children: Mapping[str, list[TreeSegment]]) -> bool:
    """Whether a link is fixed, without mass, and carries nothing."""
    massless = not segment.segment.getInertia().getMass()
    return segment.kind == 'fixed' and massless and segment.link not in children
