"""The plots as pictures, for a page without scripts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, legible, panels, patch, sample, stroke
from izmp_dynamics.pages.rendering import inline_svg
from izmp_dynamics.pages.styles import HALF, NARROW, STYLES, WIDE, LineStyle
from izmp_dynamics.report.ground import Ground, fitted
from izmp_dynamics.report.page import Figure
from izmp_dynamics.report.plots import Plot, Trace, gap_reference, in_words
from izmp_dynamics.verdict.formatting import newtons, seconds
from izmp_dynamics.verdict.scene import Scene, label_of
from izmp_dynamics.verdict.statistics import TrackStatistics
from izmp_dynamics.verdict.summary import Summary

_MARKED_BINS = 600  # resolution of the marks of outside intervals
_FEW, _SINGLE = 20, 4.0  # so few values without a neighbour are dots of this diameter [pt]
_EDGE = LineStyle('ink', 1.0)
_RING: dict[str, Any] = {'marker': 'o', 'markersize': 9, 'linestyle': 'none', 'fillstyle': 'none'}

Legend = Callable[[Look], list[Entry]]
Marks = Callable[[Look, Any], None]


def draw_pictures(
    scene: Scene, summary: Summary, ground: Ground | None, plots: Mapping[str, Plot]
) -> dict[str, Figure]:
    """Draw what there is.

    Returns:
        name → figure: 'ground', 'margin', 'tilt', 'fall', 'coordinates', 'force', 'gap', as there
        are any.
    """
    drawn = {}
    if ground is not None:
        drawn['ground'] = _ground(scene, ground)
    if 'margin' in plots and summary.judged is not None:
        drawn['margin'] = _margin(scene, summary, summary.judged, plots['margin'])
    for name in [name for name in ('tilt', 'fall') if name in plots]:
        drawn[name] = _over_time(name, plots[name].title, '', plots[name])
    if 'x' in plots:
        caption = 'In nif: origin at the root, x in its sagittal plane, z along the ground normal.'
        if 'cop' in scene.names and not scene.cop_is_whole:
            caption += (
                ' Normal forces alone give the CoP between the feet only: where it is drawn, it '
                'shows how they share the load.'
            )
        drawn['coordinates'] = _over_time(
            'coordinates', 'IZMP over time', caption, plots['x'], plots['y']
        )
    if 'force' in plots:
        drawn['force'] = _force(scene, plots['force'])
    if 'gap' in plots:
        reference = gap_reference(scene) or ''
        caption = (
            'Without other contacts the IZMP is the CoP: a lasting gap is an error of model or '
            'signals, a sudden one a push.'
            if reference == 'cop'
            else 'No CoP is known in both directions, so the methods are compared with each other.'
        )
        title = f'Gap between IZMP and {label_of(reference)}'
        drawn['gap'] = _over_time('gap', title, caption, plots['gap'])
    return drawn


def _margin(scene: Scene, summary: Summary, judged: TrackStatistics, plot: Plot) -> Figure:
    """The margin with the intervals outside and its smallest value."""
    caption = 'Positive inside, negative outside.'
    if judged.outside_time > 0:
        caption += (
            f' The bar at the bottom marks every interval of {judged.label} outside, the shading '
            'those of its average.'
        )
    instants = next(trace.values for trace in plot.traces if trace.name == judged.name)
    width = scene.timeline.duration / _MARKED_BINS
    outside = width * np.unique(plot.time[instants < 0] // width)

    def legend(look: Look) -> list[Entry]:
        shading = [Entry('outside', patch(look, 'outside', alpha=0.3))]
        ring = Entry('smallest margin', sample(look, _EDGE, **_RING))
        return [*(shading if judged.outside_time > 0 else []), ring]

    def marks(look: Look, ax: Any) -> None:
        for found in judged.excursions:
            span = (found.start, found.start + found.duration)
            ax.axvspan(*span, color=look['outside'], alpha=0.18, linewidth=0)
        ax.axhline(0.0, **stroke(look, _EDGE))
        bars = [(begin, width) for begin in outside]
        low = ax.get_xaxis_transform()
        ax.broken_barh(bars, (0.0, 0.03), transform=low, color=look['outside'], linewidth=0)
        margin, at = summary.verdict.averaged_margin(judged)
        ax.plot(at, 1e3 * margin, **stroke(look, _EDGE, **_RING))

    averaged = f'{judged.label}, averaged over {seconds(scene.averaging_time)}'
    title = 'Distance to the edge of the support polygon'
    labels = {'averaged': averaged}
    return _over_time('margin', title, caption, plot, labels=labels, legend=legend, marks=marks)


def _force(scene: Scene, plot: Plot) -> Figure:
    weight = STYLES['weight']
    return _over_time(
        'force', 'Contact force along the ground normal',
        'The mean over time of a robot that stays up equals its weight.', plot,
        labels={'measured': 'measured by the feet'},
        legend=lambda look: [
            Entry(f'weight m·g = {newtons(scene.weight)}', sample(look, weight))
        ],
        marks=lambda look, ax: ax.axhline(scene.weight, **stroke(look, weight)),
    )  # fmt: skip


def _over_time(
    name: str,
    title: str,
    caption: str,
    *plots: Plot,
    labels: Mapping[str, str] | None = None,
    legend: Legend = lambda look: [],
    marks: Marks = lambda look, ax: None,
) -> Figure:
    """Draw plots below each other, traces by their names or those of `labels`, and marks."""
    traces = {trace.name: trace for plot in reversed(plots) for trace in plot.traces}
    listed = [traces[name] for plot in plots[-1:] for name in plot.out_of_view]

    def draw(look: Look, width: float) -> Any:
        entries = [
            Entry(legible((labels or {}).get(t.name, t.label)), sample(look, t.style))
            for t in listed
        ]
        height = 1.65 if width >= WIDE else 1.4
        canvas, axes = panels(width, len(plots), entries + legend(look), height, columns=1)
        for ax, plot in zip(axes, plots, strict=True):
            for trace in plot.traces:
                _draw_trace(look, ax, plot.time, trace)
            marks(look, ax)
            ax.set(xlim=(0.0, np.nanmax(plot.time)), ylim=plot.limits, ylabel=plot.label)
        axes[-1].set_xlabel('time [s]')
        return canvas

    hidden: dict[str, float] = {}
    for plot in plots:
        for trace, share in plot.out_of_view.items():
            hidden[trace] = max(hidden.get(trace, 0.0), share)
    svgs = tuple(inline_svg(draw, width, name, title) for width in (WIDE, NARROW))
    return Figure(title, svgs, _with_hidden(caption, hidden))


def _draw_trace(look: Look, ax: Any, time: Array, trace: Trace) -> None:
    style = stroke(look, trace.style)
    ax.plot(time, trace.values, **style)
    known = np.isfinite(trace.values)
    single = known & ~np.append(False, known[:-1]) & ~np.append(known[1:], False)
    if 10 * single.sum() > known.sum():
        size = _SINGLE if single.sum() <= _FEW else max(trace.style.width, 1.25)
        ax.plot(time[single], trace.values[single], **style | _dots(size))


def _ground(scene: Scene, ground: Ground) -> Figure:
    title = 'On the ground, seen from above'
    ring = f'smallest margin, averaged over {seconds(scene.averaging_time)}'

    def draw(look: Look, width: float) -> Any:
        x, y, height = fitted(ground.x, ground.y, width)
        unit, scale = ('mm', 1000.0) if x[1] - x[0] < 2.0 else ('m', 1.0)
        entries = [
            Entry(
                legible(label_of(t.name)),
                sample(look, t.style, **{} if t.as_line else _dots(5.0)),
            )
            for t in reversed(ground.tracks)
        ]
        entries.append(Entry('support polygon', patch(look, 'sole', alpha=0.3)))
        if np.isfinite(ground.place).all():
            entries.append(Entry(ring, sample(look, _EDGE, **_RING)))
        canvas, (ax,) = panels(width, 1, entries, height)
        # In nif the soles move: many outlines overlap, so each is drawn lightly.
        strength = 1.0 if ground.frame == 'world' else 0.5
        for outlines, fill, edge in ((ground.polygons, 0.13, 0.3), (ground.soles, 0.16, 0.6)):
            if outlines:
                paths = [Path(scale * np.vstack([o, o[:1]]), closed=True) for o in outlines]
                for part, alpha in (('facecolor', fill), ('edgecolor', edge)):
                    shape = {'facecolor': 'none', 'edgecolor': 'none', part: look['sole']}
                    ax.add_patch(PathPatch(
                        Path.make_compound_path(*paths), alpha=strength * alpha, linewidth=0.8,
                        **shape,
                    ))  # fmt: skip
        for track in ground.tracks:
            dots = {} if track.as_line else _dots(2.2 if len(track.points) > 1 else 6.0)
            ax.plot(*(scale * track.points.T), **stroke(look, track.style, **dots))
        ax.plot(*(scale * ground.place), **stroke(look, _EDGE, **_RING))
        along = ('x forward', 'y to the left')
        if ground.frame == 'world':
            along = ('x in the world', 'y in the world')
        ax.set(xlabel=f'{along[0]} [{unit}]', ylabel=f'{along[1]} [{unit}]', aspect='equal')
        ax.set(xlim=scale * np.array(x), ylim=scale * np.array(y), anchor='NW')
        return canvas

    widths = (WIDE, NARROW) if ground.is_wide else (HALF,)
    svgs = tuple(inline_svg(draw, width, 'ground', title) for width in widths)
    return Figure(title, svgs, _with_hidden(ground.caption, ground.out_of_view))


def _dots(size: float) -> dict[str, Any]:
    return {'linestyle': 'none', 'marker': '.', 'markersize': size, 'markeredgewidth': 0}


def _with_hidden(caption: str, out_of_view: Mapping[str, float]) -> str:
    hidden = in_words(out_of_view)
    return f'{caption} Outside the view: {hidden} of the values.' if hidden else caption
