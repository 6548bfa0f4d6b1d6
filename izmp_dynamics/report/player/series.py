"""The time series of the page: every sample of a short log, extremes of equal bins else."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from izmp_dynamics.pages import styles
from izmp_dynamics.report.decimation import envelope, share_outside
from izmp_dynamics.report.panels import (
    Panel,
    coordinate_panels,
    force_panel,
    gap_panel,
    gap_reference,
    margin_panel,
)
from izmp_dynamics.report.player.packing import Block
from izmp_dynamics.verdict.formatting import percent
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import label_of
from izmp_dynamics.verdict.summary import Summary

BINS = 3750
"""Bins of time of a long log; one of less than four samples a bin is shown sample by sample."""


def describe_series(scene: Scene, summary: Summary, block: Block) -> list[dict[str, Any]]:
    """Put the signals of every panel into `block` and describe the panels for the page."""
    return [
        _described(scene, name, title, panel, block)
        for name, title, panel in _panels(scene, summary)
        if panel is not None
    ]


def _panels(scene: Scene, summary: Summary) -> Iterator[tuple[str, str, Panel | None]]:
    """Name and title of each panel; one at a time, as they are as long as the recording."""
    yield 'margin', 'Margin, positive inside', margin_panel(scene, summary)
    root = scene.evaluation.root
    for panel, axis in zip(coordinate_panels(scene), 'xy', strict=False):
        yield axis, f'IZMP and CoP from {root} (nif), {panel.label.rpartition(" [")[0]}', panel
    yield 'force', 'Contact force along the normal', force_panel(scene)
    reference = gap_reference(scene)
    title = f'Distance from {label_of(reference)}' if reference else ''
    yield 'gap', title, gap_panel(scene, summary)


def _described(scene: Scene, name: str, title: str, panel: Panel, block: Block) -> dict[str, Any]:
    scene.evaluation.store.release()
    low, high = panel.limits
    lines = [0.0] if name == 'margin' else [scene.weight] if name == 'force' else []
    traces, time = [], np.empty(0)
    restless = {
        n: styles.restlessness(v, high - low, scene.store) for n, v in panel.signals.items()
    }
    for signal, style in styles.back_to_front(restless):
        time, values = envelope(scene.timeline, panel.signals[signal], BINS)
        traces.append(
            {
                'label': _label(signal),
                'colour': style.colour,
                'width': style.width,
                'dashes': list(style.dashes),
                'opacity': style.opacity,
                'values': block.add(values),
            }
        )
    unit = panel.label.rpartition('[')[2].rstrip(']')
    return {
        'name': name,
        'title': title,
        'unit': unit,
        'limits': [low, high],
        'lines': lines,
        'hidden': _hidden(panel),
        'time': block.add(np.fmax.accumulate(time)),  # NaN where a line is broken
        'traces': traces,
    }


def _hidden(panel: Panel) -> str:
    """What the limits hide; empty where they hide nothing."""
    shares = {
        name: share_outside(values, panel.limits, panel.store)
        for name, values in panel.signals.items()
    }
    texts = [f'{_label(name)} {percent(share)}' for name, share in shares.items() if share > 0]
    return f'outside the view: {", ".join(texts)}' if texts else ''


def _label(signal: str) -> str:
    return signal if signal in ('measured', 'averaged') else label_of(signal)
