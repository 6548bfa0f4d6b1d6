"""The robot's signals as arrays: what the evaluation needs, whatever it was recorded with."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from izmp_dynamics.conventions import Array, Stamps


@dataclass(frozen=True)
class Stream:
    """Samples of one topic in the order in which they arrived.

    Attributes:
        stamps: (T,) [ns].
        values: (T, m).
    """

    stamps: Stamps
    values: Array

    @classmethod
    def empty(cls, width: int) -> 'Stream':
        """No samples of m = `width` values."""
        return cls(np.empty(0, dtype=np.int64), np.empty((0, width)))

    @classmethod
    def joined(cls, streams: Iterable['Stream']) -> 'Stream':
        """One stream after the other."""
        parts = list(streams)
        return cls(
            np.concatenate([part.stamps for part in parts]),
            np.concatenate([part.values for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.stamps)

    def between(self, start: int, stop: int) -> 'Stream':
        """The samples with start ≤ stamp < stop [ns]."""
        rows = (self.stamps >= start) & (self.stamps < stop)
        return Stream(self.stamps[rows], self.values[rows])

    def rows(self, rows: np.ndarray) -> 'Stream':
        """The samples that a mask or indices select."""
        return Stream(self.stamps[rows], self.values[rows])


@dataclass(frozen=True)
class Signals:
    """All signals of a robot over some time; vectors in the axes of the sensors.

    Attributes:
        joints: per group of joints that are published together, (T, n) positions of all n joints
            of the model, NaN for those of other groups [rad] or [m].
        imu: (T, 6) angular velocity [rad/s] and specific force [m/s²].
        orientation: (T, 4) world_q_imu, x y z w; empty if the IMU gives none.
        accelerometers: (T, 3) specific force of each further accelerometer [m/s²].
        position: (T, 3) of the positioned frame in the world [m]; empty without one.
        pose: (T, 4) orientation that came with the position, x y z w; empty without one.
        wrenches: (T, 6) force [N] and moment [N·m] of each foot; empty without a sensor.
        foot_imus: (T, 6) angular velocity [rad/s] and specific force [m/s²] of each foot's IMU;
            empty without one.
        ground: (T, 7) pose of the moving ground in the frame that its messages name: position
            [m], quaternion x y z w; empty without one.
    """

    joints: tuple[Stream, ...]
    imu: Stream
    orientation: Stream
    accelerometers: tuple[Stream, ...]
    position: Stream
    pose: Stream
    wrenches: tuple[Stream, ...]
    foot_imus: tuple[Stream, ...] = ()
    ground: Stream = field(default_factory=lambda: Stream.empty(7))

    def streams(self) -> tuple[Stream, ...]:
        """All streams, in a fixed order."""
        return (
            *self.joints,
            self.imu,
            self.orientation,
            *self.accelerometers,
            self.position,
            self.pose,
            *self.wrenches,
            *self.foot_imus,
            self.ground,
        )

    def with_streams(self, streams: Iterable[Stream]) -> 'Signals':
        """The same signals with other samples, in the order of `streams()`."""
        left = list(streams)

        def take(count: int) -> tuple[Stream, ...]:
            taken = tuple(left[:count])
            del left[:count]
            return taken

        return Signals(
            joints=take(len(self.joints)),
            imu=take(1)[0],
            orientation=take(1)[0],
            accelerometers=take(len(self.accelerometers)),
            position=take(1)[0],
            pose=take(1)[0],
            wrenches=take(len(self.wrenches)),
            foot_imus=take(len(self.foot_imus)),
            ground=take(1)[0],
        )

    def between(self, start: int, stop: int) -> 'Signals':
        """The samples with start ≤ stamp < stop [ns]."""
        return self.with_streams(stream.between(start, stop) for stream in self.streams())

    def followed_by(self, later: 'Signals') -> 'Signals':
        """These samples, then those of `later`."""
        return self.with_streams(
            Stream.joined(pair) for pair in zip(self.streams(), later.streams(), strict=True)
        )
