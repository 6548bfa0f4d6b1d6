"""Figures over the grid of step time, foot size and friction: falls, exactness, gap."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_lab.studies.itu_biped.study import (
    ALL_METHODS,
    CURVES,
    LARGE,
    PAPER_METHODS,
    SMALL,
    CogScore,
    ItuStudy,
    Setting,
    foot_text,
)
from izmp_lab.studies.publish import (
    HATCH,
    at_most,
    cell_text,
    figure,
    heading,
    map_axes,
    shade,
    shades,
)
from izmp_lab.studies.runs import Run

Scores = Mapping[tuple[str, Setting], CogScore]

_CLASSES = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Of the mean error [mm]."""

_FALL, _EDGE = '#f7e3ee', '#8e9aa6'
_FINISH_AT = 1.4
"""Step time at which small feet must carry CCG and not the constant vector [s]."""


def scores(study: ItuStudy) -> dict[Any, Run]:
    """Describe the scores of all methods over the grid."""
    return {
        (method, setting): study.score(method, setting)
        for setting in study.grid
        for method in ALL_METHODS
    }


@figure(scores)
def falls(study: ItuStudy, found: Scores) -> Picture:
    grid = study.grid

    def draw(width: float) -> Any:
        height = 0.55 * len(grid.feet)
        canvas, axes = panels(width, len(ALL_METHODS), _legend(), height=height, columns=3,
                              titles=True)  # fmt: skip
        for ax, method in zip(axes, ALL_METHODS, strict=True):
            _draw_map(ax, study, {each: found[method, each] for each in grid})
            heading(ax, CURVES[method].label)
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
                [CURVES[method].label, *setting.foot, setting.step_time, setting.friction,
                 float(score.falls_in or np.nan), score.fall_time, 1e3 * score.mean,
                 1e3 * score.largest, 1e3 * score.smallest, 1e3 * score.walking]
                for (method, setting), score in found.items()
            ],
        ),
    )  # fmt: skip


def _legend() -> list[Entry]:
    from matplotlib.patches import Patch

    fallen = Patch(facecolor=_FALL, edgecolor=HATCH, hatch='////', linewidth=0.0)
    return [*shades(_CLASSES, edgecolor=_EDGE, linewidth=0.5), Entry('falls', fallen)]


def _draw_map(ax: Any, study: ItuStudy, found: Mapping[Setting, CogScore]) -> None:
    from matplotlib.patches import Rectangle

    grid = study.grid
    stripe = 0.94 / len(grid.frictions)
    for row, foot in enumerate(grid.feet):
        for column, step_time in enumerate(grid.step_times):
            cell = [found[Setting(step_time, foot, friction)] for friction in grid.frictions]
            for index, score in enumerate(cell):
                place = (column - 0.47 + index * stripe, row - 0.46)
                ax.add_patch(Rectangle(place, stripe, 0.92, **_shade(score)))
            cell_text(ax, column, row, _summary(cell))
    map_axes(ax, [f'{time:.1f}' for time in grid.step_times],
             [f'{a:.2f}\n× {b:.2f}' for a, b in grid.feet])  # fmt: skip


def _shade(score: CogScore) -> dict[str, Any]:
    if score.finishes:
        colour = shade(1e3 * score.mean, _CLASSES)
        return {'facecolor': colour, 'edgecolor': colour, 'linewidth': 0.6}  # hides seams
    return {'facecolor': _FALL, 'edgecolor': HATCH, 'hatch': '////', 'linewidth': 0.0}


def _summary(cell: list[CogScore]) -> str:
    means = [1e3 * score.mean for score in cell if score.finishes]
    falls = len(cell) - len(means)
    if not means:
        return '✕'
    median = float(np.median(means))
    text = f'{median:.1f}' if median < 9.95 else f'{median:.0f}'
    return f'{text}\n✕ {falls}/{len(cell)}' if falls else text


def _facts(study: ItuStudy, found: Scores) -> tuple[Fact, ...]:
    settings = list(study.grid)
    finishes = {
        method: {each for each in settings if found[method, each].finishes}
        for method in ALL_METHODS
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


def _slowest_fall(study: ItuStudy, finished: set[Setting], foot: tuple[float, float]) -> float:
    """Longest step time at which there is a fall [s]; NaN without any."""
    falls = [each.step_time for each in study.grid if each.foot == foot and each not in finished]
    return max(falls, default=float('nan'))


LARGEST_ARM = 1.0
"""Rounding alone may part IZMP and CoP: 1e-6 mm [nm]."""

LARGEST_OPENING = 1e-12
"""Rounding alone may keep a leg from closing [m], [-]."""


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Whole decades about values that are rounding alone, other on every computer, and the limit.

    Whole ones, as an axis of less than one has labels that are wider than the room for them.
    """
    some = [value for value in values if value > 0.0]
    least = min([0.01 * LARGEST_ARM, *some])
    return 10.0 ** np.floor(np.log10(least)), max([LARGEST_ARM, *some])


@figure(lambda study: {**scores(study), 'closure': study.leg_closure()})
def exact(study: ItuStudy, found: Any) -> Picture:
    arms = {
        method: [
            (each.step_time, 1e9 * found[method, each].arm)
            for each in study.grid
            if found[method, each].finishes
        ]
        for method in ALL_METHODS
    }
    opening = float(found['closure']['opening'].max())

    def draw(width: float) -> Any:
        legend = [CURVES[method].entry(4.5) for method in ALL_METHODS]
        canvas, (ax,) = panels(width, 1, legend, height=2.4)
        for place, method in enumerate(ALL_METHODS):
            times, values = np.array(arms[method]).reshape(-1, 2).T
            ax.plot(times + 0.02 * (place - 1), values,
                    **CURVES[method].style(4.5, linestyle='none'))  # fmt: skip
        ax.set(yscale='log', ylim=_decades([value for rows in arms.values() for _, value in rows]),
               xlabel='step time [s]', ylabel='arm of the tipping moment [nm]')  # fmt: skip
        return canvas

    facts = []
    for method in ALL_METHODS:
        largest = max((value for _, value in arms[method]), default=np.nan)
        label = f'{CURVES[method].label}: largest arm of the tipping moment about the IZMP'
        facts.append(at_most(method, label, largest, LARGEST_ARM, 'nm', 4, paper='zero'))
    walks = sum(len(rows) for rows in arms.values())
    return Picture(
        name='exact',
        title='On the exact motion the IZMP is the CoP',
        source='Sect. 2.4',
        draw=draw,
        facts=(
            *facts,
            Fact('walks', 'walks without a fall', walks, '', 0),
            Fact('opening', 'largest opening of a leg, eqs. 5 to 10', 1e12 * opening, '10⁻¹² m', 4,
                 wanted=f'≤ {1e12 * LARGEST_OPENING:g}', holds=opening <= LARGEST_OPENING),
        ),
        seen='The moment along the ground of what the ground does, about the IZMP of MR-AD of the '
        'simulated motion, over the normal force: the largest of every walk of the grid that ends '
        'without a fall.',
        paper='The ZMP is where the contact makes no moment along the ground.',
        ours='Zero but for rounding in all {walks} walks. The corrected closed form of the legs '
        'closes to {opening} on 2000 random poses.',
        data=Table(
            ('method', 'step time [s]', 'arm [nm]'),
            [[CURVES[method].label, *row] for method, rows in arms.items() for row in rows],
        ),
    )  # fmt: skip


_FRICTION = 1.0  # of the run whose score is used; the plan does not know it
_FASTEST, _SLOWEST = 'fastest', 'slowest'


def _with_middle_friction(study: ItuStudy) -> dict[Any, Run]:
    settings = [Setting(time, LARGE, _FRICTION) for time in study.grid.step_times]
    return scores(study) | {
        (m, each): study.score(m, each) for m in ALL_METHODS for each in settings
    }


@figure(_with_middle_friction)
def zmp_gap(study: ItuStudy, found: Scores) -> Picture:
    times = study.grid.step_times
    gaps = {
        (method, time): (1e3 * found[method, Setting(time, LARGE, _FRICTION)].zmp_gap).tolist()
        for method in ALL_METHODS
        for time in times
    }

    def draw(width: float) -> Any:
        legend = [
            *(CURVES[method].entry(4.5) for method in ALL_METHODS),
            Entry('from the middle of a sole to its edge', line('muted', linewidth=0.9)),
        ]
        canvas, axes = panels(width, 2, legend, height=3.0)
        for axis, ax in enumerate(axes):
            for method in ALL_METHODS:
                curve = [gaps[method, time][axis] for time in times]
                ax.plot(times, curve, **CURVES[method].style(4.5))
            for foot in (SMALL, LARGE):
                half = 500.0 * foot[axis]
                ax.axhline(half, color=LIGHT['muted'], linewidth=0.9, zorder=1)
                side = 0 if axis == 0 and foot == SMALL else -1  # where no curve is
                ax.annotate(f'feet of {foot_text(foot)}', (times[side], half), (0, 2),
                            textcoords='offset points', fontsize=8,
                            ha='right' if side else 'left')  # fmt: skip
            ax.set(xlabel='step time [s]', ylim=(0, None))
            ax.set_ylabel(f'largest gap of the ZMP in {"xy"[axis]} [mm]')
            ax.set_xticks(times, [f'{time:.1f}' for time in times])
        return canvas

    return Picture(
        name='zmp_gap',
        title='Why fast steps are not for CCG',
        source='Beyond the paper',
        draw=draw,
        facts=(*_zmp_gap_facts(times, gaps), *_predictions(study, found)),
        seen='How far the ZMP of the plan, that of all bodies by inverse dynamics, is at most '
        'from the wanted one, which lies amid the sole, while one foot carries. Beyond the grey '
        'lines it is outside the sole and the robot tips. Nothing of this is simulated; foot size '
        'and friction play no part.',
        paper='Not considered: the motion of the CoG is that of a point mass (eqs. 12 and 13).',
        ours='With CCG the gap in x is {converging_fastest_x} at steps of {fastest} and '
        '{converging_slowest_x} at {slowest}; with the constant vector {constant_fastest_x} and '
        '{constant_slowest_x}. CCG puts the CoG right by moving the pelvis against the swinging '
        'leg, the faster the shorter the steps; the rate of angular momentum that this costs is '
        'in no equation of the method. Whether the gap is less than the way to the edge, in x and '
        'y, predicts for {right_converging} of {settings} walks with CCG whether they are '
        'finished; of those with the constant vector, whose CoG is not where it should be, of '
        '{right_constant}. The dynamics filter corrects the wanted CoG until at most '
        '{filtered_largest} of the gap are left at any step time.',
        data=Table(
            ('method', 'step time [s]', 'largest gap in x [mm]', 'largest gap in y [mm]'),
            [[CURVES[method].label, time, *gap] for (method, time), gap in gaps.items()],
        ),
    )


def _zmp_gap_facts(
    times: tuple[float, ...], gaps: dict[tuple[str, float], list[float]]
) -> tuple[Fact, ...]:
    facts = [
        Fact(_FASTEST, 'shortest step time', times[0], 's', 1),
        Fact(_SLOWEST, 'longest step time', times[-1], 's', 1),
    ]
    for method in ALL_METHODS[:2]:
        for name, time in ((_FASTEST, times[0]), (_SLOWEST, times[-1])):
            for axis, gap in zip('xy', gaps[method, time], strict=True):
                label = f'largest gap in {axis}, {CURVES[method].label}, steps of {time:.1f} s'
                facts.append(Fact(f'{method}_{name}_{axis}', label, gap, 'mm', 0))
    largest = max(max(gaps['filtered', time]) for time in times)
    label = 'largest gap, CCG and dynamics filter, any step time'
    facts.append(Fact('filtered_largest', label, largest, 'mm', 1))
    return tuple(facts)


def _predictions(study: ItuStudy, found: Scores) -> tuple[Fact, ...]:
    settings = list(study.grid)
    facts = [Fact('settings', 'settings of the grid', len(settings), '', 0)]
    for method in PAPER_METHODS:
        scored = {each: found[method, each] for each in settings}
        right = sum(
            score.finishes == bool((score.zmp_gap < np.array(setting.foot) / 2).all())
            for setting, score in scored.items()
        )
        label = f'walks whose end the gap predicts, {CURVES[method].label}'
        facts.append(Fact(f'right_{method}', label, right, '', 0))
    return tuple(facts)
