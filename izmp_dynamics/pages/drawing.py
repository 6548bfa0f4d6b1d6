"""Matplotlib figures as inline SVG: one style, colours as CSS variables, the same bytes each time.

Colours are drawn as placeholders that become `var(--name)`, so that the page's style sheet decides
them (light, dark, print). Text stays text and takes the page's font. The ids of each SVG carry the
name of the figure, because ids are global in a page.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from izmp_dynamics.base.errors import MissingDependencyError

try:
    import matplotlib
    from matplotlib.figure import Figure as Canvas
except ImportError as error:
    raise MissingDependencyError(
        'matplotlib', 'Drawing a picture', 'pip install matplotlib'
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


_LONG_NUMBER = re.compile(r'(-?\d+\.\d\d)\d+')


@contextmanager
def drawing_style() -> Iterator[None]:
    """Apply the page's style to what is drawn and saved inside."""
    with matplotlib.rc_context(_STYLE):
        yield


def new_canvas(width: float, height: float) -> Any:
    """Create an empty figure of `width` × `height` [inch], apart from pyplot's state."""
    return Canvas(figsize=(width, height), facecolor='none')


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
