"""What is plotted over time: signals with limits that outliers do not decide, in few points."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.styles import LineStyle, back_to_front, restlessness
from izmp_dynamics.stability.alarm_rule import HORIZON
from izmp_dynamics.verdict.formatting import percent
from izmp_dynamics.verdict.scene import Scene, label_of
from izmp_dynamics.verdict.summary import Summary
from izmp_dynamics.verdict.timeline import Timeline

BINS = 3750
"""Bins of time of a long log; one of less than four samples a bin is shown sample by sample."""

PERCENTILES = (0.5, 99.5)
"""The central part of a signal that limits should show at least."""

PADDING = 0.06
"""Free space on each side of the shown range, as a share of it."""

_FORCE_VIEW = (-0.25, 3.0)  # in multiples of the weight


@dataclass(frozen=True)
class Trace:
    """A signal: every sample of a short log, the extremes of equal bins of a long one.

    Attributes:
        name: track, 'measured' for the force that the feet measure, 'averaged' for the margin of
            the averaged point.
        style: how it is drawn.
        values: (P,) in the unit of its plot; NaN where the line is broken.
    """

    name: str
    style: LineStyle
    values: Array

    @property
    def label(self) -> str:
        """Its name in legends."""
        return _label(self.name)


@dataclass(frozen=True)
class Plot:
    """Signals over time with one pair of axes.

    Attributes:
        name: 'margin', 'tilt', 'fall', 'x', 'y', 'force' or 'gap'.
        title: what is shown.
        label: of the y axis, with its unit.
        limits: of the y axis; outliers are beyond them.
        lines: levels that are marked.
        time: (P,) [s]; NaN where lines are broken.
        traces: from back to front.
        out_of_view: signal → share of its values beyond the limits.
    """

    name: str
    title: str
    label: str
    limits: tuple[float, float]
    lines: tuple[float, ...]
    time: Array
    traces: tuple[Trace, ...]
    out_of_view: Mapping[str, float]

    @property
    def hidden(self) -> str:
        """What the limits hide; empty where they hide nothing."""
        shown = ((_label(name), share) for name, share in self.out_of_view.items() if share > 0)
        return ', '.join(f'{label} {percent(share)}' for label, share in shown)


def plots_of(scene: Scene, summary: Summary) -> list[Plot]:
    """Make every plot for which there are values; none if the recording has no duration."""
    if not scene.timeline.duration > 0:
        return []
    made = (_margin(scene, summary), *_posture(scene), *_coordinates(scene), _force(scene),
            _gap(scene, summary))  # fmt: skip
    return [plot for plot in made if plot is not None]


def _plot(
    scene: Scene,
    name: str,
    title: str,
    label: str,
    signals: Mapping[str, Array],
    bounds: tuple[float, float] | None = None,
    include: tuple[float, ...] = (),
    lines: tuple[float, ...] = (),
) -> Plot:
    """Find the limits of signals (K,) and make the signals short.

    Outliers do not push the limits beyond `bounds`; the values `include` are always in view.
    """
    low, high = robust_limits(signals.values(), bounds)
    limits = low, high = min(low, *include, high), max(high, *include, low)
    order = back_to_front({n: restlessness(v, high - low) for n, v in signals.items()})
    time, traces = np.empty(0), []
    for signal, style in order:
        time, values = envelope(scene.timeline, signals[signal], BINS)
        traces.append(Trace(signal, style, values))
    hidden = {n: share_outside(values, limits) for n, values in signals.items()}
    return Plot(name, title, label, limits, lines, time, tuple(traces), hidden)


def _margin(scene: Scene, summary: Summary) -> Plot | None:
    """Signed margin of every track, and of the judged one averaged."""
    tracks, judged = scene.evaluation.tracks, summary.judged
    signals = {name: 1000.0 * tracks[name].margin for name in _in_the_plane(scene)}
    if not _any_value(signals) or judged is None:
        return None
    signals['averaged'] = 1000.0 * scene.averaged[judged.name].margin
    room = 1000.0 * summary.verdict.room if np.isfinite(summary.verdict.room) else 50.0
    largest = max(float(np.fmax.reduce(v, initial=-np.inf)) for v in signals.values())
    bounds = (-3.0 * room, max(largest, room))
    smallest = 1000.0 * judged.averaged_margin - 0.06 * room
    return _plot(
        scene, 'margin', 'Margin, positive inside', 'margin [mm]', signals, bounds,
        (min(-0.06 * room, smallest),), (0.0,),
    )  # fmt: skip


def _posture(scene: Scene) -> Iterator[Plot]:
    """Tilt of the root, and the probability of a fall, each whole and down to zero."""
    risk = scene.evaluation.fall_probability
    title = 'Tilt of the root from its standing pose'
    shown = [('tilt', title, 'tilt [°]', np.degrees(scene.tilt))]
    if risk is not None:
        title = f'Probability of a fall within {HORIZON:.0f} s'
        shown.append(('fall', title, 'probability [%]', 100.0 * risk))
    for name, title, label, values in shown:
        if np.isfinite(values).any():
            whole = (0.0, max(5.0, float(np.nanmax(values))))
            yield _plot(scene, name, title, label, {name: values}, include=whole)


def _coordinates(scene: Scene) -> Iterator[Plot]:
    """X and y of every track in nif; nothing without any point."""
    title = f'IZMP and CoP from {scene.evaluation.root} (nif), '
    for axis, words in enumerate(('x forward', 'y to the left')):
        names = scene.names if axis == 1 else _in_the_plane(scene)
        signals = {name: 1000.0 * scene.points[name][:, axis] for name in names}
        if axis == 0 and not _any_value(signals):
            return
        bounds = _sole_bounds(scene, axis)
        yield _plot(scene, 'xy'[axis], title + words, f'{words} [mm]', signals, bounds)


def _force(scene: Scene) -> Plot | None:
    """Force along the ground normal of every method, and as measured."""
    signals = {n: f for n, f in scene.normal_forces.items() if n != 'cop'}
    if np.isfinite(scene.measured_force).any():
        signals['measured'] = scene.measured_force
    if not _any_value(signals):
        return None
    weight = scene.weight
    bounds = (_FORCE_VIEW[0] * weight, _FORCE_VIEW[1] * weight) if weight > 0 else None
    return _plot(
        scene, 'force', 'Contact force along the normal', 'force [N]', signals, bounds,
        (0.9 * weight, 1.1 * weight), (weight,),
    )  # fmt: skip


def _gap(scene: Scene, summary: Summary) -> Plot | None:
    """Distance of each IZMP from the CoP, else of the methods from each other."""
    names = _in_the_plane(scene)
    if 'cop' not in names and len(names) < 2:
        return None
    reference = 'cop' if 'cop' in names else names[-1]
    names.remove(reference)
    signals = {name: 1000.0 * scene.apart(name, reference) for name in names}
    if not _any_value(signals):
        return None
    known = [values[np.isfinite(values)] for values in signals.values()]
    calmest = min(float(np.percentile(values, 99.5)) for values in known if len(values))
    room = 1000.0 * summary.verdict.room
    largest = max(3.0 * calmest, room if np.isfinite(room) else 0.0, 0.1)
    title = f'Distance from {label_of(reference)}'
    return _plot(scene, 'gap', title, 'distance [mm]', signals, (0.0, largest), (0.0,))


def _in_the_plane(scene: Scene) -> list[str]:
    """Tracks whose points are known in both directions."""
    return [name for name in scene.names if name != 'cop' or scene.cop_is_whole]


def _sole_bounds(scene: Scene, axis: int) -> tuple[float, float] | None:
    """Bounds [mm] around the loaded soles, or around the calmest track without soles."""
    samples = scene.sampled(np.flatnonzero(scene.loaded))
    known = [np.empty(0)]
    for foot in scene.evaluation.feet:
        corners = scene.soles_in_nif(foot, samples[foot.loaded[samples]])[..., axis]
        known.append(corners[np.isfinite(corners)])
    corners = np.concatenate(known)
    if not corners.size:
        tracks = [points[:, axis] for points in scene.points.values()]
        tracks = [track[np.isfinite(track)] for track in tracks if np.isfinite(track).any()]
        if not tracks:
            return None
        calmest = min(tracks, key=lambda track: float(np.diff(np.percentile(track, (5, 95)))[0]))
        corners = np.percentile(calmest, (1, 99))
    low, high = 1000.0 * float(corners.min()), 1000.0 * float(corners.max())
    reach = 0.5 * max(high - low, 100.0)
    return low - reach, high + reach


def _any_value(signals: Mapping[str, Array]) -> bool:
    return any(np.isfinite(values).any() for values in signals.values())


def _label(signal: str) -> str:
    return signal if signal in ('measured', 'averaged') else label_of(signal)


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
    low, high = np.percentile(values, PERCENTILES).tolist()
    reach = 0.5 * (high - low)
    return max(float(values.min()), low - reach), min(float(values.max()), high + reach)
