"""The clocks of the topics: a single wrong stamp is left out, a clock that was set is followed.

A stamp far from those before it is doubtful. If the following ones go on from there, the clock was
set: forwards, which leaves a gap like any other, or backwards (a simulation was reset, a recording
plays again), after which nothing of the time before may be paired with what follows. If they do
not, the stamp was wrong.
"""

from collections import Counter

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds

BACK = nanoseconds(1.0)
"""A stamp that is older than the newest one by more was not merely delayed [ns]."""

AHEAD = nanoseconds(10.0)
"""A stamp that is newer than the newest one by more is wrong, or the clock was set [ns]."""

CONFIRMATIONS = 3
"""Samples in a row that must agree: a single wrong stamp is not a new time."""

LONGEST_WAIT = 2.0
"""Clocks that were set back wait so long for the others, by their own stamps [s]."""

MOST_HELD = 10_000
"""And while no more samples than these come, in case their stamps stand still."""


class ClockGate:
    """Follows the stamps of one topic.

    Attributes:
        faults: samples that were left out, by reason.
        newest: newest stamp of the present time [ns]; 0 before any.
        held: what is doubtful, or belongs to a new time; None if there is nothing.
        turned: whether the clock was set back; what came since is held until `release`.
    """

    def __init__(self) -> None:
        self.faults: Faults = Counter()
        self.reset()

    def reset(self) -> None:
        """Forget all stamps and what is held; the faults stay."""
        self.newest = 0
        self.held: Samples | None = None
        self.turned: bool = False
        self._outdated = False
        self._left: int | None = None
        self._ahead_for = 0

    @property
    def is_overdue(self) -> bool:
        """Whether a clock that was set back has waited for the others long enough."""
        if self.held is None:
            return False
        longest = NANOSECONDS * LONGEST_WAIT
        return len(self.held) > MOST_HELD or bool(np.ptp(self.held.stamps) > longest)

    def admit(self, samples: Samples) -> Samples:
        """Take samples in the order of arrival; return those of the present time."""
        if not len(samples):
            return samples
        if self.turned:
            self._hold(samples)
            return samples.select(slice(0))
        if self.held is None and not self._outdated and self._left is None:
            steady, newest = _steady(samples.stamps, self.newest)
            if steady:
                self.newest = newest
                return samples
        admitted: list[Samples] = []
        for row in range(len(samples)):
            admitted += self._judge(samples.select(slice(row, row + 1)))
        return Samples.joined([samples.select(slice(0)), *admitted])

    def release(self) -> Samples | None:
        """Begin the new time of a clock that turned; return what was held, to be admitted."""
        held = self.held
        self.reset()
        return held

    def expect_turn(self) -> None:
        """Leave out what still comes from the time before, until this clock turns as well."""
        self._outdated = self.newest > 0

    def _hold(self, samples: Samples) -> None:
        self.held = samples if self.held is None else Samples.joined([self.held, samples])

    def _judge(self, one: Samples) -> list[Samples]:
        """Judge one sample; return those of the present time that it settles."""
        stamp = int(one.stamps[0])
        if self.turned:
            self._hold(one)
            return []
        if stamp <= 0:
            return [one]
        if not self.newest or -BACK <= stamp - self.newest <= AHEAD or self._returns(stamp):
            self.drop_doubtful()
            self._follow(stamp)
            if self._outdated:
                self.faults[Fault(Reason.CLOCK_SET_BACK)] += 1
                return []
            return [one]
        if self.held is not None and abs(stamp - int(self.held.stamps[-1])) > AHEAD:
            self.drop_doubtful()
        self._hold(one)
        assert self.held is not None
        if len(self.held.stamps) < CONFIRMATIONS:
            return []
        if stamp < self.newest and not self._outdated:
            self.turned = True
            return []
        held, self.held, self.newest, self._outdated = self.held, None, stamp, False
        return [held]

    def _follow(self, stamp: int) -> None:
        """Take the stamp for the time; after a pause it may still turn out to be wrong."""
        if self.newest and stamp - self.newest > BACK:
            self._left, self._ahead_for = self.newest, 0
        elif self._left is not None:
            self._ahead_for += 1
            if self._ahead_for >= CONFIRMATIONS:
                self._left = None
        self.newest = max(self.newest, stamp)

    def _returns(self, stamp: int) -> bool:
        """Whether the stamps were ahead by mistake and are back where they left off."""
        if self._left is None or not -BACK <= stamp - self._left <= BACK:
            return False
        self.newest, self._left = self._left, None
        return True

    def drop_doubtful(self) -> None:
        """Leave out and count stamps that were far from all others."""
        if self.held is not None and not self.turned:
            self.faults[Fault(Reason.STAMP_FAR)] += len(self.held.stamps)
            self.held = None


@kernel
def _steady(stamps: Stamps, newest: int) -> tuple[bool, int]:
    """Whether no stamp is doubtful, the usual case; the newest one by then."""
    for stamp in stamps:
        if stamp > 0:
            if newest and abs(stamp - newest) > BACK:
                return False, newest
            newest = max(newest, stamp)
    return True, newest


class Clocks:
    """The clocks of all topics of a robot; that of the joints leads, as theirs are the instants.

    Args:
        leading: name of the leading topic.

    Attributes:
        gates: topic → its clock.
    """

    def __init__(self, leading: str) -> None:
        self.leading = leading
        self.gates: dict[str, ClockGate] = {}

    def admit(self, name: str, samples: Samples) -> Samples:
        """Take samples of a topic; return those of the present time."""
        gate = self.gates.get(name)
        if gate is None:
            gate = self.gates[name] = ClockGate()
        return gate.admit(samples)

    @property
    def newest(self) -> int:
        """Newest stamp of the present time [ns]; 0 before any."""
        return max((gate.newest for gate in self.gates.values()), default=0)

    @property
    def new_time(self) -> bool:
        """Whether a new time begins: the leading clock was set back, and no other is awaited."""
        leading = self.gates.get(self.leading)
        if leading is None or not leading.turned:
            return False
        return leading.is_overdue or not self._behind(leading)

    @property
    def turned(self) -> tuple[str, ...]:
        """Topics whose clock was set back, and what came since is held."""
        return tuple(name for name, gate in self.gates.items() if gate.turned)

    @property
    def alone(self) -> list[str]:
        """Topics whose clock was set back without the leading one."""
        leading = self.gates.get(self.leading)
        if leading is not None and leading.turned:
            return []
        return [
            name
            for name, gate in self.gates.items()
            if gate.turned and (leading is None or gate.is_overdue)
        ]

    def begin_new_time(self) -> dict[str, Samples]:
        """Follow the leading clock; return what was held, to be admitted."""
        for gate in self._behind(self.gates[self.leading]):
            gate.expect_turn()
        held = {name: self.gates[name].release() for name in self.turned}
        return {name: samples for name, samples in held.items() if samples is not None}

    def _behind(self, leading: ClockGate) -> list[ClockGate]:
        """Clocks that have not turned yet: they are ahead of the leading one's new time."""
        assert leading.held is not None
        time = int(leading.held.stamps[-1])
        return [
            gate for gate in self.gates.values() if not gate.turned and gate.newest - time > BACK
        ]
