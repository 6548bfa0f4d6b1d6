"""What was found about a recording, and what helps."""

from dataclasses import dataclass
from typing import Literal


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
