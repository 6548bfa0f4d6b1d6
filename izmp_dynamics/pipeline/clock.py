"""The clock of one topic: a single wrong stamp is left out, a clock that was set is followed.

A stamp far from those before it is doubtful. If the following ones go on from there, the clock was
set: forwards, which leaves a gap like any other, or backwards (a simulation was reset, a recording
plays again), after which nothing of the time before may be paired with what follows. If they do
not, the stamp was wrong.
"""

from collections import Counter

import numpy as np

from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.pipeline.samples import Samples
from izmp_dynamics.sensing.faults import Fault, Faults, Reason
from izmp_dynamics.sensing.stamps import nanoseconds

BACK = nanoseconds(1.0)
"""A stamp that is older than the newest one by more was not merely delayed [ns]."""

AHEAD = nanoseconds(10.0)
"""A stamp that is newer than the newest one by more is wrong, or the clock was set [ns]."""

CONFIRMATIONS = 3
"""Samples in a row that must agree: a single wrong stamp is not a new time."""


class ClockGate:
    """Follows the stamps of one topic.

    Attributes:
        faults: samples that were left out, by reason.
        turned: whether the clock was set back; what came since is held until `release`.
    """

    def __init__(self) -> None:
        self.faults: Faults = Counter()
        self.reset()

    def reset(self) -> None:
        """Forget all stamps and what is held; the faults stay."""
        self._newest = 0
        self._held: Samples | None = None
        self._outdated = False
        self.turned = False

    @property
    def held_for(self) -> float:
        """Time that the samples span which are held [s]."""
        stamps = self._held.stamps if self._held is not None else np.zeros(1, dtype=np.int64)
        return float(np.ptp(stamps)) / NANOSECONDS

    def admit(self, samples: Samples) -> Samples:
        """Take samples in the order of arrival; return those of the present time."""
        if not len(samples):
            return samples
        if self._held is None and not self._outdated and self._is_steady(samples):
            return samples
        admitted = []
        for row in range(len(samples)):
            admitted += self._judge(samples.rows(slice(row, row + 1)))
            if self.turned:
                rest = samples.rows(slice(row + 1, None))
                self._held = rest if self._held is None else self._held.followed_by(rest)
                break
        return _joined(admitted, samples)

    def release(self) -> Samples | None:
        """Begin the new time: forget the old one; return what was held, to be admitted again.

        A clock that has not turned is to follow: its samples are left out until it does.
        """
        held, turned = self._held, self.turned
        if not turned:
            self._outdated = self._newest > 0
            return None
        self.reset()
        return held

    def _is_steady(self, samples: Samples) -> bool:
        """Whether no stamp is doubtful, the usual case; follows them if so."""
        stamps = samples.stamps
        if len(stamps) == 1:
            stamp = int(stamps[0])
            if self._newest and stamp > 0 and not -BACK <= stamp - self._newest <= AHEAD:
                return False
            self._newest = max(self._newest, stamp)
            return True
        known = stamps[stamps > 0]
        if not len(known):
            return True
        newest = np.maximum.accumulate(np.append(self._newest or known[0], known))
        steps = known - newest[:-1]
        if steps.min() < -BACK or steps.max() > AHEAD:
            return False
        self._newest = int(newest[-1])
        return True

    def _judge(self, sample: Samples) -> list[Samples]:
        """Judge one sample; return those of the present time that it settles."""
        stamp = int(sample.stamps[0])
        if stamp <= 0:
            return [sample]
        if not self._newest or -BACK <= stamp - self._newest <= AHEAD:
            if self._held is not None:
                self.faults[Fault(Reason.STAMP_FAR)] += len(self._held)
                self._held = None
            self._newest = max(self._newest, stamp)
            if self._outdated:
                self.faults[Fault(Reason.CLOCK_SET_BACK)] += 1
                return []
            return [sample]
        if self._held is not None and abs(stamp - int(self._held.stamps[-1])) > AHEAD:
            self.faults[Fault(Reason.STAMP_FAR)] += len(self._held)
            self._held = None
        self._held = sample if self._held is None else self._held.followed_by(sample)
        if len(self._held) < CONFIRMATIONS:
            return []
        if stamp < self._newest and not self._outdated:
            self.turned = True
            return []
        held, self._held, self._newest, self._outdated = self._held, None, stamp, False
        return [held]


def _joined(parts: list[Samples], like: Samples) -> Samples:
    if not parts:
        return like.rows(slice(0, 0))
    return Samples(
        np.concatenate([part.stamps for part in parts]),
        np.concatenate([part.values for part in parts]),
    )
