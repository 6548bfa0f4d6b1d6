"""IMU and accelerometers as they arrive → motion of the root at the instants of the joints."""

from collections import Counter, deque

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.live.sample_queue import PATIENCE, Answer, SampleQueue, State
from izmp_dynamics.live.stage_output import StageOutput
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.credible import LARGEST_ACCELERATION, LARGEST_RATE
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.replay.root import RootStage
from izmp_dynamics.sensing.root_state import RootState

IMU_LARGEST = np.repeat([LARGEST_RATE, LARGEST_ACCELERATION], 3)


class LiveRoot:
    """Angular acceleration from the accelerometers, or from the gyroscope's difference.

    With the method 'auto', accelerometers that are in the robot file but say nothing are done
    without, as in a replay of a recording that lacks them, until all of them have spoken.

    Args:
        rig: the robot made ready.
        patience: lag and silence beyond which instants do not wait for a sensor [s].

    Attributes:
        method: 'accelerometers' or 'gyro', as it is now.
        warnings: what is bad about the sensors' layout.
    """

    def __init__(self, rig: Rig, patience: float = PATIENCE) -> None:
        self.rig = rig
        self._patience = patience
        stage = RootStage(rig, Conditioning(rig.robot, {'imu': 0.01}))
        self.method = self._chosen = stage.method
        self._may_fall_back = rig.robot.angular_acceleration.method == 'auto'
        self.warnings = stage.warnings
        low_pass = live_low_pass(rig)
        max_gap = rig.robot.pairing.max_gap
        self.imu = SampleQueue(max_gap, IMU_LARGEST, low_pass, patience)
        self.accelerometers = tuple(
            SampleQueue(max_gap, LARGEST_ACCELERATION, low_pass, patience)
            for _ in rig.accelerometers
        )
        if self.method == 'accelerometers':
            self._array = stage.array
            self._array.warm_up()
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the counts stay."""
        for queue in self.queues:
            queue.reset()
        self._pending: deque[int] = deque()
        self.method = self._chosen
        self._forget_gyro()

    def _forget_gyro(self) -> None:
        self._stage: RootStage | None = None
        self._backlog: list[tuple[int, Array]] = []
        self._gyro_output = StageOutput(self.rig.robot.pairing.max_gap, self._patience)

    @property
    def queues(self) -> tuple[SampleQueue, ...]:
        """The samples of the IMU, then those of the accelerometers."""
        return (self.imu, *self.accelerometers)

    @property
    def fell_back(self) -> bool:
        """Whether the gyroscope stands in for accelerometers that are silent."""
        return self.method != self._chosen

    @property
    def silent(self) -> tuple[int, ...]:
        """Indices of the accelerometers that have not said anything so far."""
        return tuple(k for k, queue in enumerate(self.accelerometers) if not queue.heard)

    def counts(self) -> Counter[str]:
        """What the differentiation of the gyroscope left out, by reason."""
        return Counter() if self._stage is None else self._stage.gyro.counts

    def add_instant(self, stamp: int) -> list[RootState]:
        """Ask for the motion at an instant [ns]; return the instants that are complete."""
        self._pending.append(stamp)
        return self._completed()

    def add_imu(self, stamp: int, values: Array) -> list[RootState]:
        """Take (6,) angular velocity [rad/s] and specific force [m/s²] in sensor axes."""
        admitted = self.imu.push(stamp, values)
        if self.method == 'gyro' and admitted is not None:
            self._differentiate(*admitted)
        return self._completed()

    def add_accelerometer(self, index: int, stamp: int, values: Array) -> list[RootState]:
        """Take (3,) the specific force of a further accelerometer in sensor axes [m/s²]."""
        self.accelerometers[index].push(stamp, values)
        if self.fell_back and not self.silent:
            self.method = self._chosen
            self._forget_gyro()
        return self._completed()

    def flush(self) -> list[RootState]:
        """Take in the last samples, as nothing follows."""
        for queue in self.queues:
            admitted = queue.flush()
            if queue is self.imu and self.method == 'gyro' and admitted is not None:
                self._differentiate(*admitted)
        if self._stage is not None:
            self._put(self._stage.gyro.flush())
        return self._completed()

    def _completed(self) -> list[RootState]:
        done = []
        while self._pending:
            answers = self._answers(self._pending[0], self._pending[-1])
            if any(answer.state is State.WAIT for answer in answers):
                break
            if self.method == 'accelerometers' and self._may_fall_back and self.silent:
                self._fall_back()
                continue
            stamp = self._pending.popleft()
            values = [answer.values for answer in answers if answer.values is not None]
            if len(values) == len(answers):
                done.append(self._state(stamp, values))
        return done

    def _fall_back(self) -> None:
        """Difference the gyroscope, from the first of its samples that is still here."""
        self.method = 'gyro'
        for stamp, values in self.imu.kept():
            self._differentiate(stamp, values)

    def _answers(self, instant: int, newest: int) -> list[Answer]:
        if self.method == 'gyro':
            return [self._gyro_output.at(instant, newest)]
        return [queue.at(instant, newest) for queue in self.queues]

    def _state(self, stamp: int, values: list[Array]) -> RootState:
        if self.method == 'gyro':
            omega, alpha, phi = values[0].reshape(3, 1, 3)
            return RootState(np.array([stamp]), omega, alpha, phi, np.ones(1, dtype=np.bool_))
        sensors = self._array.accelerometers
        readings = {sensors[0].name: values[0][3:]}
        for sensor, reading in zip(sensors[1:], values[1:], strict=True):
            readings[sensor.name] = sensor.readings(reading)
        return self._array.update(stamp, self.rig.imu.R @ values[0][:3], readings)

    def _differentiate(self, stamp: int, values: Array) -> None:
        """Difference the gyroscope; its samples are kept until their period is known."""
        self._backlog.append((stamp, values))
        if self.imu.period is None:
            return
        if self._stage is None:
            self._stage = RootStage(
                self.rig, Conditioning(self.rig.robot, {'imu': self.imu.period})
            )
            self._gyro_output = StageOutput(self._stage.gyro.max_gap, self._patience)
        R = self.rig.imu.R
        for earlier, sample in self._backlog:
            self._put(self._stage.gyro.update(earlier, R @ sample[:3], R @ sample[3:]))
        self._backlog.clear()

    def _put(self, state: RootState) -> None:
        values = np.hstack(
            [state.angular_velocity, state.angular_acceleration, state.proper_acceleration]
        )
        for stamp, row in zip(state.stamps.tolist(), values, strict=True):
            self._gyro_output.push(stamp, row)


def live_low_pass(rig: Rig) -> tuple[float, int] | None:
    """Cut-off [Hz] and order of the filter of a robot file; None without."""
    low_pass = rig.robot.low_pass
    return None if low_pass.cutoff is None else (low_pass.cutoff, low_pass.order)
