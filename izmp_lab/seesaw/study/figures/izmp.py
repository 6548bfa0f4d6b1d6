"""The IZMP on the moving board against the true CoP, and what those miss who fix the ground."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.seesaw.study.izmp import CASES, NAMES, REPLAYED, distances, run_of, share
from izmp_lab.seesaw.study.tasks import Study
from izmp_lab.studies.runs import Load, Run
from izmp_lab.studies.store import Arrays

LARGEST_EXACT = 1.0
"""Distance from the true CoP on the exact motion: rounding alone, 1e-6 mm [nm]."""

LARGEST_REPLAYED = 0.12
"""Mean distance of a recording from the true CoP: what quotients at 500 Hz make [mm]; 0.02 to 0.03
are measured with iCub, 0.06 to 0.09 with biped31."""

LEAST_SHARE = 99.0
"""Part of the instants that must be evaluated, or the means say nothing [%]."""

WRONG: Mapping[str, float] = {'level_seen': 5.0, 'board_still': 5.0}
"""Assumption → how many times as far off as MR-AD of a recording it must be, to be called wrong.

`level` is not among them: most of its distance is travel of the board, no error of the formula.
"""


@dataclass(frozen=True)
class _Style:
    """Colour by its name in a look, and matplotlib's arguments."""

    colour: str
    line: Mapping[str, Any]


_STYLES = {
    'level_seen': _Style('ir-md', {'linewidth': 1.1}),
    'board_still': _Style('other', {'linewidth': 0.8}),
    REPLAYED: _Style('ink', {'linewidth': 1.1, 'linestyle': (0, (3, 2))}),
}


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(run_of(study.robot, case) for case in CASES)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    found = {case: load(run_of(study.robot, case)) for case in CASES}

    def draw(look: Look, width: float) -> Any:
        shown = tuple(_STYLES)
        legend = [
            Entry('true CoP', line(look, 'cop', linewidth=2.4)),
            *(
                Entry(NAMES[name], line(look, _STYLES[name].colour, **_STYLES[name].line))
                for name in shown
            ),
        ]
        canvas, axes = panels(width, 2, legend, height=2.7, titles=True)
        for ax, (case, points) in zip(axes, found.items(), strict=True):
            ax.plot(points['times'], 1e3 * points['cop'][:, 1], color=look['cop'], linewidth=2.4)
            for name in shown:
                style = _STYLES[name]
                colour = look[style.colour]
                ax.plot(points['times'], 1e3 * points[name][:, 1], color=colour, **style.line)
            reach = 2.0 * 1e3 * float(np.nanmax(np.abs(points['cop'][:, 1])))
            ax.set(xlabel='time [s]', ylabel='y on the board [mm]', ylim=(-reach, reach))
            ax.set_xlim(0.0, float(points['times'][-1]))
            ax.set_title({'push': '100 N for 10 ms at 2 s', 'sine': 'CoM swings by 25 mm'}[case])
        return canvas

    return Picture(
        name='izmp',
        title='The IZMP on the moving board',
        source='Beyond the paper',
        draw=draw,
        facts=_facts(found),
        seen='Where on the board the ZMP is, across it. The true CoP is that of the contacts in '
        'MuJoCo. MR-AD is evaluated on the plane of the board, a named frame that moves; beside '
        'it two that do not know that the board moves: a plane that stays level, its point seen '
        'from where the board really is, and the board taken for the world. The instants of '
        'the push are left out of the numbers: there the IZMP is '
        'beside the CoP by what the push does.',
        paper='Not considered.',
        ours='With exact derivatives MR-AD is at most {exact_push} (push) and {exact_sine} (sine) '
        'from '
        'the true CoP, '
        'with those of ACD at 500 Hz {replayed_push_mean} (push) and {replayed_sine_mean} '
        '(sine). The classic formula on a plane that stays level, like for like, is wrong by '
        '{level_seen_push_mean} and {level_seen_sine_mean}: some times as much, but little, as '
        'the force is nearly upright. Without the pose of the board its point is off by '
        '{level_push_mean} and {level_sine_mean}, most of which is how far the board has rolled. '
        'Who takes the board for the world is wrong by {board_still_push_mean} and '
        '{board_still_sine_mean}, at most {board_still_sine_max}: gravity is tilted against the '
        'board, and the board accelerates. The CoM alone, along gravity, is wrong by '
        '{gravity_push_mean} and {gravity_sine_mean}.',
        why='',
        data=Table(
            ('case', 'time [s]', *(f'{name} y [mm]' for name in ('true CoP', *NAMES.values()))),
            [
                [case, float(points['times'][k]),
                 *(1e3 * float(points[name][k, 1]) for name in ('cop', *NAMES))]
                for case, points in found.items()
                for k in range(len(points['times']))
            ],
        ),
    )  # fmt: skip


def _facts(found: Mapping[str, Arrays]) -> tuple[Fact, ...]:
    facts = []
    limits = {REPLAYED: LARGEST_REPLAYED}
    for case, points in found.items():
        largest = 1e6 * float(distances(points, 'moving').max())
        facts.append(
            Fact(f'exact_{case}', f'{NAMES["moving"]}: largest distance from the true CoP, {case}',
                 largest, 'nm', 4, wanted=f'≤ {LARGEST_EXACT:g} nm',
                 holds=largest <= LARGEST_EXACT and share(points) >= LEAST_SHARE)
        )  # fmt: skip
    for name, text in NAMES.items():
        for case, points in found.items():
            distance = distances(points, name)
            mean, largest = float(distance.mean()), float(distance.max())
            limit, complete = limits.get(name), share(points) >= LEAST_SHARE
            facts += [
                Fact(f'{name}_{case}_mean', f'{text}: mean distance from the true CoP, {case}',
                     mean, 'mm', 2, wanted=f'≤ {limit:g} mm' if limit else '',
                     holds=mean <= limit and complete if limit else None),
                Fact(f'{name}_{case}_max', f'{text}: largest distance, {case}', largest, 'mm', 2),
            ]  # fmt: skip
            if name in WRONG:
                times = mean / float(distances(points, REPLAYED).mean())
                facts.append(
                    Fact(f'{name}_{case}_times', f'{text}: mean distance over that of '
                         f'{NAMES[REPLAYED]}, {case}', times, '', 1,
                         wanted=f'≥ {WRONG[name]:g}', holds=times >= WRONG[name] and complete)
                )  # fmt: skip
    for case, points in found.items():
        part = share(points)
        label = f'instants without a push that are evaluated, {case}'
        facts.append(Fact(f'{case}_share', label, part, '%', 2, wanted=f'≥ {LEAST_SHARE:g} %',
                          holds=part >= LEAST_SHARE))  # fmt: skip
    return tuple(facts)
