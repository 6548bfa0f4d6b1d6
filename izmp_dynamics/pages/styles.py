"""How the report draws every source: line styles, samples of the legend, what covers what.

Colours are names of CSS variables, so that the style sheet decides them (light, dark, print).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.store import Store

WIDE = 10.6
"""Width [inch] of a figure over the whole page: 1 pt on paper is 1 pt on a desktop's screen."""

HALF = 5.1
"""Width [inch] of a figure in one of two columns; on a phone it fills the screen."""

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
    'weight': LineStyle('ink', 1.0, (1.0, 1.6)),
}
_RANK = {'measured': 3, 'cop': 3, 'ir_md': 2, 'mr_ad': 0}  # the larger, the farther behind
_WILD = 0.04  # restlessness from which on a line covers all others
_FEW = 20  # jumps from which on a line may be wild
OTHER_STYLE = LineStyle('other', 1.2, (5.0, 1.5, 1.0, 1.5))


def style_of(name: str) -> LineStyle:
    """Return the style of a track; unknown tracks share one."""
    return STYLES.get(name, OTHER_STYLE)


def legend_svg(style: LineStyle) -> str:
    """Draw a short sample of a line style for a legend in the page."""
    dash = ','.join(f'{length * style.width:g}' for length in style.dashes)
    width = max(style.width, 1.6)
    pattern = f' stroke-dasharray="{dash}"' if dash else ''
    return (
        '<svg class="sample" viewBox="0 0 24 8" aria-hidden="true">'
        f'<path d="M1 4H23" stroke="var(--{style.colour})" stroke-width="{width:g}" '
        f'stroke-opacity="{style.opacity:g}"{pattern}/></svg>'
    )


def dot_sample(style: LineStyle) -> str:
    """Draw dots of a colour for a legend in the page."""
    return (
        '<svg class="sample" viewBox="0 0 24 8" aria-hidden="true">'
        f'<path d="M5 4h0M12 4h0M19 4h0" stroke="var(--{style.colour})" stroke-width="3" '
        f'stroke-opacity="{style.opacity:g}" stroke-linecap="round"/></svg>'
    )


def patch_sample(colour: str) -> str:
    """Draw a filled sample for a legend in the page."""
    return (
        '<svg class="sample" viewBox="0 0 24 12" aria-hidden="true"><path d="M1 1H23V11H1Z" '
        f'fill="var(--{colour})" fill-opacity=".25" stroke="var(--{colour})"/></svg>'
    )


def ring_sample() -> str:
    """Draw the ring for a legend in the page."""
    return (
        '<svg class="sample" viewBox="0 0 24 12" aria-hidden="true"><circle cx="12" cy="6" '
        'r="4.6" fill="none" stroke="var(--ink)" stroke-width="1.4"/></svg>'
    )


def back_to_front(restless: Mapping[str, float]) -> list[tuple[str, LineStyle]]:
    """Order tracks so that each stays visible: wide lines behind, wild signals faint and hindmost.

    Args:
        restless: track name → its `restlessness` in the view.
    """
    wild = sorted((n for n, r in restless.items() if r > _WILD), key=lambda n: -restless[n])
    faint = [(n, replace(style_of(n), width=0.7, dashes=(), opacity=0.45)) for n in wild]
    calm = sorted(restless.keys() - set(wild), key=lambda n: (-_RANK.get(n, 1), n))
    return faint + [(name, style_of(name)) for name in calm]


def restlessness(values: Array, view: float, store: Store | None = None) -> float:
    """Jump that a quarter of the values exceed, as a share of the view; 0 of only a few values.

    Args:
        values: (K,) signal or (K, 2) path; NaN where there is none.
        view: extent of what is shown, in the same unit.
        store: keeps the values; None: in memory.
    """
    store = store or Store()

    def jumps(rows: slice) -> Array:
        jumps: Array = np.abs(np.diff(values[rows.start : rows.stop + 1], axis=0))
        return jumps if jumps.ndim == 1 else jumps.max(axis=1)

    known = store.finite(store.by_rows(max(len(values) - 1, 0), jumps))
    return store.percentile(known, 75) / view if len(known) >= _FEW else 0.0
