"""Error of the CoG over step time, for every foot size and over all frictions."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.itu_biped import falls
from izmp_lab.studies.itu_biped.falls import Scores
from izmp_lab.studies.itu_biped.study import Setting, Study
from izmp_lab.studies.itu_biped.styles import (
    LABELS,
    MARKERS,
    METHODS,
    entry,
    foot_text,
    style,
)
from izmp_lab.studies.runs import Load, Run

_TOP = 400.0  # [mm]; falls are marked below it
_ROOM = {'converging': 0.62, 'constant': 0.8, 'filtered': 1.0}


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return falls.runs(study)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    found, grid = falls.scores(study, load), study.grid

    def draw(look: Look, width: float) -> Any:
        legend = [
            *(entry(look, method, marker=MARKERS[method], markersize=4.5) for method in METHODS),
            Entry('falls at some friction', line(look, 'ink', marker='x', markersize=5,
                                                 linestyle='none')),
        ]  # fmt: skip
        canvas, axes = panels(width, len(grid.feet), legend, height=2.4, titles=True)
        for ax, foot in zip(axes, reversed(grid.feet), strict=True):
            for method in METHODS:
                _draw_method(ax, look, study, found, method, foot)
            ax.set(yscale='log', ylim=(0.1, _TOP), xlabel='step time [s]')
            ax.set_ylabel('mean error of the CoG [mm]')
            ax.set_xticks(grid.step_times, [f'{time:.1f}' for time in grid.step_times])
            ax.set_yticks([0.1, 1, 10, 100], ['0.1', '1', '10', '100'])
            ax.set_title(f'feet of {foot_text(foot)}', fontsize=9.5, loc='left')
        return canvas

    return Picture(
        name='errors',
        title='Error of the CoG over the grid',
        source='Beyond the paper',
        draw=draw,
        facts=_facts(study, found),
        seen='Mean error of the CoG over the step time: lines are medians, bands span the '
        'frictions. Only walks without a fall count; a cross at the top marks a step time at '
        'which a friction made the robot fall.',
        paper='Mean error 23.8 mm with CCG, at one setting.',
        ours='Where CCG and the constant vector both finish, the constant vector’s mean error is '
        '{ratio_low} to {ratio_high} times that with CCG, {ratio_median} in the median. With CCG '
        'it is {low} to {high}; with the dynamics filter {filtered_low} to {filtered_high}.',
        why='',
        data=Table(
            ('method', 'foot', 'step time [s]', 'walks', 'falls', 'least mean error [mm]',
             'median mean error [mm]', 'largest mean error [mm]'),
            [
                [LABELS[method], foot_text(foot), step_time,
                 *_row(study, found, method, foot, step_time)]
                for foot in grid.feet
                for method in METHODS
                for step_time in grid.step_times
            ],
        ),
    )  # fmt: skip


def _row(
    study: Study, found: Scores, method: str, foot: tuple[float, float], step_time: float
) -> tuple[float, float, float, float, float]:
    """Walks, falls, least, median and largest mean error of those without a fall [mm]."""
    cell = [found[method, Setting(step_time, foot, mu)] for mu in study.grid.frictions]
    means = [1e3 * score.mean for score in cell if score.finishes] or [np.nan]
    falls_here = sum(not score.finishes for score in cell)
    return len(cell), falls_here, min(means), float(np.median(means)), max(means)


def _draw_method(
    ax: Any, look: Look, study: Study, found: Scores, method: str, foot: tuple[float, float]
) -> None:
    times = np.array(study.grid.step_times)
    rows = np.array([_row(study, found, method, foot, time) for time in times])
    keywords = style(look, method, marker=MARKERS[method], markersize=4.5)
    ax.fill_between(times, rows[:, 2], rows[:, 4], color=keywords['color'], alpha=0.18,
                    linewidth=0)  # fmt: skip
    ax.plot(times, rows[:, 3], **keywords)
    fallen = times[rows[:, 1] > 0]
    ax.plot(fallen, np.full(len(fallen), _TOP * _ROOM[method] ** 2),
            **keywords | {'marker': 'x', 'linestyle': 'none', 'markersize': 5.5})  # fmt: skip


def _facts(study: Study, found: Scores) -> tuple[Fact, ...]:
    means = {
        method: {
            each: 1e3 * found[method, each].mean
            for each in study.grid
            if found[method, each].finishes
        }
        for method in METHODS
    }
    both = means['converging'].keys() & means['constant'].keys()
    ratios = np.array([means['constant'][each] / means['converging'][each] for each in both])
    facts = []
    for method, prefix in (('converging', ''), ('filtered', 'filtered_')):
        values = list(means[method].values())
        for key, value in (('low', min(values)), ('high', max(values))):
            label = f'{"least" if key == "low" else "largest"} mean error, {LABELS[method]}'
            facts.append(Fact(f'{prefix}{key}', label, value, 'mm', 2))
    named = {'low': ratios.min(), 'median': np.median(ratios), 'high': ratios.max()}
    for key, value in named.items():
        label = f'mean error, constant vector over CCG, where both finish: {key}'
        facts.append(Fact(f'ratio_{key}', label, float(value), '', 1))
    return tuple(facts)
