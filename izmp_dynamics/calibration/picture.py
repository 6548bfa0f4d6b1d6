"""The picture of a calibration: errors on held-out motion over time, before and after."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.choice import Trial
from izmp_dynamics.calibration.segments import RATE
from izmp_dynamics.pages.look import Entry, Look, panels, sample, stroke
from izmp_dynamics.pages.rendering import inline_svg
from izmp_dynamics.pages.styles import NARROW, WIDE, LineStyle

BINS = 300
"""Intervals of the motion that the picture tells apart at most."""

_BEFORE, _AFTER = LineStyle('ir-md', 2.4, opacity=0.6), LineStyle('mr-ad', 1.3)
_TITLE = 'Errors on held-out motion over time'


def over_motion(trial: Trial, accepted: bool) -> list[str]:
    """Draw what is left over, wide and narrow; nothing without force sensors.

    Args:
        trial: errors on parts of the motion, each predicted from the others.
        accepted: whether there are corrections.
    """
    shown: list[tuple[str, float, Array, Array]] = []
    for label, kind, scale in (
        ('residual force [N]', 'force', 1.0),
        ('IZMP to CoP [mm]', 'izmp', 1e3),
        ('foot at rest [m/s²]', 'rest', 1.0),
    ):
        before, after = (
            np.concatenate([getattr(part, kind) for part in parts])
            for parts in (trial.before, trial.predicted)
        )
        if len(before) and len(before) == len(after) and (kind != 'rest' or not shown):
            shown.append((label, len(before) / RATE, scale * _rms(before), scale * _rms(after)))
    if not shown:
        return []

    def draw(look: Look, width: float) -> Any:
        legend = [Entry('before' if accepted else 'as recorded', sample(look, _BEFORE))]
        if accepted:
            legend.append(Entry('with the corrections', sample(look, _AFTER)))
        canvas, axes = panels(width, len(shown), legend, height=1.9)
        for ax, (label, duration, before, after) in zip(axes, shown, strict=True):
            time = np.linspace(0.0, duration, len(before), endpoint=False)
            ax.plot(time, before, **stroke(look, _BEFORE))
            if accepted:
                ax.plot(time, after, **stroke(look, _AFTER))
            ax.set(xlabel='motion [s]', ylabel=label)
            ax.set_ylim(bottom=0.0)
        return canvas

    return [inline_svg(draw, width, 'residuals', _TITLE) for width in (WIDE, NARROW)]


def _rms(squares: Array) -> Array:
    """Root mean squares (at most BINS) of squares (K,) or of the sums of (K, 2)."""
    squares = squares if squares.ndim == 1 else squares.sum(axis=1)
    parts = np.array_split(squares, min(BINS, len(squares)))
    means: Array = np.sqrt(np.array([part.mean() for part in parts]))
    return means
