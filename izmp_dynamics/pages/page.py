"""What the page of a study shows and says; `rendering` makes the text of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from izmp_dynamics.pages.picture import Table

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
        title: short, for the window.
        heading: at the top.
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
    heading: str
    lead: str
    method: str
    settings: Mapping[str, Any]
    missing: tuple[Missing, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    appendix: Mapping[str, Table] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()
