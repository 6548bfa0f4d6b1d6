"""What was found about a recording, and what helps."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

_LISTED = 5
"""Names that are listed in a sentence; more are counted."""


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        severity: 'error' prevents the evaluation; 'warning' lets one doubt the result; 'note'
            explains what will not be computed.
        kind: identifies it; that of the error, or e.g. 'beyond_limits'.
        message: what it is, a sentence for a person; its wording may change.
        remedy: what helps; empty if the message says it.
    """

    severity: Literal['error', 'warning', 'note']
    kind: str
    message: str
    remedy: str = ''

    def __str__(self) -> str:
        return f'{self.message} {self.remedy}'.rstrip()


def list_names(names: Iterable[str]) -> str:
    """The first few of some names and how many more there are."""
    listed = list(names)
    more = len(listed) - _LISTED
    if more > 0:
        listed = [*listed[:_LISTED], f'{more} more']
    return ', '.join(listed) or 'nothing'
