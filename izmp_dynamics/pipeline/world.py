"""Orientation and position sensors → pose and velocity of the root in the world.

Only IR-MD, level ground ('gravity') and the views need it; MR-AD never sees any of it.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Flags, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.rotations import matrices_from_quaternions
from izmp_dynamics.pipeline.limits import LARGEST_POSITION
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.localizer import Localizer, RootPose
from izmp_dynamics.sensing.odometry_covariance import OdometryNoise
from izmp_dynamics.signals.buffer import SampleBuffer
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Stage, Streams
from izmp_dynamics.signals.stream import SampleStream


@dataclass(frozen=True)
class WorldState(Record):
    """The root in the world at K instants.

    Attributes:
        R: (K, 3, 3) world_R_root; NaN where it is not known.
        p: (K, 3) position of the root origin [m]; NaN where it is not known.
        v: (K, 3) its velocity in world axes [m/s]; NaN where it is not known.
    """

    R: Array
    p: Array
    v: Array

    @classmethod
    def unknown(cls, count: int) -> 'WorldState':
        """Nothing is known at `count` instants."""
        nowhere = np.full((count, 3), np.nan)
        return cls(np.full((count, 3, 3), np.nan), nowhere, nowhere)


class OrientationStage(Stage):
    """Orientation of the root, from the IMU or from the sensor of the position.

    Args:
        rig: the robot.
        streams: of its signals.
        source: 'imu', or 'position' where its messages hold an orientation.
        imu: whose times of being stuck are those of its orientation as well; None: not known.

    Attributes:
        stream: (4,) world_q_sensor, x y z w.
        available: whether instants wait for it; False if its messages hold no orientation.
    """

    def __init__(
        self,
        rig: Rig,
        streams: Streams,
        source: str = 'imu',
        imu: SampleStream | None = None,
    ) -> None:
        mount = rig.position if source == 'position' else rig.imu
        assert mount is not None
        self._sensor_R_root = np.array(mount.R.T, order='C')  # of one type with its copies
        self.stream = streams.make(
            source,
            4,
            quaternion=0,
            correction=mount.correction.timing(),
            may_be_stuck=source == 'position',
        )
        self._imu = imu if source == 'imu' else None
        self.available = True
        super().__init__((self.stream,), streams.patience)

    @property
    def sources(self) -> tuple[SampleBuffer, ...]:
        """What an instant waits for."""
        return (self.stream.buffer,) if self.available else ()

    @property
    def faults(self) -> Faults:
        """Messages without a usable orientation; what is wrong otherwise the sensor's own say."""
        return Faults({key: n for key, n in self.stream.faults.items() if key == _NO_ROTATION})

    def stuck_at(self, instants: Stamps, moving: Flags | None, around: bool = False) -> Flags:
        """(K,) at which decided instants [ns] its sensor is stuck; see `SampleStream.stuck_at`."""
        if moving is None:
            return np.zeros(len(instants), dtype=np.bool_)
        stuck = self.stream.stuck_at(instants, moving, around)
        return stuck if self._imu is None else stuck | self._imu.stuck_at(instants, moving, around)

    def at(self, instants: Stamps, moving: Flags | None = None) -> Array:
        """Give world_R_root (K, 3, 3) at decided instants [ns]; NaN where it is not known.

        Args:
            instants: (K,) [ns].
            moving: (K,) whether the joints move, so that a sensor that repeats itself is stuck.
        """
        quaternions = self.stream.buffer.at(instants).values
        R: Array = matrices_from_quaternions(quaternions) @ self._sensor_R_root
        if self.stream.was_stuck or (self._imu is not None and self._imu.was_stuck):
            R[self.stuck_at(instants, moving)] = np.nan
        return R


class WorldStage(Stage):
    """Localizes the root at the instants of the joints.

    Args:
        rig: the robot.
        streams: of its signals.
        source: of the orientation, 'imu' or 'position'.
        imu: see `OrientationStage`.

    Attributes:
        orientation: of the root.
        position: (3,) fixes of the positioned frame in the world [m]; None without.
    """

    def __init__(
        self,
        rig: Rig,
        streams: Streams,
        source: str = 'imu',
        imu: SampleStream | None = None,
    ) -> None:
        self.rig = rig
        self.orientation = OrientationStage(rig, streams, source, imu)
        self.position: SampleStream | None = None
        if rig.position is not None:
            self.position = streams.make(
                'position',
                3,
                largest=LARGEST_POSITION,
                correction=rig.position.correction,
                may_be_stuck=True,
            )
        positions = () if self.position is None else (self.position,)
        super().__init__((self.orientation.stream, *positions), streams.patience)
        self._located = SampleBuffer(6)
        self._located.give_up = self._give_up
        self.reset()

    @property
    def sources(self) -> tuple[SampleBuffer, ...]:
        """What an instant waits for."""
        located = () if self.position is None else (self._located,)
        return (*self.orientation.sources, *located)

    @property
    def awaited(self) -> str:
        """The signal whose next sample most likely decides an instant."""
        return 'orientation' if self.position is None or len(self._fixes) else 'position'

    def noise(self, imu: float | None) -> OdometryNoise:
        """Scatter of pose and velocity, given the time between the samples of the IMU [s]."""
        robot, position = self.rig.robot, self.position
        return OdometryNoise.of(
            robot.noise,
            robot.ir_md.difference,
            position.period if position is not None else None,
            self.orientation.stream.period,
            imu,
        )

    @property
    def position_faults(self) -> Faults:
        """Fixes and instants that could not be used, by reason."""
        return self.position.faults if self.position is not None else Faults()

    def reset(self) -> None:
        """Forget all samples; the faults stay."""
        super().reset()
        self._located.reset()
        self._localizer: Localizer | None = None
        self._fixes = Samples.empty(3)
        self._oriented = True

    def push_position(self, samples: Samples) -> None:
        """Take fixes (T, 3) [m]."""
        if self.position is not None and len(samples):
            self._fixes = Samples.joined([self._fixes, self.position.push(samples)])
            if self._oriented:
                self._located.expect(self.position.buffer.received_until)

    def decided(self, instants: Stamps, newest: int) -> int:
        """How many leading instants have all that they need, or never will; see `Stage`.

        To be asked when the samples of all signals that came together have been taken.
        """
        self._locate()
        return super().decided(instants, newest)

    def trim(self) -> None:
        """Drop samples that are too old to be needed."""
        self._locate()
        super().trim()

    def flush(self, final: bool = True) -> None:
        """Take in the last samples, as nothing follows; see `Stage`."""
        self.orientation.flush(final)
        self._flush_position(final)

    def evaluate(
        self,
        instants: Stamps,
        counted: Flags | slice = slice(None),
        moving: Flags | None = None,
    ) -> WorldState:
        """Give pose and velocity of the root at decided instants.

        Args:
            instants: (K,) [ns].
            counted: those of which the lacking are counted.
            moving: (K,) whether the joints move, so that a pose that repeats itself is stuck.
        """
        R = self.orientation.at(instants, moving)
        if self.position is None:
            nowhere = np.full((len(instants), 3), np.nan)
            return WorldState(R, nowhere, nowhere)
        located = self._located.at(instants)
        self.position.count_paired(located, counted)
        motion, rows = located.values, self._position_stuck(instants, moving)
        if rows.any():
            self.position.count_stuck(instants[counted], rows[counted])
            motion[rows] = np.nan
            if self.orientation.stream.signal == 'position':
                R[rows] = np.nan
        motion[self.orientation.stuck_at(instants, moving, around=True)] = np.nan
        return WorldState(R, motion[:, :3], motion[:, 3:])

    def at(self, instants: Stamps, moving: Flags | None = None) -> WorldState:
        """Do as `evaluate`, and count nothing."""
        return self.evaluate(instants, slice(0), moving)

    def _position_stuck(self, instants: Stamps, moving: Flags | None) -> Flags:
        if self.position is None or moving is None:
            return np.zeros(len(instants), dtype=np.bool_)
        return self.position.stuck_at(instants, moving, around=True)

    def forget(self, before: int) -> None:
        """Drop samples that no instant from `before` [ns] on needs."""
        self._locate()
        self._located.forget(before)
        if self.position is not None:
            self.position.buffer.forget(before)
            fixes = self._fixes.stamps if len(self._fixes) else [self.position.buffer.newest]
            before = min(before, int(fixes[0]))  # later fixes need the orientation as well
        self.orientation.forget(before)

    def _locate(self) -> None:
        """Give the localizer the fixes at which the orientation is known, or never will be."""
        if self.position is None or self.position.period is None or not len(self._fixes):
            return
        stamps = self._fixes.stamps
        count = self.orientation.decided(stamps, int(stamps[-1]))
        if not count:
            return
        R = self.orientation.at(stamps[:count])
        known = np.asarray(np.isfinite(R).all(axis=(1, 2)))
        fixes, self._fixes = (
            self._fixes.select(part) for part in (slice(count), slice(count, None))
        )
        self._oriented = bool(known[-1])
        if self._localizer is None:
            self._localizer = self._make_localizer(self.position)
        at = fixes.select(known)
        self._put(self._localizer.extend(at.stamps, at.values, R[known]))
        self._located.settled = self._localizer.settled

    def _flush_position(self, final: bool = True) -> None:
        if self.position is None:
            return
        self._fixes = Samples.joined([self._fixes, self.position.flush(final)])
        self._locate()
        if self._localizer is not None:
            self._put(self._localizer.flush())
        self._located.closed = True

    def _give_up(self) -> None:
        """Do so before a pause; not while the period is being learned."""
        if self._localizer is not None:
            self._flush_position()

    def _make_localizer(self, position: SampleStream) -> Localizer:
        assert self.rig.position is not None
        assert position.period is not None
        reach = self._located.reach = position.buffer.reach
        method = self.rig.robot.ir_md.difference
        return Localizer(self.rig.position.p, position.period, method=method, max_gap=reach)

    def _put(self, poses: RootPose) -> None:
        self._located.append(poses.stamps, np.hstack([poses.world_p_root, poses.linear_velocity]))


_NO_ROTATION = Fault(Reason.NO_ROTATION)
