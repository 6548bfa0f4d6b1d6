"""Which method falls where, over the grid of step time, foot size and friction."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.itu_biped.study import SMALL, Setting, Study
from izmp_lab.studies.itu_biped.styles import LABELS, METHODS
from izmp_lab.studies.itu_biped.walks import Score
from izmp_lab.studies.runs import Load, Run

Scores = Mapping[tuple[str, Setting], Score]

_CLASSES = (1.0, 3.0, 10.0, 30.0, 100.0)
_COLOURS = ('#fee838', '#d5c164', '#a59c74', '#777776', '#414d6b', '#00224e')
"""Of the mean error below each class [mm], and above all: cividis, light is good."""

_FALL, _HATCH, _EDGE = '#f7e3ee', '#b3196b', '#8e9aa6'
_FINISH_AT = 1.4
"""Step time at which small feet must carry CCG and not the constant vector [s]."""


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.score(method, setting) for setting in study.grid for method in METHODS)


def scores(study: Study, load: Load) -> Scores:
    """Load the scores of all methods over the grid."""
    return {
        (method, setting): Score.from_arrays(load(study.score(method, setting)))
        for setting in study.grid
        for method in METHODS
    }


def picture(study: Study, load: Load) -> Picture:
    """Draw the map."""
    found, grid = scores(study, load), study.grid

    def draw(look: Look, width: float) -> Any:
        height = 0.55 * len(grid.feet)
        canvas, axes = panels(width, len(METHODS), _legend(), height=height, columns=3,
                              titles=True)  # fmt: skip
        for ax, method in zip(axes, METHODS, strict=True):
            _draw_map(ax, study, {each: found[method, each] for each in grid})
            ax.set_title(LABELS[method], fontsize=9.5, loc='left')
            ax.set(xlabel='step time [s]', ylabel='foot, length × width [m]')
        return canvas

    frictions = ', '.join(f'{friction:.1f}' for friction in grid.frictions)
    return Picture(
        name='falls',
        title='Who falls',
        source='Beyond the paper',
        draw=draw,
        facts=_facts(study, found),
        seen='Every cell is a step time and a foot size; its stripes are frictions of '
        f'{frictions} from left to right. Colour and number show the mean '
        'error of the CoG in mm (median over the frictions that are survived), hatching and ✕ in '
        'how many of them the robot falls.',
        paper='One walk of each method: CCG finishes, the constant vector falls.',
        ours='Of {settings} settings {ccg} are finished with CCG, {constant} with the constant '
        'vector and {filtered} with CCG and our dynamics filter. Only CCG finishes {only_ccg}, '
        'only the constant vector {only_constant}: slow steps on small feet are for CCG, fast '
        'steps for the constant vector. At steps of {fastest} CCG finishes {fast_ccg} and the '
        'constant vector {fast_constant} of {fast_settings}: the ranking reverses. CCG falls at '
        'some friction with steps of up to {slowest_small} on the smallest feet and '
        '{slowest_large} on the largest.',
        why='The paper tries one setting and does not state it. CCG knows masses but no forces: '
        'what it moves quickly to put the CoG in its place shifts the ZMP, see the next figure.',
        data=Table(
            ('method', 'foot length [m]', 'foot width [m]', 'step time [s]', 'friction [-]',
             'falls in step', 'falls at [s]', 'mean error [mm]', 'largest error [mm]',
             'smallest error [mm]', 'mean error while walking [mm]'),
            [
                [LABELS[method], *setting.foot, setting.step_time, setting.friction,
                 float(score.falls_in or np.nan), score.fall_time, 1e3 * score.mean,
                 1e3 * score.largest, 1e3 * score.smallest, 1e3 * score.walking]
                for (method, setting), score in found.items()
            ],
        ),
    )  # fmt: skip


def _legend() -> list[Entry]:
    from matplotlib.patches import Patch

    names = (f'< {_CLASSES[0]:g} mm', *(f'{low:g}–{high:g}' for low, high in
                                        itertools.pairwise(_CLASSES)),
             f'> {_CLASSES[-1]:g}')  # fmt: skip
    shades = [
        Entry(name, Patch(facecolor=colour, edgecolor=_EDGE, linewidth=0.5))
        for name, colour in zip(names, _COLOURS, strict=True)
    ]
    return [*shades, Entry('falls', Patch(facecolor=_FALL, edgecolor=_HATCH, hatch='////',
                                          linewidth=0.0))]  # fmt: skip


def _draw_map(ax: Any, study: Study, found: Mapping[Setting, Score]) -> None:
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    grid = study.grid
    stripe = 0.94 / len(grid.frictions)
    for row, foot in enumerate(grid.feet):
        for column, step_time in enumerate(grid.step_times):
            cell = [found[Setting(step_time, foot, friction)] for friction in grid.frictions]
            for index, score in enumerate(cell):
                place = (column - 0.47 + index * stripe, row - 0.46)
                ax.add_patch(Rectangle(place, stripe, 0.92, **_shade(score)))
            ax.text(column, row, _cell_text(cell), ha='center', va='center', fontsize=8,
                    color='#111111', linespacing=1.1,
                    path_effects=[withStroke(linewidth=2.2, foreground='#ffffff')])  # fmt: skip
    ax.set(xlim=(-0.5, len(grid.step_times) - 0.5), ylim=(-0.5, len(grid.feet) - 0.5))
    ax.set_xticks(range(len(grid.step_times)), [f'{time:.1f}' for time in grid.step_times])
    ax.set_yticks(range(len(grid.feet)), [f'{a:.2f}\n× {b:.2f}' for a, b in grid.feet])
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _shade(score: Score) -> dict[str, Any]:
    if score.finishes:
        colour = _COLOURS[np.searchsorted(_CLASSES, 1e3 * score.mean)]
        return {'facecolor': colour, 'edgecolor': colour, 'linewidth': 0.6}  # hides seams
    return {'facecolor': _FALL, 'edgecolor': _HATCH, 'hatch': '////', 'linewidth': 0.0}


def _cell_text(cell: list[Score]) -> str:
    means = [1e3 * score.mean for score in cell if score.finishes]
    falls = len(cell) - len(means)
    if not means:
        return '✕'
    median = float(np.median(means))
    text = f'{median:.1f}' if median < 9.95 else f'{median:.0f}'
    return f'{text}\n✕ {falls}/{len(cell)}' if falls else text


def _facts(study: Study, found: Scores) -> tuple[Fact, ...]:
    settings = list(study.grid)
    finishes = {
        method: {each for each in settings if found[method, each].finishes} for method in METHODS
    }
    ccg, constant = finishes['converging'], finishes['constant']
    here = {each for each in settings if each.foot == SMALL and each.step_time == _FINISH_AT}
    where = f'small feet, steps of {_FINISH_AT:.1f} s'
    shortest = min(study.grid.step_times)
    fast = {each for each in settings if each.step_time == shortest}
    return (
        Fact('settings', 'settings of the grid', len(settings), '', 0),
        Fact('ccg', 'finished with CCG', len(ccg), '', 0),
        Fact('constant', 'finished with the constant vector', len(constant), '', 0),
        Fact('filtered', 'finished with CCG and dynamics filter', len(finishes['filtered']), '',
             0),
        Fact('only_ccg', 'finished with CCG and not with the constant vector',
             len(ccg - constant), '', 0),
        Fact('only_constant', 'finished with the constant vector and not with CCG',
             len(constant - ccg), '', 0),
        Fact('slowest_small', 'longest step time at which CCG falls, smallest feet',
             _slowest_fall(study, ccg, study.grid.feet[0]), 's', 1),
        Fact('slowest_large', 'longest step time at which CCG falls, largest feet',
             _slowest_fall(study, ccg, study.grid.feet[-1]), 's', 1),
        Fact('fastest', 'shortest step time', shortest, 's', 1),
        Fact('fast_settings', 'settings at the shortest step time', len(fast), '', 0),
        Fact('fast_ccg', 'finished with CCG at the shortest step time', len(fast & ccg), '', 0),
        Fact('fast_constant', 'finished with the constant vector at the shortest step time',
             len(fast & constant), '', 0),
        Fact('small_ccg', f'frictions at which CCG finishes, {where}', len(here & ccg), '', 0,
             paper='finishes', wanted=f'all {len(here)}', holds=here <= ccg),
        Fact('small_constant', f'frictions at which the constant vector finishes, {where}',
             len(here & constant), '', 0, paper='falls', wanted='none',
             holds=not here & constant),
    )  # fmt: skip


def _slowest_fall(study: Study, finished: set[Setting], foot: tuple[float, float]) -> float:
    """Longest step time at which there is a fall [s]; NaN without any."""
    falls = [each.step_time for each in study.grid if each.foot == foot and each not in finished]
    return max(falls, default=float('nan'))
