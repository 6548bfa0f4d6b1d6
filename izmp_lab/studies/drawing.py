"""What the pictures of several studies share: curves, maps of shaded cells, rows with names."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line

HATCH = '#b3196b'
"""Colour of the hatching of cells that fail."""

_SHADES = ('#fee838', '#d5c164', '#a59c74', '#777776', '#414d6b', '#00224e')
"""Of values below each class, and above all: cividis, light is good."""


@dataclass(frozen=True)
class Curve:
    """How one method looks in all figures of a study.

    Attributes:
        label: in legends and tables.
        colour: its name in a look.
        dashes: matplotlib's line style.
        width: of the line.
        marker: matplotlib's.
    """

    label: str
    colour: str
    dashes: Any
    width: float
    marker: str

    def style(self, look: Look, size: float | None = None, **others: Any) -> dict[str, Any]:
        """Arguments of matplotlib's `plot`; with markers of a size if one is given."""
        own = {'color': look[self.colour], 'linestyle': self.dashes, 'linewidth': self.width}
        marked = {'marker': self.marker, 'markersize': size} if size else {}
        return own | marked | others

    def entry(self, look: Look, size: float | None = None, text: str = '', **others: Any) -> Entry:
        """Legend entry; with a marker of a size if one is given."""
        keywords = self.style(look, size, **others)
        del keywords['color']
        return Entry(text or self.label, line(look, self.colour, **keywords))


def heading(ax: Any, text: str) -> None:
    """Write a title above the left end of axes."""
    ax.set_title(text, fontsize=9.5, loc='left')


def named_rows(ax: Any, names: Sequence[str], width: float, left: float) -> None:
    """Name rows 0, 1, … from top to bottom, with so much room left of the axes [inch]."""
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis='y', length=0)
    place = ax.get_position()
    ax.set_position([left / width, place.y0, place.x1 - left / width, place.height])


def shade(value: float, classes: Sequence[float]) -> str:
    """Colour of a value that lies below, between or above the five limits of classes."""
    return _SHADES[np.searchsorted(classes, value)]


def shades(classes: Sequence[float], **style: Any) -> list[Entry]:
    """Legend entries of the classes of `shade` [mm]."""
    from matplotlib.patches import Patch

    names = (
        f'< {classes[0]:g} mm',
        *(f'{low:g}–{high:g}' for low, high in itertools.pairwise(classes)),
        f'> {classes[-1]:g}',
    )
    return [
        Entry(name, Patch(facecolor=colour, **style))
        for name, colour in zip(names, _SHADES, strict=True)
    ]


def cell_text(ax: Any, column: int, row: int, text: str) -> None:
    """Write into a cell of a map, legible on every shade."""
    from matplotlib.patheffects import withStroke

    ax.text(column, row, text, ha='center', va='center', fontsize=8, color='#111111',
            linespacing=1.1,
            path_effects=[withStroke(linewidth=2.2, foreground='#ffffff')])  # fmt: skip


def map_axes(ax: Any, columns: Sequence[str], rows: Sequence[str]) -> None:
    """Name columns and rows of a map, whose cells are of size one about whole numbers."""
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(-0.5, len(rows) - 0.5))
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
