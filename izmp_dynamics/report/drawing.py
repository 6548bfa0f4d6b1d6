"""Matplotlib figures as inline SVG: one style, colours as CSS variables, the same bytes each time.

Colours are drawn as placeholders that become `var(--name)`, so that the page's style sheet decides
them (light, dark, print). Text stays text and takes the page's font. The ids of each SVG carry the
name of the figure, because ids are global in a page.
"""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.errors import MissingDependencyError
from izmp_dynamics.store import Store

try:
    import matplotlib
    from matplotlib.figure import Figure as Canvas
except ImportError as error:
    raise MissingDependencyError(
        'matplotlib', 'Drawing the report', 'pip install matplotlib'
    ) from error

PLACEHOLDERS = {
    'ink': '#0a0b01',
    'muted': '#0a0b02',
    'grid': '#0a0b03',
    'mr-ad': '#0a0b04',
    'ir-md': '#0a0b05',
    'cop': '#0a0b06',
    'measured': '#0a0b07',
    'other': '#0a0b08',
    'sole': '#0a0b09',
    'outside': '#0a0b0a',
    'paper': '#0a0b0b',
}
"""CSS variable → colour that stands for it while matplotlib draws."""

_STYLE: dict[Any, Any] = {
    'svg.fonttype': 'none',
    'font.family': 'DejaVu Sans',
    'font.size': 9.5,
    'axes.labelsize': 9.5,
    'axes.edgecolor': PLACEHOLDERS['muted'],
    'axes.labelcolor': PLACEHOLDERS['ink'],
    'axes.linewidth': 0.7,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.axisbelow': True,
    'axes.unicode_minus': True,
    'grid.color': PLACEHOLDERS['grid'],
    'grid.linewidth': 0.6,
    'xtick.color': PLACEHOLDERS['muted'],
    'ytick.color': PLACEHOLDERS['muted'],
    'xtick.labelcolor': PLACEHOLDERS['ink'],
    'ytick.labelcolor': PLACEHOLDERS['ink'],
    'xtick.labelsize': 9,
    'ytick.labelsize': 9,
    'xtick.major.size': 3,
    'ytick.major.size': 3,
    'text.color': PLACEHOLDERS['ink'],
    'path.simplify': True,
    'path.simplify_threshold': 0.2,
}


WIDE = 10.6
"""Width [inch] of a figure over the whole page: 1 pt on paper is 1 pt on a desktop's screen."""

HALF = 5.1
"""Width [inch] of a figure in one of two columns; on a phone it fills the screen."""

NARROW = 4.1
"""Width [inch] of the twin of a wide figure for a phone's screen."""


_LONG_NUMBER = re.compile(r'(-?\d+\.\d\d)\d+')

LEFT, RIGHT, BOTTOM, TOP = 0.66, 0.14, 0.46, 0.1
"""Margins around the axes [inch]."""


@dataclass(frozen=True)
class LineStyle:
    """How one source is drawn everywhere.

    Attributes:
        colour: a key of PLACEHOLDERS.
        width: line width [pt].
        dashes: on and off lengths in line widths; empty for a solid line.
        opacity: 0 to 1.
    """

    colour: str
    width: float
    dashes: tuple[float, ...] = ()
    opacity: float = 1.0

    def keywords(self) -> dict[str, Any]:
        """Return the arguments for matplotlib's `plot`."""
        dashes = (0, self.dashes) if self.dashes else '-'
        return {
            'color': PLACEHOLDERS[self.colour],
            'linewidth': self.width,
            'linestyle': dashes,
            'alpha': self.opacity,
            'solid_joinstyle': 'round',
        }


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
OTHER_STYLE = LineStyle('other', 1.2, (5.0, 1.5, 1.0, 1.5))


def style_of(name: str) -> LineStyle:
    """Return the style of a track; unknown tracks share one."""
    return STYLES.get(name, OTHER_STYLE)


@contextmanager
def drawing_style() -> Iterator[None]:
    """Apply the report's style to what is drawn and saved inside."""
    with matplotlib.rc_context(_STYLE):
        yield


def new_canvas(width: float, height: float) -> Any:
    """Create an empty figure of `width` × `height` [inch], apart from pyplot's state."""
    return Canvas(figsize=(width, height), facecolor='none')


def place_axes(canvas: Any, rows: int) -> list[Any]:
    """Stack `rows` axes that share their x axis.

    Returns:
        the axes from top to bottom.
    """
    width, height = canvas.get_size_inches()
    axes = list(canvas.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])
    canvas.subplots_adjust(
        left=LEFT / width,
        right=1 - RIGHT / width,
        bottom=BOTTOM / height,
        top=1 - TOP / height,
        hspace=0.1,
    )
    for ax in axes:
        ax.set_facecolor('none')
    return axes


def to_svg(canvas: Any, name: str, description: str) -> str:
    """Render `canvas` as an SVG element for inlining.

    Args:
        canvas: the matplotlib figure.
        name: prefix of every id, unique in the page.
        description: what is shown, for readers that do not see it.

    Returns:
        '<svg …>…</svg>', the same for the same drawing.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context({'svg.hashsalt': name}):
        canvas.savefig(buffer, format='svg', transparent=True, metadata={'Date': None})
    text = buffer.getvalue()
    text = text[text.index('<svg') :]
    text = re.sub(
        r'<metadata>.*?</metadata>|<style type="text/css">.*?</style>', '', text, flags=re.S
    )
    text = re.sub(r'<[^>]*>', lambda tag: _LONG_NUMBER.sub(r'\1', tag.group()), text)
    text = re.sub(r'\b(id="|url\(#|href="#)', rf'\g<1>{name}-', text)
    for variable, colour in PLACEHOLDERS.items():
        text = text.replace(colour, f'var(--{variable})')
    viewbox = re.search(r'viewBox="[^"]*"', text)
    opening = f'<svg {viewbox.group() if viewbox else ""} role="img" aria-label="{description}">'
    return re.sub(r'<svg [^>]*>', lambda _: opening, text, count=1, flags=re.S).strip()


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


def patch_sample(colour: str) -> str:
    """Draw a filled sample for a legend in the page."""
    return (
        '<svg class="sample" viewBox="0 0 24 12" aria-hidden="true"><path d="M1 1H23V11H1Z" '
        f'fill="var(--{colour})" fill-opacity=".25" stroke="var(--{colour})"/></svg>'
    )


def ring() -> dict[str, Any]:
    """Return matplotlib's arguments for the ring around the smallest margin."""
    return {
        'marker': 'o',
        'markersize': 9,
        'markerfacecolor': 'none',
        'markeredgecolor': PLACEHOLDERS['ink'],
        'markeredgewidth': 1.4,
        'linestyle': 'none',
        'zorder': 5,
    }


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
    """Jump that a quarter of the values exceed, as a share of the view; 0 without any.

    Args:
        values: (K,) signal or (K, 2) path; NaN where there is none.
        view: extent of what is shown, in the same unit.
        store: keeps the values; None: in memory.
    """
    store = store or Store()

    def jumps(rows: slice) -> Array:
        jumps: Array = np.abs(np.diff(values[rows.start : rows.stop + 1], axis=0))
        return jumps if jumps.ndim == 1 else jumps.max(axis=1)

    jump = store.percentile(store.by_rows(max(len(values) - 1, 0), jumps), 75)
    return jump / view if np.isfinite(jump) else 0.0
