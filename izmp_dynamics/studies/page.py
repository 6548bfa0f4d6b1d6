"""What the page of a study shows and says; `rendering` makes the text of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Figures = Mapping[str, tuple[ModuleType, str]]
"""Name → module with `runs(subject)` and `picture(subject, load)`, and what it shows."""


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
    """

    figures: Figures
    title: str
    heading: str
    lead: str
    method: str
    settings: Mapping[str, Any]
