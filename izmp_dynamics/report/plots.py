"""What is plotted over time: signals with their limits, short enough for a page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.styles import LineStyle, back_to_front, restlessness
from izmp_dynamics.report.decimation import envelope, robust_limits, share_outside
from izmp_dynamics.verdict.formatting import percent
from izmp_dynamics.verdict.scene import Scene, label_of
from izmp_dynamics.verdict.summary import Summary

BINS = 3750
"""Bins of time of a long log; one of less than four samples a bin is shown sample by sample."""

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
        name: 'margin', 'x', 'y', 'force' or 'gap'.
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
        return in_words(self.out_of_view)


def plots_of(scene: Scene, summary: Summary) -> dict[str, Plot]:
    """Make every plot for which there are values; none if the recording has no duration."""
    if not scene.timeline.duration > 0:
        return {}
    made = (_margin(scene, summary), *_coordinates(scene), _force(scene), _gap(scene, summary))
    return {plot.name: plot for plot in made if plot is not None}


def gap_reference(scene: Scene) -> str | None:
    """Track that the others are compared with: CoP, else the last; None with fewer than two."""
    names = _in_the_plane(scene)
    return 'cop' if 'cop' in names else names[-1] if len(names) > 1 else None


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
    """Find the limits of signals (K,), which show `include`, and make the signals short.

    Args:
        scene: what is shown.
        name: see `Plot`.
        title: see `Plot`.
        label: see `Plot`.
        signals: name → values.
        bounds: limits that outliers must not push the view beyond; None for none.
        include: values that are always in view.
        lines: see `Plot`.
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
    signals['averaged'] = 1000.0 * scene.averaged(judged.name).margin
    room = 1000.0 * summary.verdict.room if np.isfinite(summary.verdict.room) else 50.0
    largest = max(float(np.fmax.reduce(v, initial=-np.inf)) for v in signals.values())
    bounds = (-3.0 * room, max(largest, room))
    smallest = 1000.0 * judged.averaged_margin - 0.06 * room
    return _plot(
        scene, 'margin', 'Margin, positive inside', 'margin [mm]', signals, bounds,
        (min(-0.06 * room, smallest),), (0.0,),
    )  # fmt: skip


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
    reference = gap_reference(scene)
    if reference is None:
        return None
    names = [name for name in _in_the_plane(scene) if name != reference]
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


def in_words(out_of_view: Mapping[str, float]) -> str:
    """Name each signal with the share of its values that limits hide, if they hide any."""
    shown = ((_label(name), share) for name, share in out_of_view.items() if share > 0)
    return ', '.join(f'{label} {percent(share)}' for label, share in shown)
