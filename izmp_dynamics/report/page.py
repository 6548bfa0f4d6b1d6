"""The page: a summary and its figures in one self-contained HTML text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.faults import Fault
from izmp_dynamics.pages.templates import template
from izmp_dynamics.verdict import errors, formatting, verdict
from izmp_dynamics.verdict.events.event import STEPS
from izmp_dynamics.verdict.posture import FALL_TIMES, FALLEN_HEIGHT

TEMPLATE = 'report.html.j2'

_SYMBOLS = {'stable': '✓', 'marginal': '!', 'disturbed': '!', 'unstable': '✕', 'fell': '✕'}
_FIRST_REAL_STAMP = 100_000_000 * NANOSECONDS  # smaller stamps are a simulation's clock
_CAUSES = {'edge': 'excursion', 'push': 'push', 'error': 'error of the signals'}
_FRAMES = {'sole': 'the loaded sole', 'root': 'the root link', 'nif': 'nif'}
_RULES = {
    'edge': errors.TOLERANCE,
    'usable_share': verdict.USABLE_SHARE,
    'tipping_share': verdict.TIPPING_SHARE,
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


@dataclass(frozen=True)
class Figure:
    """A picture of the page.

    Attributes:
        title: heading.
        svgs: one for every width of the window, or one for wide and one for narrow windows.
        caption: what is shown, and what the limits hide; plain text.
    """

    title: str
    svgs: tuple[str, ...]
    caption: str


def render(
    report: Mapping[str, Any],
    figures: Mapping[str, Figure],
    player: str = '',
    absent: Sequence[str] = (),
) -> str:
    """Build the page.

    Args:
        report: what report.json holds (`Summary.as_dict`).
        figures: name → figure, as `draw_pictures` returns them.
        player: HTML of what plays, as `player_html` returns it; '' for a page of pictures.
        absent: sentences about libraries that are missing for plots.

    Returns:
        HTML; every text of `report` is escaped.
    """
    return template(__package__, TEMPLATE, _FILTERS).render(
        report=report,
        judged=report['tracks'].get(report['verdict']['judged_by']),
        figures=figures,
        player=player,
        absent=absent,
        cards=cards(report),
        symbol=_SYMBOLS.get(report['verdict']['state'], '?'),
        recorded=_recorded(report['start_stamp']),
        rules=_RULES,
        causes=_CAUSES,
        frames=_FRAMES,
        steps=STEPS,
    )


def cards(report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Choose the figures of merit at the top of the page.

    Args:
        report: what report.json holds.

    Returns:
        (title, value, explanation) of each.
    """
    return [_margin_card(report), _agreement_card(report), _force_card(report), _time_card(report)]


def _margin_card(report: Mapping[str, Any]) -> tuple[str, str, str]:
    title = 'Smallest margin'
    judged = report['tracks'].get(report['verdict']['judged_by'])
    if judged is None:
        return title, formatting.NOTHING, 'the verdict says why'
    uncertain = formatting.mm(judged['error']['uncertainty'])
    when = formatting.instant(judged['averaged_margin_time'])
    value = formatting.margin_mm(judged['averaged_margin'])
    over = formatting.seconds(report['verdict']['averaging_time'])
    note = f'± {uncertain}; ' if judged['name'] != 'cop' else ''
    note += f'{judged["label"]} averaged over {over}'
    passed = report['verdict']['filter_bandwidth']
    if passed is not None:
        note += f' after a filter of {formatting.hertz(passed)}'
    return title, value, f'{note}, at {when}'


def _agreement_card(report: Mapping[str, Any]) -> tuple[str, str, str]:
    pairs = {(pair['first'], pair['second']): pair for pair in report['pairs'] if pair['count']}
    for first in ('mr_ad', 'ir_md'):
        if (first, 'cop') in pairs:
            pair = pairs[first, 'cop']
            along = '|IZMP − CoP|' if pair['along'] == 'plane' else 'along the line of the feet'
            return f'Gap {along}', formatting.mm(pair['mean']), _gap_note(report, pair)
    if ('mr_ad', 'ir_md') in pairs:
        pair = pairs['mr_ad', 'ir_md']
        note = f'mean; at most {formatting.mm(pair["largest"])}; no CoP to compare with'
        return 'Gap MR-AD to IR-MD', formatting.mm(pair['mean']), note
    return 'Gap |IZMP − CoP|', formatting.NOTHING, 'no CoP to compare with'


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


def _force_card(report: Mapping[str, Any]) -> tuple[str, str, str]:
    title = 'Contact force / weight'
    methods = [track for track in report['tracks'].values() if track['name'] != 'cop']
    weight = formatting.newtons(report['weight'])
    measured = report['measured_force']
    feet = f'; feet measured {formatting.newtons(measured)}' if measured is not None else ''
    if not methods:
        return title, formatting.ratio(report['measured_over_weight']), f'weight {weight}{feet}'
    track = methods[0]
    force = formatting.newtons(track['mean_normal_force'])
    value = formatting.ratio(track['force_over_weight'])
    return title, value, f'{track["label"]} {force} of {weight}{feet}'


def _time_card(report: Mapping[str, Any]) -> tuple[str, str, str]:
    judged = report['tracks'].get(report['verdict']['judged_by'])
    evaluated = judged['evaluated_time'] if judged else 0.0
    loaded = formatting.seconds(report['loaded_time'])
    duration = formatting.seconds(report['duration'])
    instants = report['instants']
    note = f'of {loaded} on the ground; recording {duration}, {instants} instant'
    note += 's'[: instants != 1]
    if report['flight_time'] > 0:
        note += f'; {formatting.seconds(report["flight_time"])} in flight'
    if report['unknown_time'] > 0.01 * report['duration']:
        note += f'; {formatting.seconds(report["unknown_time"])} without a value'
    return 'Time evaluated', formatting.seconds(evaluated), note


def _recorded(stamp: int | None) -> str:
    """Date and time of the first instant; empty for a simulation's clock."""
    if stamp is None or stamp < _FIRST_REAL_STAMP:
        return ''
    moment = datetime.fromtimestamp(stamp // NANOSECONDS, tz=timezone.utc)
    return moment.strftime('%Y-%m-%d %H:%M:%S UTC')
