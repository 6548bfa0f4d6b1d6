"""Joints that are published for a part of a recording only."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from izmp_dynamics.bags.messages import JointStateBatch
from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.results.evaluation import Outage

LONG_ENOUGH = 0.5
"""A joint without a value for less at the beginning or the end is not remarked on [s]."""


class JointPresence:
    """Notes when each published joint has its first and its last value.

    Args:
        names: joints of the model.
        published: columns of q that the recording has.
    """

    def __init__(self, names: Sequence[str], published: Collection[int]) -> None:
        self._columns = sorted(published)
        self._names = [names[column] for column in self._columns]
        self._seen = np.zeros(len(self._names), np.bool_)
        self._first = np.zeros(len(self._names), np.int64)
        self._last = np.zeros(len(self._names), np.int64)
        self._begin, self._end = 0, 0

    def watch(self, read: JointStateBatch) -> None:
        """Take note of messages."""
        if not len(read.stamps) or not self._columns:
            return
        present = read.present[:, self._columns]
        there = present.any(axis=0)
        if not self._seen.any():
            self._begin = int(read.stamps[0])
        self._end = max(self._end, int(read.stamps[-1]))
        first = read.stamps[present.argmax(axis=0)]
        last = read.stamps[len(present) - 1 - present[::-1].argmax(axis=0)]
        self._first = np.where(there & ~self._seen, first, self._first)
        self._last = np.where(there, last, self._last)
        self._seen |= there

    def outages(self, topic: str) -> Iterator[Outage]:
        """Name joints without a value from the beginning or to the end, those alike together."""
        alike: dict[tuple[int, int], list[str]] = {}
        for name, first, last in zip(self._names, self._first, self._last, strict=True):
            for begin, end in ((self._begin, int(first)), (int(last), self._end)):
                if end - begin > LONG_ENOUGH * NANOSECONDS:
                    alike.setdefault((begin, end), []).append(name)
        for (begin, end), names in alike.items():
            yield Outage(f'{topic} ({list_names(names)})', begin, end, 'lacks')

    def findings(self, topic: str, origin: int) -> Iterator[Finding]:
        """Say of which joints there is no value when; times count from `origin` [ns]."""
        for outage in self.outages(topic):
            begin, end = ((at - origin) / NANOSECONDS for at in (outage.begin, outage.end))
            when = f'before {end:.2f} s' if outage.begin == self._begin else f'after {begin:.2f} s'
            yield Finding(
                'joint_stops',
                'warning',
                f'{outage.topic}: no value {when}, for {end - begin:.2f} s. Nothing that rests on '
                'all joints is evaluated meanwhile.',
                'Does the driver of these joints start late or stop, or another publisher?',
            )
