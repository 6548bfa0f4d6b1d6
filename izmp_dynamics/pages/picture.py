"""What the page of a study shows: pictures (drawing, numbers, caption, data), tables and words.

Captions are written with the names of facts in braces. A fact is formatted in one place, so that
the caption, the table on the page and numbers.csv hold the same digits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fact:
    """One measured number.

    Attributes:
        key: its name in captions, unique in a picture.
        label: what it is.
        value: the number; NaN if there is none.
        unit: its unit; '' for a plain number.
        digits: decimals that are shown.
        interval: half width of its 95 % confidence interval; NaN without one.
        paper: what the paper says, with unit; '' if it says nothing.
        wanted: what must hold, e.g. '≤ 4.44 %'; '' if nothing must.
        holds: whether it does; None if nothing must.
    """

    key: str
    label: str
    value: float
    unit: str = ''
    digits: int = 2
    interval: float = math.nan
    paper: str = ''
    wanted: str = ''
    holds: bool | None = None

    @property
    def number(self) -> str:
        """The number as it is shown everywhere."""
        return number(self.value, self.digits)

    @property
    def spread(self) -> str:
        """The half width of the interval as it is shown everywhere; '' without one."""
        return number(self.interval, self.digits) if math.isfinite(self.interval) else ''

    def __str__(self) -> str:
        spread = f' ± {self.spread}' if self.spread else ''
        gap = '' if self.unit == '°' else ' '
        return f'{self.number}{spread}{gap}{self.unit}'.rstrip()


class Toned(str):
    """A cell of a table in a colour.

    Attributes:
        tone: class of the style sheet, a verdict's state or 'good' or 'bad'.
    """

    tone: str

    def __new__(cls, text: str, tone: str) -> 'Toned':
        """Make the text of the cell."""
        toned = super().__new__(cls, text)
        toned.tone = tone
        return toned


@dataclass(frozen=True)
class Table:
    """Rows of text or numbers under headings that state the unit.

    Attributes:
        headings: one per column.
        rows: texts, or numbers that are written with six digits.
    """

    headings: tuple[str, ...]
    rows: Sequence[Sequence[str | float]]

    def texts(self) -> list[list[str]]:
        """The cells as they are written."""
        return [[_cell(value) for value in row] for row in self.rows]


@dataclass(frozen=True)
class Picture:
    """A picture for the page.

    Attributes:
        name: short name, that of its files.
        title: heading.
        source: where it comes from, e.g. 'Fig. 6 of the paper'.
        draw: draws it at a width [inch].
        facts: its numbers.
        seen: what is seen.
        paper: what the paper says.
        ours: what was measured here.
        data: what is drawn.
        why: why the two differ; '' if they do not.
        table: a table beside the picture; None without one.
    """

    name: str
    title: str
    source: str
    draw: Callable[[float], Any]
    facts: tuple[Fact, ...]
    seen: str
    paper: str
    ours: str
    data: Table
    why: str = ''
    table: Table | None = field(default=None)

    def caption(self) -> list[tuple[str, str]]:
        """(heading, text) of the parts of the caption, with the facts filled in."""
        facts = {fact.key: str(fact) for fact in self.facts}
        parts = (
            ('Shown', self.seen),
            ('Paper', self.paper),
            ('Here', self.ours),
            ('Why they differ', self.why),
        )
        return [(heading, text.format(**facts)) for heading, text in parts if text]


def number(value: float, digits: int) -> str:
    """Write a number with fixed decimals, a true minus sign and no negative zero."""
    if math.isnan(value):
        return '–'
    if math.isinf(value):
        return '∞' if value > 0 else '−∞'
    text = f'{value:.{digits}f}'
    if float(text) == 0.0:
        text = text.lstrip('-')
    return text.replace('-', '−')


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return '' if math.isnan(value) else f'{value:.6g}'


Figures = Mapping[str, tuple[Any, str]]
"""Name → what draws the figure, mostly a module, and what it shows."""


@dataclass(frozen=True)
class Missing:
    """Something of a paper that is not reproduced.

    Attributes:
        item: what it is, and where it is in the paper.
        why: why it is not reproduced, with the numbers that differ.
        needed: what would be needed.
    """

    item: str
    why: str
    needed: str


@dataclass(frozen=True)
class Page:
    """What an experiment shows and says.

    Attributes:
        figures: all of them, in the order of the page.
        title: short, at the top and of the window.
        lead: what it is about.
        method: how it was made.
        settings: name → value of what was taken.
        missing: what is not reproduced, for the table at the top.
        tables: title → table, before the figures.
        appendix: title → table under a fold, after the figures.
        caveats: what has to be known before the numbers.
    """

    figures: Figures
    title: str
    lead: str
    method: str
    settings: Mapping[str, Any]
    missing: tuple[Missing, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    appendix: Mapping[str, Table] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()
