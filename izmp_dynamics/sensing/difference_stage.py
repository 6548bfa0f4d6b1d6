"""What the stages that difference one signal have in common: stencils, streams, windows."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.signals.differences import (
    Mask,
    backward_quotient,
    central_quotient,
    contiguous,
)
from izmp_dynamics.signals.stage import SampleWindow
from izmp_dynamics.signals.stamps import nanoseconds

State = TypeVar('State', bound=Record)

QUOTIENTS = ('central', 'paper')
"""Names of the quotients of a single derivative."""

_BEFORE = 1


class DifferenceStage(ABC, Generic[State]):
    """Differences a signal with the chosen quotient; for logs and for running systems.

    Args:
        period: nominal time between samples [s]; those followed sooner than half of it are left
            out.
        method: 'central', or 'paper': the backward quotient, taken as the value at k, although it
            belongs to k - 1/2.
        max_gap: no value across a longer time between samples [s].

    Attributes:
        INPUTS: name and shape of each part of a sample, as `batch` and `extend` take them.

    Raises:
        SensingError: a parameter that makes no sense.
    """

    INPUTS: ClassVar[dict[str, tuple[int, ...]]]

    def __init__(self, period: float, *, method: str = 'central', max_gap: float = 0.05) -> None:
        if method not in QUOTIENTS:
            raise SensingError(
                f"There is no difference quotient '{method}'; valid: {', '.join(QUOTIENTS)}.",
                kind='unknown_method',
                method=method,
                valid=QUOTIENTS,
            )
        if not 0.0 < period < np.inf:
            raise SensingError(
                f'The sample period must be a positive time, not {period} s.',
                kind='period',
                period=period,
            )
        self.method = method
        self.max_gap = max_gap
        self.min_spacing = 0.5 * period
        self._after = 1 if method == 'central' else 0
        self.reset()

    @property
    def settled(self) -> int:
        """No further result of the stream has this stamp or an older one [ns]."""
        return self._samples.settled

    @property
    def faults(self) -> Faults:
        """Samples of the stream that were left out, by reason."""
        return self._samples.gate.faults

    def batch(self, stamps: Stamps, *inputs: Array) -> State:
        """Evaluate a log or a window of it: a stream that comes at once.

        What came before is discarded; `faults` are then those of the log.

        Args:
            stamps: (T,) as recorded [ns].
            inputs: (T, …) each, in the order of `INPUTS` [SI units].

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
            inputs: (T, …) each, in the order of `INPUTS` [SI units].

        Raises:
            ShapeError: if an input has another shape.
        """
        self._samples.extend(stamps, self._joined(inputs, len(stamps)))
        return self._completed(final=False)

    def flush(self) -> State:
        """Return the instants that are left at the end of the stream."""
        self._samples.close()
        left = self._completed(final=True)
        self._samples.clear()
        return left

    def reset(self) -> None:
        """Discard all samples and faults of the stream."""
        width = sum(math.prod(shape) for shape in self.INPUTS.values())
        self._samples = SampleWindow(width, _BEFORE, self.min_spacing)

    @abstractmethod
    def _evaluate(self, stamps: Stamps, samples: Array) -> tuple[State, Mask]:
        """State in every row, and which rows have a quotient."""

    def _quotient(self, stamps: Stamps, values: Array) -> tuple[Array, Mask]:
        """First derivative (T, m) with the chosen method, and where there is one."""
        if self.method == 'paper':
            return backward_quotient(stamps, values, self.max_gap)
        central = central_quotient(stamps, values, self.max_gap)
        return central.first, central.valid

    def _joined(self, inputs: tuple[Array, ...], rows: int) -> Array:
        """Samples (T, m) of their parts; NaN in place of what is not finite."""
        for (name, shape), values in zip(self.INPUTS.items(), inputs, strict=True):
            if np.shape(values) != (rows, *shape):
                raise ShapeError(name, str((rows, *shape)), np.shape(values))
        flat = [np.reshape(each, (rows, math.prod(np.shape(each)[1:]))) for each in inputs]
        samples = np.asarray(np.hstack(flat), dtype=np.float64)
        return np.where(np.isfinite(samples), samples, np.nan)

    def _completed(self, final: bool) -> State:
        samples = self._samples
        state, exists = self._evaluate(samples.stamps, samples.values)
        end = max(samples.next_row, len(samples.stamps) - max(self._after, 1))
        while end < len(samples.stamps) and (final or self._settled(samples.stamps, end)):
            end += 1
        rows = samples.hand_out(end)
        return state.select(rows.start + np.flatnonzero(exists[rows]))

    def _settled(self, stamps: Stamps, row: int) -> bool:
        """Whether no further sample can change the instant `row`."""
        last = row + self._after
        newest = min(last, len(stamps) - 1)
        closed = not contiguous(stamps, row, newest, nanoseconds(self.max_gap))
        return closed or last < len(stamps)
