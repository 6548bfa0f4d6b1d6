"""How every source is drawn: line styles, and what covers what.

Colours are names of CSS variables, so that the style sheet decides them (light, dark, print).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from izmp_dynamics.base.conventions import Array

LIGHT = {
    'ink': '#1a2027', 'muted': '#5a6571', 'grid': '#e2e6ea', 'mr-ad': '#0072b2',
    'ir-md': '#d55e00', 'cop': '#009e73', 'measured': '#5a6571', 'other': '#b0559a',
    'sole': '#6d7884', 'outside': '#b3196b', 'paper': '#ffffff',
    'card': '#f5f7f9', 'line': '#d3d9df',
    'good': '#00724f', 'warn': '#8a5a00', 'bad': '#b03a00', 'unsure': '#56616d',
    'good-tint': '#e3f4ee', 'warn-tint': '#fdf2da', 'bad-tint': '#fdebe1',
    'unsure-tint': '#eef1f4',
}  # fmt: skip
"""Colours on white. Those of tracks are Okabe and Ito's, which the colour-blind distinguish."""

DARK = {
    'ink': '#e8ecf0', 'muted': '#9aa6b2', 'grid': '#2a3138', 'mr-ad': '#56b4e9',
    'ir-md': '#f0883e', 'cop': '#1fbf92', 'measured': '#9aa6b2', 'other': '#d58fc2',
    'sole': '#8e9aa6', 'outside': '#f06bb0', 'paper': '#14181d',
    'card': '#1d2329', 'line': '#39424b',
    'good': '#3ed3a5', 'warn': '#f0b849', 'bad': '#ff8a52', 'unsure': '#a9b4bf',
    'good-tint': '#10302a', 'warn-tint': '#33290f', 'bad-tint': '#3a2013',
    'unsure-tint': '#252c33',
}  # fmt: skip

WIDE = 10.6
"""Width [inch] of a figure over the whole page: 1 pt on paper is 1 pt on a desktop's screen."""

NARROW = 4.1
"""Width [inch] of the twin of a wide figure for a phone's screen."""


@dataclass(frozen=True)
class LineStyle:
    """How one source is drawn everywhere.

    Attributes:
        colour: name of the CSS variable.
        width: line width [pt].
        dashes: on and off lengths in line widths; empty for a solid line.
        opacity: 0 to 1.
    """

    colour: str
    width: float
    dashes: tuple[float, ...] = ()
    opacity: float = 1.0


STYLES = {
    'mr_ad': LineStyle('mr-ad', 1.3),
    'ir_md': LineStyle('ir-md', 1.5, (3.5, 1.6)),
    'cop': LineStyle('cop', 3.2, opacity=0.55),
    'measured': LineStyle('measured', 3.0, opacity=0.45),
    'averaged': LineStyle('ink', 1.1),
    'tilt': LineStyle('ink', 1.3),
    'fall': LineStyle('bad', 1.3),
}
_RANK = {'measured': 3, 'cop': 3, 'ir_md': 2, 'mr_ad': 0}  # the larger, the farther behind
_WILD = 0.04  # restlessness from which on a line covers all others
_FEW = 20  # jumps from which on a line may be wild
OTHER_STYLE = LineStyle('other', 1.2, (5.0, 1.5, 1.0, 1.5))


def style_of(name: str) -> LineStyle:
    """Return the style of a track; unknown tracks share one."""
    return STYLES.get(name, OTHER_STYLE)


def back_to_front(restless: Mapping[str, float]) -> list[tuple[str, LineStyle]]:
    """Order tracks so that each stays visible: wide lines behind, wild signals faint and hindmost.

    Args:
        restless: track name → its `restlessness` in the view.
    """
    wild = sorted((n for n, r in restless.items() if r > _WILD), key=lambda n: -restless[n])
    faint = [(n, replace(style_of(n), width=0.7, dashes=(), opacity=0.45)) for n in wild]
    calm = sorted(restless.keys() - set(wild), key=lambda n: (-_RANK.get(n, 1), n))
    return faint + [(name, style_of(name)) for name in calm]


def restlessness(values: Array, view: float) -> float:
    """Jump that a quarter of the values exceed, as a share of the view; 0 of only a few values.

    Args:
        values: (K,) signal; NaN where there is none.
        view: extent of what is shown, in the same unit.
    """
    jumps = np.abs(np.diff(values))
    jumps = jumps[np.isfinite(jumps)]
    return float(np.percentile(jumps, 75)) / view if len(jumps) >= _FEW else 0.0
