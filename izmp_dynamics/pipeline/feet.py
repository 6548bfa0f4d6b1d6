"""Feet: soles by forward kinematics, measured wrenches brought to the root frame, foot IMUs."""

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.model.body_layout import DRIVER
from izmp_dynamics.pipeline.feet_kernel import FeetState, PackedFeet
from izmp_dynamics.pipeline.limits import LARGEST_LOAD, LARGEST_MOTION
from izmp_dynamics.pipeline.rig import FootRig, Rig
from izmp_dynamics.sensing.foot_imu import LONGEST_MEMORY, foot_tilt
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.signals.buffer import SampleBuffer
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Stage, Streams


class FeetStage(Stage):
    """Places the soles and adds up the measured wrenches.

    Args:
        rig: the robot.
        streams: of its signals.

    Attributes:
        sensors: foot → (6,) force [N] and moment [N·m] of its sensor in its frame.
        efforts: torques of the joints of legs [N·m] or [N]; None where all loads are measured.
    """

    def __init__(self, rig: Rig, streams: Streams) -> None:
        self.rig = rig
        self._feet = PackedFeet.of(rig)
        self.sensors = {
            foot.name: streams.make(
                f'feet[{foot.name}]',
                6,
                largest=LARGEST_LOAD * rig.model.total_mass * rig.robot.gravity,
                correction=foot.correction,
                may_be_stuck=not (foot.normal_only or foot.scalar),
            )
            for foot in rig.feet
            if foot.sensor or foot.scalar
        }
        of_legs = {body for foot in rig.feet for body in rig.model.chain(foot.sole)}
        self._driven = sorted({int(rig.model.joints[body, DRIVER]) for body in of_legs})
        self.efforts = None
        if self._driven and rig.robot.estimates_loads:
            self.efforts = streams.make('efforts', len(self._driven), may_be_stuck=True)
        self._first: Array | None = None
        self._changes = False
        efforts = () if self.efforts is None else (self.efforts,)
        super().__init__((*self.sensors.values(), *efforts), streams.patience)

    @property
    def sources(self) -> tuple[SampleBuffer, ...]:
        """What an instant waits for: efforts once there are any."""
        waits = self.efforts is None or self.efforts.received
        return super().sources if waits else super().sources[:-1]

    def push_efforts(self, samples: Samples) -> None:
        """Take torques (T, n) of all joints, but none as long as they never change."""
        assert self.efforts is not None
        samples.check_width('efforts', self.rig.model.dof)
        values, begin = samples.values[:, self._driven], 0
        if not self._changes:
            self._first = values[0].copy() if self._first is None else self._first
            changes = (values != self._first).any(axis=1)
            self._changes = bool(changes.any())
            begin = int(changes.argmax()) if self._changes else len(values)
            self.efforts.count(Reason.REPEATED, begin)
        self.efforts.push(Samples(samples.stamps[begin:], values[begin:]))

    def evaluate(
        self,
        joints: JointKinematics,
        states: Array,
        up: Array,
        normals: Array | None,
        mr_ad: Array,
    ) -> FeetState:
        """Evaluate decided instants.

        Args:
            joints: at K instants.
            states: (K, 9 + 3n) motion of the robot, see `mr_ad_states`; the φ of the root stands
                for "up" where that is not known.
            up: (K, 3) vertical in the root frame; NaN where it is not known.
            normals: (K, 3) of the ground, if it is not for the feet to say.
            mr_ad: (K, 6) contact wrench by the motion, for feet without sensors; NaN if unknown.
        """
        readings, rig = self._readings(joints), self.rig
        found, doubted = self._feet.evaluate(
            states, readings, up, normals, rig.contact_force, mr_ad, rig.minimum_force,
            self._torques(joints),
        )  # fmt: skip
        if self.efforts is not None:
            self.efforts.count(Reason.TORQUES_CONTRADICT, int(np.count_nonzero(doubted)))
        return found

    def _torques(self, joints: JointKinematics) -> Array:
        """(K, n) torques of the joints of legs; NaN of others, and where they are not known."""
        torques, stream = np.full(joints.positions.shape, np.nan), self.efforts
        if stream is not None and stream.received:
            torques[:, self._driven] = stream.known(joints.stamps, joints.moving)
            if stream.was_stuck:
                stuck = stream.stuck_at(joints.stamps, joints.moving)
                stream.count(Reason.HANGS, int(np.count_nonzero(stuck)))
        return torques

    def _readings(self, joints: JointKinematics) -> Array:
        """(K, F, 6) what the sensors of the feet read; NaN where it is not known."""
        readings = np.empty((len(joints), len(self.rig.feet), 6))
        for k, foot in enumerate(self.rig.feet):
            stream, stamps = self.sensors.get(foot.name), joints.stamps
            if stream is None:
                readings[:, k] = np.nan
                continue
            readings[:, k] = stream.at(stamps).values
            if stream.was_stuck:
                stuck = stream.count_stuck(stamps, stream.stuck_at(stamps, joints.moving))
                readings[stuck, k] = np.nan
        return readings


def mr_ad_states(joints: JointKinematics, root: RootState) -> Array:
    """(K, 9 + 3n) φ, ω, ω̇ of the root, then q, q̇, q̈, as the kernels of MR-AD take them."""
    return np.concatenate(
        [
            root.proper_acceleration,
            root.angular_velocity,
            root.angular_acceleration,
            joints.positions,
            joints.velocities,
            joints.accelerations,
        ],
        axis=1,
    )


class FootImuStage(Stage):
    """IMU of one foot → the vertical in its sole at the instants of the joints.

    Args:
        rig: the robot.
        foot: with an IMU.
        streams: of its signals.

    Attributes:
        stream: (6,) angular velocity [rad/s] and specific force [m/s²] in sensor axes.
    """

    def __init__(self, rig: Rig, foot: FootRig, streams: Streams) -> None:
        assert foot.sole_R_imu is not None
        self._R = foot.sole_R_imu
        self._gravity = rig.robot.gravity
        self.stream = streams.make(
            f'foot_imus[{foot.name}]', 6, largest=LARGEST_MOTION, correction=foot.imu_correction
        )
        self._verticals = SampleBuffer(3)
        self._verticals.give_up = self._give_up
        super().__init__((self.stream,), streams.patience)
        self.reset()

    @property
    def sources(self) -> tuple[SampleBuffer, ...]:
        """What an instant waits for."""
        return (self._verticals,)

    def reset(self) -> None:
        """Forget all samples; the faults stay."""
        super().reset()
        self._verticals.reset()
        self._latest = Samples.empty(6)

    def push(self, samples: Samples) -> None:
        """Take samples (T, 6)."""
        self._take(self.stream.push(samples))
        self._verticals.expect(self.stream.buffer.received_until)

    def flush(self, final: bool = True) -> None:
        """Take in the last sample, as nothing follows; see `Stage`."""
        self._take(self.stream.flush(final))
        self._verticals.closed = True

    def _give_up(self) -> None:
        """Take in the last sample before a pause; not while the period is being learned."""
        if self.stream.period is not None:
            self.flush()

    def evaluate(self, instants: Stamps) -> Array:
        """Give the vertical (K, 3) at decided instants (K,) [ns]; NaN while the foot moves."""
        return self._verticals.at(instants).values  # that it moves is no fault: nothing to count

    def _take(self, usable: Samples) -> None:
        """Find the vertical in the newest samples."""
        if not len(usable) or self.stream.period is None:
            return
        self._verticals.reach = self.stream.buffer.reach
        memory = max(1, round(LONGEST_MEMORY / self.stream.period))
        known = len(self._latest)
        samples = Samples.joined([self._latest, usable])
        omega, force = samples.values[:, :3] @ self._R.T, samples.values[:, 3:] @ self._R.T
        up = foot_tilt(omega, force, memory, self._gravity)
        self._verticals.append(usable.stamps, up[known:])
        self._latest = samples.select(slice(max(0, len(samples) - memory), None))
        self.stream.buffer.forget(int(usable.stamps[-1]))
