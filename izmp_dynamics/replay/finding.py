"""What was found about a recording, and what helps."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        severity: 'error' prevents the evaluation; 'odd' lets one doubt the result; 'note'
            explains what will not be computed.
        message: what it is.
        remedy: what helps; empty if the message says it.
    """

    severity: Literal['error', 'odd', 'note']
    message: str
    remedy: str = ''

    def __str__(self) -> str:
        return f'{self.message} {self.remedy}'.rstrip()
