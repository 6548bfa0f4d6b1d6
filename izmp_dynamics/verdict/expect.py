"""Does a report meet its limits? From a YAML file (config/limits_example.yaml) to JUnit XML."""

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.settings import read_settings, setting
from izmp_dynamics.verdict.events.event import KINDS
from izmp_dynamics.verdict.findings import KINDS as FINDINGS
from izmp_dynamics.verdict.findings import OF_TRACKS, is_key
from izmp_dynamics.verdict.formatting import instant, mm
from izmp_dynamics.verdict.reasons import HEADLINES
from izmp_dynamics.verdict.scene import LABELS
from izmp_dynamics.verdict.summary import Summary
from izmp_dynamics.verdict.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class _Range:
    """Has a least and a most."""

    least: float | None = setting('smallest number that is allowed', default=None)
    most: float | None = setting('largest number that is allowed', default=None)

    def __post_init__(self) -> None:
        """Refuse what limits nothing."""
        if self.least is None and self.most is None:
            raise RobotFileError('it has neither least nor most.', kind='no_limit')
        if self.least is not None and self.most is not None and self.least > self.most:
            raise RobotFileError(
                f'least is {self.least:g}, which is more than most, {self.most:g}.',
                kind='empty_range',
            )


@dataclass(frozen=True)
class MarginLimit(_Range):
    """Limits of the smallest margin of the averaged point [m]."""

    surely: bool = setting(
        'whether the margin must hold with its uncertainty (95 %)', default=False
    )


@dataclass(frozen=True, kw_only=True)
class EventLimit(_Range):
    """How many events of a kind there may be."""

    kind: str = setting('kind of event', choices=tuple(KINDS))
    least: int | None = setting('smallest number of them', default=None, lower=0)
    most: int | None = setting('largest number of them; 0: none', default=None, lower=0)
    size: float = setting(
        'events that are smaller, in the unit of their kind, do not count', default=0.0, lower=0.0
    )
    duration: float = setting('events that are shorter do not count', default=0.0, unit='s')


@dataclass(frozen=True)
class ValueLimit(_Range):
    """Limits of any number of report.json."""

    name: str = setting('its place in report.json, e.g. tracks.mr_ad.error.uncertainty')


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


_LISTED = 5
"""Events that an answer lists; more are counted."""


@dataclass(frozen=True)
class Expectation:
    """A limit and whether it is met.

    Attributes:
        name: the limit, e.g. 'margin ≥ 0.02'.
        met: whether it is met.
        sentence: what was found.
    """

    name: str
    met: bool
    sentence: str


def check_limits(summary: Summary, limits: Limits) -> tuple[Expectation, ...]:
    """Compare a report with limits, in the order of the file's keys."""
    report = summary.as_dict()
    return (
        *_verdict(summary, limits),
        *_margin(summary, limits),
        *(_events(summary, limit) for limit in limits.events),
        *(_value(report, limit) for limit in limits.values),
        *(_no_finding(summary, key) for key in limits.no_findings),
    )


def _verdict(summary: Summary, limits: Limits) -> Iterator[Expectation]:
    if limits.verdict:
        verdict = summary.verdict
        name = f'verdict: {" or ".join(limits.verdict)}'
        to_the_end = math.isnan(verdict.known_until)
        yield Expectation(name, verdict.state in limits.verdict and to_the_end, verdict.text)


def _margin(summary: Summary, limits: Limits) -> Iterator[Expectation]:
    limit, judged = limits.margin, summary.judged
    if limit is None:
        return
    margin = judged.averaged_margin if judged else math.nan
    found = f'The smallest margin is {mm(margin)}'
    uncertainty = summary.verdict.uncertainty
    found += f' ± {mm(uncertainty)}' if limit.surely else ''
    found += (
        f' at {judged.averaged_margin_time:.2f} s.' if judged and math.isfinite(margin) else '.'
    )
    if not limit.surely:
        answer = _within('margin', margin, limit.least, limit.most, found)
        yield answer if limit.least is None else _to_the_end(summary.verdict, answer)
        return
    if limit.least is not None:
        name = 'margin minus its uncertainty'
        answer = _within(name, margin - uncertainty, limit.least, None, found)
        yield _to_the_end(summary.verdict, answer)
    if limit.most is not None:
        name = 'margin plus its uncertainty'
        yield _within(name, margin + uncertainty, None, limit.most, found)


def _events(summary: Summary, limit: EventLimit) -> Expectation:
    found = [
        event
        for event in summary.events
        if event.kind == limit.kind
        and not (limit.size > 0.0 and event.size < limit.size)
        and event.end - event.begin >= limit.duration
    ]
    name = f'number of {limit.kind}'
    conditions = [f'size ≥ {limit.size:g}'] if limit.size else []
    conditions += [f'duration ≥ {limit.duration:g} s'] if limit.duration else []
    if conditions:
        name += f' ({", ".join(conditions)})'
    if summary.verdict.reason == 'leg_joints_absent':
        return Expectation(_limits(name, limit.least, limit.most), False, summary.verdict.text)
    lines = [event.line for event in found[:_LISTED]]
    if len(found) > _LISTED:
        lines.append(f'and {len(found) - _LISTED} more')
    sentence = f'{len(found)} found{": " if lines else ""}{"; ".join(lines)}.'
    answer = _within(name, len(found), limit.least, limit.most, sentence)
    return answer if limit.most is None else _to_the_end(summary.verdict, answer)


def _to_the_end(verdict: Verdict, answer: Expectation) -> Expectation:
    """The answer about what must hold to the end, which may not be known to the end."""
    until = verdict.evaluated_until
    if math.isnan(until) or not answer.met:
        return answer
    after = f'But from {instant(until)} to the end nothing is known.'
    return replace(answer, met=False, sentence=f'{answer.sentence} {after}')


def _value(report: Mapping[str, Any], limit: ValueLimit) -> Expectation:
    try:
        value = _look_up(report, limit.name)
    except KeyError as error:
        return Expectation(_limits(limit.name, limit.least, limit.most), False, error.args[0])
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        sentence = 'There is no number.' if value is None else f'{value!r:.80} is not a number.'
        return Expectation(_limits(limit.name, limit.least, limit.most), False, sentence)
    return _within(limit.name, value, limit.least, limit.most, f'It is {value:.6g}.')


def _look_up(report: Mapping[str, Any], name: str) -> Any:
    """Follow a dotted name; an entry of a list by its number or its `name`."""
    value: Any = report
    for depth, key in enumerate(parts := name.split('.')):
        if isinstance(value, list):
            records = (entry for entry in value if isinstance(entry, Mapping))
            named = {str(entry['name']): entry for entry in records if 'name' in entry}
            value = {str(k): entry for k, entry in enumerate(value)} | named
        if not isinstance(value, Mapping) or key not in value:
            where = '.'.join(parts[:depth]) or 'report.json'
            valid = ', '.join(map(str, value)) if isinstance(value, Mapping) else ''
            raise KeyError(f"There is no '{key}' in {where}; valid: {valid or 'nothing'}.")
        value = value[key]
    return value


def _no_finding(summary: Summary, key: str) -> Expectation:
    found = [f for f in summary.findings if key in (f.key, f.kind)]
    sentence = ' '.join(finding.sentence for finding in found) or 'None.'
    return Expectation(f'no finding {key}', not found, sentence)


def _within(
    name: str, value: float, least: float | None, most: float | None, sentence: str
) -> Expectation:
    """NaN meets no limit."""
    met = (least is None or value >= least) and (most is None or value <= most)
    return Expectation(_limits(name, least, most), met and not math.isnan(value), sentence)


def _limits(name: str, least: float | None, most: float | None) -> str:
    parts = [f'≥ {least:g}'] if least is not None else []
    parts += [f'≤ {most:g}'] if most is not None else []
    return f'{name} {", ".join(parts)}'


_FORBIDDEN = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
"""What XML 1.0 cannot hold."""


def junit_xml(suite: str, expectations: Sequence[Expectation], note: str) -> str:
    """Write one test case for each limit.

    Args:
        suite: name of the suite, e.g. the recording.
        expectations: the limits.
        note: output of the suite.
    """
    failures = sum(not each.met for each in expectations)
    counts = {'tests': str(len(expectations)), 'failures': str(failures), 'errors': '0'}
    root = ElementTree.Element('testsuites', counts)
    tests = ElementTree.SubElement(root, 'testsuite', {'name': _allowed(suite)} | counts)
    for each in expectations:
        named = {'classname': 'izmp.replay', 'name': _allowed(each.name)}
        case = ElementTree.SubElement(tests, 'testcase', named)
        if not each.met:
            text = _allowed(each.sentence)
            ElementTree.SubElement(case, 'failure', {'message': text}).text = text
    ElementTree.SubElement(tests, 'system-out').text = _allowed(note)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding='unicode')
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub('\ufffd', text)
