"""Does a report meet its limits? One answer for each limit, with the numbers."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from izmp_dynamics.verdict.expect.limits import EventLimit, Limits, ValueLimit
from izmp_dynamics.verdict.formatting import instant, mm
from izmp_dynamics.verdict.summary import Summary
from izmp_dynamics.verdict.verdict import Verdict

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
        name = 'margin less its uncertainty'
        answer = _within(name, margin - uncertainty, limit.least, None, found)
        yield _to_the_end(summary.verdict, answer)
    if limit.most is not None:
        name = 'margin with its uncertainty'
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
        sentence = 'There is no number.' if value is None else f'{value!r:.80} is no number.'
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
    found = [f for f in summary.findings if key in (f.key, f.key.partition('[')[0])]
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
