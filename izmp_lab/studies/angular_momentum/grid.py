"""Which step times and lengths the estimation can follow."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.angular_momentum.schemes import LIMITS
from izmp_lab.studies.angular_momentum.study import MomentumStudy
from izmp_lab.studies.angular_momentum.walks import STEP_LENGTH, STEP_TIME, Robot, Trial, ZmpScore
from izmp_lab.studies.drawing import (
    HATCH,
    cell_text,
    heading,
    map_axes,
    shade,
    shades,
)
from izmp_lab.studies.publish import figure

FINE = {
    'interval': 0.05,
    'pieces': 32,
    'nodes': ((0.075, 0.1, 0.125, 0.15, 0.7, 0.725, 1.5, 1.525),),
}
"""Twice as many knots in the same window."""

_CLASSES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Of the RMS error in x [mm]."""

LATE = 0.05
"""Half an interval, by which every landing misses its knot [s]."""

Cells = dict[tuple[float, float], ZmpScore]
Maps = dict[str, Cells]

_FINE = 'biped31, E4, knots every 0.05 s'
_LATE = 'biped31, E4, everything 0.05 s later'


def _maps(study: MomentumStudy) -> dict[str, tuple[Robot, str, dict[str, Any]]]:
    maps: dict[str, tuple[Robot, str, dict[str, Any]]] = {}
    for robot in study.robots:
        maps[f'{robot.name}, E1'] = (robot, 'E1', {})
        maps[f'{robot.name}, E4'] = (robot, 'E4', {})
    maps[_FINE] = (study.biped31, 'E4', {'changed': FINE})
    maps[_LATE] = (study.biped31, 'E4', {'stand': 1.5 + LATE})
    return maps


def at_knots(step_time: float) -> bool:
    """Whether every step of that time [s] begins at a knot if the first one does."""
    return abs(10.0 * step_time - round(10.0 * step_time)) < 1e-6


@figure(
    lambda study: {
        (name, time, length): study.score(robot, Trial(scheme, time, length, **given))
        for name, (robot, scheme, given) in _maps(study).items()
        for time in study.step_times
        for length in study.step_lengths
    }
)
def grid(study: MomentumStudy, scores: dict[tuple[str, float, float], ZmpScore]) -> Picture:
    found: Maps = {name: {} for name, _, _ in scores}
    for (name, time, length), score in scores.items():
        found[name][time, length] = score

    def draw(look: Look, width: float) -> Any:
        height = 0.5 * len(study.step_lengths) + 0.1
        canvas, axes = panels(width, len(found), _legend(), height, columns=2, titles=True)
        for ax, (name, scores) in zip(axes, found.items(), strict=True):
            _draw_map(ax, study, scores)
            heading(ax, name)
        return canvas

    return Picture(
        name='grid',
        title='Step time and step length',
        source='Beyond the poster',
        draw=draw,
        facts=_facts(study, found),
        seen='RMS (above) and largest (below) distance in x of the ZMP of all bodies from the '
        'wanted one [mm]. Hatched: more than 4 mm RMS or 16 mm in x, or 1.5 mm or 4 mm in y. '
        '✕: the ZMP of all bodies leaves the soles, or the robot cannot make the step. '
        'The first 0.2 s of every step are on both feet. With steps of 0.75, 0.85 and 0.95 s '
        'landings fall between knots that are 0.1 s apart; with a walk that begins 0.05 s later, '
        'those of the other step times.',
        paper='One gait, not stated.',
        ours='With landings at knots E4 works on biped31 in {works} of {cells} cells, from steps '
        'of {from_time} on at every length. It stops working with fast steps, and the longer the '
        'step the sooner: the rate of angular momentum grows with step length over swing time '
        'squared, and within one interval it bends by that over swing time squared again. At '
        'steps of {fastest} a swing is {pieces} intervals of 0.1 s long, too few for a polygon. '
        'With knots every 0.05 s the largest RMS error there falls from {coarse} to {fine}, and '
        '{works_fine} cells work. E1 works in {works_e1}. With landings between knots E4 works in '
        '{between} of {cells_between} cells, and with everything 0.05 s later it has {late_rms} '
        'RMS and {late_largest} at steps of 0.8 s and {late_length}: where a foot lifts off or '
        'lands, the speed of the wanted ZMP changes by about 1 m/s, and an acceleration that is '
        'straight between knots misses a corner in the middle of 0.1 s by a quarter of that, some '
        '30 mm. The true angular momentum, known every 0.0125 s, changes nothing there; knots '
        'every 0.05 s, at which those steps do land, do: {between_fine} of these cells work. The '
        'ZMP stays {inside} inside the soles meanwhile.',
        data=Table(
            ('map', 'step time [s]', 'step length [m]', 'RMS x [mm]', 'RMS y [mm]',
             'largest x [mm]', 'largest y [mm]', 'ZMP outside the soles by [mm]', 'refused'),
            [
                [name, *cell, *(1e3 * score.rms).tolist(), *(1e3 * score.largest).tolist(),
                 1e3 * score.outside, score.refused]
                for name, scores in found.items()
                for cell, score in scores.items()
            ],
        ),
    )  # fmt: skip


def works(score: ZmpScore) -> bool:
    """Whether the ZMP of all bodies is within the limits, and the robot can make the step."""
    within = (1e3 * score.rms <= LIMITS['rms']) & (1e3 * score.largest <= LIMITS['largest'])
    return bool(within.all()) and not _lost(score)


def _lost(score: ZmpScore) -> bool:
    return bool(score.refused) or not score.outside <= 0.0


def _legend() -> list[Entry]:
    from matplotlib.patches import Patch

    hatched = Patch(facecolor='none', edgecolor=HATCH, hatch='////', linewidth=0.0)
    return [*shades(_CLASSES), Entry('beyond the limits', hatched)]


def _draw_map(ax: Any, study: MomentumStudy, scores: Cells) -> None:
    from matplotlib.patches import Rectangle

    for column, time in enumerate(study.step_times):
        for row, length in enumerate(study.step_lengths):
            score = scores[time, length]
            rms, most = 1e3 * score.rms[0], 1e3 * score.largest[0]
            colour = '#d9d9d9' if np.isnan(rms) else shade(rms, _CLASSES)
            place = (column - 0.47, row - 0.46)
            ax.add_patch(Rectangle(place, 0.94, 0.92, facecolor=colour, linewidth=0.0))
            if not works(score):
                ax.add_patch(Rectangle(place, 0.94, 0.92, facecolor='none', edgecolor=HATCH,
                                       hatch='////', linewidth=0.0))  # fmt: skip
            text = '' if np.isnan(rms) else f'{rms:.1f}\n{most:.0f}'
            cell_text(ax, column, row, f'✕ {text}' if _lost(score) else text)
    map_axes(ax, [f'{time:g}' for time in study.step_times],
             [f'{length:.2f}' for length in study.step_lengths])  # fmt: skip
    ax.set(xlabel='step time [s]', ylabel='step length [m]')


def _facts(study: MomentumStudy, found: Maps) -> tuple[Fact, ...]:
    early, fine, late = found['biped31, E4'], found[_FINE], found[_LATE]
    fastest = min(study.step_times)
    knots = [cell for cell in early if at_knots(cell[0])]
    between = [cell for cell in early if not at_knots(cell[0])]
    slow = [cell for cell in knots if cell[0] >= 0.8]
    good = [
        time for time in study.step_times
        if at_knots(time) and all(works(early[time, length]) for length in study.step_lengths)
    ]  # fmt: skip
    moved = (STEP_TIME, STEP_LENGTH)

    def count(scores: Cells, cells: list[tuple[float, float]]) -> int:
        return sum(works(scores[cell]) for cell in cells)

    def worst(scores: Cells) -> float:
        return 1e3 * max(float(score.rms[0]) for (t, _), score in scores.items() if t == fastest)

    usual = count(early, slow)
    return (
        Fact('cells', 'cells of the grid with landings at knots', len(knots), '', 0),
        Fact('works', 'of these, E4 works in, biped31', count(early, knots), '', 0),
        Fact('usual', 'cells from 0.8 s on, landings at knots, in which E4 works, biped31', usual,
             '', 0, wanted=f'all {len(slow)}', holds=usual == len(slow)),
        Fact('works_e1', 'cells with landings at knots in which E1 works, biped31',
             count(found['biped31, E1'], knots), '', 0),
        Fact('works_fine', 'the same, E4 with knots every 0.05 s', count(fine, knots), '', 0),
        Fact('cells_between', 'cells of the grid with landings between knots', len(between), '',
             0),
        Fact('between', 'of these, E4 works in, biped31', count(early, between), '', 0),
        Fact('between_fine', 'the same with knots every 0.05 s', count(fine, between), '', 0),
        Fact('late_length', 'length of the commanded step', moved[1], 'm', 2),
        Fact('late_rms', 'RMS error in x of that, everything 0.05 s later',
             1e3 * float(late[moved].rms[0]), 'mm', 1),
        Fact('late_largest', 'largest error in x of that', 1e3 * float(late[moved].largest[0]),
             'mm', 1),
        Fact('inside', 'how far its ZMP is inside the soles at least',
             -1e3 * late[moved].outside, 'mm', 0),
        Fact('from_time', 'shortest step time at which E4 works at every length, biped31',
             min(good, default=float('nan')), 's', 1),
        Fact('fastest', 'shortest step time', fastest, 's', 1),
        Fact('pieces', 'intervals of a swing at the shortest step time',
             (fastest - 0.2) / 0.1, '', 0),
        Fact('coarse', 'largest RMS error in x at the shortest step time', worst(early), 'mm', 1),
        Fact('fine', 'the same with knots every 0.05 s', worst(fine), 'mm', 1),
    )  # fmt: skip
