"""The IMU in a foot as it speaks → the vertical in the sole at the instants of the joints."""

from collections import deque

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.live.root import IMU_LARGEST, live_low_pass
from izmp_dynamics.live.sample_queue import PATIENCE, SampleQueue, State
from izmp_dynamics.live.stage_output import StageOutput
from izmp_dynamics.replay.conditioning import reach
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.sensing.foot_imu import LONGEST_MEMORY, FootRest, FootTilt, foot_tilt


class LiveFootImu:
    """The live twin of `replay.foot_imus`, for one foot.

    Args:
        rig: the robot made ready.
        sole_R_imu: (3, 3) orientation of the IMU in the sole.
        patience: lag and silence beyond which instants do not wait [s].

    Attributes:
        queue: samples of the IMU.
    """

    def __init__(self, rig: Rig, sole_R_imu: Array, patience: float = PATIENCE) -> None:
        self._max_gap = rig.robot.pairing.max_gap
        self._patience = patience
        self._R = sole_R_imu
        self._rest = FootRest(gravity=rig.robot.gravity)
        self.queue = SampleQueue(self._max_gap, IMU_LARGEST, live_low_pass(rig), patience)
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the counts stay."""
        self.queue.reset()
        self._latest: deque[Array] | None = None
        self._backlog: list[tuple[int, Array]] = []
        self._tilts = StageOutput(self._max_gap, self._patience)

    def add(self, stamp: int, values: Array) -> None:
        """Take (6,) angular velocity [rad/s] and specific force [m/s²] in the sensor's axes."""
        self._take(self.queue.push(stamp, values))

    def flush(self) -> None:
        """Take in the last sample, as nothing follows."""
        self._take(self.queue.flush())

    def at(self, instant: int, newest_instant: int) -> tuple[State, FootTilt]:
        """Give the vertical at an instant [ns], not known while the foot moves."""
        answer = self._tilts.at(instant, newest_instant)
        up = np.full(3, np.nan) if answer.values is None else answer.values
        known = np.array([bool(np.isfinite(up).all())])
        return answer.state, FootTilt(up[None], known)

    def _take(self, admitted: tuple[int, Array] | None) -> None:
        """Find the vertical in the newest sample; the first wait until their period is known."""
        if admitted is not None:
            self._backlog.append(admitted)
        if self.queue.period is None:
            return
        if self._latest is None:
            self._latest = deque(maxlen=max(1, round(LONGEST_MEMORY / self.queue.period)))
            self._tilts = StageOutput(reach(self._max_gap, self.queue.period), self._patience)
        for stamp, values in self._backlog:
            self._latest.append(values)
            samples = np.array(self._latest)
            omega, force = samples[:, :3] @ self._R.T, samples[:, 3:] @ self._R.T
            tilt = foot_tilt(omega, force, len(samples), self._rest)
            self._tilts.push(stamp, tilt.up[-1])
        self._backlog.clear()
