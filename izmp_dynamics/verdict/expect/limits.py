"""Limits that a recording must meet, as a YAML file states them: config/limits_example.yaml."""

import difflib
from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.settings import read_settings, setting
from izmp_dynamics.verdict.events.event import KINDS
from izmp_dynamics.verdict.findings import KINDS as FINDINGS
from izmp_dynamics.verdict.findings import OF_TRACKS, is_key
from izmp_dynamics.verdict.scene import LABELS
from izmp_dynamics.verdict.verdict import HEADLINES


def _least() -> float | None:
    value: float | None = setting('smallest number that is allowed', default=None)
    return value


def _most() -> float | None:
    value: float | None = setting('largest number that is allowed', default=None)
    return value


def _require_a_limit(least: float | None, most: float | None) -> None:
    if least is None and most is None:
        raise RobotFileError('it has neither least nor most.', kind='no_limit')
    if least is not None and most is not None and least > most:
        raise RobotFileError(
            f'least is {least:g}, which is more than most, {most:g}.', kind='empty_range'
        )


@dataclass(frozen=True)
class MarginLimit:
    """Limits of the smallest margin of the averaged point [m]."""

    least: float | None = _least()
    most: float | None = _most()
    surely: bool = setting(
        'whether the margin must hold with its uncertainty (95 %)', default=False
    )

    def __post_init__(self) -> None:
        """Refuse what limits nothing."""
        _require_a_limit(self.least, self.most)


@dataclass(frozen=True)
class EventLimit:
    """How many events of a kind there may be."""

    kind: str = setting('kind of event', choices=tuple(KINDS))
    least: int | None = setting('smallest number of them', default=None, lower=0)
    most: int | None = setting('largest number of them; 0: none', default=None, lower=0)
    size: float = setting(
        'events that are smaller, in the unit of their kind, do not count', default=0.0, lower=0.0
    )
    duration: float = setting('events that are shorter do not count', default=0.0, unit='s')

    def __post_init__(self) -> None:
        """Refuse what limits nothing."""
        _require_a_limit(self.least, self.most)


@dataclass(frozen=True)
class ValueLimit:
    """Limits of any number of report.json."""

    name: str = setting('its place in report.json, e.g. tracks.mr_ad.error.uncertainty')
    least: float | None = _least()
    most: float | None = _most()

    def __post_init__(self) -> None:
        """Refuse what limits nothing."""
        _require_a_limit(self.least, self.most)


@dataclass(frozen=True)
class Limits:
    """What a recording must meet."""

    verdict: tuple[str, ...] = setting(
        'states of the verdict that are allowed', default=(), choices=tuple(HEADLINES)
    )
    margin: MarginLimit | None = setting(
        'limits of the smallest margin: least, most [m], surely', default=None
    )
    events: tuple[EventLimit, ...] = setting(
        'entries with kind, least, most, size, duration', default=()
    )
    values: tuple[ValueLimit, ...] = setting('entries with name, least, most', default=())
    no_findings: tuple[str, ...] = setting(
        'keys of findings that must not be in the report; without [NAME]: of any', default=()
    )

    def __post_init__(self) -> None:
        """Refuse a file that states nothing, and findings that no report can have."""
        if not any(vars(self).values()):
            raise RobotFileError(
                'it states no limit; valid keys: verdict, margin, events, values, no_findings.',
                kind='no_limit',
            )
        for index, key in enumerate(self.no_findings):
            if not is_key(key):
                raise _no_such_finding(key, f'no_findings[{index}]')


def _no_such_finding(key: str, place: str) -> RobotFileError:
    near = difflib.get_close_matches(key[:80].partition('[')[0], FINDINGS, n=1)
    hint = f" Did you mean '{near[0]}'?" if near and near[0] != key.partition('[')[0] else ''
    return RobotFileError(
        f"there is no finding '{key:.80}'; valid: {', '.join(FINDINGS)}; of one track, "
        f'[{"], [".join(LABELS)}] after {", ".join(OF_TRACKS)}.{hint}',
        kind='invalid_choice', key=place, valid=FINDINGS,
    )  # fmt: skip


def load_limits(path: Path) -> Limits:
    """Read a file of limits.

    Raises:
        RobotFileError: if it cannot be read or does not fit; the message names the line and what
            is valid.
    """
    return read_settings(Limits, path)
