"""The table of results: each topic, its type and frame, and what of an evaluated span it holds.

The bag of a replay is written and read by it, and the nodes publish by it, instant by instant.
Not in the table is what is no list of numbers: support polygon, TF, events and markers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.base.conventions import Array, Flags, Stamps, finite_rows
from izmp_dynamics.base.rotations import quaternions_of_matrices, rotated_back
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.estimation.push import points_on_lines
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.results.evaluation import LinkPoses

Values = tuple[Array, ...]

ANY_ANGLE = np.pi**2 / 3.0
"""Variance of an angle that may have any value [rad²]."""

TRACKS = ('mr_ad', 'ir_md', 'cop')
"""Sources of contact wrenches: two methods, and the feet's force sensors."""


@dataclass(frozen=True)
class Topic:
    """One topic of results.

    Attributes:
        name: without the leading slash.
        msgtype: ROS type.
        frame: of the header: 'root', 'world', 'ground' (the frame of a ground that has one),
            'points' (in a replay the root, in a node its evaluation frame), 'link' (that of
            `fusion`), '' for no header.
        fields: paths in the message, to which the values go in this order.
        values: gives of K instants, for each field, (K, …) numbers; None if the robot, with its
            sensors, has no such result. An instant with a NaN has no message.
        rows: gives (K,) which instants have a message, where that is not so simple.
        like: gives what all messages have in common, by path.
        of_world: whether it needs the position of the root, which a live system knows later.
        part: of `stages.PARTS` which computes it; 'fall': the alarm, while somebody asks for it.
        of_robot: whether a robot has it, going by its file.
    """

    name: str
    msgtype: str
    frame: Literal['root', 'world', 'ground', 'points', 'link', '']
    fields: tuple[str, ...]
    values: Callable[[Evaluated, Rig], Values | None]
    rows: Callable[[Evaluated], Flags] | None = None
    like: Callable[[Any], Mapping[str, Any]] = lambda robot: {}
    of_world: bool = False
    part: str = 'verdict'
    of_robot: Callable[[RobotFile], bool] = lambda robot: True

    def known(self, results: Evaluated, values: Values) -> Flags:
        """(K,) which instants have a message."""
        if self.rows is not None:
            return self.rows(results)
        finite = [np.isfinite(each).reshape(len(each), -1).all(axis=1) for each in values]
        return np.asarray(np.logical_and.reduce(finite))

    def read(self, messages: RawMessages) -> tuple[Stamps, Array]:
        """Stamps (K,) [ns] and numbers (K, …), of all fields side by side, of a result's bag."""
        decoded = messages.decode()
        columns = [np.asarray(decoded.column(field), np.float64) for field in self.fields]
        joined = columns[0] if len(columns) == 1 else np.hstack(columns)
        return messages.received[decoded.index], joined


def pose_with_covariance(position: Array, covariance: Array) -> Array:
    """Numbers (…, 43) of a PoseWithCovariance: points (…, 3) [m] with covariances (…, 3, 3) [m²].

    It has no orientation: that is the identity, with the variance of any angle at all.
    """
    values = np.zeros((*position.shape[:-1], 7 + 36))
    values[..., :3], values[..., 6] = position, 1.0
    matrix = values[..., 7:].reshape(*position.shape[:-1], 6, 6)
    matrix[..., :3, :3], matrix[..., 3:, 3:] = covariance, ANY_ANGLE * np.eye(3)
    values[..., 7:] = matrix.reshape(*position.shape[:-1], 36)
    return values


def external_of(results: Evaluated, rig: Rig) -> Array | None:
    """Return what acted on the robot besides the ground.

    It is the contact wrench of the motion (MR-AD), of all contacts, less that of the feet's
    sensors: a push, a wall, a hand, or an error of model and sensors, which is always present.

    Returns:
        (K, 6) about the root origin in root axes, NaN where it is not known; None unless every
        foot measures its whole wrench.
    """
    if 'cop' not in results.wrenches or any(foot.normal_only for foot in rig.feet):
        return None
    return results.wrenches['mr_ad'] - results.wrenches['cop']


def foot_wrenches(results: Evaluated) -> Array:
    """Contact wrench on each foot, estimated where no sensor measures it.

    Its force is the foot's share of the whole. The centres of pressure are all off the middles of
    the soles by the same way, so that the wrenches add up to that of MR-AD.

    Returns:
        (K, F, 6) about the root origin in root axes [N, N·m]; NaN where it is not known.
    """
    wrench, shares = results.wrenches['mr_ad'][:, None], results.ground.feet.shares[..., None]
    middles = np.stack([sole.corners.mean(axis=1) for sole in results.ground.soles], axis=1)
    off = middles - np.sum(shares * middles, axis=1, keepdims=True)
    moments = wrench[..., 3:] + np.cross(off, wrench[..., :3])
    return np.concatenate([shares * wrench[..., :3], shares * moments], axis=2)


def _of_each_foot(name: str, width: int, quantity: Callable[[Evaluated], Array]) -> Topic:
    """Numbers (K, F, …) of all feet, in the order of the robot file, where they are estimated."""

    def values(results: Evaluated, rig: Rig) -> Values | None:
        if not rig.feet or 'mr_ad' not in results.wrenches:
            return None
        return (quantity(results).reshape(len(results.stamps), -1),)

    return Topic(
        name, 'std_msgs/msg/Float64MultiArray', '', ('data',), values,
        like=lambda robot: {'data': [0.0] * (width * len(robot.feet))},
        of_robot=lambda robot: any(foot.wrench is None for foot in robot.feet),
    )  # fmt: skip


_Quantity = Callable[[Evaluated, Rig], Any]  # (K, …) numbers, or None
_GEOMETRY = 'geometry_msgs/msg/'
_JOINTS = tuple(f'points[0].{part}' for part in ('positions', 'velocities', 'accelerations'))


def _row(
    name: str,
    kind: str,
    frame: Literal['root', 'world', 'ground', 'points', ''],
    quantity: _Quantity,
    of_world: bool = False,
    **more: Any,
) -> Topic:
    """One quantity of a stamped geometry message, in the field that is called like its type.

    Without a frame it is a number.
    """

    def values(results: Evaluated, rig: Rig) -> Values | None:
        found = quantity(results, rig)
        return None if found is None else (found,)

    msgtype = f'{_GEOMETRY}{kind}Stamped' if frame else f'std_msgs/msg/{kind}'
    field = kind.removesuffix('3').lower() if frame else 'data'
    return Topic(name, msgtype, frame, (field,), values, of_world=of_world, **more)


def _acceleration(results: Evaluated, rig: Rig) -> Array:
    root = results.root
    return np.hstack([root.proper_acceleration, root.angular_acceleration])


def _twist(results: Evaluated, rig: Rig) -> Array:
    omega = results.root.angular_velocity
    return np.hstack([np.zeros_like(omega), omega])


def _odometry(results: Evaluated, rig: Rig) -> Values | None:
    """Pose, and twist in the axes of the root."""
    world, omega = results.world, results.root.angular_velocity
    turned = np.einsum('tji,tj->ti', world.R, world.v)
    unknown = ~np.isfinite(np.hstack([world.p, turned])).all(axis=1)
    R = np.where(unknown[:, None, None], np.eye(3), world.R)
    return np.hstack([world.p, quaternions_of_matrices(R)]), np.hstack([turned, omega])


def _momentum_rate(results: Evaluated, rig: Rig, method: str) -> ContactWrench:
    """After a method, about the root."""
    down = -rig.robot.gravity * results.world.R[:, 2, :]
    contact = ContactWrench.from_array(results.wrenches[method])
    return contact.momentum_rate(rig.model.total_mass, down, results.com)


def _ir_md(results: Evaluated, rig: Rig, rate: bool) -> Array | None:
    """Contact wrench or rate of momentum after IR-MD, about the origin of the world."""
    if 'ir_md' not in results.wrenches:
        return None
    contact = ContactWrench.from_array(results.wrenches['ir_md'])
    if rate:
        contact = _momentum_rate(results, rig, 'ir_md')
    return contact.transformed(results.world.R, results.world.p).as_array()


def _gap(results: Evaluated, rig: Rig) -> Array | None:
    points = results.points
    return points['mr_ad'] - points['cop'] if 'cop' in points else None


def _trajectory(rig: Rig) -> Mapping[str, Any]:
    zeros = dict.fromkeys(_JOINTS, np.zeros(rig.model.dof))
    return {'joint_names': rig.model.joint_names, 'points': 1, **zeros}


def _fall(results: Evaluated, rig: Rig, name: str) -> Any:
    return getattr(results.fall, name, None)


def _measures_whole_wrench(robot: RobotFile) -> bool:
    wrenches = [foot.wrench for foot in robot.feet]
    return bool(wrenches) and all(wrench and not wrench.normal_only for wrench in wrenches)


def _alarm_stated(results: Evaluated) -> Flags:
    """Where the fall alarm is known; while it is raised, also where it is not."""
    fall = results.fall
    assert fall is not None
    return np.asarray(np.isfinite(fall.probability) | fall.alarm)


def _points(track: str, name: str) -> tuple[Topic, Topic]:
    """The point of a track; and in the frame of the ground, if that has one."""
    fused, late = track == 'fusion', track == 'ir_md'
    part = 'fusion' if fused else 'verdict'

    def has(robot: RobotFile) -> bool:
        return not fused or _measures_whole_wrench(robot)

    def has_in_ground(robot: RobotFile) -> bool:
        return has(robot) and robot.ground.frame is not None

    def point(results: Evaluated, rig: Rig) -> Array | None:
        return results.points.get(track)

    def in_ground(results: Evaluated, rig: Rig) -> Array | None:
        point, frame = results.points.get(track), results.ground.frame
        return None if frame is None or point is None else frame.points(point)

    return (
        _row(name, 'Point', 'points', point, late, of_robot=has, part=part),
        _row(
            f'{name}_in_ground', 'Point', 'ground', in_ground, late, of_robot=has_in_ground,
            part=part,
        ),
    )  # fmt: skip


def _with_covariance(results: Evaluated, rig: Rig) -> Values | None:
    """(K, 43) numbers of poses at the fused IZMP, without an orientation."""
    fused = results.fused
    if fused is None or fused.point_covariance is None:
        return None
    return (pose_with_covariance(results.points['fusion'], fused.point_covariance),)


def _push_on_link(results: Evaluated, rig: Rig) -> Values | None:
    """(K, 43) numbers of poses where pushes pass, in the frame of the link of the robot file."""
    fused, link = results.fused, rig.robot.fusion.link
    if fused is None or link is None:
        return None
    values = np.full((len(results.stamps), 43), np.nan)
    rows = fused.pushed & finite_rows(fused.external)
    if rows.any():
        at = LinkPoses.of(rig.model, link, results.joints.positions[rows])
        wrench, covariance = fused.external[rows], fused.external_covariance[rows]
        point, covariance = points_on_lines(wrench, covariance, at.p + at.R @ at.center)
        covariance = np.swapaxes(at.R, 1, 2) @ covariance @ at.R
        values[rows] = pose_with_covariance(rotated_back(at.R, point - at.p), covariance)
    return (values,)


def _of_fusion(name: str, quantity: str) -> tuple[Topic, Topic]:
    """A fused wrench, and its covariance by rows where that changes."""

    def values(results: Evaluated, rig: Rig) -> Values | None:
        if results.fused is None:
            return None
        return (getattr(results.fused, f'{quantity}covariance').reshape(-1, 36),)

    def rows(results: Evaluated) -> Flags:
        assert results.fused is not None
        known = np.isfinite(results.fused.external[:, 0])
        return np.asarray(results.fused.changes & known)

    wrench = quantity.rstrip('_') or 'contact'
    return (
        _row(
            name, 'Wrench', 'root', lambda e, rig: getattr(e.fused, wrench, None),
            of_robot=_measures_whole_wrench, part='fusion',
        ),
        Topic(
            f'{name}_covariance', 'std_msgs/msg/Float64MultiArray', '', ('data',), values, rows,
            like=lambda robot: {'data': [0.0] * 36}, of_robot=_measures_whole_wrench,
            part='fusion',
        ),
    )  # fmt: skip


POINTS = {
    'mr_ad': 'mr_ad/izmp', 'ir_md': 'ir_md/izmp', 'cop': 'cop', 'fusion': 'fusion/izmp'
}  # fmt: skip
"""Track → topic of its point on the ground."""

_POINTS = [_points(track, name) for track, name in POINTS.items()]
_ROWS = (
    Topic(
        'joint_kinematics', 'trajectory_msgs/msg/JointTrajectory', '', _JOINTS,
        lambda e, rig: (e.joints.positions, e.joints.velocities, e.joints.accelerations),
        rows=lambda e: e.joints.valid, like=_trajectory, part='joints',
    ),
    Topic(
        'odom', 'nav_msgs/msg/Odometry', 'world', ('pose.pose', 'twist.twist'), _odometry,
        like=lambda rig: {'child_frame_id': rig.model.root}, of_world=True, part='world',
    ),
    _row('root_acceleration', 'Accel', 'root', _acceleration, part='root'),
    _row('root_twist', 'Twist', 'root', _twist, part='root'),
    _row('com', 'Point', 'root', lambda e, rig: e.com, part='mr_ad'),
    _row(
        'mr_ad/contact_wrench', 'Wrench', 'root', lambda e, rig: e.wrenches['mr_ad'],
        part='mr_ad',
    ),
    _row(
        'mr_ad/momentum_rate', 'Wrench', 'root',
        lambda e, rig: _momentum_rate(e, rig, 'mr_ad').as_array(), of_world=True, part='mr_ad',
    ),
    *(
        _row(
            f'ir_md/{name}', 'Wrench', 'world', partial(_ir_md, rate=name == 'momentum_rate'),
            of_world=True, part='ir_md',
        )
        for name in ('contact_wrench', 'momentum_rate')
    ),
    _row('feet/contact_wrench', 'Wrench', 'root', lambda e, rig: e.wrenches.get('cop')),
    _of_each_foot('feet/contact_probability', 1, lambda e: e.ground.feet.chances),
    _of_each_foot('feet/estimated_wrenches', 6, foot_wrenches),
    _row('external_wrench', 'Wrench', 'root', external_of, of_robot=_measures_whole_wrench),
    *(topic for topic, _ in _POINTS),
    *(topic for _, topic in _POINTS),
    *_of_fusion('fusion/contact_wrench', ''),
    *_of_fusion('fusion/external_wrench', 'external_'),
    Topic(
        'fusion/izmp_with_covariance', f'{_GEOMETRY}PoseWithCovarianceStamped', 'points',
        ('pose',), _with_covariance, of_robot=_measures_whole_wrench, part='fusion',
    ),
    Topic(
        'fusion/push_on_link', f'{_GEOMETRY}PoseWithCovarianceStamped', 'link', ('pose',),
        _push_on_link, part='fusion',
        of_robot=lambda robot: _measures_whole_wrench(robot) and bool(robot.fusion.link),
    ),
    _row('gap', 'Vector3', 'points', _gap),
    _row('margin', 'Float64', '', lambda e, rig: e.margins['mr_ad']),
    _row('fall_probability', 'Float64', '', partial(_fall, name='probability'), part='fall'),
    _row('fall_alarm', 'Bool', '', partial(_fall, name='alarm'), rows=_alarm_stated, part='fall'),
)  # fmt: skip

TOPICS: Mapping[str, Topic] = {topic.name: topic for topic in _ROWS}
"""Name → topic."""

OF_EACH_FOOT = ('feet/contact_probability', 'feet/estimated_wrenches')
"""Topics with numbers of all feet, where any has no sensor."""

LIVE: Mapping[str, str] = {
    'mr_ad/izmp_with_covariance': f'{_GEOMETRY}PoseWithCovarianceStamped',
    'margin_with_covariance': f'{_GEOMETRY}PoseWithCovarianceStamped',
    'fall_risk': f'{_GEOMETRY}Vector3Stamped',
    'support_polygon': f'{_GEOMETRY}PolygonStamped',
    'markers': 'visualization_msgs/msg/MarkerArray',
    'events': 'diagnostic_msgs/msg/DiagnosticArray',
}
"""What the verdict of a running robot publishes besides, name → type.

Of the margin x and its variance [m, m²]; of the fall risk x is the probability, y 1 if alarmed.
"""
