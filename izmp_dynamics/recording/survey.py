"""What the beginning of a log gives: rates, frames, joint groups, and whether sensors are sane."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

import numpy as np

from izmp_dynamics.bags.messages import joint_state_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.base.robust import median
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.model.signals import ORDERS, POINT
from izmp_dynamics.pipeline.joints import JointGroup, group_joints
from izmp_dynamics.pipeline.limits import LARGEST_ACCELERATION, too_large
from izmp_dynamics.pipeline.rig import Rig, make_rig
from izmp_dynamics.recording.joint_watch import name_findings
from izmp_dynamics.recording.mapped import other_order
from izmp_dynamics.recording.topic_use import credible
from izmp_dynamics.recording.topics import SignalTopics
from izmp_dynamics.sensing.sensor_check import ImuVerdict, check_accelerometer, check_imu
from izmp_dynamics.signals.imu import rotations
from izmp_dynamics.stability.held_joints import held_joints

SURVEY_SECONDS = 10.0
"""Time at the beginning of a log from which everything here is learned."""

BEYOND_LIMIT = 0.2
"""A joint that is so far beyond its limits, in the median, is remarked on [rad] or [m]."""

LARGEST_NUMBER = 1e4
"""Angular velocity that is no number of a gyroscope in any unit, neither rad/s nor °/s."""


def beyond_limits(model: RobotModel, middle: Array) -> tuple[str, str]:
    """Say which joints are far beyond their limits by their medians (n,), and why they may be.

    Both are empty if none is. Medians of joints that are not recorded are NaN.
    """
    lower, upper = model.position_lower, model.position_upper
    names = [
        f'{model.joint_names[k]} (at {middle[k]:.3g}, from {lower[k]:.3g} to {upper[k]:.3g})'
        for k in np.flatnonzero((middle > upper + BEYOND_LIMIT) | (middle < lower - BEYOND_LIMIT))
    ]
    if not names:
        return '', ''
    sentence, angles = f'Joints are beyond their limits: {list_names(names)}.', np.radians(middle)
    too_far = (angles > upper + BEYOND_LIMIT) | (angles < lower - BEYOND_LIMIT)
    if np.nanmax(np.abs(middle)) > 2.0 * np.pi and not too_far.any():
        return sentence, (
            'In degrees all would be within them: let the driver publish radians, or, of mapped '
            "messages, state a factor: positions: '… * 0.0174533'."
        )
    return sentence, (
        'Are their positions in another order than their names, or their zeros others than the '
        "URDF's?"
    )


class Survey(SignalTopics):
    """What the beginning of a log gives; signals without messages are left out.

    Attributes:
        model: the robot's model.
        rig: the robot, prepared for evaluation.
        groups: joints that are published together.
        periods: signal → median time between its messages [s].
        oriented: whether the IMU's orientation can be used.
        posed: whether an orientation comes with the position.
        origin: times in sentences count from it: the first stamp of the joints, and from the
            evaluation on the first instant, as in the report [ns].
        findings: anomalies.
        held_joints: foot → movable joints between root and sole that are held at zero, as
            they have no publisher.

    Raises:
        ReplayError: if joints or IMU have no usable messages, or a sensor's frame is not known.
        SensingError: if IMU or accelerometers are in the wrong unit or without gravity.
    """

    def __init__(self, bag: BagReader, robot: RobotFile, model: RobotModel) -> None:
        super().__init__(bag, robot)
        self.model = model
        self.findings: list[Finding] = []
        self.held_joints: dict[str, tuple[str, ...]] = {}
        read = self._beginning()
        self.leave_out_unusable()
        self.periods = {signal: 1.0 / use.rate for signal, use in self.uses.items()}
        self.groups = self._groups(read['joints'])
        ground = self._ground_frame(read.get('ground', []))
        self.origin = min(int(part.stamps.min()) for part in read['joints'] if len(part))
        self.posed = any(has_rotation(part) for part in read.get('position', []))
        ids = self._frame_ids() | self._positioned_frame(read.get('position', [])) | ground
        self.rig: Rig = make_rig(self.robot, model, ids)
        self.oriented = False
        if not self.robot.imu.from_position:
            force = self._learn_imu(read['imu'])
            if not self.robot.imu.gravity_removed:
                self._check_accelerometers(read, force)
        elif not self.posed:
            raise ReplayError(
                f"'{self.uses['position'].topic}' holds no orientation that is a unit "
                'quaternion, so no IMU can be derived from it (imu.from_position).',
                kind='no_pose',
            )

    def _warn(self, kind: str, sentence: str, remedy: str = '') -> None:
        self.findings.append(Finding(kind, 'warning', sentence, remedy))

    def _beginning(self) -> dict[str, list[Any]]:
        """Read until every topic has had messages, but keep only those of the beginning."""
        beginning: defaultdict[str, list[Any]] = defaultdict(list)
        stop = (self.bag.start or 0) + round(SURVEY_SECONDS * NANOSECONDS)
        for batch in self.bag.batches(self.names, 1.0):
            for signal, use in self.uses.items():
                read = credible(use.read(batch, self.model.joint_names))
                if batch.start < stop or not any(len(part) for part in beginning[signal]):
                    beginning[signal].append(read)
            if batch.end > stop and all(use.steps for use in self.uses.values()):
                break
        return beginning

    def _groups(self, joints: list[Any]) -> tuple[JointGroup, ...]:
        positions, present, stamps = _joined(joints, 'positions', 'present', 'stamps')
        groups = group_joints(present, stamps)
        if not groups:
            raise self._no_joints()
        published = {column for group in groups for column in group.columns}
        moves_mass = self.model.joints_that_move_mass()
        joints_of = enumerate(self.model.joint_names)
        heavy = [name for k, name in joints_of if k not in published and moves_mass[k]]
        if heavy:
            self.note(
                'joints_absent',
                f'Joints without a publisher are taken to be at zero: {", ".join(heavy)}.',
            )
        self._check_names(published, joints)
        self._check_limits(positions[:, sorted(published)], sorted(published))
        return groups

    def _no_joints(self) -> ReplayError:
        """Why no message has a position of a joint of the robot."""
        topic = self.uses['joints'].topic
        batch = next(iter(self.bag.batches([topic], 1.0)))
        names = self.robot.joints.names or joint_state_batch(batch[topic]).names
        known = set(names) & set(self.model.joint_names)
        if known:
            return ReplayError(
                f"joints: topic '{topic}' gives no positions of the joints that it names "
                f'({list_names(sorted(known))}); record joint states with positions.',
                kind='no_positions', topic=topic, joints=tuple(sorted(known)),
            )  # fmt: skip
        return ReplayError(
            f"joints: topic '{topic}' publishes {list_names(names)}, none of which the robot "
            f"'{self.model.name}' has ({list_names(self.model.joint_names)}). Is this the URDF of "
            'the recorded robot?',
            kind='other_joints', topic=topic, joints=tuple(names),
        )  # fmt: skip

    def _check_names(self, published: Collection[int], joints: list[Any]) -> None:
        others = dict.fromkeys(name for part in joints for name in part.others)
        soles = {foot.name: foot.sole_frame for foot in self.robot.feet}
        self.held_joints = held_joints(self.model, published, soles)
        for finding in name_findings(self.model, published, others, self.held_joints):
            known = finding.level == 'note'
            (self.missing if known else self.findings).append(finding)

    def _check_limits(self, positions: Array, columns: list[int]) -> None:
        """Remark on joints that are far beyond their limits for most of the time."""
        middle = np.full(self.model.dof, np.nan)
        with np.errstate(over='ignore', invalid='ignore'):
            middle[columns] = [median(column) for column in positions.T]
        beyond, why = beyond_limits(self.model, middle)
        if beyond:
            self._warn('beyond_limits', beyond, why)

    def _frame_ids(self) -> dict[str, str | None]:
        """Topic as in the robot file → its frame_id, for the sensors whose frame is needed."""
        ids: dict[str, str | None] = {}
        for signal in self.robot.signals():
            if not signal.mounted:
                continue
            use = self.uses[signal.name]
            frames = sorted(use.frame_ids)
            if len(frames) > 1 and signal.frame is None:
                raise ReplayError(
                    f"The messages of '{use.topic}' name several frames "
                    f'({", ".join(map(repr, frames))}): two publishers on one topic? State the '
                    f'right one as {signal.shown_key}.frame in the robot file.',
                    kind='several_frames', signal=signal.name, frames=tuple(frames),
                )  # fmt: skip
            ids[signal.topic] = frames[0] if frames else None
        return ids

    def _ground_frame(self, poses: list[Any]) -> dict[str, str | None]:
        """Topic of the pose of a moving ground → its reference frame.

        The ground is left out if that is a world in which the robot's position is not measured.
        """
        robot = self.robot
        if robot.ground.topic is None:
            return {}
        use = self.uses['ground']
        frames = sorted({frame.lstrip('/') for frame in use.frame_ids})
        if len(frames) > 1:
            raise ReplayError(
                f"The messages of '{use.topic}' give the pose of the ground in several frames "
                f'({", ".join(map(repr, frames))}): two publishers on one topic?',
                kind='several_frames', signal='ground', frames=tuple(frames),
            )  # fmt: skip
        if robot.position is None and not set(frames) & set(self.model.frame_names):
            where = repr(frames[0]) if frames else 'the world'
            self.leave_out(
                'ground',
                'ground_without_position',
                f"topic '{use.topic}' gives its pose in {where}, not a link of the robot, "
                'and the position of the robot there is not measured',
            )
            return {}
        children = {child.lstrip('/') for pose in poses for child in pose.child_frame_ids if child}
        if children - {robot.ground.frame}:
            self._warn(
                'ground_of_another_frame',
                f"'{use.topic}' gives the pose of {list_names(map(repr, sorted(children)))}, "
                f"taken to be that of the ground's frame '{robot.ground.frame}'.",
                'State that frame as ground.frame in the robot file.',
            )
        return {robot.ground.topic: frames[0] if frames else None}

    def _positioned_frame(self, poses: list[Any]) -> dict[str, str | None]:
        """Odometry names the frame whose pose it is: topic → that link, if it is one."""
        position = self.robot.position
        children = sorted({child for pose in poses for child in pose.child_frame_ids if child})
        if position is None or not children:
            return {}
        links = [child.lstrip('/') for child in children]
        if position.frame in links:
            return {}
        if position.frame is None and len(links) == 1 and links[0] in self.model.frame_names:
            return {position.topic: links[0]}
        taken = position.frame or self.model.root
        self._warn(
            'position_of_another_frame',
            f"'{self.uses['position'].topic}' gives the pose of "
            f"{' and '.join(map(repr, children))}, taken to be that of the link '{taken}'.",
            'State the link as position.frame in the robot file.',
        )
        return {}

    def _learn_imu(self, imus: list[Any]) -> Array:
        """Refuse an IMU whose signals cannot be right; find out if its orientation is one.

        Returns:
            (3,) median specific force in root axes [m/s²].
        """
        (oriented,) = _joined(imus, 'has_orientation')
        rows = oriented if oriented.any() else ~oriented
        stamps, omega, force, orientation = (
            values[rows]
            for values in _joined(
                imus, 'stamps', 'angular_velocity', 'linear_acceleration', 'orientations'
            )
        )
        credible = ~too_large(force, LARGEST_ACCELERATION) & ~too_large(omega, LARGEST_NUMBER)
        if not credible.any():
            raise ReplayError(
                f'imu: every message has an acceleration of more than {LARGEST_ACCELERATION:g} '
                f'm/s² or an angular velocity of more than {LARGEST_NUMBER:g} rad/s, which no '
                'such sensor can read; check its driver.',
                kind='too_large', signal='imu',
            )  # fmt: skip
        robot = self.robot

        def check(quaternions: Array) -> ImuVerdict:
            return check_imu(
                stamps[credible],
                omega[credible],
                force[credible],
                quaternions[credible] if oriented.any() else None,
                robot.imu.gravity_removed,
                robot.gravity,
            )

        verdict = check(orientation)
        if robot.imu.orientation and verdict.oriented and verdict.remarks:
            self._check_order(check(other_order(orientation, robot.imu.quaternion)))
        self.oriented = verdict.oriented
        self.findings += [Finding(verdict.kind, 'warning', text) for text in verdict.remarks]
        position = self.uses.get('position')
        if position is not None and position.msgtype == POINT and not verdict.oriented:
            self.note(
                'no_orientation',
                'Neither the IMU nor the position gives the orientation of the root; without it '
                'there is no IR-MD and no pose in the world.',
            )
        usual = np.array([median(column) for column in force[credible].T])
        in_root: Array = self.rig.imu.R @ usual
        return in_root

    def _check_order(self, reordered: ImuVerdict) -> None:
        """Refuse an order of the quaternion that is contradicted, if the other one is not."""
        stated = self.robot.imu.quaternion
        other = next(order for order in ORDERS if order != stated)
        if not reordered.remarks:
            raise ReplayError(
                f'imu: in the order {stated} the orientation contradicts the accelerometer or the '
                f'gyroscope, in the order {other} it does not; state quaternion: {other}.',
                kind='quaternion_order', order=stated, valid=other,
            )  # fmt: skip

    def _check_accelerometers(self, read: dict[str, list[Any]], force: Array) -> None:
        """Compare every accelerometer with the median specific force (3,) of the root [m/s²]."""
        findings = []
        for k, mount in enumerate(self.rig.accelerometers):
            (readings,) = _joined(read[f'accelerometers[{k}]'], 'linear_acceleration')
            readings = readings[~too_large(readings, LARGEST_ACCELERATION)]
            if not len(readings):
                raise ReplayError(
                    f'accelerometers[{k}]: every message has an acceleration of more than '
                    f'{LARGEST_ACCELERATION:g} m/s², which no such sensor can read; check its '
                    'driver, or take it out of the robot file.',
                    kind='too_large', signal=f'accelerometers[{k}]',
                )  # fmt: skip
            axes = list(mount.axes)
            remark = check_accelerometer(
                self.uses[f'accelerometers[{k}]'].topic,
                readings[:, axes],
                (mount.R.T @ force)[axes],
                self.robot.gravity,
            )
            if remark:
                remedy = f'Is accelerometers[{k}].frame the link whose axes it reads?'
                findings.append(Finding('accelerometer_against_imu', 'warning', remark, remedy))
        if len(findings) == len(self.rig.accelerometers) > 1:
            remedy = 'All others contradict the IMU as well: is imu.frame the link whose axes it '
            remark = findings[0].sentence
            findings = [Finding('imu_against_all', 'warning', remark, f'{remedy}reads?')]
        self.findings += findings


def _joined(parts: list[Any], *attributes: str) -> list[Any]:
    return [np.concatenate([getattr(part, name) for part in parts]) for name in attributes]


def has_rotation(poses: Any) -> bool:
    """Whether any of some poses has an orientation, a unit quaternion."""
    return poses.orientations is not None and bool(rotations(poses.orientations)[1].any())
