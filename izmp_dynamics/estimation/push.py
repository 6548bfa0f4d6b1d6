"""Pushes: segments in which the gap between MR-AD and the feet is a constant force, not noise.

At rest the gap g of both contact forces is noise about a level that sensors and model leave. In a
push from a to b it is that plus F h(t), where h is the rectangle from a to b, seen through the
kernel Λ of the matched filter that all signals have passed (`signals.matched_filter`):

    h(t) = H(t − a) − H(t − b),    H(s) = ∫ Λ from −w to s

The generalised likelihood ratio of both hypotheses (Basseville & Nikiforov, Detection of Abrupt
Changes, 1993, sect. 2.4.3) for the best F is that of its estimate to its own covariance. Windows
of a few lengths find where it is large: the mean over a window scatters as those of all windows
of its length in the recording do, which holds what the kernel correlates and what a model leaves,
and no less than those of white noise would. Of all segments [a, b] there the most likely one is
taken for the scatter of single instants, with the force that fits best:

    max |Σ h y|² / Σ h²,    F = Σ h g / Σ h²

where y is g in standard deviations. No process noise and no memory: a push of any duration is one
force. The level is the median of what is no push; to begin with, the middle of the shortest half
(Rousseeuw, Least Median of Squares Regression, 1984), so a push of nearly half the recording is
not learned as a bias.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps, finite_rows, seconds, skew
from izmp_dynamics.base.robust import MAD_TO_SIGMA, median

Mask = npt.NDArray[np.bool_]

LEAST_PART = 0.02
"""Part of the weight below which a force cannot be distinguished from model errors [-]."""

NO_NOISE = 6.0
"""Standard deviations of the mean over a window from which on it is no noise: of 100 h of normal
noise at 125 Hz, three windows of each length are larger."""

SHORTEST = 0.02
"""Shortest duration of a push; shorter ones may be outliers [s]."""

WINDOWS = (SHORTEST, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Durations that are tried [s]; of others nearly as much is seen in the nearest one."""

APART = 0.1
"""What begins or ends this near to a push is part of it or of its impact [s]."""

_FEWEST = 4  # windows side by side that tell what is usual
_NEIGHBOURS = np.array([(0, 0), *((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)])


@dataclass(frozen=True)
class ExternalForce:
    """A force from outside that lasted for a while.

    Attributes:
        start: when it began [ns].
        end: when it ended [ns].
        force: (3,) in the axes of the gap [N].
        time_sigma: standard deviation of both times [s]: noise over the slope of the smoothed
            rectangle, and that of a time known to one of the instants.
    """

    start: int
    end: int
    force: Array
    time_sigma: float = 0.0

    @property
    def duration(self) -> float:
        """How long it acted [s]."""
        return (self.end - self.start) / NANOSECONDS

    @property
    def size(self) -> float:
        """Magnitude of the force [N]."""
        return float(np.linalg.norm(self.force))


def find_forces(
    stamps: Stamps, gap: Array, weight: float, half_width: float = 0.0
) -> tuple[tuple[ExternalForce, ...], Array]:
    """Find the external forces that lasted.

    Args:
        stamps: (K,) instants [ns].
        gap: (K, 3) contact force of MR-AD less that of the feet [N], in axes that do not turn much
            meanwhile; NaN where it is not known.
        weight: of the robot [N].
        half_width: of the matched filter that both have passed [s]; 0: none.

    Returns:
        the forces of at least LEAST_PART of the weight, in the order of time, and the level (3,)
        of the gap without them [N].
    """
    known = finite_rows(gap)
    if np.count_nonzero(known) < 2:
        return (), np.zeros(3)
    level = np.array([_shortest_half(axis) for axis in gap[known].T])
    finder = _Finder(stamps, gap - level, weight, half_width)
    rest = known & ~finder.large
    if rest.any():
        level = np.median(gap[rest], axis=0)
        finder = _Finder(stamps, gap - level, weight, half_width)
    return tuple(sorted(finder.forces(), key=lambda force: force.start)), level


def points_on_lines(wrench: Array, covariance: Array, near: Array) -> tuple[Array, Array]:
    """Find where lines of action pass nearest to points: c + F × (M − c × F) / |F|².

    Args:
        wrench: (K, 6) force F and moment M about the origin [N], [N·m].
        covariance: (K, 6, 6) of it.
        near: (K, 3) the points c [m].

    Returns:
        (K, 3) points [m], and their covariances (K, 3, 3) [m²]. Where along its line a force acts
        is not observable, and not part of these.
    """
    force, moment = wrench[:, :3], wrench[:, 3:] - np.cross(near, wrench[:, :3])
    square = np.sum(force**2, axis=1)[:, None]
    off = np.cross(force, moment) / square
    by_moment = skew(force) / square[..., None]
    by_force = (-skew(moment) - skew(force) @ skew(near)) / square[..., None]
    by_force -= 2.0 * np.einsum('ki,kj->kij', off, force / square)
    J = np.concatenate([by_force, by_moment], axis=2)
    return near + off, J @ covariance @ np.swapaxes(J, 1, 2)


class _Finder:
    """Finds segments of a gap (K, 3) about zero."""

    def __init__(self, stamps: Stamps, gap: Array, weight: float, half_width: float) -> None:
        self._stamps, self._gap, self._half_width = stamps, gap, half_width
        self._time = seconds(stamps)
        self._least = LEAST_PART * weight
        self._step = median(np.diff(self._time))
        floor = self._least / NO_NOISE
        self._scatter = np.maximum([MAD_TO_SIGMA * median(np.abs(axis)) for axis in gap.T], floor)
        usual = _without_outliers(gap) / self._scatter
        self._known = np.concatenate([[0], np.cumsum(finite_rows(usual))])
        self._sums = np.zeros((len(gap) + 1, 3))
        np.cumsum(np.nan_to_num(usual), axis=0, out=self._sums[1:])
        self._windows: list[tuple[int, Array]] = []
        self.large = self._in_large_windows(floor / self._scatter)

    def _in_large_windows(self, floor: Array) -> Mask:
        """(K,) instants in windows whose mean is no noise; list the sizes of those."""
        count = len(self._gap)
        large = np.zeros(count + 1, dtype=np.int64)
        lengths = {max(2, int(np.ceil(length / self._step - 1e-6))) for length in WINDOWS}
        for rows in sorted(lengths):
            if count < (1 + _FEWEST) * rows:
                break
            means = (self._sums[rows:] - self._sums[:-rows]) / rows
            means[self._known[rows:] - self._known[:-rows] < rows] = np.nan
            usual = [MAD_TO_SIGMA * median(np.abs(axis)) for axis in means.T]
            sigma = np.fmax(np.maximum(1.0 / np.sqrt(rows), floor), usual)
            sizes = np.linalg.norm(means / sigma, axis=1)
            sizes[~(sizes >= NO_NOISE)] = 0.0
            self._windows.append((rows, sizes))
            begins = np.flatnonzero(sizes)
            np.add.at(large, begins, 1)
            np.add.at(large, begins + rows, -1)
        return np.asarray(np.cumsum(large[:count]) > 0)

    def forces(self) -> Iterator[ExternalForce]:
        """Those of all runs of such windows."""
        edges = np.flatnonzero(np.diff(self.large, prepend=False, append=False))
        for first, stop in edges.reshape(-1, 2).tolist():
            yield from self._within(first, stop)

    def _within(self, first: int, stop: int) -> Iterator[ExternalForce]:
        """Those of the rows from `first` to `stop`, the most likely one first."""
        left = [(first, stop)]
        apart = max(1, round(APART / self._step))
        while left:
            first, stop = left.pop()
            tried = []
            for rows, sizes in self._windows:
                here = sizes[first : max(stop - rows + 1, first)]
                if len(here) and here.max() > 0.0:
                    begin = first + int(here.argmax())
                    tried.append(self._most_likely(begin, begin + rows, first, stop))
            if tried:
                _, begin, end = max(tried)
                force = self._fitted(begin, end)
                if force.duration >= SHORTEST and force.size >= self._least:
                    yield force
                left += [(first, begin - apart), (end + apart, stop)]

    def _most_likely(self, begin: int, end: int, first: int, stop: int) -> tuple[float, int, int]:
        """Likelihood and rows of the rectangle that grows out of that from `begin` to `end`."""
        sums, known, best = self._sums, self._known, -1.0
        while True:
            starts = np.arange(first, end)
            ratio = _ratio(sums[end] - sums[starts], known[end] - known[starts])
            begin = first + int(ratio.argmax())
            ends = np.arange(begin + 1, stop + 1)
            ratio = _ratio(sums[ends] - sums[begin], known[ends] - known[begin])
            end = begin + 1 + int(ratio.argmax())
            if not ratio.max() > best * (1.0 + 1e-12):
                return best, begin, end
            best = float(ratio.max())

    def _fitted(self, begin: int, end: int) -> ExternalForce:
        """The force, with its ends between the instants where a kernel smooths it."""
        width, step = self._half_width, self._step
        reach = round(width / step) + 2 if width else 0
        rows = slice(max(0, begin - reach), end + reach)
        known = finite_rows(self._gap[rows])
        time, gap = self._time[rows][known], self._gap[rows][known]
        last = min(self._time[min(end, len(self._time) - 1)], self._time[end - 1] + step)
        ends, shape = np.array([self._time[begin], last]), np.ones(len(time))
        if width:
            ends = self._refined(time, gap / self._scatter, ends)
            shape = _smoothed(time, ends, width)
            ends = np.clip(ends, self._time[0], self._time[-1])
        force = shape @ gap / (shape @ shape)
        slope = max(float(np.linalg.norm(force / self._scatter)), 1e-9)
        sigma = np.hypot(np.sqrt(1.5 * width * step) / slope, step / np.sqrt(12.0))
        start, stop = (int(self._stamps[0]) + round(NANOSECONDS * end) for end in ends.tolist())
        return ExternalForce(start, stop, force, float(sigma))

    def _refined(self, time: Array, whitened: Array, ends: Array) -> Array:
        """Ends (2,) [s] of the most likely smoothed rectangle near others."""
        step = self._step
        while step > 0.05 * self._step:
            tried = ends + step * _NEIGHBOURS
            shapes = _smoothed(time, tried, self._half_width)
            ratios = np.sum((shapes @ whitened) ** 2, axis=1)
            ratios /= np.maximum(np.sum(shapes**2, axis=1), 1e-9)
            in_hole = np.diff(np.searchsorted(time, tried), axis=1)[:, 0] == 0
            ratios[in_hole | (tried[:, 1] - tried[:, 0] < 0.5 * self._step)] = 0.0
            best = int(ratios.argmax())
            if ratios[best] > ratios[0] * (1.0 + 1e-12):
                ends = tried[best]
            else:
                step /= 2.0
        return ends


def _shortest_half(values: Array) -> float:
    """Middle of the shortest interval that holds half of the values (K,), as of those at rest."""
    ordered = np.sort(values)
    half = len(values) // 2
    first = int((ordered[half:] - ordered[: len(values) - half]).argmin())
    return float(ordered[first] + ordered[first + half]) / 2.0


def _ratio(sums: Array, counts: Array) -> Array:
    return np.asarray(np.einsum('ki,ki->k', sums, sums) / np.maximum(counts, 1))


def _smoothed(time: Array, ends: Array, half_width: float) -> Array:
    """Rectangles h (…, T) between ends (…, 2) [s] through a kernel of a half-width [s]."""
    part = np.clip((time - ends[..., None]) / half_width, -1.0, 1.0)
    risen = 0.5 + part - 0.5 * part * np.abs(part)
    return np.asarray(risen[..., 0, :] - risen[..., 1, :])


def _without_outliers(values: Array) -> Array:
    """Values (K, 3) of which a single outlier takes the value between its neighbours."""
    if len(values) < 3:
        return values
    usual = np.array(values)
    one, two, three = values[:-2], values[1:-1], values[2:]
    middle = np.maximum(np.minimum(one, two), np.minimum(np.maximum(one, two), three))
    usual[1:-1] = np.where(np.isfinite(middle), middle, two)
    return usual
