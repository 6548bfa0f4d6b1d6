"""How pictures are drawn: colours, panels, legends; with matplotlib, on the page and in files.

Pictures are drawn in the colours of the light page, those of Okabe and Ito, which the colour-blind
distinguish; every series has a line style or marker of its own. Inline in the page colours become
`var(--name)`, so that its style sheet decides them (light, dark, print); text stays text and takes
the page's font.
"""

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from izmp_dynamics.base.errors import IzmpError, MissingDependencyError
from izmp_dynamics.pages.styles import LIGHT, LineStyle, style_of

try:
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import NullFormatter
except ImportError as error:
    raise MissingDependencyError(
        'matplotlib', 'Drawing a picture', 'pip install matplotlib'
    ) from error

Canvas = Figure
"""What is drawn on."""

_STYLE: dict[Any, Any] = {
    'svg.fonttype': 'none',
    'font.family': 'DejaVu Sans',
    'font.size': 9.5,
    'axes.labelsize': 9.5,
    'axes.edgecolor': LIGHT['muted'],
    'axes.labelcolor': LIGHT['ink'],
    'axes.linewidth': 0.7,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.axisbelow': True,
    'axes.unicode_minus': True,
    'grid.color': LIGHT['grid'],
    'grid.linewidth': 0.6,
    'xtick.color': LIGHT['muted'],
    'ytick.color': LIGHT['muted'],
    'xtick.labelcolor': LIGHT['ink'],
    'ytick.labelcolor': LIGHT['ink'],
    'xtick.labelsize': 9,
    'ytick.labelsize': 9,
    'xtick.major.size': 3,
    'ytick.major.size': 3,
    'text.color': LIGHT['ink'],
    'path.simplify': True,
    'path.simplify_threshold': 0.2,
}


_LONG_NUMBER = re.compile(r'(-?\d+\.\d\d)\d+')

SIDE_BY_SIDE = 6.0
"""Width from which on panels stand side by side [inch]."""

_LEFT, _RIGHT, _BOTTOM, _TOP = 0.74, 0.16, 0.52, 0.14
_BETWEEN_COLUMNS, _BETWEEN_ROWS = 0.82, 0.66
_LEGEND_ROW = 0.22
_TITLE = 0.2


def drawing() -> Any:
    """Context in which pictures are drawn and saved."""
    return matplotlib.rc_context(_STYLE)


@dataclass(frozen=True)
class Entry:
    """An entry of a legend: text and how matplotlib draws the sample."""

    text: str
    handle: Any


def stroke(style: LineStyle, **more: Any) -> dict[str, Any]:
    """Arguments of matplotlib's `plot` for a line."""
    of_line: dict[str, Any] = {
        'color': LIGHT[style.colour],
        'linewidth': style.width,
        'linestyle': (0, style.dashes) if style.dashes else '-',
        'alpha': style.opacity,
        'solid_joinstyle': 'round',
    }
    return of_line | more


def sample(style: LineStyle, **more: Any) -> Any:
    """A sample of a line style for a legend."""
    return Line2D([], [], **stroke(style, **more))


def legible(text: str) -> str:
    """A text that matplotlib draws as it is: no formula, and in a legend despite an underscore."""
    return '\u200b' * text.startswith('_') + text.replace('$', r'\$')


def line(colour: str, **style: Any) -> Any:
    """A sample of a line for a legend."""
    return Line2D([], [], color=LIGHT[colour], **style)


def patch(colour: str, **style: Any) -> Any:
    """A sample of an area for a legend."""
    return Patch(facecolor=LIGHT[colour], **style)


def panels(
    width: float,
    count: int,
    legend: Sequence[Entry] = (),
    height: float = 2.7,
    columns: int = 2,
    titles: bool = False,
    below: float = 0.0,
) -> tuple[Any, list[Any]]:
    """Make a canvas with `count` axes, side by side where there is room, and a legend above.

    Args:
        width: of the canvas [inch].
        count: number of axes.
        legend: entries above all axes.
        height: of the axes [inch].
        columns: axes side by side on a wide canvas.
        titles: whether the axes have titles.
        below: more room below the axes, for labels of several lines [inch].
    """
    columns = min(columns, count) if width >= SIDE_BY_SIDE else 1
    rows = math.ceil(count / columns)
    legend_columns = _legend_columns(legend, width)
    top = _TOP + (_LEGEND_ROW * math.ceil(len(legend) / legend_columns) if legend else 0.0)
    above = _TITLE if titles else 0.0
    between = _BETWEEN_ROWS + above + below
    total = top + above + rows * height + (rows - 1) * between + _BOTTOM + below
    canvas = Canvas(figsize=(width, total), facecolor='none')
    wide = (width - _LEFT - _RIGHT - (columns - 1) * _BETWEEN_COLUMNS) / columns
    axes = []
    for index in range(count):
        row, column = divmod(index, columns)
        left = _LEFT + column * (wide + _BETWEEN_COLUMNS)
        lower = total - top - above - (row + 1) * height - row * between
        place = (left / width, lower / total, wide / width, height / total)
        ax = canvas.add_axes(place)
        ax.set_facecolor('none')
        axes.append(ax)
    if legend:
        canvas.legend(
            [entry.handle for entry in legend],
            [entry.text for entry in legend],
            loc='upper left',
            bbox_to_anchor=((_LEFT - 0.1) / width, 1.0),
            ncols=legend_columns,
            frameon=False,
            borderaxespad=0.1,
            columnspacing=1.4,
            handlelength=2.2,
            handletextpad=0.6,
            labelspacing=0.35,
            fontsize=9,
        )
    return canvas, axes


def _legend_columns(legend: Sequence[Entry], width: float) -> int:
    longest = max((len(entry.text) for entry in legend), default=1)
    return max(1, min(len(legend) or 1, int((width - _LEFT) / (0.55 + 0.075 * longest))))


def log_ticks(axis: Any, values: Sequence[float]) -> None:
    """Label a logarithmic axis (`ax.xaxis` or `ax.yaxis`) at these values only."""
    axis.set_ticks(values, [f'{value:g}' for value in values])
    axis.set_minor_formatter(NullFormatter())


def series(method: str, **style: Any) -> dict[str, Any]:
    """Arguments of matplotlib's `plot` for a method's curve, as in the report."""
    return stroke(style_of(method), **style)


def is_wide(width: float) -> bool:
    """Whether panels stand side by side."""
    return width >= SIDE_BY_SIDE


def save(canvas: Any, path: Path, dots_per_inch: int) -> None:
    """Write a canvas to a file, whose ending says the format; its folder is made.

    Raises:
        IzmpError: if it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path, dpi=dots_per_inch)
    except (OSError, ValueError) as error:  # ValueError: a format that matplotlib does not know
        raise IzmpError(
            f"The picture '{path}' cannot be written: {error}.", kind='not_written', path=path
        ) from error


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
    viewbox = re.search(r'viewBox="[^"]*"', text)
    opening = f'<svg {viewbox.group() if viewbox else ""} role="img" aria-label="{description}">'
    return re.sub(r'<svg [^>]*>', lambda _: opening, text, count=1, flags=re.S).strip()
