"""The walks in MuJoCo, on the robots' own soles and on shorter ones."""

import dataclasses
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.angular_momentum.study import CURVES, SCHEMES, MomentumStudy
from izmp_lab.studies.angular_momentum.walks import Robot, Trial, WalkOutcome
from izmp_lab.studies.drawing import heading
from izmp_lab.studies.publish import at_most, figure
from izmp_lab.studies.runs import Run

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
        for sole in study.sole_lengths(robot)
        for scheme in SCHEMES
    }


def _open_loop(study: MomentumStudy) -> dict[tuple[str, float, str], Run]:
    robot = dataclasses.replace(study.biped31, ankle_feedback=False)
    return {(_ALONE, robot.soles[0], s): study.executed(robot, Trial(s)) for s in SCHEMES}


@figure(lambda study: {**_executions(study), **_open_loop(study)})
def execution(study: MomentumStudy, found: Executions) -> Picture:
    def draw(look: Look, width: float) -> Any:
        legend = [
            *(CURVES[s].entry(look, marker=CURVES[s].marker, linestyle='none') for s in SCHEMES),
            Entry('falls, with its step', line(look, 'ink', marker='x', linestyle='none')),
        ]
        canvas, axes = panels(width, len(study.robots), legend, height=2.6, titles=True)
        for ax, robot in zip(axes, study.robots, strict=True):
            _draw(ax, look, robot.name, study.sole_lengths(robot), found)
            heading(ax, robot.name)
        return canvas

    return Picture(
        name='execution',
        title='Executed by the plant',
        source='Beyond the poster',
        draw=draw,
        facts=(
            *(fact for robot in study.robots for fact in _facts(study, robot, found)),
            *_facts_alone(found),
        ),
        seen='Mean distance of the simulated centre of mass from the planned one over the length '
        'of the soles, ten steps of 0.8 s and 0.25 m in MuJoCo; the longest soles are the '
        'robot’s own. biped31’s ankles answer to its tilt, TALOS walks open loop. A fall is '
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


def _draw(ax: Any, look: Look, robot: str, soles: tuple[float, ...], found: Executions) -> None:
    for scheme in SCHEMES:
        walks = [found[robot, sole, scheme] for sole in soles]
        ax.plot(soles, [1e3 * walk.mean for walk in walks], **CURVES[scheme].style(look))
        for sole, walk in zip(soles, walks, strict=True):
            mark = {'marker': 'x'} if walk.falls_in else {}
            keywords = CURVES[scheme].style(look, 5.5, linestyle='none', **mark)
            ax.plot(sole, 1e3 * walk.mean, **keywords)
            if walk.falls_in:
                ax.annotate(f'{walk.falls_in}', (sole, 1e3 * walk.mean), (5, 3),
                            textcoords='offset points', fontsize=8)  # fmt: skip
    ax.axhline(MEAN, color=look['muted'], linewidth=0.8)
    ax.set(xlabel='length of the soles [m]', ylabel='error of the CoM [mm]', yscale='log')
    ax.set_xticks(soles, [f'{sole:.2f}' for sole in soles])
    log_ticks(ax.yaxis, (0.3, 1, 3, 10, 30, 100))


def _facts(study: MomentumStudy, robot: Robot, found: Executions) -> list[Fact]:
    soles, name = study.sole_lengths(robot), robot.name
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
    falls = found[name, shortest, 'E1'].falls_in
    if shortest != own:
        facts.append(
            Fact(f'{name}_falls', f'step in which E1 falls, soles of {shortest:.2f} m, {name}',
                 falls or float('nan'), '', 0, wanted='falls', holds=bool(falls))
        )  # fmt: skip
    else:
        facts.append(Fact(f'{name}_falls', f'step in which E1 falls, {name}', float('nan')))
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
