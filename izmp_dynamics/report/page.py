"""The page: a summary and what plays in one self-contained HTML text."""

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

import izmp_dynamics
from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.faults import Fault
from izmp_dynamics.pages.templates import template
from izmp_dynamics.verdict import errors, formatting, rules
from izmp_dynamics.verdict.events.event import STEPS
from izmp_dynamics.verdict.posture import FALL_TIMES, FALLEN_HEIGHT

TEMPLATE = 'report.html.j2'

_SYMBOLS = {'stable': '✓', 'marginal': '!', 'disturbed': '!', 'unstable': '✕', 'fell': '✕'}
_FIRST_REAL_STAMP = 100_000_000 * NANOSECONDS  # smaller stamps are a simulation's clock
_CAUSES = {'edge': 'excursion', 'push': 'push', 'error': 'error of the signals'}
_FRAMES = {'sole': 'the loaded sole', 'root': 'the root link', 'nif': 'nif'}
_RULES = {
    'edge': errors.TOLERANCE,
    'usable_share': rules.USABLE_SHARE,
    'tipping_share': rules.TIPPING_SHARE,
    'fallen_height': FALLEN_HEIGHT,
    'fall_times': FALL_TIMES,
    'ratio': errors.RATIO,
    'assumed_tilt': errors.ASSUMED_TILT,
}
_FORMATS = ('mm', 'seconds', 'instant', 'percent', 'ratio', 'newtons', 'hertz', 'plain')
_FILTERS = {name: getattr(formatting, name) for name in _FORMATS} | {
    'sentence': lambda text: text[:1].upper() + text[1:],
    'fault': lambda key: Fault.parse(key).text,
}


def render(
    report: Mapping[str, Any],
    player: str = '',
    absent: str = '',
    *,
    bag: str = '',
    command: str = '',
) -> str:
    """Build the page.

    Args:
        report: what report.json holds (`Summary.as_dict`).
        player: HTML of what plays, as `player_html` returns it; '' without one.
        absent: a sentence about a library that is missing for it.
        bag: name of the recording.
        command: that made the page.

    Returns:
        HTML; every text of `report` is escaped.
    """
    return template(__package__, TEMPLATE, **_FILTERS).render(
        report=report,
        judged=report['tracks'].get(report['verdict']['judged_by']),
        player=player,
        absent=absent,
        bag=bag,
        command=command,
        version=izmp_dynamics.__version__,
        cards=cards(report),
        checks=(_force_check(report), _time_check(report)),
        symbol=_SYMBOLS.get(report['verdict']['state'], '?'),
        recorded=_recorded(report['start_stamp']),
        rules=_RULES,
        causes=_CAUSES,
        frames=_FRAMES,
        steps=STEPS,
    )


class Bar(NamedTuple):
    """A margin beside the room that there is, each in percent of that.

    Attributes:
        length: of the margin.
        begin: of the band in which it lies by its uncertainty.
        width: of that band.
    """

    length: float
    begin: float
    width: float


class Card(NamedTuple):
    """A figure of merit.

    Attributes:
        title: what it is.
        value: as it is shown.
        note: how it is meant.
        tone: 'good' or 'bad' if that decides its colour.
        bar: of the margin.
    """

    title: str
    value: str
    note: str
    tone: str = ''
    bar: Bar | None = None


def cards(report: Mapping[str, Any]) -> list[Card]:
    """Choose the figures of merit at the top of the page.

    Args:
        report: what report.json holds.
    """
    tilt = report['largest_tilt']
    degrees = formatting.NOTHING if tilt is None else f'{math.degrees(tilt):.1f}°'
    note = 'the orientation is not known'
    if tilt is not None:
        when = formatting.instant(report['largest_tilt_time'])
        note = f'of the root from its standing pose, at {when}'
    return [
        _margin_card(report),
        Card('Largest tilt', degrees, note),
        _push_card(report),
        _agreement_card(report),
    ]


def _margin_card(report: Mapping[str, Any]) -> Card:
    verdict = report['verdict']
    judged, margin, room = (
        report['tracks'].get(verdict['judged_by']), verdict['margin'], verdict['room']
    )  # fmt: skip
    captured = verdict['margin_of'] == 'capture point'
    title = 'Capture margin' if captured else 'Smallest margin'
    outside = (margin or 0.0) < 0.0
    within_error = outside and verdict['state'] == 'stable'  # as the verdict says
    unsure = within_error or verdict['state'] == 'unclear'
    tone = '' if unsure else 'bad' if outside else 'good'
    if judged is None:
        return Card(title, formatting.NOTHING, 'the verdict says why')
    when = formatting.instant(verdict['margin_time'])
    if captured:
        note = 'smallest, of the capture point from the edge of the feet as they land'
        return Card(title, formatting.margin_mm(margin), f'{note}; at {when}', tone)
    uncertain = judged['error']['uncertainty'] if judged['name'] != 'cop' else None
    over = formatting.seconds(verdict['averaging_time'])
    note = f'± {formatting.mm(uncertain)}; ' if judged['name'] != 'cop' else ''
    if within_error:
        note += 'within its error it is inside; '
    note += f'{judged["label"]} averaged over {over}'
    passed = verdict['filter_bandwidth']
    if passed is not None:
        note += f' after a filter of {formatting.hertz(passed)}'
    if margin is None:
        return Card(title, formatting.NOTHING, note)
    bar = None
    if room:
        low, end, high = (
            100.0 * min(max(abs(margin) + way * (uncertain or 0.0), 0.0) / room, 1.0)
            for way in (-1, 0, 1)
        )
        bar = Bar(end, low, high - low)
        note += f'; half width {formatting.mm(room)}'
    return Card(title, formatting.margin_mm(margin), f'{note}; at {when}', tone, bar)


def _push_card(report: Mapping[str, Any]) -> Card:
    pushes = report['external_forces']['pushes']
    known = any(p['second'] == 'cop' and p['along'] == 'plane' for p in report['pairs'])
    if not pushes:
        note = 'none found' if known else 'unknown: no foot has a six-axis force sensor'
        return Card('Pushes', '0' if known else formatting.NOTHING, note)
    largest = max((event for event in report['events'] if event['kind'] == 'push'),
                  key=lambda event: event['size'], default=None)  # fmt: skip
    note = ''
    if largest is not None:
        note = f'largest {formatting.newtons(largest["size"])} at '
        note += formatting.instant(largest['begin'])
    return Card('Pushes', str(len(pushes)), note)


def _agreement_card(report: Mapping[str, Any]) -> Card:
    pairs = {(pair['first'], pair['second']): pair for pair in report['pairs'] if pair['count']}
    for first in ('mr_ad', 'ir_md'):
        if (first, 'cop') in pairs:
            pair = pairs[first, 'cop']
            along = '|IZMP − CoP|' if pair['along'] == 'plane' else 'along the line of the feet'
            return Card(f'Gap {along}', formatting.mm(pair['mean']), _gap_note(report, pair))
    if ('mr_ad', 'ir_md') in pairs:
        pair = pairs['mr_ad', 'ir_md']
        note = f'mean; at most {formatting.mm(pair["largest"])}; no CoP to compare with'
        return Card('Gap MR-AD to IR-MD', formatting.mm(pair['mean']), note)
    return Card('Gap |IZMP − CoP|', formatting.NOTHING, 'no CoP to compare with')


def _gap_note(report: Mapping[str, Any], pair: Mapping[str, Any]) -> str:
    label, largest = report['tracks'][pair['first']]['label'], formatting.mm(pair['largest'])
    note = f'mean, {label}; at most {largest}'
    if pair['along'] != 'plane':
        return f'{note}; across it, normal forces alone give no CoP'
    sole = next((axes for axes in pair['frames'] if axes['frame'] == 'sole'), None)
    if sole is None:
        return note
    x, y = formatting.mm(sole['rmse_x']), formatting.mm(sole['rmse_y'])
    return f'{note}; RMSE {x} in x, {y} in y of the sole'


def _force_check(report: Mapping[str, Any]) -> str:
    methods = [track for track in report['tracks'].values() if track['name'] != 'cop']
    weight = formatting.newtons(report['weight'])
    measured = report['measured_force']
    feet = f'; feet measured {formatting.newtons(measured)}' if measured is not None else ''
    if not methods:
        share = formatting.ratio(report['measured_over_weight'])
        return f'Contact force {share} of the weight of {weight}{feet}'
    track = methods[0]
    force = formatting.newtons(track['mean_normal_force'])
    share = formatting.ratio(track['force_over_weight'])
    return f'Contact force {share} of the weight: {track["label"]} {force} of {weight}{feet}'


def _time_check(report: Mapping[str, Any]) -> str:
    judged = report['tracks'].get(report['verdict']['judged_by'])
    evaluated = formatting.seconds(judged['evaluated_time'] if judged else 0.0)
    loaded = formatting.seconds(report['loaded_time'])
    duration = formatting.seconds(report['duration'])
    instants = report['instants']
    note = f'Evaluated {evaluated} of {loaded} on the ground; recording {duration}, '
    note += f'{instants} instant' + 's'[: instants != 1]
    if report['flight_time'] > 0:
        note += f'; {formatting.seconds(report["flight_time"])} in flight'
    if report['unknown_time'] > 0.01 * report['duration']:
        note += f'; {formatting.seconds(report["unknown_time"])} without a value'
    return note


def _recorded(stamp: int | None) -> str:
    """Date and time of the first instant; empty for a simulation's clock."""
    if stamp is None or stamp < _FIRST_REAL_STAMP:
        return ''
    moment = datetime.fromtimestamp(stamp // NANOSECONDS, tz=timezone.utc)
    return moment.strftime('%Y-%m-%d %H:%M:%S UTC')
