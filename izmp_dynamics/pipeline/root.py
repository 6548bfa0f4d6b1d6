"""IMU and accelerometers → motion of the root (ω, ω̇, φ) at the instants of the joints."""

from collections import Counter
from dataclasses import replace

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, Stamps
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.model.method import AngularAcceleration
from izmp_dynamics.pipeline.limits import LARGEST_ACCELERATION, LARGEST_MOTION
from izmp_dynamics.pipeline.noise_propagation import sample_gain
from izmp_dynamics.pipeline.rig import Rig, SegmentRig
from izmp_dynamics.sensing.accelerometer_array import Accelerometer, AccelerometerArray
from izmp_dynamics.sensing.gyro_difference import GyroDifference, motion_from_imu
from izmp_dynamics.sensing.noise import degrees, micro_g
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.signals.buffer import SampleBuffer
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Stage, Streams


class RootStage(Stage):
    """Angular acceleration from the accelerometer array, or from the gyroscope's difference.

    Args:
        rig: the robot.
        streams: of its signals.
        fall_back: with the method 'auto', whether the gyroscope is differenced as long as an
            accelerometer of the robot file publishes nothing.
        method: 'rates' where ω alone is wanted; None: that of the robot file.

    Attributes:
        method: 'accelerometers', 'gyro' or 'rates', as it is now.
        warnings: what is bad about the sensors' layout.
        imu: (6,) angular velocity [rad/s] and specific force [m/s²] in sensor axes.
        accelerometers: (3,) specific force of each further accelerometer in its axes [m/s²].

    Raises:
        SensingError: if the accelerometers do not observe the angular acceleration.
        ReplayError: if an array is asked for and there is none.
    """

    def __init__(
        self, rig: Rig, streams: Streams, *, fall_back: bool = False, method: str | None = None
    ) -> None:
        self.rig = rig
        self._root_R_imu = np.array(rig.imu.R, order='C')  # of one type with its copies
        self.method = self._chosen = method or chosen_method(rig)
        self._may_fall_back = fall_back and rig.robot.angular_acceleration.method == 'auto'
        self.warnings: tuple[str, ...] = ()
        if self.method == 'accelerometers':
            self.array = accelerometer_array(rig)
            self.warnings = self.array.warnings
        self.imu = streams.make(
            rig.imu.name,
            6,
            largest=LARGEST_MOTION,
            correction=rig.imu.correction,
            differentiated=3,
            may_be_stuck=True,
        )
        self._matched = streams.half_width is not None
        self.accelerometers = tuple(
            streams.make(
                mount.name,
                3,
                largest=LARGEST_ACCELERATION,
                correction=mount.correction,
            )
            for mount in rig.accelerometers
        )
        super().__init__((self.imu, *self.accelerometers), streams.patience)
        self._gyro_faults: Faults = Counter()
        self._gyro: GyroDifference | None = None
        self.reset()

    @property
    def fell_back(self) -> bool:
        """Whether the gyroscope stands in for accelerometers without messages."""
        return self.method != self._chosen

    @property
    def without_messages(self) -> tuple[int, ...]:
        """Indices of the accelerometers from which no message came so far."""
        return tuple(k for k, stream in enumerate(self.accelerometers) if not stream.received)

    @property
    def periods(self) -> tuple[float, ...] | None:
        """Times between the samples of the sensors in use, the IMU's first [s].

        None while one of them is not known.
        """
        further = self.accelerometers if self.method == 'accelerometers' else ()
        known = [s.period for s in (self.imu, *further) if s.period is not None]
        return tuple(known) if len(known) == 1 + len(further) else None

    def lever(self, half_width: float | None) -> float:
        """Variance of ω̇ by the gyroscope over that of a difference of two φ [1/m²].

        0 where accelerometers give ω̇, and while no period is known.

        Args:
            half_width: of the matched filter [s]; None: unfiltered.
        """
        if self.method != 'gyro' or self.imu.period is None:
            return 0.0
        noise = self.rig.robot.noise
        gain = sample_gain(half_width, self.imu.period)
        ratio = degrees(noise.gyroscope) / micro_g(noise.accelerometer)
        return 0.5 * gain.first / gain.value * ratio**2

    @property
    def sources(self) -> tuple[SampleBuffer, ...]:
        """What an instant waits for."""
        if self.method == 'gyro':
            return (self._differenced,)
        return (self.imu.buffer,) if self.method == 'rates' else super().sources

    @property
    def imu_faults(self) -> Faults:
        """Samples of the IMU and instants that could not be used, by reason."""
        differenced = self._gyro.faults if self._gyro is not None else Counter()
        return self.imu.faults + self._gyro_faults + differenced

    def reset(self) -> None:
        """Forget all samples; the faults stay."""
        super().reset()
        self.method = self._chosen
        self._forget_gyro()

    def push_imu(self, samples: Samples) -> None:
        """Take samples (T, 6) of the IMU."""
        self._differentiate(self.imu.push(samples))

    def push_accelerometer(self, index: int, samples: Samples) -> None:
        """Take samples (T, 3) of a further accelerometer."""
        self.accelerometers[index].push(samples)
        if self.fell_back and not self.without_messages:
            self.method = self._chosen
            self._forget_gyro()

    def flush(self, final: bool = True) -> None:
        """Take in the last samples, as nothing follows; see `Stage`."""
        self._flush_gyro(final)
        for stream in self.accelerometers:
            stream.flush(final)

    def decided(self, instants: Stamps, newest: int) -> int:
        """How many leading instants have all that they need, or never will; see `Stage`."""
        count = super().decided(instants, newest)
        return super().decided(instants, newest) if count and self._falls_back() else count

    def _falls_back(self) -> bool:
        """Difference the gyroscope if an accelerometer that is needed has published nothing."""
        if not self._may_fall_back or self.method == 'gyro' or not self.without_messages:
            return False
        self.method = 'gyro'
        self._differentiate(self.imu.stored())
        return True

    def evaluate(self, instants: Stamps) -> RootState:
        """Give the motion of the root at decided instants (K,) [ns]."""
        if self.method == 'gyro':
            paired = self._differenced.at(instants)
            paired.count_missing(self._gyro_faults)
            values = np.ascontiguousarray(paired.values)
            return RootState(instants, *np.split(values, 3, axis=1))
        paired = self.imu.at(instants)
        if self.method == 'rates':
            omega = paired.values[:, :3] @ self.rig.imu.R.T
            return RootState(instants, omega, *np.full((2, *omega.shape), np.nan))
        forces = np.empty((len(instants), 1 + len(self.accelerometers), 3))
        forces[:, 0] = paired.values[:, 3:6]
        for k, stream in enumerate(self.accelerometers):
            forces[:, k + 1] = stream.at(instants).values
        return self.array.solve(instants, paired.values, self._root_R_imu, forces)

    def without_stuck(self, state: RootState, moving: Flags) -> RootState:
        """Leave out the instants at which the IMU is stuck while the robot moves (K,)."""
        if not self.imu.was_stuck:
            return state
        differenced = self.method == 'gyro' and not self._matched
        rows = self.imu.stuck_at(state.stamps, moving, around=differenced)
        self.imu.count_stuck(state.stamps, rows)
        if not rows.any():
            return state
        parts = (state.angular_velocity, state.angular_acceleration, state.proper_acceleration)
        known = (np.where(rows[:, None], np.nan, part) for part in parts)
        return RootState(state.stamps, *known)

    def angular_velocity(self, instants: Stamps, moving: Flags) -> Array:
        """Give ω alone, (K, 3) in root axes [rad/s]; NaN where it is not known or stuck.

        Args:
            instants: (K,) decided [ns].
            moving: (K,) whether the joints move, so that an IMU that repeats itself is stuck.
        """
        return np.asarray(self.imu.known(instants, moving)[:, :3] @ self.rig.imu.R.T)

    def _flush_gyro(self, final: bool = True) -> None:
        self._differentiate(self.imu.flush(final))
        if self._gyro is not None:
            self._put(self._gyro.flush())
        self._differenced.closed = True

    def _give_up(self) -> None:
        """Do so before a pause; not while the period is being learned."""
        if self._gyro is not None or (self._matched and self.imu.period is not None):
            self._flush_gyro()

    def _forget_gyro(self) -> None:
        if self._gyro is not None:
            self._gyro_faults += self._gyro.faults
        self._gyro = None
        self._differenced = SampleBuffer(9)
        self._differenced.give_up = self._give_up

    def _differentiate(self, usable: Samples) -> None:
        """Difference the gyroscope, if that is the method."""
        self._differenced.expect(self.imu.buffer.received_until)
        if self.method != 'gyro' or not len(usable) or self.imu.period is None:
            return
        R, values = self.rig.imu.R, usable.values
        reach = self._differenced.reach = self.imu.buffer.reach
        if self._matched:
            omega, force, alpha = (part @ R.T for part in np.split(values, 3, axis=1))
            self._put(motion_from_imu(usable.stamps, omega, alpha, force, self.rig.imu.p))
            return
        if self._gyro is None:
            self._gyro = GyroDifference(self.rig.imu.p, self.imu.period, max_gap=reach)
        self._put(self._gyro.extend(usable.stamps, values[:, :3] @ R.T, values[:, 3:] @ R.T))
        self._differenced.settled = self._gyro.settled

    def _put(self, state: RootState) -> None:
        values = np.hstack(
            [state.angular_velocity, state.angular_acceleration, state.proper_acceleration]
        )
        self._differenced.append(state.stamps, values)


def unit_stage(rig: Rig, unit: SegmentRig, streams: Streams, *, fall_back: bool) -> RootStage:
    """The stage of a unit on another link: its body is what the root is for the IMU.

    Args:
        rig: the robot.
        unit: one of `rig.segments`.
        streams: of its signals.
        fall_back: see `RootStage`.

    Raises:
        SensingError: if its accelerometers do not observe the angular acceleration.
    """
    robot = replace(rig.robot, angular_acceleration=AngularAcceleration())
    body = replace(rig, robot=robot, imu=unit.imu, accelerometers=unit.accelerometers)
    return RootStage(body, streams, fall_back=fall_back)


def chosen_method(rig: Rig) -> str:
    """Where the angular acceleration comes from: 'accelerometers' or 'gyro'.

    Raises:
        ReplayError: if an array is asked for and there is none.
    """
    method = rig.robot.angular_acceleration.method
    if method == 'auto':
        return 'accelerometers' if rig.accelerometers else 'gyro'
    if method == 'accelerometers' and not rig.accelerometers:
        raise ReplayError(
            'angular_acceleration.method is accelerometers, but the robot file lists none under '
            "'accelerometers'; list at least three, or choose gyro.",
            kind='no_accelerometers',
        )
    return method


def accelerometer_array(rig: Rig) -> AccelerometerArray:
    """The accelerometers of the IMU and beside it, as one sensor of the angular acceleration.

    Raises:
        SensingError: if they do not observe it.
    """
    density = micro_g(rig.robot.noise.accelerometer)
    return AccelerometerArray(
        [
            Accelerometer(mount.name, mount.R, mount.p, np.eye(3)[list(mount.axes)], density)
            for mount in (rig.imu, *rig.accelerometers)
        ]
    )
