"""Recording of a simulated run as a rosbag2.

The sensors go to the topics of the robot file, as a robot would publish them; what no sensor
measures goes to topics under `ground_truth/`, noisy copies of signals to the same topics under
`noisy/`. Every stamp is the instant to which the value belongs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.writer import BagWriter, Qos
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.stability.support_polygon import plane_axes, support_polygon
from izmp_lab.simulation.noisy_signals import NoisySignals
from izmp_lab.simulation.simulated_run import SimulatedRun, Truth
from izmp_lab.walking.plan import RootMotion


def support_polygons(truth: Truth) -> list[Array]:
    """Return the convex hull of the loaded soles on the ground for each of the T instants.

    Args:
        truth: what the ground did to the feet.

    Returns:
        T arrays (V, 3) of corners in the world, in order around the polygon [m]; V = 0 while no
        foot is loaded.
    """
    feet = tuple(truth.feet.values())
    nothing = np.empty((0, 3))
    if not feet:
        return [nothing] * len(truth.cop)
    normal = truth.ground_normal
    axes = plane_axes(normal)
    height = np.einsum('ti,ti->t', normal, truth.cop)
    soles = [np.einsum('tij,tvj->tvi', axes, foot.corners) for foot in feet]
    loaded = np.stack([foot.loaded for foot in feet], axis=1)
    carried = loaded.any(axis=1) & np.isfinite(height)
    polygons = [nothing] * len(normal)
    for t in np.flatnonzero(carried):
        corners = [sole[t] for sole, carries in zip(soles, loaded[t], strict=True) if carries]
        hull = support_polygon(np.concatenate(corners))
        if hull is not None:
            polygons[t] = hull @ axes[t] + height[t] * normal[t]
    return polygons


WORLD = 'world'
TRUTH = 'ground_truth'
NOISY = 'noisy/'
NUMBERS = 'std_msgs/msg/Float64MultiArray'


@dataclass(frozen=True)
class _Channel:
    """One topic with all its messages.

    Attributes:
        topic: without the leading slash.
        msgtype: ROS type.
        common: path → value that all messages share.
        values: path → (T, …) numbers.
        present: (T,) which instants have a message; all if None.
        qos: as it is offered.
    """

    topic: str
    msgtype: str
    common: Mapping[str, Any]
    values: Mapping[str, npt.NDArray[Any]]
    present: np.ndarray | None = None
    qos: Qos = 'default'

    def write(self, bag: BagWriter, stamps: Stamps) -> None:
        topic = '/' + self.topic.lstrip('/')
        rows = slice(None) if self.present is None else self.present
        bag.add_topic(topic, self.msgtype, self.common, qos=self.qos)
        values = {path: numbers[rows] for path, numbers in self.values.items()}
        bag.write_batch(topic, stamps[rows], values)


def record(
    run: SimulatedRun,
    file: RobotFile,
    path: str | PathLike[str],
    *,
    noisy: NoisySignals | None = None,
    urdf: Urdf | None = None,
    files: Mapping[str, str] | None = None,
    storage: str = 'mcap',
    overwrite: bool = False,
) -> None:
    """Write a run as a bag.

    The metadata is marked with `motion`, `robot` and `fell` ('yes' or 'no'), and with `fall` (how)
    if the robot fell; with noisy signals also with `noise` and `seed`.

    Args:
        run: the run.
        file: the robot file that it was simulated with; it names topics and frames.
        path: folder that the bag will be.
        noisy: noisy copies of the signals, to be recorded as well.
        urdf: the robot's URDF; that which the robot file names if None.
        files: name → text of further files in the folder.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.

    Raises:
        BagError: if the bag exists or cannot be written.
        SimulationError: if the robot file names the topics of noisy copies.
    """
    check_recordable(file, path, storage, overwrite)
    marks = {'motion': run.motion, 'robot': run.robot, 'fell': 'yes' if run.fall else 'no'}
    if run.fall:
        marks['fall'] = run.fall
    if noisy:
        marks |= {'noise': noisy.noise.name, 'seed': str(noisy.seed)}
    with BagWriter(path, storage, overwrite, marks) as bag:
        for name, text in (files or {}).items():
            bag.add_file(name, text)
        _write_description(bag, urdf or file.read_urdf(), int(run.stamps[0]))
        copies = _root_sensors(noisy, file) if noisy else ()
        ground = _moving_ground(run.ground, run, file) if run.ground else ()
        for channel in (*_sensors(run, file), *copies, *_truth(run, file), *ground):
            channel.write(bag, run.stamps)
        _write_support_polygons(bag, run)


def check_recordable(
    file: RobotFile, path: str | PathLike[str], storage: str, overwrite: bool
) -> None:
    """Check before a simulation that `record` can write it; arguments and errors as there."""
    topics = [signal.topic for signal in file.signals() if signal.mounted]
    noisy = [topic for topic in topics if topic.lstrip('/').startswith(NOISY)]
    if noisy:
        raise SimulationError(
            f"The robot file names the topic '{noisy[0]}', under which noisy copies are recorded. "
            'Simulate with the file that names the ideal signals; evaluate with this one.',
            kind='noisy_topic',
            topic=noisy[0],
        )
    BagWriter(path, storage, overwrite)


def _write_description(bag: BagWriter, urdf: Urdf, stamp: int) -> None:
    text = {'data': urdf.text}
    bag.add_topic('/robot_description', 'std_msgs/msg/String', text, qos='latched')
    bag.write_batch('/robot_description', np.array([stamp]))


def _sensors(run: SimulatedRun, file: RobotFile) -> Iterator[_Channel]:
    joints = np.zeros(len(run.joint_names))
    yield _Channel(
        file.joints.topic, 'sensor_msgs/msg/JointState',
        {'name': run.joint_names, 'position': joints, 'effort': joints},
        {'position': run.q, 'effort': run.effort}, qos='sensor_data',
    )  # fmt: skip
    yield from _root_sensors(run, file)
    scalars = [foot.force or foot.contact for foot in file.feet]
    for topic in {
        scalar.topic for scalar in scalars if scalar is not None
    }:  # in the order of the file, whose fields are data[0], data[1], …
        forces = np.stack([run.truth.feet[foot.name].normal_force for foot in file.feet], axis=1)
        yield _Channel(topic, NUMBERS, {'data': forces[0]}, {'data': forces}, qos='sensor_data')
    for foot in file.feet:
        if foot.wrench:
            yield _Channel(
                foot.wrench.topic, 'geometry_msgs/msg/WrenchStamped', _frame(foot.wrench.frame),
                {'wrench': run.wrenches[foot.wrench.topic]}, qos='sensor_data',
            )  # fmt: skip


def _root_sensors(signals: SimulatedRun | NoisySignals, file: RobotFile) -> Iterator[_Channel]:
    """IMU, accelerometers, units on other links and GPS; noisy ones with covariances."""
    prefix, angular_velocity, linear_acceleration = '', {}, {}
    if isinstance(signals, NoisySignals):
        prefix = NOISY
        angular_velocity = _covariance('angular_velocity', signals.sigma_angular_velocity)
        linear_acceleration = _covariance('linear_acceleration', signals.sigma_acceleration)
    imu = 'sensor_msgs/msg/Imu'
    yield _Channel(
        prefix + file.imu.topic.lstrip('/'), imu,
        {**_frame(file.imu.frame), **angular_velocity, **linear_acceleration},
        {
            'orientation': signals.imu.orientation_xyzw,
            'angular_velocity': signals.imu.angular_velocity,
            'linear_acceleration': signals.imu.specific_force,
        },
        qos='sensor_data',
    )  # fmt: skip
    only_acceleration = _first_is_minus_one('orientation', 'angular_velocity')
    for sensor in file.all_accelerometers:
        yield _Channel(
            prefix + sensor.topic.lstrip('/'), imu,
            {**_frame(sensor.frame), **only_acceleration, **linear_acceleration},
            {'linear_acceleration': signals.accelerometers[sensor.topic]}, qos='sensor_data',
        )  # fmt: skip
    for unit in file.segments:
        omega, force = np.split(signals.segments[unit.topic], 2, axis=1)
        yield _Channel(
            prefix + unit.topic.lstrip('/'), imu,
            {
                **_frame(unit.frame), **_first_is_minus_one('orientation'), **angular_velocity,
                **linear_acceleration,
            },
            {'angular_velocity': omega, 'linear_acceleration': force}, qos='sensor_data',
        )  # fmt: skip
    if file.position and signals.position is not None:
        yield _Channel(
            prefix + file.position.topic.lstrip('/'), 'geometry_msgs/msg/PointStamped',
            _frame(WORLD), {'point': signals.position}, qos='sensor_data',
        )  # fmt: skip


def _truth(run: SimulatedRun, file: RobotFile) -> Iterator[_Channel]:
    truth, root = run.truth, run.truth.root
    in_root, joints = _frame(run.root), np.zeros(len(run.joint_names))
    yield _Channel(
        f'{TRUTH}/joint_kinematics', 'trajectory_msgs/msg/JointTrajectory',
        {
            'joint_names': run.joint_names, 'points': 1, 'points[0].positions': joints,
            'points[0].velocities': joints, 'points[0].accelerations': joints,
        },
        {
            'points[0].positions': run.q, 'points[0].velocities': truth.qd,
            'points[0].accelerations': truth.qdd,
        },
    )  # fmt: skip
    yield _Channel(
        f'{TRUTH}/odom', 'nav_msgs/msg/Odometry', {**_frame(WORLD), 'child_frame_id': run.root},
        {
            'pose.pose.position': root.position,
            'pose.pose.orientation': root.quaternion_xyzw(),
            'twist.twist.linear': root.velocity_in_root(),
            'twist.twist.angular': root.angular_velocity,
        },
    )  # fmt: skip
    yield _Channel(
        f'{TRUTH}/root_acceleration', 'geometry_msgs/msg/AccelStamped', in_root,
        {
            'accel.linear': root.proper_acceleration(file.gravity),
            'accel.angular': root.angular_acceleration,
        },
    )  # fmt: skip
    wrench, point = 'geometry_msgs/msg/WrenchStamped', 'geometry_msgs/msg/PointStamped'
    yield _Channel(f'{TRUTH}/contact_wrench', wrench, in_root, {'wrench': truth.contact_wrench})
    yield _Channel(f'{TRUTH}/ground_wrench', wrench, in_root, {'wrench': truth.ground_wrench})
    if truth.applied_wrench.any():
        pushes = {'wrench': truth.applied_wrench}
        yield _Channel(f'{TRUTH}/applied_wrench', wrench, in_root, pushes)
    on_ground = np.asarray(np.isfinite(truth.cop[:, 0]))
    yield _Channel(f'{TRUTH}/cop', point, in_root, {'point': truth.cop_in_root()}, on_ground)
    yield _Channel(f'{TRUTH}/cop_in_world', point, _frame(WORLD), {'point': truth.cop}, on_ground)
    yield _Channel(f'{TRUTH}/com_in_world', point, _frame(WORLD), {'point': truth.com})
    yield _Channel(
        f'{TRUTH}/ground_normal_in_world', 'geometry_msgs/msg/Vector3Stamped', _frame(WORLD),
        {'vector': truth.ground_normal}, on_ground,
    )  # fmt: skip
    for foot in file.feet:
        on_foot = truth.feet[foot.name]
        sole = f'{TRUTH}/{foot.name}'
        yield _Channel(
            f'{sole}/wrench', wrench, _frame(foot.sole_frame), {'wrench': on_foot.wrench}
        )
        yield _Channel(f'{sole}/loaded', 'std_msgs/msg/Bool', {}, {'data': on_foot.loaded})


def _moving_ground(ground: RootMotion, run: SimulatedRun, file: RobotFile) -> Iterator[_Channel]:
    """The pose of the ground's frame, as `ground` in the robot file names it, and its truth."""
    frame, topic = file.ground.frame, file.ground.topic
    pose = {'position': ground.position, 'orientation': ground.quaternion_xyzw()}
    if topic is not None:
        yield _Channel(
            topic, 'geometry_msgs/msg/PoseStamped', _frame(WORLD),
            {f'pose.{part}': values for part, values in pose.items()}, qos='sensor_data',
        )  # fmt: skip
    yield _Channel(
        f'{TRUTH}/ground_odom', 'nav_msgs/msg/Odometry',
        {**_frame(WORLD), 'child_frame_id': frame},
        {
            **{f'pose.pose.{part}': values for part, values in pose.items()},
            'twist.twist.linear': ground.velocity_in_root(),
            'twist.twist.angular': ground.angular_velocity,
        },
    )  # fmt: skip
    on_ground = np.asarray(np.isfinite(run.truth.cop[:, 0]))
    yield _Channel(
        f'{TRUTH}/cop_in_ground', 'geometry_msgs/msg/PointStamped', _frame(frame),
        {'point': run.cop_in_ground()}, on_ground,
    )  # fmt: skip


def _write_support_polygons(bag: BagWriter, run: SimulatedRun) -> None:
    topic, msgtype = f'/{TRUTH}/support_polygon', 'geometry_msgs/msg/PolygonStamped'
    bag.add_topic(topic, msgtype, _frame(WORLD))
    polygons = support_polygons(run.truth)
    corners = np.array([len(polygon) for polygon in polygons])
    for count in np.unique(corners[corners > 0]).tolist():
        rows = np.flatnonzero(corners == count)
        points = np.stack([polygons[row] for row in rows]).reshape(len(rows), -1)
        like = {**_frame(WORLD), 'polygon.points': count}
        bag.write_batch(topic, run.stamps[rows], {'polygon.points': points}, like)


def _frame(name: str | None) -> dict[str, Any]:
    return {'header.frame_id': name}


def _covariance(field: str, sigma: float) -> dict[str, Any]:
    return {f'{field}_covariance': (sigma**2 * np.eye(3)).ravel()}


def _first_is_minus_one(*fields: str) -> dict[str, Any]:
    covariance = np.zeros(9)
    covariance[0] = -1.0
    return {f'{field}_covariance': covariance for field in fields}
