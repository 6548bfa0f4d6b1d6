"""All pictures of `izmp experiments angular_momentum`, and the words of their page."""

import dataclasses
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Missing, Page, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_lab.studies.angular_momentum import schemes
from izmp_lab.studies.angular_momentum.schemes import LIMITS
from izmp_lab.studies.angular_momentum.study import (
    CURVES,
    DOUBLE_SUPPORT,
    STEP_LENGTH,
    STEP_TIME,
    MomentumStudy,
    Robot,
    Trial,
    WalkOutcome,
    ZmpScore,
)
from izmp_lab.studies.publish import (
    HATCH,
    Figure,
    at_most,
    cell_text,
    figure,
    heading,
    map_axes,
    shade,
    shades,
)
from izmp_lab.studies.runs import Run
from izmp_lab.walking.walk_parameters import SCHEMES

MEAN = 10.0
"""Of the distance of the centre of mass from the planned one with E3 and E4, at most [mm]."""

WITHOUT = 'without ankle feedback'
_ALONE = f'biped31 {WITHOUT}'

Executions = dict[tuple[str, float, str], WalkOutcome]


def _executions(study: MomentumStudy) -> dict[tuple[str, float, str], Run]:
    """By robot, length of the soles and scheme."""
    return {
        (robot.name, sole, scheme): study.executed(
            robot, Trial(scheme, sole=0.0 if sole == robot.soles[0] else sole)
        )
        for robot in study.robots
        for sole in robot.soles
        for scheme in SCHEMES
    }


def _open_loop(study: MomentumStudy) -> dict[tuple[str, float, str], Run]:
    robot = dataclasses.replace(study.biped31, ankle_feedback=False)
    return {(_ALONE, robot.soles[0], s): study.executed(robot, Trial(s)) for s in SCHEMES}


@figure(lambda study: {**_executions(study), **_open_loop(study)})
def execution(study: MomentumStudy, found: Executions) -> Picture:
    def draw(width: float) -> Any:
        legend = [
            *(CURVES[s].entry(marker=CURVES[s].marker, linestyle='none') for s in SCHEMES),
            Entry('falls, with its step', line('ink', marker='x', linestyle='none')),
        ]
        canvas, axes = panels(width, len(study.robots), legend, height=2.6, titles=True)
        for ax, robot in zip(axes, study.robots, strict=True):
            _draw(ax, robot.name, robot.soles, found)
            heading(ax, robot.name)
        return canvas

    return Picture(
        name='execution',
        title='Executed by the plant',
        source='Beyond the poster',
        draw=draw,
        facts=(
            *(fact for robot in study.robots for fact in _execution_facts(study, robot, found)),
            *_facts_alone(found),
        ),
        seen='Mean distance of the simulated centre of mass from the planned one over the length '
        f'of the soles, {study.steps} steps of 0.8 s and 0.25 m in MuJoCo; the longest soles are '
        'the robot’s own. biped31’s ankles answer to its tilt, TALOS walks open loop. A fall is '
        'at the mean up to the fall. The mean is over the steps, without the standing.',
        paper='Nothing is executed.',
        ours=_ours(len(study.robots) > 1),
        data=Table(
            ('robot', 'sole [m]', 'scheme', 'mean error of the CoM [mm]', 'largest [mm]',
             'CoP from the wanted ZMP, RMS x [mm]', 'RMS y [mm]', 'falls in step', 'at [s]'),
            [
                [robot, sole, CURVES[scheme].label, 1e3 * each.mean, 1e3 * each.largest,
                 *(1e3 * each.cop).tolist(), float(each.falls_in or np.nan), each.fall_time]
                for (robot, sole, scheme), each in found.items()
            ],
        ),
    )  # fmt: skip


def _ours(with_talos: bool) -> str:
    text = (
        'On its own soles, 0.24 m, biped31 walks with E1, too: its ZMP, though up to 0.08 m from '
        'where it is wanted, stays below them, and the torques of the plan know it. The CoP is '
        'then {biped31_cop_E1} RMS from the wanted ZMP in x, with E4 {biped31_cop_E4}: '
        '{biped31_ratio} times worse. Its centre of mass is no farther from the plan, on average '
        '{biped31_com_E1} against {biped31_com_E4}: it is the plan’s own that is tracked, and a '
        'ZMP beside the wanted one disturbs nothing as long as it is below the soles. Without '
        'ankle feedback E4’s walk is even the worse one, {without_com_E4} on average and '
        '{without_largest_E4} at most, E1’s {without_com_E1} and {without_largest_E1}. On the '
        'shortest soles E1 falls in step {biped31_falls} and E4 walks; on any, its centre of '
        'mass is at most {biped31_mean_E4} from the plan on average.'
    )
    if with_talos:
        text += (
            ' TALOS likewise: E1 has {TALOS_ratio} times E4’s error of the CoP on its own soles, '
            'and falls in step {TALOS_falls} on the shortest.'
        )
    return text


def _draw(ax: Any, robot: str, soles: tuple[float, ...], found: Executions) -> None:
    for scheme in SCHEMES:
        walks = [found[robot, sole, scheme] for sole in soles]
        ax.plot(soles, [1e3 * walk.mean for walk in walks], **CURVES[scheme].style())
        for sole, walk in zip(soles, walks, strict=True):
            mark = {'marker': 'x'} if walk.falls_in else {}
            keywords = CURVES[scheme].style(5.5, linestyle='none', **mark)
            ax.plot(sole, 1e3 * walk.mean, **keywords)
            if walk.falls_in:
                ax.annotate(f'{walk.falls_in}', (sole, 1e3 * walk.mean), (5, 3),
                            textcoords='offset points', fontsize=8)  # fmt: skip
    ax.axhline(MEAN, color=LIGHT['muted'], linewidth=0.8)
    ax.set(xlabel='length of the soles [m]', ylabel='error of the CoM [mm]', yscale='log')
    ax.set_xticks(soles, [f'{sole:.2f}' for sole in soles])
    log_ticks(ax.yaxis, (0.3, 1, 3, 10, 30, 100))


def _execution_facts(study: MomentumStudy, robot: Robot, found: Executions) -> list[Fact]:
    soles, name = robot.soles, robot.name
    own, shortest = soles[0], soles[-1]
    facts = []
    for scheme in ('E3', 'E4'):
        walks = [found[name, sole, scheme] for sole in soles]
        worst = 1e3 * max(walk.mean for walk in walks)
        stands = not any(walk.falls_in for walk in walks)
        facts += [
            Fact(f'{name}_mean_{scheme}', f'largest mean error of the CoM, any sole, {scheme}, '
                 f'{name}', worst, 'mm', 1, wanted=f'≤ {MEAN:g} mm, no fall',
                 holds=stands and worst <= MEAN),
            at_most(f'{name}_largest_{scheme}', f'largest error of the CoM, own sole, {scheme}, '
                    f'{name}', 1e3 * walks[0].largest, MEAN, 'mm', 1),
        ]  # fmt: skip
    for scheme in SCHEMES:
        walk = found[name, own, scheme]
        facts.append(
            Fact(f'{name}_com_{scheme}', f'mean error of the CoM, own sole, {scheme}, {name}',
                 1e3 * walk.mean, 'mm', 1)
        )  # fmt: skip
    for scheme in ('E1', 'E4'):
        cop = 1e3 * float(found[name, own, scheme].cop[0])
        facts.append(
            Fact(f'{name}_cop_{scheme}', f'CoP from the wanted ZMP, RMS in x, own sole, {scheme}, '
                 f'{name}', cop, 'mm', 1)
        )  # fmt: skip
    point_mass, early = found[name, own, 'E1'], found[name, own, 'E4']
    ratio = float(point_mass.cop[0] / early.cop[0])
    facts.append(
        Fact(f'{name}_ratio', f'CoP from the wanted ZMP, E1 over E4, own sole, {name}', ratio, '',
             1, wanted='> 1, or E1 falls', holds=bool(point_mass.falls_in) or ratio > 1.0)
    )  # fmt: skip
    facts.append(
        Fact(f'{name}_com_worse', f'mean error of the CoM, E1 over E4, own sole, {name}',
             point_mass.mean / early.mean, '', 1)
    )  # fmt: skip
    falls, shorter = found[name, shortest, 'E1'].falls_in, shortest < own
    facts.append(
        Fact(f'{name}_falls', f'step in which E1 falls, soles of {shortest:.2f} m, {name}',
             falls or float('nan'), '', 0, wanted='falls' if shorter else '',
             holds=bool(falls) if shorter else None)
    )  # fmt: skip
    return facts


def _facts_alone(found: Executions) -> list[Fact]:
    facts = []
    for scheme in SCHEMES:
        (walk,) = (each for (name, _, s), each in found.items() if (name, s) == (_ALONE, scheme))
        for key, what, value in (
            ('com', 'mean', 1e3 * walk.mean),
            ('largest', 'largest', 1e3 * walk.largest),
        ):
            label = f'{what} error of the CoM, own sole, {WITHOUT}, {scheme}, biped31'
            facts.append(Fact(f'without_{key}_{scheme}', label, value, 'mm', 1))
    return facts


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

    def draw(width: float) -> Any:
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
        facts=_map_facts(study, found),
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


def _map_facts(study: MomentumStudy, found: Maps) -> tuple[Fact, ...]:
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


FIGURES: dict[str, tuple[Figure, str]] = {
    'schemes': (schemes.schemes, 'E1 to E4: the ZMP of all bodies against the wanted one'),
    'zmp': (schemes.zmp, 'the same over time'),
    'com': (schemes.com, 'the centre of mass over time, E1 to E4'),
    'grid': (grid, 'step time and step length: where it works, and why it stops'),
    'execution': (execution, 'the walks in MuJoCo, on shorter and shorter soles'),
}
"""Name → figure, and what it shows."""

_LEAD = (
    'Mayr, Gattringer and Bremer replan the motion of the centre of mass every 0.1 s, as a '
    'quadratic programme over the contact forces and torques of the next 1.6 s. What legs and '
    'arms do to the angular momentum is estimated at a few nodes of the plan before, and is part '
    'of the contact constraint. E4 of the poster has 8 nodes “concentrated at the beginning”; '
    'here 4 of them are in the first 0.3 s, the others far ahead. Here their experiments E1 to '
    'E4 are made with biped31 and, where example-robot-data is installed, with TALOS; and every '
    'plan is judged by the ZMP of all bodies, not by its own.'
)

_METHOD = (
    'A walk is planned interval by interval as a robot would do it online; then inverse dynamics '
    'of the executed motion, every 2 ms, gives the ZMP of all bodies. Errors count from the '
    'beginning of the first step to the end of the last one. Lift-offs and landings are at knots '
    'of the splines unless stated otherwise: between them the errors are larger, see “Step time '
    'and step length”. The poster states window, splines, interval and number of nodes; the '
    'robot, the gait, the weights, the terminal condition and the places of the nodes are open, '
    'and listed below. Nothing is random.'
)


MISSING = (
    Missing(
        'The table of ZMP errors and calls',
        'Rows and columns cannot be distinguished in the text here. 63.6, 23.2 and 5.9 stand in '
        'one row, 45, 14.6 and 1.6 in another, 12.8 in a third; any digit may be misread, and '
        'which experiment, axis or measure a number belongs to is open. So nothing is compared.',
        'A legible poster.',
    ),
    Missing(
        'The values of the figure of the centre of mass over time',
        'They cannot be read in the text at hand, and robot and gait are not stated; the same '
        'figure is made here with biped31.',
        'A legible poster, the robot and its gait.',
    ),
    Missing('The robot', 'Not stated; here biped31 and TALOS.', 'Its model.'),
    Missing(
        'That a walk planned with a point mass (E1) is executed worse, on long soles',
        'On its own soles, 0.24 m, biped31 tracks the centre of mass of E1 no worse than that of '
        'E4, as the ZMP of E1 stays below them; its CoP is the worse one. On short ones E1 falls. '
        'Without ankle feedback biped31 rocks with E3 and E4, by up to 27 mm of its centre of '
        'mass, and not with E1, and why is not known. The figure on execution has the numbers.',
        'The robot and soles of the poster.',
    ),
    Missing(
        'Calculation times (150 µs per node on an i5-2500)',
        'Measured on another computer in another language; '
        '`benchmarks/bench_angular_momentum.py` gives those here.',
        'That computer and its programme.',
    ),
)
"""What is not reproduced."""


def page(study: MomentumStudy) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='Angular-momentum estimation, measured',
        lead=_LEAD,
        method=_METHOD,
        settings=settings(study),
        missing=MISSING,
    )


def settings(study: MomentumStudy) -> dict[str, str]:
    """List what is taken, for the page."""
    early = SCHEMES['E4']
    nodes = ', '.join(f'{node:g}' for node in early.nodes[0])
    return {
        'robots': ', '.join(
            f'{robot.name}, centre of mass at {robot.height:.2f} m' for robot in study.robots
        ),
        'time on both feet': f'{DOUBLE_SUPPORT:.1f} s of every step',
        'window': f'{early.window:.1f} s, cubic B-spline of {early.pieces + 3} control points',
        'angular momentum': f'polygon of {early.pieces + 1} points, fitted to samples every '
        f'{early.interval / 2:g} s',
        'nodes of E4': f'{nodes} s',
        'nodes of E3': '0.1 to 1.6 s at knots, and between them in every other cycle',
        'weights': f'α = γ = {early.alpha:g}, β = 1/m² of the ZMP',
        'terminal condition': 'capture point that the wanted ZMP afterwards can hold',
        'contact': f'ZMP {1e3 * early.margin:g} mm inside the soles, friction {early.friction:g}',
        'wanted ZMP': 'from below the ankle to 0.04 m ahead of it while a foot carries alone',
        'swing': 'minimum jerk, 0.04 m high',
    }
