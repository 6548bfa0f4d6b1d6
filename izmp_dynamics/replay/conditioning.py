"""From samples as they arrived to samples that can be used: gated, and filtered if asked to."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from izmp_dynamics.conventions import Stamps
from izmp_dynamics.errors import SensingError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.replay.counts import INTERPOLATED, NO_SAMPLE, Counts
from izmp_dynamics.replay.pairing import Paired, pair
from izmp_dynamics.replay.signals import Stream

if TYPE_CHECKING:  # scipy.signal takes long to import and most logs need no filter
    from izmp_dynamics.sensing.low_pass import ZeroPhaseLowPass

_LONGEST_REACH = 10.0
"""Two messages an hour apart are not neighbours, however slow the topic [s]."""


def reach(max_gap: float, period: float) -> float:
    """Longest time between two samples that is differentiated or interpolated across [s].

    Args:
        max_gap: as the robot file states it [s].
        period: of the samples [s]; two and a half of it are no gap.
    """
    return max(max_gap, min(2.5 * period, _LONGEST_REACH))


class Conditioning:
    """Gates and filters the streams of a robot, and pairs them with instants.

    Args:
        robot: robot file.
        periods: signal (as in the robot file, e.g. 'feet[left]') → median time between its
            messages [s].

    Raises:
        SensingError: if the low-pass is not below half the rate of a signal.
    """

    def __init__(self, robot: RobotFile, periods: Mapping[str, float]) -> None:
        self.periods = dict(periods)
        self._max_gap = robot.pairing.max_gap
        cutoff, order = robot.low_pass.cutoff, robot.low_pass.order
        self._filters = {} if cutoff is None else self._make_filters(cutoff, order)

    @property
    def context(self) -> float:
        """Time before and after an instant that its values depend on [s]."""
        settle = max((low_pass.context for low_pass in self._filters.values()), default=0.0)
        return settle + max(map(self.reach, self.periods))

    def reach(self, signal: str) -> float:
        """Longest time between two samples that is differentiated or interpolated across [s]."""
        return reach(self._max_gap, self.periods[signal])

    def low_pass(self, signal: str) -> 'ZeroPhaseLowPass | None':
        """Return the filter of a signal; None if there is none."""
        return self._filters.get(signal)

    def usable(self, signal: str, stream: Stream, counts: Counts) -> Stream:
        """Leave out and count what cannot be used; filter the rest."""
        usable = counts.usable(signal, stream)
        low_pass = self.low_pass(signal)
        if low_pass is None or not len(usable):
            return usable
        return Stream(usable.stamps, low_pass.batch(usable.stamps, usable.values))

    def at(self, instants: Stamps, signal: str, stream: Stream, counts: Counts) -> Paired:
        """Give the values of a usable stream at the instants; count those it lacks."""
        paired = pair(instants, stream.stamps, stream.values, self.reach(signal))
        counts.add(signal, NO_SAMPLE, instants, ~paired.valid)
        counts.add(signal, INTERPOLATED, instants, paired.interpolated)
        return paired

    def _make_filters(self, cutoff: float, order: int) -> 'dict[str, ZeroPhaseLowPass]':
        from izmp_dynamics.sensing.low_pass import ZeroPhaseLowPass

        slowest = max(self.periods, key=lambda signal: self.periods[signal])
        if 2.0 * cutoff * self.periods[slowest] >= 1.0:
            raise SensingError(
                f'The low-pass at {cutoff:g} Hz needs signals of more than {2 * cutoff:g} Hz, but '
                f"'{slowest}' has {1.0 / self.periods[slowest]:.1f} Hz; choose a lower cut-off."
            )
        return {
            signal: ZeroPhaseLowPass(cutoff, period, order, self.reach(signal))
            for signal, period in self.periods.items()
        }
