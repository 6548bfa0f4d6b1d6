"""Figures over time: coordinates, margin, contact force and the gap between IZMP and CoP."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.pages import styles
from izmp_dynamics.pages.styles import LineStyle
from izmp_dynamics.report import svg
from izmp_dynamics.report.decimation import envelope, share_outside
from izmp_dynamics.report.figure import Figure, legend_of
from izmp_dynamics.report.panels import (
    Panel,
    coordinate_panels,
    force_panel,
    gap_panel,
    gap_reference,
    margin_panel,
)
from izmp_dynamics.report.svg import Axes
from izmp_dynamics.verdict.formatting import newtons, seconds
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import TrackStatistics, label_of
from izmp_dynamics.verdict.summary import Summary

_BINS_PER_INCH = 85
_MARKED_BINS = 600  # resolution of the marks of outside intervals
_FEW, _LONELY = 20, 4.0  # so few values without a neighbour are dots of this diameter [pt]


def coordinates(scene: Scene) -> Figure | None:
    """Draw x and y of every track in nif; None without any point."""
    panels = list(coordinate_panels(scene))
    if not panels:
        return None
    caption = 'In nif: origin at the root, x in its sagittal plane, z along the ground normal.'
    if 'cop' in scene.names and not scene.cop_is_whole:
        caption += (
            ' Normal forces alone give the CoP between the feet only: where it is drawn, it '
            'shows how they share the load.'
        )
    drawn = _draw(scene, 'coordinates', panels, 'x and y of the IZMP over time')
    return Figure(
        name='coordinates',
        title='IZMP over time',
        svgs=drawn.svgs,
        legend=legend_of(scene, drawn.samples),
        caption=caption,
        height=drawn.height,
        out_of_view=drawn.hidden,
    )


def margin(scene: Scene, summary: Summary, beside: Figure | None) -> Figure | None:
    """Draw the signed margin with the intervals outside; None without any margin.

    Args:
        scene: what is shown.
        summary: its numbers.
        beside: the figure in the column next to this one; None when there is none.
    """
    panel, judged = margin_panel(scene, summary), summary.judged
    if panel is None or judged is None:
        return None
    drawn = _draw(
        scene, 'margin', [panel], 'Signed margin over time', beside,
        behind=lambda axes: _mark_outside(axes, scene, judged),
        before=lambda axes: axes.ring(judged.averaged_margin_time, 1e3 * judged.averaged_margin),
    )  # fmt: skip
    averaged = f'{judged.label}, averaged over {seconds(scene.averaging_time)}'
    legend = (
        *legend_of(scene, drawn.samples),
        (drawn.samples['averaged'], averaged),
    )
    caption = 'Positive inside, negative outside.'
    if judged.outside_time > 0:
        legend += ((styles.patch_sample('outside'), 'outside'),)
        caption += (
            f' The bar at the bottom marks every interval of {judged.label} outside, the shading '
            'those of its average.'
        )
    legend += ((styles.ring_sample(), 'smallest margin'),)
    title = 'Distance to the edge of the support polygon'
    return Figure('margin', title, drawn.svgs, legend, caption, drawn.height, drawn.hidden)


def contact_force(scene: Scene, summary: Summary) -> Figure | None:
    """Draw the force along the normal of every method, as measured, and the weight."""
    panel, weight = force_panel(scene), scene.weight
    if panel is None:
        return None
    drawn = _draw(
        scene, 'force', [panel], 'Contact force over time',
        before=lambda axes: axes.level(weight, styles.STYLES['weight']),
    )  # fmt: skip
    extra = [(styles.legend_svg(styles.STYLES['weight']), f'weight m·g = {newtons(weight)}')]
    if 'measured' in panel.signals:
        extra.insert(0, (drawn.samples['measured'], 'measured by the feet'))
    return Figure(
        name='force',
        title='Contact force along the ground normal',
        svgs=drawn.svgs,
        legend=(*legend_of(scene, drawn.samples), *extra),
        caption='The mean over time of a robot that stays up equals its weight.',
        height=drawn.height,
        out_of_view=drawn.hidden,
    )


def gap(scene: Scene, summary: Summary) -> Figure | None:
    """Draw the distance of each IZMP from the CoP, else of the methods from each other."""
    panel, reference = gap_panel(scene, summary), gap_reference(scene)
    if panel is None or reference is None:
        return None
    drawn = _draw(scene, 'gap', [panel], 'Distance between IZMP and CoP over time')
    return Figure(
        name='gap',
        title=f'Gap between IZMP and {label_of(reference)}',
        svgs=drawn.svgs,
        legend=legend_of(scene, drawn.samples),
        caption=(
            'Without other contacts the IZMP is the CoP: a lasting gap is an error of model or '
            'signals, a sudden one a push.'
            if reference == 'cop'
            else 'No CoP is known in both directions, so the methods are compared with each other.'
        ),
        height=drawn.height,
        out_of_view=drawn.hidden,
    )


@dataclass(frozen=True)
class _Drawn:
    svgs: tuple[str, ...]
    samples: dict[str, str]
    height: float
    hidden: dict[str, float]


def _draw(
    scene: Scene,
    name: str,
    panels: list[Panel],
    description: str,
    beside: Figure | None = None,
    behind: Callable[[Axes], None] = lambda axes: None,
    before: Callable[[Axes], None] = lambda axes: None,
) -> _Drawn:
    """Draw the panels below each other at each width, and find what the limits hide."""
    scene.evaluation.store.release()
    limits = [panel.limits for panel in panels]
    order = styles.back_to_front(_restlessness(scene, panels, limits))
    if beside is not None:
        sizes = [(styles.HALF, beside.height)]
    else:
        sizes = [(w, 0.6 + h * len(panels)) for w, h in ((styles.WIDE, 2.1), (styles.NARROW, 1.8))]
    time = (0.0, scene.timeline.duration)
    labels = [panel.label for panel in panels]
    drawn = []
    for width, height in sizes:
        stacked = svg.stacked(width, height, time, limits)
        for axes, panel in zip(stacked, panels, strict=True):
            behind(axes)
            _draw_panel(axes, scene, panel, order, round(_BINS_PER_INCH * width))
            before(axes)
        unique, size = f'{name}-{round(10 * width)}', (width, height)
        drawn.append(svg.to_svg(unique, description, size, stacked, labels, 'time [s]'))
    hidden: dict[str, float] = {}
    for panel, view in zip(panels, limits, strict=True):
        for signal, values in panel.signals.items():
            share = share_outside(values, view, scene.store)
            hidden[signal] = max(hidden.get(signal, 0.0), share)
    samples = {signal: styles.legend_svg(style) for signal, style in order}
    return _Drawn(tuple(drawn), samples, sizes[0][1], hidden)


def _restlessness(
    scene: Scene, panels: list[Panel], limits: list[tuple[float, float]]
) -> dict[str, float]:
    """Signal → restlessness in the panel where it is worst."""
    found: dict[str, float] = {}
    for panel, (low, high) in zip(panels, limits, strict=True):
        for name, values in panel.signals.items():
            restless = styles.restlessness(values, high - low, scene.store)
            found[name] = max(found.get(name, 0.0), restless)
    return found


def _draw_panel(
    axes: Axes, scene: Scene, panel: Panel, order: list[tuple[str, LineStyle]], bins: int
) -> None:
    for name, style in order:
        if name not in panel.signals:
            continue
        time, values = envelope(scene.timeline, panel.signals[name], bins)
        known = np.isfinite(values)
        lonely = known.copy()
        lonely[1:] &= ~known[:-1]
        lonely[:-1] &= ~known[1:]
        size = _LONELY if lonely.sum() <= _FEW else max(style.width, 1.25)
        axes.line(time, values, style, dots=size if 10 * lonely.sum() > known.sum() else 0.0)


def _mark_outside(axes: Axes, scene: Scene, judged: TrackStatistics) -> None:
    shaded = ((found.start, found.start + found.duration) for found in judged.excursions)
    axes.spans(shaded, 'outside', 0.18)
    axes.level(0.0, LineStyle('ink', 1.0))
    axes.spans(_outside_spans(scene, judged.name), 'outside', share=0.03)


def _outside_spans(scene: Scene, name: str) -> list[tuple[float, float]]:
    """Intervals outside as (begin, end) [s], at least as long as they can be seen."""
    values = scene.evaluation.tracks[name].margin
    outside = scene.by_rows(lambda rows: scene.loaded[rows] & (values[rows] < 0))
    first, last = scene.timeline.runs(outside)
    if not len(first) or scene.timeline.duration == 0:
        return []
    width = scene.timeline.duration / _MARKED_BINS
    begins, ends = (
        scene.store.take(scene.timeline.time, rows)
        for rows in (first, np.minimum(last, len(values) - 1))
    )
    steps = np.zeros(_MARKED_BINS + 2)
    np.add.at(steps, (begins / width).astype(np.intp), 1)
    np.add.at(steps, (ends / width).astype(np.intp) + 1, -1)
    marked = np.concatenate([[False], np.cumsum(steps) > 0, [False]])
    edges = np.flatnonzero(np.diff(marked))
    return [
        (float(start) * width, float(stop) * width)
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
    ]
