"""Algorithm 1 as it is printed, on servos that know positions alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table, number
from izmp_lab.studies.itu_biped.study import Setting, Study
from izmp_lab.studies.itu_biped.styles import foot_text
from izmp_lab.studies.itu_biped.walks import Score
from izmp_lab.studies.runs import Load, Run

FEET, STEP_TIMES, FRICTIONS = ((0.17, 0.07), (0.23, 0.10)), (1.0, 1.4), (0.6, 1.0)

PAPER_MEAN, PAPER_LARGEST = 23.8, 55.9
"""Errors of the CoG in the paper [mm]."""


def _settings() -> Iterator[Setting]:
    for foot in FEET:
        for step_time in STEP_TIMES:
            for friction in FRICTIONS:
                yield Setting(step_time, foot, friction)


def _run(study: Study, setting: Setting) -> Run:
    return study.score('converging', setting, literal=True)


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(_run(study, setting) for setting in _settings())


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    found = {setting: Score.from_arrays(load(_run(study, setting))) for setting in _settings()}
    names = [f'{foot_text(s.foot)}, {s.step_time:.1f} s, {s.friction:.1f}' for s in found]

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('mean to largest error', line(look, 'mr-ad', marker='o')),
            Entry('falls', line(look, 'ir-md', marker='x')),
            Entry('mean and largest in the paper', line(look, 'muted', dashes=(4, 2))),
        ]
        canvas, (ax,) = panels(width, 1, legend, height=0.3 * len(found) + 0.4)
        for row, score in enumerate(found.values()):
            colour = look['mr-ad' if score.finishes else 'ir-md']
            ax.plot([1e3 * score.mean, 1e3 * score.largest], [row, row], color=colour)
            ax.plot(1e3 * score.mean, row, 'o' if score.finishes else 'x', color=colour)
        for value in (PAPER_MEAN, PAPER_LARGEST):
            ax.axvline(value, color=look['muted'], linewidth=0.9, dashes=(4, 2))
        ax.set(xscale='log', xlabel='error of the CoG [mm]', ylim=(len(found) - 0.5, -0.5))
        log_ticks(ax.xaxis, (10, 20, 50, 100, 200, 500))
        ax.set_yticks(range(len(found)), names)
        place = ax.get_position()
        left = 2.1 / width
        ax.set_position([left, place.y0, place.x1 - left, place.height])
        return canvas

    return Picture(
        name='literal',
        title='Algorithm 1 as it is printed',
        source='Algorithm 1 and Fig. 11',
        draw=draw,
        facts=_facts(found),
        seen='The error of the CoG when the joints follow Algorithm 1 as it is printed: β = ε = '
        '1 mm, a point every 10 ms, servos that are given positions alone. Size of the feet, '
        'duration of a step and friction at the left; of a robot that falls, up to the fall.',
        paper='23.8 mm in the mean, 55.9 mm at most, 0.96 mm at least; the walk is completed. '
        'Size '
        'of the feet, duration and friction are not stated.',
        ours='{finished} of {walks} walks are completed. Of these, that closest to the paper has '
        '{mean} in the mean, {largest} at most and {smallest} at least.',
        why='The other figures take the exact form and servos that know the torques of the '
        'motion, '
        'which the paper does not have; without both, the errors are of the size of the '
        'paper’s. Torques of the printed form cannot be computed at all: its CoG rests and jumps '
        'by 1 mm, within 10 ms that is an acceleration of the order of g, and inverse dynamics '
        'says that the robot leaves the ground.',
        data=_table(found),
        table=_table(found),
    )


def _table(found: dict[Setting, Score]) -> Table:
    return Table(
        ('foot', 'step time [s]', 'friction', 'falls in step', 'mean [mm]', 'largest [mm]',
         'smallest [mm]'),
        [
            [foot_text(each.foot), each.step_time, each.friction,
             str(score.falls_in) if score.falls_in else 'completes',
             *(number(1e3 * value, 1) for value in (score.mean, score.largest, score.smallest))]
            for each, score in found.items()
        ],
    )  # fmt: skip


def _facts(found: dict[Setting, Score]) -> tuple[Fact, ...]:
    done = [score for score in found.values() if score.finishes]
    closest = min(done, key=lambda score: abs(1e3 * score.mean - PAPER_MEAN), default=None)
    mean, largest, smallest = (
        (1e3 * closest.mean, 1e3 * closest.largest, 1e3 * closest.smallest)
        if closest
        else (np.nan, np.nan, np.nan)
    )
    return (
        Fact('walks', 'walks by Algorithm 1 as printed', len(found), '', 0),
        Fact('finished', 'of which are completed', len(done), '', 0),
        Fact('mean', 'mean error of the completed walk closest to the paper', mean, 'mm', 1,
             paper=f'{PAPER_MEAN} mm'),
        Fact('largest', 'its largest error', largest, 'mm', 1, paper=f'{PAPER_LARGEST} mm'),
        Fact('smallest', 'its smallest error', smallest, 'mm', 2, paper='0.96 mm'),
    )  # fmt: skip
