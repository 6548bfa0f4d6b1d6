"""What differentiates one signal: samples come in, instants that are settled go out."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from typing import Generic, TypeVar

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.signals.buffer import SampleBuffer
from izmp_dynamics.signals.differences import (
    Mask,
    backward_quotient,
    central_quotient,
    contiguous,
)
from izmp_dynamics.signals.gate import Gate
from izmp_dynamics.signals.stamps import nanoseconds

State = TypeVar('State', bound=Record)

QUOTIENTS = ('central', 'paper')
"""Names of the quotients of a single derivative."""

SPACING = 0.5
"""Samples that are followed sooner than this part of the period are left out: a stamp that is
later by more belongs to the next sample's turn [-]."""


class Differentiator(ABC, Generic[State]):
    """Differentiates a signal; for logs and for running systems.

    It keeps the samples whose instants are open, and those before them that they depend on, and
    evaluates all of these whenever some come. So the numbers of one sample at a time are those of
    a log.

    Args:
        inputs: name and shape of each part of a sample, as `batch` and `extend` take them.
        period: nominal time between samples [s]; those followed sooner than half of it are left
            out.
        method: name of the quotient.
        max_gap: no value across a longer time between samples [s].
        methods: names of those that there are.

    Raises:
        SensingError: a parameter that makes no sense.
    """

    def __init__(
        self,
        inputs: Mapping[str, tuple[int, ...]],
        period: float,
        *,
        method: str = 'central',
        max_gap: float = 0.05,
        methods: tuple[str, ...] = QUOTIENTS,
    ) -> None:
        if method not in methods:
            raise SensingError(
                f"There is no difference quotient '{method}'; valid: {', '.join(methods)}.",
                kind='unknown_method', method=method, valid=methods,
            )  # fmt: skip
        if not 0.0 < period < np.inf:
            raise SensingError(
                f'The sample period must be a positive time in seconds, not {period}.',
                kind='period', period=period,
            )  # fmt: skip
        self.method = method
        self.max_gap = max_gap
        self._inputs, self._spacing = inputs, SPACING * period
        self._behind = 1  # samples before an instant that it depends on
        self.reset()

    @property
    def received_until(self) -> int:
        """Newest usable stamp of the stream [ns]; 0 before there is one."""
        return self._gate.pending

    @property
    def settled(self) -> int:
        """No further result of the stream has this stamp or an older one [ns]."""
        return int(self._samples.stamps[self._next - 1]) if self._next else 0

    @property
    def faults(self) -> Faults:
        """Samples and instants of the stream that were left out or repaired, by reason."""
        return self._faults + self._gate.faults

    def batch(self, stamps: Stamps, *inputs: Array) -> State:
        """Evaluate a log or a window of it: a stream that comes at once.

        What came before is discarded; `faults` are then those of the log.

        Args:
            stamps: (T,) as recorded [ns].
            inputs: (T, …) each of the parts of a sample [SI units].

        Raises:
            ShapeError: if an input has another shape.
        """
        self.reset()
        state = self.extend(stamps, *inputs)
        return state.joined([state, self.flush()])

    def extend(self, stamps: Stamps, *inputs: Array) -> State:
        """Take the next samples of a stream; return the instants that they complete.

        Args:
            stamps: (T,) in the order of arrival [ns].
            inputs: (T, …) each of the parts of a sample [SI units].

        Raises:
            ShapeError: if an input has another shape.
        """
        rows, parts = len(stamps), []
        for (name, shape), values in zip(self._inputs.items(), inputs, strict=True):
            if np.shape(values) != (rows, *shape):
                raise ShapeError(name, str((rows, *shape)), np.shape(values))
            part = np.ascontiguousarray(values, dtype=np.float64)
            parts.append(part.reshape(rows, math.prod(shape)))
        samples = parts[0] if len(parts) == 1 else np.hstack(parts)
        room = self._samples.room(self._gate.room(rows))
        self._take_in(self._gate.admit(stamps, samples, room))
        return self._completed(final=False)

    def flush(self) -> State:
        """Return the instants that are left at the end of the stream."""
        self._take_in(self._gate.flush(self._samples.room(self._gate.room(0))))
        left = self._completed(final=True)
        self._samples.drop(len(self._samples.stamps))
        self._next = 0
        return left

    def reset(self) -> None:
        """Discard all samples and faults of the stream."""
        width = sum(math.prod(shape) for shape in self._inputs.values())
        self._gate = Gate(width, min_spacing=self._spacing)
        self._samples = SampleBuffer(width)
        self._next = 0  # the first row whose instant has not been handed out
        self._faults: Faults = Counter()

    def _take_in(self, count: int) -> None:
        """Let the next rows enter; leave out what is not needed any more.

        What was handed out may be views of the rows: a buffer never writes to them again.
        """
        old = max(0, self._next - self._behind)
        self._next -= old
        self._samples.drop(old)
        self._samples.extend(count)

    def _handed_out(self, end: int) -> slice:
        """The rows before `end` whose instants have not been handed out; they are now."""
        rows = slice(self._next, end)
        self._next = end
        return rows

    @abstractmethod
    def _completed(self, final: bool) -> State:
        """Hand out the instants that no further sample can change, or all of them at the end."""


class DifferenceStage(Differentiator[State]):
    """Differentiates a signal once.

    Its method is 'central', or 'paper': the backward quotient, taken as the value at k, although
    it belongs to k - 1/2.
    """

    @property
    def _after(self) -> int:
        """Samples after an instant that its quotient needs."""
        return int(self.method == 'central')

    @abstractmethod
    def _evaluate(self, stamps: Stamps, samples: Array) -> tuple[State, Mask]:
        """State in every row, and which rows have a quotient."""

    def _quotient(self, stamps: Stamps, values: Array) -> tuple[Array, Mask]:
        """First derivative (T, m) with the chosen method, and where there is one."""
        if self.method == 'paper':
            return backward_quotient(stamps, values, self.max_gap)
        central = central_quotient(stamps, values, self.max_gap)
        return central.first, central.valid

    def _completed(self, final: bool) -> State:
        stamps, samples = self._samples.stamps, self._samples.values
        state, exists = self._evaluate(stamps, np.where(np.isfinite(samples), samples, np.nan))
        end = max(self._next, len(stamps) - max(self._after, 1))
        while end < len(stamps) and (final or self._settled(stamps, end)):
            end += 1
        rows = self._handed_out(end)
        return state.select(rows.start + np.flatnonzero(exists[rows]))

    def _settled(self, stamps: Stamps, row: int) -> bool:
        """Whether no further sample can change the instant `row`."""
        last = row + self._after
        newest = min(last, len(stamps) - 1)
        closed = not contiguous(stamps, row, newest, nanoseconds(self.max_gap))
        return closed or last < len(stamps)
