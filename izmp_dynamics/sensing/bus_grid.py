"""The ticks of the field bus: which instants of a faster stream reach the dynamics (sect. 4.6)."""

import math

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import NANOSECONDS, Stamps
from izmp_dynamics.errors import SensingError
from izmp_dynamics.sensing.differences import Mask


class BusGrid:
    """Decimates a stream to the first instant at or after each tick of the bus.

    The ticks are multiples of 1 / rate after an origin, so the choice does not depend on where a
    window of the log begins. An instant belongs to a tick already half a sample before it, so
    that jittering stamps do not change the pattern; a lost sample shifts only its own tick.

    Args:
        rate: rate of the bus [Hz]; None: every instant is selected.
        period: nominal time between the samples of the stream [s].

    Raises:
        SensingError: a rate that is not positive.
    """

    def __init__(self, rate: float | None, period: float) -> None:
        if rate is not None and not 0.0 < rate < np.inf:
            raise SensingError(
                f'The bus rate must be positive, not {rate} Hz.', kind='bus_rate', rate=rate
            )
        self.rate = rate
        self.period = period

    @property
    def tick(self) -> float:
        """Time between two ticks [s]; 0 if every instant is selected."""
        return 1.0 / self.rate if self.rate else 0.0

    def select(self, stamps: Stamps, origin: int | None, before: int | None = None) -> Mask:
        """Select the instants that reach the bus.

        Args:
            stamps: (K,) increasing instants [ns].
            origin: instant of a tick [ns]; None (no sample yet) needs K = 0.
            before: the instant before the first one [ns], if there was one.

        Returns:
            (K,) mask.
        """
        if len(stamps) == 1 and self.rate is not None and origin is not None:
            return np.array(
                [
                    before is None
                    or self._tick(int(stamps[0]), origin, self.rate)
                    > self._tick(before, origin, self.rate)
                ]
            )
        selected = np.ones(len(stamps), dtype=np.bool_)
        if self.rate is None or origin is None or not len(stamps):
            return selected
        ticks = self._ticks(stamps, origin, self.rate)
        selected[1:] = np.diff(ticks) > 0
        if before is not None:
            selected[0] = ticks[0] > self._tick(before, origin, self.rate)
        return selected

    def _ticks(self, stamps: Stamps, origin: int, rate: float) -> npt.NDArray[np.float64]:
        elapsed = (stamps - origin) / NANOSECONDS + 0.5 * self.period
        ticks: npt.NDArray[np.float64] = np.floor(elapsed * rate)
        return ticks

    def _tick(self, stamp: int, origin: int, rate: float) -> int:
        """As `_ticks`, with the same numbers, for one instant."""
        return math.floor(((stamp - origin) / NANOSECONDS + 0.5 * self.period) * rate)
