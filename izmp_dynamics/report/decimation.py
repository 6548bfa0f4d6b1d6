"""Long signals in few points, and axis limits that a few outliers do not dominate."""

from collections.abc import Iterable

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.verdict.timeline import Timeline

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
        after = np.flatnonzero(timeline.gap_after) + 1
        return np.insert(timeline.time, after, np.nan), np.insert(values, after, np.nan)
    edges = np.linspace(0.0, timeline.duration, bins + 1)
    first = np.searchsorted(timeline.time, edges[:-1])
    filled = np.diff(first, append=len(values)) > 0
    first = first[filled]
    low, high = np.fmin.reduceat(values, first), np.fmax.reduceat(values, first)
    falling = values[first] > values[np.append(first[1:], len(values)) - 1]
    ends = np.full((bins, 2), np.nan)
    ends[filled] = np.where(falling[:, None], np.stack([high, low], 1), np.stack([low, high], 1))
    return np.repeat((edges[:-1] + edges[1:]) / 2, 2), ends.ravel()


def robust_limits(
    signals: Iterable[Array], bounds: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Choose axis limits that show the central part of every signal.

    A signal whose extremes are not far beyond its percentiles is shown whole.

    Args:
        signals: (K,) arrays; NaN is ignored.
        bounds: limits that must not be exceeded, e.g. around the soles; None for no such limits.

    Returns:
        lower and upper limit, always finite and apart.
    """
    known = (signal[np.isfinite(signal)] for signal in signals)
    ranges = [_central_range(values) for values in known if len(values)]
    if not ranges:
        return bounds if bounds is not None else (-1.0, 1.0)
    low, high = min(span[0] for span in ranges), max(span[1] for span in ranges)
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
        if low > high:
            return bounds
    padding = PADDING * (high - low) or max(1e-3, abs(high) * PADDING)
    return low - padding, high + padding


def share_outside(values: Array, limits: tuple[float, float]) -> float:
    """Share of the finite values (K,) beyond `limits`; 0 without any."""
    known = values[np.isfinite(values)]
    beyond = (known < limits[0]) | (known > limits[1])
    return float(beyond.mean()) if len(known) else 0.0


def _central_range(values: Array) -> tuple[float, float]:
    low, high = (float(q) for q in np.percentile(values, PERCENTILES))
    reach = 0.5 * (high - low)
    return max(float(values.min()), low - reach), min(float(values.max()), high + reach)
