"""What the stages that difference one signal have in common: stencils, streams, windows."""

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.signals.differences import (
    Mask,
    backward_quotient,
    central_quotient,
    check_method,
    check_window,
    contiguous,
    local_polynomial,
)
from izmp_dynamics.signals.sample_window import SampleWindow
from izmp_dynamics.signals.stamps import StampVerdict, Verdicts, nanoseconds, screen_stamps


class Selectable(Protocol):
    """Values at a series of instants, of which some can be selected."""

    def select(self: 'State', rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> 'State':
        """Return the instants that `rows` (mask or indices) selects."""
        ...


State = TypeVar('State', bound=Selectable)


class DifferenceStage(ABC, Generic[State]):
    """Differences a signal with the chosen quotient; for logs and for running systems.

    Args:
        width: numbers per sample.
        period: nominal time between samples [s].
        method: 'central', 'paper' (backward quotient, taken as the value at k, although it
            belongs to k - 1/2) or 'savitzky_golay'.
        window: samples of the Savitzky-Golay fit (odd).
        degree: its degree, 2 to 4.
        max_gap: no value across a longer time between samples [s].
        min_spacing: samples followed sooner than this fraction of `period` are left out.

    Raises:
        SensingError: a parameter that makes no sense.
    """

    def __init__(
        self,
        width: int,
        period: float,
        *,
        method: str = 'central',
        window: int = 5,
        degree: int = 2,
        max_gap: float = 0.05,
        min_spacing: float = 0.5,
    ) -> None:
        check_method(method)
        check_window(window, degree)
        if not 0.0 < period < np.inf:
            raise SensingError(
                f'The sample period must be a positive time, not {period} s.',
                kind='period',
                period=period,
            )
        self.method = method
        self.window = window
        self.degree = degree
        self.max_gap = max_gap
        self.min_spacing = min_spacing * period
        self._width = width
        self._before = window // 2 if method == 'savitzky_golay' else 1
        self._after = {'central': 1, 'paper': 0, 'savitzky_golay': window // 2}[method]
        self.reset()

    @property
    def context(self) -> float:
        """Time before and after an instant that its values depend on [s]."""
        return (self._before + 3) * self.max_gap

    @property
    def latency(self) -> int:
        """Samples that `update` is behind the newest one."""
        return self._after + 1

    @property
    def settled(self) -> int:
        """No further result of the stream has this stamp or an older one [ns]."""
        return self._samples.settled

    @property
    def faults(self) -> Faults:
        """Samples of the stream that were left out, by reason."""
        return self._samples.gate.faults

    def flush(self) -> State:
        """Return the instants that are left at the end of the stream."""
        self._samples.close()
        left = self._completed(final=True)
        self._samples.clear()
        return left

    def reset(self) -> None:
        """Discard all samples and faults of the stream."""
        self._samples = SampleWindow(self._width, self._before, self.min_spacing)

    @abstractmethod
    def _evaluate(self, stamps: Stamps, samples: Array) -> tuple[State, Mask]:
        """State in every row, and which rows have a quotient."""

    def _quotient(self, stamps: Stamps, values: Array) -> tuple[Array, Mask]:
        """First derivative (T, m) with the chosen method, and where there is one."""
        if self.method == 'paper':
            return backward_quotient(stamps, values, self.max_gap)
        if self.method == 'central':
            central = central_quotient(stamps, values, self.max_gap)
            return central.first, central.valid
        fit = local_polynomial(stamps, values, self.window, self.degree, self.max_gap)
        return fit.first, fit.valid

    def _batch(self, stamps: Stamps, samples: Array) -> tuple[State, Verdicts]:
        stamps = np.ascontiguousarray(stamps, dtype=np.int64)
        verdicts = screen_stamps(stamps, self.min_spacing)
        used = verdicts == StampVerdict.ADMITTED
        state, exists = self._evaluate(stamps[used], samples[used])
        return state.select(exists), verdicts

    def _extend(self, stamps: Stamps, samples: Array) -> State:
        self._samples.extend(stamps, samples)
        return self._completed(final=False)

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
