"""What the estimation depends on: step time and length, weights, nodes, window."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.angular_momentum.schemes import LIMITS
from izmp_lab.studies.angular_momentum.study import MomentumStudy
from izmp_lab.studies.angular_momentum.walks import STEP_LENGTH, STEP_TIME, Robot, Trial, ZmpScore
from izmp_lab.studies.drawing import (
    HATCH,
    cell_text,
    heading,
    map_axes,
    named_rows,
    shade,
    shades,
)
from izmp_lab.studies.publish import figure
from izmp_lab.studies.runs import Run
from izmp_lab.walking.walk_parameters import SCHEMES

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


_WEIGHTS_COLOURS = ('mr-ad', 'ir-md')
_TOO_LARGE = 1e-2


@figure(
    lambda study: {
        (robot.name, weight): study.score(
            robot, Trial('E4', changed={'alpha': weight, 'gamma': weight})
        )
        for robot in study.robots
        for weight in study.weights
    }
)
def weights(study: MomentumStudy, found: dict[tuple[str, float], ZmpScore]) -> Picture:
    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry(robot.name, line(look, colour, marker='o', markersize=4.5))
            for robot, colour in zip(study.robots, _WEIGHTS_COLOURS, strict=False)
        ]
        canvas, axes = panels(width, 2, legend, height=2.4)
        for axis, ax in enumerate(axes):
            for robot, colour in zip(study.robots, _WEIGHTS_COLOURS, strict=False):
                errors = [1e3 * found[robot.name, weight].rms[axis] for weight in study.weights]
                ax.plot(study.weights, errors, color=look[colour], marker='o', markersize=4.5)
            ax.set(xscale='log', yscale='log', xlabel='α = γ, with β = 1')
            ax.set_ylabel(f'RMS error of the ZMP in {"xy"[axis]} [mm]')
            log_ticks(ax.yaxis, (1, 3, 10, 30, 100) if axis == 0 else (0.3, 1, 3, 10, 30))
        return canvas

    usual, degraded = (found['biped31', weight].rms[0] for weight in (1e-6, _TOO_LARGE))
    return Picture(
        name='weights',
        title='The weights',
        source='Left open by the poster',
        draw=draw,
        facts=(
            Fact('usual', 'RMS error in x with α = γ = 1e-6, biped31', 1e3 * float(usual), 'mm',
                 2),
            Fact('degraded', 'RMS error in x with α = γ = 1e-2, biped31',
                 1e3 * float(degraded), 'mm', 1),
        ),
        seen='Error of the ZMP of all bodies with E4 over the weights α of the acceleration of '
        'the centre of mass and γ of its distance from the wanted ZMP. β weighs the contact '
        'torque over the weight of the robot, which is the distance of the ZMP in metres, so the '
        'numbers hold for robots of every mass.',
        paper='α, β and γ are not stated.',
        ours='Both must be small against β: 1e-6 leaves {usual}, 1e-2 degrades it to '
        '{degraded}. They are not needed to make the programme convex; the terminal condition '
        'keeps the centre of mass from diverging.',
        data=Table(
            ('robot', 'α = γ', 'RMS x [mm]', 'RMS y [mm]'),
            [
                [name, weight, *(1e3 * score.rms).tolist()]
                for (name, weight), score in found.items()
            ],
        ),
    )  # fmt: skip


_KNOTS = SCHEMES['E3'].nodes[0]
_GEOMETRIC = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.6)
_LITERAL = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.7, 0.75)


@dataclass(frozen=True)
class Choice:
    """One way to do it.

    Attributes:
        key: of its fact.
        label: what it is.
        trial: the walk.
        height: of the centre of mass [m]; that of the robot if 0.
    """

    key: str
    label: str
    trial: Trial
    height: float = 0.0


def _choices() -> tuple[Choice, ...]:
    all_early = tuple(np.round(0.1 + 0.05 * np.arange(8), 2).tolist())
    return (
        Choice('e3', 'E3: 16 nodes, at and between knots', Trial('E3')),
        Choice('knots', '16 nodes, always at knots', Trial('E3', changed={'nodes': (_KNOTS,)})),
        Choice('e3_zero', 'E3, 0 where the window grows',
               Trial('E3', changed={'end_estimate': 'zero'})),
        Choice('e4', 'E4: 8 nodes, 4 of them until 0.3 s', Trial('E4')),
        Choice('geometric', '8 nodes at knots, ever farther apart',
               Trial('E4', changed={'nodes': (_GEOMETRIC,)})),
        Choice('literal', '8 nodes, all until 0.75 s',
               Trial('E4', changed={'nodes': (_LITERAL,)})),
        Choice('early', '8 nodes, all until 0.45 s', Trial('E4', changed={'nodes': (all_early,)})),
        Choice('mu', 'E4, friction 0.3 instead of 0.7', Trial('E4', changed={'friction': 0.3})),
        Choice('margin', 'E4, ZMP 20 mm inside instead of 5 mm',
               Trial('E4', changed={'margin': 0.02})),
        *(Choice(f'h{round(100 * height)}', f'E4, centre of mass at {height:.2f} m', Trial('E4'),
                 height)
          for height in (0.70, 0.78, 0.80, 0.82)),
    )  # fmt: skip


def _chosen_runs(study: MomentumStudy) -> dict[str, Run]:
    own = study.biped31
    return {
        choice.key: study.score(
            dataclasses.replace(own, height=choice.height or own.height), choice.trial
        )
        for choice in _choices()
    }


@figure(_chosen_runs)
def options(study: MomentumStudy, scores: dict[str, ZmpScore]) -> Picture:
    found = [(choice, scores[choice.key]) for choice in _choices()]

    def draw(look: Look, width: float) -> Any:
        canvas, (ax,) = panels(width, 1, height=0.24 * len(found))
        for row, (_, score) in enumerate(found):
            rms, most = 1e3 * score.rms[0], 1e3 * score.largest[0]
            ax.plot([rms, most], [row, row], color=look['mr-ad'], linewidth=1.2)
            ax.plot(rms, row, color=look['mr-ad'], marker='o', markersize=5)
            if score.refused:
                ax.annotate('a leg would be straight', (1.05, row), va='center', fontsize=8)
        ax.set(xscale='log', xlim=(1, 100), xlabel='ZMP error in x [mm]')
        log_ticks(ax.xaxis, (1, 3, 10, 30, 100))
        named_rows(ax, [choice.label for choice, _ in found], width, 2.75)
        return canvas

    return Picture(
        name='choices',
        title='Nodes, the end of the window, straight knees',
        source='Left open by the poster',
        draw=draw,
        facts=tuple(
            Fact(choice.key, f'RMS error in x, {choice.label}', 1e3 * float(score.rms[0]), 'mm', 2)
            for choice, score in found
        ),
        seen='RMS (dot) and largest error (end of the line) of the ZMP of all bodies of biped31 '
        'in x, steps of 0.8 s and 0.25 m. The centre of mass is at 0.75 m unless stated '
        'otherwise.',
        paper='Nodes are uniform or at the beginning; where exactly, is not stated.',
        ours='Nodes that are always at the knots do not sample what is between them: {knots} '
        'instead of {e3}. What enters at the end of the window has no estimate until a node has '
        'been there; to hold the last value or to assume 0 makes little difference, {e3_zero}, as '
        'it is far ahead. “Concentrated at the beginning”, taken literally, does worse than four '
        'early nodes and four ahead, {e4}: at knots further and further apart {geometric}, all '
        'until 0.75 s {literal}, all until 0.45 s {early}, as most of the window is unknown then. '
        'The higher the centre of mass, the straighter the knees, and the more they have to hurry '
        'near the stretched leg: {h78} at 0.78 m, {h80} at 0.80 m; at 0.82 m the walk is refused.',
        data=Table(
            ('choice', 'RMS x [mm]', 'largest x [mm]', 'RMS y [mm]', 'largest y [mm]', 'refused'),
            [
                [choice.label, 1e3 * float(score.rms[0]), 1e3 * float(score.largest[0]),
                 1e3 * float(score.rms[1]), 1e3 * float(score.largest[1]), score.refused]
                for choice, score in found
            ],
        ),
    )  # fmt: skip
