"""IMUs in the feet → the vertical in every sole at the instants of the joints."""

import numpy as np

from izmp_dynamics.conventions import Stamps
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.replay.signals import Stream
from izmp_dynamics.sensing.foot_imu import LONGEST_MEMORY, FootRest, FootTilt, foot_tilt


class FootImuStage:
    """Evaluates the IMUs in the feet of a robot.

    Args:
        rig: the robot.
        conditioning: of its signals.
    """

    def __init__(self, rig: Rig, conditioning: Conditioning) -> None:
        self.rig = rig
        self.conditioning = conditioning
        self._rest = FootRest(gravity=rig.robot.gravity)

    @property
    def context(self) -> float:
        """Time before and after an instant that its values depend on [s]."""
        measured = any(foot.sole_R_imu is not None for foot in self.rig.feet)
        return 2.0 * LONGEST_MEMORY if measured else 0.0

    def evaluate(
        self, instants: Stamps, streams: tuple[Stream, ...], counts: Counts
    ) -> tuple[FootTilt, ...]:
        """Give the vertical in every sole.

        Args:
            instants: (K,) [ns].
            streams: (T, 6) angular velocity [rad/s] and specific force [m/s²] of each foot's IMU
                in its frame; empty without one.
            counts: takes what was gated.
        """
        return tuple(
            self._tilt(foot, stream, instants, counts) for foot, stream in enumerate(streams)
        )

    def _tilt(self, foot: int, stream: Stream, instants: Stamps, counts: Counts) -> FootTilt:
        rig = self.rig.feet[foot]
        if rig.sole_R_imu is None or not len(stream):
            return FootTilt(
                np.full((len(instants), 3), np.nan), np.zeros(len(instants), dtype=np.bool_)
            )
        signal = f'foot_imus[{rig.name}]'
        usable = self.conditioning.usable(signal, stream, counts)
        R = rig.sole_R_imu
        memory = round(LONGEST_MEMORY / self.conditioning.periods[signal])
        omega, force = usable.values[:, :3] @ R.T, usable.values[:, 3:] @ R.T
        tilt = foot_tilt(omega, force, memory, self._rest)
        silent = Counts(counts.stop, counts.stop)  # a foot that moves is no fault
        at_rest = Stream(usable.stamps, tilt.up)
        paired = self.conditioning.at(instants, signal, at_rest, silent)
        return FootTilt(paired.values, paired.valid)
