"""Step time and step length: where the estimation works, and where and why it stops."""

import itertools
from typing import Any

import numpy as np

from izmp_dynamics.experiments.look import Entry, Look, panels
from izmp_dynamics.experiments.momentum_figures.schemes import LIMITS
from izmp_dynamics.experiments.momentum_study import Robot, Study, Trial
from izmp_dynamics.experiments.momentum_walks import Score
from izmp_dynamics.experiments.picture import Fact, Picture, Table
from izmp_dynamics.experiments.runs import Load, Run

FINE = {
    'interval': 0.05,
    'pieces': 32,
    'nodes': ((0.075, 0.1, 0.125, 0.15, 0.7, 0.725, 1.5, 1.525),),
}
"""Twice as many knots in the same window."""

_CLASSES = (1.0, 2.0, 4.0, 8.0, 16.0)
_COLOURS = ('#fee838', '#d5c164', '#a59c74', '#777776', '#414d6b', '#00224e')
_HATCH = '#b3196b'

Maps = dict[str, dict[tuple[float, float], Score]]


def _maps(study: Study) -> dict[str, tuple[Robot, str, dict[str, Any]]]:
    maps: dict[str, tuple[Robot, str, dict[str, Any]]] = {}
    for robot in study.robots:
        maps[f'{robot.name}, E1'] = (robot, 'E1', {})
        maps[f'{robot.name}, E4'] = (robot, 'E4', {})
    maps['biped31, E4, knots every 0.05 s'] = (study.biped31, 'E4', FINE)
    return maps


def _trial(scheme: str, cell: tuple[float, float], changed: dict[str, Any]) -> Trial:
    return Trial(scheme, cell[0], cell[1], changed=changed)


def _cells(study: Study) -> list[tuple[float, float]]:
    return [(time, length) for time in study.step_times for length in study.step_lengths]


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(
        study.score(robot, _trial(scheme, cell, changed))
        for robot, scheme, changed in _maps(study).values()
        for cell in _cells(study)
    )


def picture(study: Study, load: Load) -> Picture:
    """Draw the maps."""
    found: Maps = {
        name: {
            cell: Score.from_arrays(load(study.score(robot, _trial(scheme, cell, changed))))
            for cell in _cells(study)
        }
        for name, (robot, scheme, changed) in _maps(study).items()
    }

    def draw(look: Look, width: float) -> Any:
        height = 0.5 * len(study.step_lengths) + 0.1
        canvas, axes = panels(width, len(found), _legend(), height, columns=2, titles=True)
        for ax, (name, scores) in zip(axes, found.items(), strict=True):
            _draw_map(ax, study, scores)
            ax.set_title(name, fontsize=9.5, loc='left')
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
        'The first 0.2 s of every step are on both feet.',
        paper='One gait, not stated.',
        ours='E4 works on biped31 in {works} of {cells} cells, from steps of {from_time} on at '
        'every length. It stops working with fast steps, and the longer the step the sooner: the '
        'rate of angular momentum grows with step length over swing time squared, and within one '
        'interval it bends by that over swing time squared again. At steps of {fastest} a swing '
        'is {pieces} intervals of 0.1 s long, too few for a polygon. With knots every 0.05 s the '
        'largest RMS error there falls from {coarse} to {fine}, and {works_fine} cells work. '
        'E1 works in {works_e1}.',
        why='',
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


def works(score: Score) -> bool:
    """Whether the ZMP of all bodies is within the limits, and the robot can make the step."""
    within = (1e3 * score.rms <= LIMITS['rms']) & (1e3 * score.largest <= LIMITS['largest'])
    return bool(within.all()) and not _lost(score)


def _lost(score: Score) -> bool:
    return bool(score.refused) or not score.outside <= 0.0


def _legend() -> list[Entry]:
    from matplotlib.patches import Patch

    names = (f'< {_CLASSES[0]:g} mm', *(f'{low:g}–{high:g}' for low, high in
                                        itertools.pairwise(_CLASSES)),
             f'> {_CLASSES[-1]:g}')  # fmt: skip
    shades = [
        Entry(name, Patch(facecolor=colour)) for name, colour in zip(names, _COLOURS, strict=True)
    ]
    hatched = Patch(facecolor='none', edgecolor=_HATCH, hatch='////', linewidth=0.0)
    return [*shades, Entry('beyond the limits', hatched)]


def _draw_map(ax: Any, study: Study, scores: dict[tuple[float, float], Score]) -> None:
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    for column, time in enumerate(study.step_times):
        for row, length in enumerate(study.step_lengths):
            score = scores[time, length]
            rms, most = 1e3 * score.rms[0], 1e3 * score.largest[0]
            colour = '#d9d9d9' if np.isnan(rms) else _COLOURS[np.searchsorted(_CLASSES, rms)]
            place = (column - 0.47, row - 0.46)
            ax.add_patch(Rectangle(place, 0.94, 0.92, facecolor=colour, linewidth=0.0))
            if not works(score):
                ax.add_patch(Rectangle(place, 0.94, 0.92, facecolor='none', edgecolor=_HATCH,
                                       hatch='////', linewidth=0.0))  # fmt: skip
            text = '' if np.isnan(rms) else f'{rms:.1f}\n{most:.0f}'
            text = f'✕ {text}' if _lost(score) else text
            ax.text(column, row, text, ha='center', va='center', fontsize=8, color='#111111',
                    linespacing=1.1, path_effects=[withStroke(linewidth=2.2,
                                                              foreground='#ffffff')])  # fmt: skip
    ax.set(xlim=(-0.5, len(study.step_times) - 0.5), ylim=(-0.5, len(study.step_lengths) - 0.5))
    ax.set_xticks(range(len(study.step_times)), [f'{time:.1f}' for time in study.step_times])
    ax.set_yticks(
        range(len(study.step_lengths)), [f'{length:.2f}' for length in study.step_lengths]
    )
    ax.set(xlabel='step time [s]', ylabel='step length [m]')
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _facts(study: Study, found: Maps) -> tuple[Fact, ...]:
    early, fine = found['biped31, E4'], found['biped31, E4, knots every 0.05 s']
    fastest = min(study.step_times)
    good = [
        time for time in study.step_times
        if all(works(early[time, length]) for length in study.step_lengths)
    ]  # fmt: skip

    def worst(scores: dict[tuple[float, float], Score]) -> float:
        return 1e3 * max(float(score.rms[0]) for (t, _), score in scores.items() if t == fastest)

    usual = sum(works(score) for (time, _), score in early.items() if time >= 0.8)
    slow = sum(time >= 0.8 for time, _ in early)
    return (
        Fact('cells', 'cells of the grid', len(early), '', 0),
        Fact('works', 'cells in which E4 works, biped31', sum(map(works, early.values())), '', 0),
        Fact('usual', 'cells from 0.8 s on in which E4 works, biped31', usual, '', 0,
             wanted=f'all {slow}', holds=usual == slow),
        Fact('works_e1', 'cells in which E1 works, biped31',
             sum(map(works, found['biped31, E1'].values())), '', 0),
        Fact('works_fine', 'cells in which E4 works with knots every 0.05 s, biped31',
             sum(map(works, fine.values())), '', 0),
        Fact('from_time', 'shortest step time at which E4 works at every length, biped31',
             min(good, default=float('nan')), 's', 1),
        Fact('fastest', 'shortest step time', fastest, 's', 1),
        Fact('pieces', 'intervals of a swing at the shortest step time',
             (fastest - 0.2) / 0.1, '', 0),
        Fact('coarse', 'largest RMS error in x at the shortest step time', worst(early), 'mm', 1),
        Fact('fine', 'the same with knots every 0.05 s', worst(fine), 'mm', 1),
    )  # fmt: skip
