"""Samples of a sensor that wait to be paired with the instants of the joints.

The live twin of `replay.pairing` and of the gates before it, with the same numbers: a sample
whose stamp is the wanted instant is used as it is; else its two neighbours are interpolated, if
they are close enough. What differs is time: an instant may have to wait for its sample. It waits
while the sensor is alive, and not for a sensor that fell silent. A sample of the wanted stamp is
used at once; to interpolate, the next one is awaited, which shows that the stamp is good.
"""

import time
from bisect import bisect_left
from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from izmp_dynamics.conventions import NANOSECONDS, Array
from izmp_dynamics.replay.conditioning import reach
from izmp_dynamics.sensing.stamps import StampGate, nanoseconds

if TYPE_CHECKING:  # scipy.signal takes long to import and most robots need no filter
    from izmp_dynamics.sensing.low_pass import CausalLowPass

HORIZON = 10.0
"""Samples older than this against the newest one are forgotten [s]."""

CAPACITY = 8192
"""No more samples than these are kept."""

PATIENCE = 0.5
"""Instants wait no longer for a sensor whose stamps lag so far and that is silent so long [s]."""

LEARNED_STEPS = 10
"""Steps between samples from which the period is learned."""


class State(Enum):
    """Whether an instant can be answered."""

    READY = 'ready'
    WAIT = 'wait'
    MISSING = 'missing'


class Answer(NamedTuple):
    """The value at an instant, if there is one."""

    state: State
    values: Array | None = None


WAIT, MISSING = Answer(State.WAIT), Answer(State.MISSING)


class Patience:
    """Judges whether it is worth waiting for a stream.

    Args:
        limit: lag and silence beyond which it is not [s].
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.reset()

    def reset(self) -> None:
        """Forget when it was heard."""
        self._first_instant = 0
        self._heard = time.monotonic()

    def hear(self) -> None:
        """Note that something came."""
        self._heard = time.monotonic()

    def is_over(self, instant: int, newest: int, newest_instant: int, period: float) -> bool:
        """Tell whether to give up; who is alive is given more time, as it may only be held up.

        Args:
            instant: that waits [ns].
            newest: newest stamp of the stream [ns]; 0 if there is none.
            newest_instant: the newest instant that waits [ns].
            period: of the stream [s].
        """
        self._first_instant = self._first_instant or instant
        lag = (newest_instant - max(newest, self._first_instant)) / NANOSECONDS
        patience = max(self.limit, 4.0 * period)
        if lag <= patience:
            return False
        return lag > max(HORIZON, patience) or time.monotonic() - self._heard > patience


class SampleQueue:
    """Gates, keeps and pairs the samples of one sensor.

    Args:
        max_gap: longest time between two samples that is interpolated across [s]; two and a half
            periods of the sensor if that is longer.
        largest: size that no such sensor can read, one number or one per column.
        low_pass: cut-off [Hz] and order of a causal filter; None: unfiltered.
        patience: lag and silence beyond which instants do not wait [s].

    Attributes:
        counts: samples and instants that could not be used, by reason.
        newest: stamp of the newest usable sample [ns]; 0 before there is one.
        period: median time between the first samples [s]; None until there are enough.
    """

    def __init__(
        self,
        max_gap: float,
        largest: Array | float = np.inf,
        low_pass: tuple[float, int] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._max_gap = max_gap
        self._largest = largest
        self._low_pass = low_pass
        self._patience = Patience(patience)
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the counts stay."""
        self.newest = 0
        self._latest: tuple[int, Array] = (0, np.empty(0))
        self.period: float | None = None
        self._filter: CausalLowPass | None = None
        self._gate: StampGate[Array] = StampGate()
        self._gate.gated = self.counts
        self._stamps: list[int] = []
        self._values: list[Array] = []
        self._steps: list[int] = []
        self._patience.reset()

    def push(self, stamp: int, values: Array) -> tuple[int, Array] | None:
        """Take a sample.

        Args:
            stamp: [ns].
            values: (m,).

        Returns:
            The sample that became usable with it, usually the one before.
        """
        self._patience.hear()
        if not np.isfinite(values).all():
            self.counts['value is not finite'] += 1
            return None
        if (np.abs(values) > self._largest).any():
            self.counts['value is larger than any such sensor can read'] += 1
            return None
        if stamp > self._latest[0]:
            self._latest = (stamp, values)
        return self._keep(self._gate.push(stamp, values))

    @property
    def heard(self) -> bool:
        """Whether a sample came at all."""
        return self._latest[0] > 0

    def kept(self) -> list[tuple[int, Array]]:
        """Return the usable samples that are still here."""
        return list(zip(self._stamps, self._values, strict=True))

    def flush(self) -> tuple[int, Array] | None:
        """Take in the last sample, as nothing follows; return it."""
        return self._keep(self._gate.flush())

    def at(self, instant: int, newest_instant: int) -> Answer:
        """Give the value at an instant.

        Args:
            instant: [ns].
            newest_instant: the newest instant of the joints [ns], which tells the time.
        """
        if self.period is None or instant > self.newest:
            if instant == self._latest[0] and self.period is not None and not self._low_pass:
                return Answer(State.READY, self._latest[1])
            period = self.period or 0.0
            over = self._patience.is_over(instant, self.newest, newest_instant, period)
            return self._missing() if over else WAIT
        after = bisect_left(self._stamps, instant)
        if self._stamps[after] == instant:
            return Answer(State.READY, self._values[after])
        if after == 0:
            return self._missing()
        return self._between(instant, after)

    def _between(self, instant: int, after: int) -> Answer:
        before = self._stamps[after - 1]
        span = self._stamps[after] - before
        if span > nanoseconds(reach(self._max_gap, self.period or 0.0)):
            return self._missing()
        self.counts['interpolated to this instant'] += 1
        fraction = (instant - before) / span
        earlier, later = self._values[after - 1], self._values[after]
        return Answer(State.READY, earlier + fraction * (later - earlier))

    def _missing(self) -> Answer:
        self.counts['no sample at this instant'] += 1
        return MISSING

    def _keep(self, admitted: tuple[int, Array] | None) -> tuple[int, Array] | None:
        if admitted is None:
            return None
        stamp, values = admitted
        if self.newest and len(self._steps) < LEARNED_STEPS:
            self._steps.append(stamp - self.newest)
            if len(self._steps) == LEARNED_STEPS:
                self.period = float(np.median(self._steps)) / NANOSECONDS
        self.newest = stamp
        values = self._filtered(stamp, values)
        self._stamps.append(stamp)
        self._values.append(values)
        self._forget()
        return stamp, values

    def _filtered(self, stamp: int, values: Array) -> Array:
        if self._low_pass is None or self.period is None:
            return values
        if self._filter is None:
            from izmp_dynamics.sensing.low_pass import CausalLowPass

            cutoff, order = self._low_pass
            bridged = reach(self._max_gap, self.period)
            self._filter = CausalLowPass(cutoff, self.period, order, bridged)
        return self._filter.update(stamp, values)

    def _forget(self) -> None:
        """Drop what is too old, now and then."""
        if len(self._stamps) % 64:
            return
        old = bisect_left(self._stamps, self.newest - round(HORIZON * NANOSECONDS))
        old = max(old, len(self._stamps) - CAPACITY)
        del self._stamps[:old], self._values[:old]
