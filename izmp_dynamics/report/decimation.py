"""Long signals in few points, and axis limits that a few outliers do not dominate."""

from collections.abc import Iterable

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.store import Store
from izmp_dynamics.verdict.timeline import Indices, Mask, Timeline

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
    first = timeline.store.search(timeline.time, edges[:-1])
    filled = np.diff(np.append(first, len(values))) > 0
    first = first[filled]
    low, high, falling = _extremes(timeline.store, values, first)
    pair = np.where(falling[:, None], np.stack([high, low], 1), np.stack([low, high], 1))
    ends = np.full((bins, 2), np.nan)
    ends[filled] = pair
    centres = (edges[:-1] + edges[1:]) / 2
    return np.repeat(centres, 2), ends.ravel()


def _extremes(store: Store, values: Array, first: Indices) -> tuple[Array, Array, Mask]:
    """Of the values (K,) from each of the rows `first` (B,) to the next.

    Returns:
        (B,) the smallest, the largest, and whether the first one is larger than the last one.
    """
    low, high, falling = np.empty(len(first)), np.empty(len(first)), np.empty(len(first), bool)
    most = max(1, store.block * len(first) // len(values))  # bins whose rows fill a block
    for begin in range(0, len(first), most):
        some = slice(begin, begin + most)
        stop = first[begin + most] if begin + most < len(first) else len(values)
        part, edges = values[first[begin] : stop], first[some] - first[begin]
        low[some], high[some] = np.fmin.reduceat(part, edges), np.fmax.reduceat(part, edges)
        falling[some] = part[edges] > part[np.append(edges[1:], len(part)) - 1]
        store.release()
    return low, high, falling


def decimated_path(points: Array, count: int, store: Store | None = None) -> Indices:
    """Pick at most about `count` points of a path, among them the extremes of every stretch.

    Args:
        points: (K, 2) path; rows of NaN where it is broken.
        count: wanted number of points.
        store: keeps the path; None: in memory.

    Returns:
        ascending indices into `points`.
    """
    store = store or Store()
    if len(points) <= count:
        return np.arange(len(points))
    length = -(-5 * len(points) // count)
    kept = []
    together = max(1, store.block // length) * length
    for begin in range(0, len(points), together):
        part = points[begin : begin + together]
        filled = np.pad(part, ((0, -len(part) % length), (0, 0)), constant_values=np.nan)
        stretches = filled.reshape(-1, length, 2)
        unknown = np.isnan(stretches)
        first = begin + length * np.arange(len(stretches))[:, None]
        lowest = first + np.where(unknown, np.inf, stretches).argmin(axis=1)
        highest = first + np.where(unknown, -np.inf, stretches).argmax(axis=1)
        kept.append(np.hstack([first, lowest, highest]).ravel())
        store.release()
    return np.unique(np.concatenate(kept))


def robust_limits(
    signals: Iterable[Array],
    bounds: tuple[float, float] | None = None,
    store: Store | None = None,
) -> tuple[float, float]:
    """Choose axis limits that show the central part of every signal.

    A signal whose extremes are not far beyond its percentiles is shown whole.

    Args:
        signals: (K,) arrays; NaN is ignored.
        bounds: limits that must not be exceeded, e.g. around the soles; None for no such limits.
        store: keeps the signals; None: in memory.

    Returns:
        lower and upper limit, always finite and apart.
    """
    ranges = [_central_range(signal, store or Store()) for signal in signals]
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


def share_outside(values: Array, limits: tuple[float, float], store: Store | None = None) -> float:
    """Share of the finite values (K,) beyond `limits`; 0 without any."""

    def counts(rows: slice) -> Indices:
        known = values[rows][np.isfinite(values[rows])]
        beyond = (known < limits[0]) | (known > limits[1])
        return np.array([np.count_nonzero(beyond), len(known)])

    beyond, known = (store or Store()).reduce(np.add, len(values), counts)
    return float(beyond / known) if known else 0.0


def _central_range(signal: Array, store: Store) -> tuple[float, float] | None:
    known = store.finite(signal)
    if not len(known):
        return None
    smallest, largest = store.extremes(known)
    low, high = (store.percentile(known, q) for q in PERCENTILES)
    reach = 0.5 * (high - low)
    return max(smallest, low - reach), min(largest, high + reach)


def _broken_at_gaps(timeline: Timeline, values: Array) -> tuple[Array, Array]:
    after = np.flatnonzero(timeline.gap_after) + 1
    return np.insert(timeline.time, after, np.nan), np.insert(values, after, np.nan)
