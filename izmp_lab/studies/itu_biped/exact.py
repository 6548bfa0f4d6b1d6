"""First of all: on the exact motion the IZMP is the CoP, and the legs' closed form closes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Look, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.itu_biped import falls
from izmp_lab.studies.itu_biped.study import Study
from izmp_lab.studies.itu_biped.styles import LABELS, MARKERS, METHODS, entry, style
from izmp_lab.studies.runs import Load, Run

LARGEST_ARM = 1.0
"""Rounding alone may part IZMP and CoP: 1e-6 mm [nm]."""

LARGEST_OPENING = 1e-12
"""Rounding alone may keep a leg from closing [m], [-]."""


def runs(study: Study) -> tuple[Run, ...]:
    """What the picture needs."""
    return (*falls.runs(study), study.leg_closure())


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Whole decades about values that are rounding alone, other on every computer, and the limit.

    Whole ones, as an axis of less than one has labels that are wider than the room for them.
    """
    some = [value for value in values if value > 0.0]
    least = min([0.01 * LARGEST_ARM, *some])
    return 10.0 ** np.floor(np.log10(least)), max([LARGEST_ARM, *some])


def picture(study: Study, load: Load) -> Picture:
    """Draw it."""
    found = falls.scores(study, load)
    arms = {
        method: [
            (each.step_time, 1e9 * found[method, each].arm)
            for each in study.grid
            if found[method, each].finishes
        ]
        for method in METHODS
    }
    opening = float(load(study.leg_closure())['opening'].max())

    def draw(look: Look, width: float) -> Any:
        legend = [
            entry(look, method, marker=MARKERS[method], markersize=4.5) for method in METHODS
        ]
        canvas, (ax,) = panels(width, 1, legend, height=2.4)
        for place, method in enumerate(METHODS):
            times, values = np.array(arms[method]).reshape(-1, 2).T
            ax.plot(times + 0.02 * (place - 1), values,
                    **style(look, method, marker=MARKERS[method], markersize=4.5)
                    | {'linestyle': 'none'})  # fmt: skip
        ax.set(yscale='log', ylim=_decades([value for rows in arms.values() for _, value in rows]),
               xlabel='step time [s]', ylabel='arm of the tipping moment [nm]')  # fmt: skip
        return canvas

    facts = []
    for method in METHODS:
        largest = max((value for _, value in arms[method]), default=np.nan)
        facts.append(
            Fact(method, f'{LABELS[method]}: largest arm of the tipping moment about the IZMP',
                 largest, 'nm', 4, paper='zero', wanted=f'≤ {LARGEST_ARM:g} nm',
                 holds=largest <= LARGEST_ARM)
        )  # fmt: skip
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
        why='',
        data=Table(
            ('method', 'step time [s]', 'arm [nm]'),
            [[LABELS[method], *row] for method, rows in arms.items() for row in rows],
        ),
    )  # fmt: skip
