"""Results of other nodes, given in the place of the stages that would compute them.

A given result has exactly the stamp of its instant. The signals that a stage would need then only
show their rates, which the noise of the results depends on.
"""

from collections import Counter
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, Stamps, all_finite
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.rotations import matrices_from_quaternions
from izmp_dynamics.pipeline.joints import JointGroup, JointStage
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.pipeline.world import WorldStage, WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.signals.buffer import SampleBuffer
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Stage, Streams
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.signals.stream import SampleStream

LONGEST_WAIT = 8.0
"""An instant does not wait for a result that is behind by more [s]; for sensors it waits less."""

CAPACITY = 4000
"""Results that are kept."""

AWAITED = 1.0
"""Time that accelerometers are given to publish; then the gyroscope stands in for them [s]."""

JOINTS = 'joint_kinematics'
"""Given joints: (3n,) q, q̇, q̈; NaN where a joint has no value."""


class Result(Stage):
    """A topic of results.

    Args:
        signal: its name.
        width: numbers of a result; what is not finite counts as none.

    Attributes:
        newest: stamp of the newest result [ns]; 0 before any.
        faults: instants without a result.
    """

    def __init__(self, signal: str, width: int) -> None:
        super().__init__(())
        self.signal = signal
        self.faults: Faults = Counter()
        self._nothing = np.full(width, np.nan)
        self.reset()

    def reset(self) -> None:
        """Forget all results; the faults stay."""
        self._values: dict[int, Array] = {}
        self.newest = self._first = self._missed = 0
        self._closed = False

    def push(self, samples: Samples) -> None:
        """Take results (T, m)."""
        samples.check_width(self.signal, len(self._nothing))
        for stamp, values in zip(samples.stamps.tolist(), samples.values, strict=True):
            self._values.setdefault(stamp, values)
            self.newest, self._closed = max(self.newest, stamp), False
            if len(self._values) > CAPACITY:
                del self._values[next(iter(self._values))]

    def decided(self, instants: Stamps, newest: int) -> int:
        """How many leading instants have a result, or never will; see `Stage`."""
        for count, instant in enumerate(instants.tolist()):
            if self._closed or self.newest >= instant:
                continue
            self._first = self._first or instant
            if newest - max(self.newest, self._first) <= nanoseconds(LONGEST_WAIT):
                return count
        return len(instants)

    def at(self, instants: Stamps) -> Array:
        """Give the results (K, m) of decided instants; NaN where there is none."""
        values = [self._at(instant) for instant in instants.tolist()]
        return np.array(values).reshape(len(instants), len(self._nothing))

    def _at(self, instant: int) -> Array:
        values = self._values.get(instant)
        if values is not None and all_finite(values):
            return values
        if instant > self._missed:
            self._missed = instant
            self.faults[Fault(Reason.NO_SAMPLE)] += 1
        return self._nothing

    def forget(self, before: int) -> None:
        """Drop the results of instants before that one [ns]."""
        while self._values and next(iter(self._values)) < before:
            del self._values[next(iter(self._values))]

    def flush(self, final: bool = True) -> None:
        """Wait no longer, as nothing follows; see `Stage`."""
        self._closed = True


class GivenJoints(JointStage):
    """Joint kinematics that are given; the messages of the joints show which come together."""

    def reset(self) -> None:
        """Forget all samples and what was learned; the faults stay."""
        super().reset()
        self._latest = 0

    def give(self, samples: Samples) -> JointKinematics:
        """Take joint kinematics (T, 3n); repeated and older instants are left out."""
        samples.check_width(JOINTS, 3 * self.model.dof)
        if len(samples) > 1 or samples.stamps[0] <= self._latest:
            before = np.maximum.accumulate(np.append(self._latest, samples.stamps))
            samples = samples.select(samples.stamps > before[:-1])
        if not len(samples):
            return self._none
        self._latest = int(samples.stamps[-1])
        values = samples.values.reshape(len(samples), 3, self.model.dof)
        q, qd, qdd = (np.ascontiguousarray(values[:, k]) for k in range(3))
        valid = np.asarray(np.isfinite(samples.values).all(axis=1))
        return JointKinematics(samples.stamps, q, qd, qdd, valid)

    def on_bus(self, stamps: Stamps) -> Flags:
        """Which instants reach the bus: all that are given."""
        return np.ones(len(stamps), dtype=np.bool_)

    def due(self, stamp: int) -> int:
        """Nothing is known about what follows; see `JointStage`."""
        return 0

    def _add_group(self, group: JointGroup) -> None:
        self.groups = (*self.groups, group)
        self._unknown[list(group.columns)] = False

    def _evaluate(self, samples: Samples) -> JointKinematics:
        present = ~np.isnan(samples.values)
        if (self._unknown & present).any():
            self._see_unknown(samples.stamps, present)
        return self._none


class GivenRoot(RootStage):
    """Motion of the root that is given; the samples of its sensors show their rates.

    Attributes:
        results: ω, and φ with ω̇.
        learns: whether the accelerometers, if there are any, publish here.
    """

    def __init__(self, rig: Rig, streams: Streams) -> None:
        self.parts = self.results = (Result('root_twist', 6), Result('root_acceleration', 6))
        self.learns = False
        self._since = 0
        super().__init__(rig, streams)

    @property
    def sources(self) -> tuple[SampleBuffer, ...]:
        """What an instant waits for: nothing but the results."""
        return ()

    @property
    def periods(self) -> tuple[float, ...] | None:
        """As those of `RootStage`; None while accelerometers may still begin to publish."""
        if self.method == 'accelerometers' and self.without_messages:
            return None
        return super().periods

    def push_imu(self, samples: Samples) -> None:
        """Take samples (T, 6) of the IMU."""
        _learn(self.imu, samples)

    def push_accelerometer(self, index: int, samples: Samples) -> None:
        """Take samples (T, 3) of a further accelerometer."""
        _learn(self.accelerometers[index], samples)
        if not self.without_messages:
            self.method = self._chosen

    def flush(self, final: bool = True) -> None:
        """Wait no longer, as nothing follows; see `Stage`."""
        for result in self.results:
            result.flush(final)

    def evaluate(self, instants: Stamps) -> RootState:
        """Give the motion of the root at decided instants (K,) [ns]."""
        if self.learns and len(instants) and self.method == 'accelerometers':
            self._since = self._since or int(instants[0])
            if self.without_messages and instants[-1] - self._since >= nanoseconds(AWAITED):
                self.method = 'gyro'
        twist, acceleration = (result.at(instants) for result in self.results)
        parts = (twist[:, 3:], acceleration[:, 3:], acceleration[:, :3])
        return RootState(instants, *map(np.ascontiguousarray, parts))


class GivenWorld(WorldStage):
    """Pose and velocity of the root that are given; its orientation may be another one."""

    def __init__(self, rig: Rig, *given: Any, **options: Any) -> None:
        self.result = Result('odom', 13)
        self.parts = (self.result,)
        super().__init__(rig, *given, **options)

    @property
    def sources(self) -> tuple[SampleBuffer, ...]:
        """What an instant waits for: nothing but the result."""
        return ()

    def flush(self, final: bool = True) -> None:
        """Take in the last samples, as nothing follows; see `Stage`."""
        super().flush(final)
        self.result.flush(final)

    def decided(self, instants: Stamps, newest: int) -> int:
        """How many leading instants have all that they need, or never will; see `Stage`."""
        return self.result.decided(instants, newest)

    def evaluate(
        self,
        instants: Stamps,
        counted: Flags | slice = slice(None),
        moving: Flags | None = None,
    ) -> WorldState:
        """Give pose and velocity of the root at decided instants; see `WorldStage`."""
        values = self.result.at(instants)
        R = matrices_from_quaternions(np.ascontiguousarray(values[:, 3:7]))
        v = np.einsum('kij,kj->ki', R, values[:, 7:10])
        return WorldState(R, np.ascontiguousarray(values[:, :3]), v)

    def angular_velocity(self, instants: Stamps) -> Array:
        """Give ω (K, 3) in root axes [rad/s]; NaN where it is not known."""
        return np.ascontiguousarray(self.result.at(instants)[:, 10:])

    def forget(self, before: int) -> None:
        """Drop what no instant from `before` [ns] on needs."""
        self.result.forget(before)
        self.orientation.forget(before)


def _learn(stream: SampleStream, samples: Samples) -> None:
    """Show samples to a stream whose period is not known."""
    if stream.period is None:
        stream.push(samples)
