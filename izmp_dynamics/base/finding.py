"""What is wrong with inputs or results, or is to be known of them, and what helps."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal['error', 'warning', 'note']

LEVELS: tuple[Level, ...] = ('error', 'warning', 'note')
"""Most severe first."""

_LISTED = 5
"""Names that are listed in a sentence; more are counted."""


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        kind: identifies it; that of the error, or e.g. 'beyond_limits'.
        level: 'error' prevents the evaluation; 'warning' lets one doubt the result; 'note'
            explains what will not be computed.
        sentence: what it is, for a person; its wording may change.
        remedy: what helps; empty if the sentence says it.
        subject: the track or topic that it is about, if there may be several of its kind.
        data: what it rests on, by name.
    """

    kind: str
    level: Level
    sentence: str
    remedy: str = ''
    subject: str = ''
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """Name in report.json and diagnostics, e.g. 'biased[mr_ad]'."""
        return f'{self.kind}[{self.subject}]' if self.subject else self.kind

    def __str__(self) -> str:
        return f'{self.sentence} {self.remedy}'.rstrip()


def warning(
    kind: str,
    sentence: str,
    remedy: str = '',
    subject: str = '',
    data: Mapping[str, Any] | None = None,
) -> Finding:
    """Make a finding that lets one doubt the result."""
    return Finding(kind, 'warning', sentence, remedy, subject, data or {})


def sorted_by_level(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, then notes."""
    return tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level)))


def by_kind(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding per kind, with all sentences and remedies of that kind."""
    joined: dict[str, Finding] = {}
    for found in findings:
        before = joined.get(found.kind)
        sentence = str(found) if before is None else f'{before.sentence} {found}'
        joined[found.kind] = Finding(found.kind, found.level, sentence)
    return tuple(joined.values())


FOLLOWS = {'imu_turned': ('imu_turned', 'legs_exchanged')}
"""Kind of a cause → kinds of findings that it makes as well."""


def one_per_cause(findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those that follow from one before them."""
    kept, follows = list[Finding](), set[str]()
    for found in findings:
        if found.kind not in follows:
            kept.append(found)
            follows.update(FOLLOWS.get(found.kind, ()))
    return kept


def list_names(names: Iterable[str]) -> str:
    """The first few of some names and how many more there are."""
    listed = list(names)
    more = len(listed) - _LISTED
    if more > 1:
        listed = [*listed[:_LISTED], f'{more} more']
    return ', '.join(listed) or 'nothing'
