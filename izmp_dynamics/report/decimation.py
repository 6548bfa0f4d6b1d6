"""Long signals in few points, and axis limits that a few outliers do not dominate."""

from collections.abc import Iterable

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.report.timeline import Indices, Timeline

PERCENTILES = (0.5, 99.5)
"""The central part of a signal that limits should show at least."""

PADDING = 0.06
"""Free space on each side of the shown range, as a share of it."""


def envelope(timeline: Timeline, values: Array, bins: int) -> tuple[Array, Array]:
    """Reduce a signal to the minimum and maximum of equal bins of time, so that no peak is lost.

    Args:
        timeline: the K instants.
        values: (K,) signal, NaN where there is none.
        bins: number of bins; a signal with fewer than four samples per bin stays as it is.

    Returns:
        time [s] and values to draw as a line, with NaN where the line is broken.
    """
    if len(values) <= 4 * bins:
        return _broken_at_gaps(timeline, values)
    edges = np.linspace(0.0, timeline.duration, bins + 1)
    first = np.searchsorted(timeline.time, edges[:-1])
    filled = np.diff(np.append(first, len(values))) > 0
    first = first[filled]
    low = np.fmin.reduceat(values, first)
    high = np.fmax.reduceat(values, first)
    falling = values[first] > values[np.append(first[1:], len(values)) - 1]
    pair = np.where(falling[:, None], np.stack([high, low], 1), np.stack([low, high], 1))
    ends = np.full((bins, 2), np.nan)
    ends[filled] = pair
    centres = (edges[:-1] + edges[1:]) / 2
    return np.repeat(centres, 2), ends.ravel()


def decimated_path(points: Array, count: int) -> Indices:
    """Pick at most about `count` points of a path, among them the extremes of every stretch.

    Args:
        points: (K, 2) path; rows of NaN where it is broken.
        count: wanted number of points.

    Returns:
        ascending indices into `points`.
    """
    if len(points) <= count:
        return np.arange(len(points))
    length = -(-5 * len(points) // count)
    first = np.arange(0, len(points), length)
    padded = np.full((len(first) * length, 2), np.nan)
    padded[: len(points)] = points
    stretches = padded.reshape(len(first), length, 2)
    lowest = np.where(np.isnan(stretches), np.inf, stretches).argmin(axis=1)
    highest = np.where(np.isnan(stretches), -np.inf, stretches).argmax(axis=1)
    offsets = np.hstack([np.zeros((len(first), 1), dtype=np.intp), lowest, highest])
    return np.unique(first[:, None] + offsets)


def robust_limits(
    signals: Iterable[Array], bounds: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Choose axis limits that show the central part of every signal.

    A signal whose extremes are not far beyond its percentiles is shown whole.

    Args:
        signals: arrays of any shape; NaN is ignored.
        bounds: limits that must not be exceeded, e.g. around the soles; None for no such limits.

    Returns:
        lower and upper limit, always finite and apart.
    """
    ranges = [_central_range(signal) for signal in signals]
    known = [span for span in ranges if span is not None]
    if not known:
        return bounds if bounds is not None else (-1.0, 1.0)
    low, high = min(span[0] for span in known), max(span[1] for span in known)
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    if bounds is not None and low > high:
        return bounds
    padding = PADDING * (high - low) or max(1e-3, abs(high) * PADDING)
    return low - padding, high + padding


def share_outside(values: Array, limits: tuple[float, float]) -> float:
    """Share of the finite `values` beyond `limits`; 0 without any."""
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0
    return float(((values < limits[0]) | (values > limits[1])).mean())


def _central_range(signal: Array) -> tuple[float, float] | None:
    signal = signal[np.isfinite(signal)]
    if not signal.size:
        return None
    low, high = (float(edge) for edge in np.percentile(signal, PERCENTILES))
    reach = 0.5 * (high - low)
    smallest, largest = float(signal.min()), float(signal.max())
    return max(smallest, low - reach), min(largest, high + reach)


def _broken_at_gaps(timeline: Timeline, values: Array) -> tuple[Array, Array]:
    after = np.flatnonzero(timeline.gap_after) + 1
    return np.insert(timeline.time, after, np.nan), np.insert(values, after, np.nan)
