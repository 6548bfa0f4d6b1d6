"""What the paper leaves open: what was taken, and what becomes of the two walks otherwise."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.itu_biped.study import SHOWN, Study
from izmp_lab.studies.itu_biped.styles import (
    LABELS,
    MARKERS,
    PAPER_METHODS,
    entry,
    setting_text,
    style,
)
from izmp_lab.studies.itu_biped.walks import Score
from izmp_lab.studies.runs import Load, Run

NAMES = {
    'friction': 'friction',
    'double_support': 'double support',
    'step_width': 'step width',
    'contact_time': 'contact time',
}
_SHOWN = {
    'friction': (1.0, '.1f', ''),
    'double_support': (100.0, '.0f', ' %'),
    'step_width': (1e3, '.0f', ' mm'),
    'contact_time': (1e3, '.0f', ' ms'),
}
"""Factor, format and unit."""

TAKEN = (
    ('step time', 'not stated', '0.6 to 1.6 s', 'grid'),
    ('foot size', 'not stated', '0.12 × 0.06 m to 0.23 × 0.10 m', 'grid'),
    ('friction', 'not stated', '0.6 to 1.2', 'grid'),
    ('double support', 'not stated', '20 % of a step', 'varied above'),
    ('step width', '0.065 m “distance between feet”', '0.13 m between their middles',
     'varied above; 0.065 m would let feet of 0.10 m overlap'),
    ('contacts', '4 spheres of 1 cm per foot, 6·10⁴ N/m, 6·10³ N·s/m',
     '4 spheres of 1 cm; MuJoCo’s solref 10 ms, damping ratio 1, impratio 10',
     'contact time varied above; their numbers diverge as MuJoCo’s stiffness and damping'),
    ('wanted ZMP', 'foot positions', 'at rest amid the sole, linear in double support', 'fixed'),
    ('place of the sole', 'not stated', 'middle 19 mm ahead of the ankle, below the foot’s CoG',
     'fixed'),
    ('motion of a foot', 'continuous to the second derivative, 0.075 m high',
     'minimum jerk, bump of 0.075 m', 'fixed'),
    ('standing', 'not stated', '1.5 s before and after; counted in the mean error', 'fixed'),
    ('CoG offsets (eq. 18)', 'from the origin of the part’s frame',
     'from the joint that moves the part; otherwise 0.45 m is out of reach', 'corrected'),
    ('θ1 (eq. 9)', 'two minus signs', 'none: they turn θ1 by π', 'corrected'),
    ('which part of table 2 is which', 'order of the table', 'the same; left leg mirrored',
     'fixed'),
    ('inertias', 'not stated', 'homogeneous boxes about each CoG', 'fixed'),
    ('joints', 'follow prescribed motions', 'servos 4000 N·m/rad, 28 N·m·s/rad, armature '
     '0.1 kg·m², with the torques of the plan', 'fixed'),
    ('points of Algorithm 1', 'interval not stated', 'one per 2 ms, exact form to 1 nm',
     'varied in the figure on iterations'),
    ('constant vector', 'computed before the movement', 'that of the first posture', 'fixed'),
)  # fmt: skip
"""Parameter, in the paper, here, how it is treated."""


@dataclass(frozen=True)
class Variation:
    """The walk of figures 7 to 11 with one other value.

    Attributes:
        name: attribute of the trial.
        value: its value.
        usual: whether it is the one of all other figures.
    """

    name: str
    value: float
    usual: bool = False

    @property
    def label(self) -> str:
        """What the parameter is called."""
        return NAMES[self.name]

    @property
    def number(self) -> str:
        """The value with its unit."""
        factor, form, unit = _SHOWN[self.name]
        return f'{factor * self.value:{form}}{unit}'


def variations(study: Study) -> Iterator[Variation]:
    """All variations, by parameter and value."""
    for name, others in {'friction': study.grid.frictions, **study.open_parameters}.items():
        usual = float(getattr(SHOWN.trial('converging'), name))
        for value in sorted({usual, *others}):
            yield Variation(name, value, value == usual)


def _run(study: Study, method: str, variation: Variation) -> Run:
    others = {} if variation.usual else {variation.name: variation.value}
    return study.score(method, SHOWN, **others)


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    tried = list(variations(study))
    return tuple(_run(study, method, each) for each in tried for method in PAPER_METHODS)


def falls(study: Study, load: Load) -> list[int]:
    """Return the steps in which the constant vector falls, over all variations."""
    found = (Score.from_arrays(load(_run(study, 'constant', each))) for each in variations(study))
    return [score.falls_in for score in found if not score.finishes]


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    tried = list(variations(study))
    found = {
        (each, method): Score.from_arrays(load(_run(study, method, each)))
        for each in tried
        for method in PAPER_METHODS
    }

    def draw(look: Look, width: float) -> Any:
        legend = [
            *(entry(look, method, marker=MARKERS[method], markersize=5.5, linestyle='none')
              for method in PAPER_METHODS),
            Entry('falls', line(look, 'ink', marker='x', markersize=6, linestyle='none')),
        ]  # fmt: skip
        canvas, (ax,) = panels(width, 1, legend, height=0.24 * len(tried))
        _draw(ax, look, tried, found)
        place = ax.get_position()
        left = 1.75 / width
        ax.set_position([left, place.y0, place.x1 - left, place.height])
        return canvas

    return Picture(
        name='open',
        title='What the paper leaves open',
        source='Beyond the paper',
        draw=draw,
        facts=_facts(tried, found),
        seen=f'Mean error of the CoG when one parameter is changed: {setting_text(SHOWN)}. Rows '
        'in bold are the values of all other figures. A cross is a fall, with its step; its error '
        'is the mean up to the fall.',
        paper='One setting; the parameters of the table are not stated, or not such that another '
        'simulator could take them.',
        ours='CCG finishes in {ccg} of {tried} variations, with a mean error of {low} to {high}. '
        'The constant vector falls in {constant} of them, in step {earliest} at the earliest and '
        'step {latest} at the latest. That CCG finishes hinges on none of these choices; that the '
        'constant vector falls does: feet that stand closer together (as close as 0.065 m, the '
        'paper’s number, if that is from middle to middle) and hard contacts keep it upright. How '
        'large the error with CCG is depends on the contacts more than on anything else.',
        why='',
        data=Table(
            ('parameter', 'value', 'method', 'falls in step', 'mean error [mm]',
             'largest error [mm]'),
            [
                [each.label, each.value, LABELS[method], float(score.falls_in or np.nan),
                 1e3 * score.mean, 1e3 * score.largest]
                for (each, method), score in found.items()
            ],
        ),
        table=Table(('parameter', 'in the paper', 'here', 'treated'), TAKEN),
    )  # fmt: skip


def _draw(
    ax: Any, look: Look, tried: list[Variation], found: dict[tuple[Variation, str], Score]
) -> None:
    for row, each in enumerate(tried):
        for method in PAPER_METHODS:
            score = found[each, method]
            mark = {'marker': MARKERS[method]} if score.finishes else {'marker': 'x'}
            keywords = style(look, method, markersize=6, linestyle='none', **mark)
            ax.plot(1e3 * score.mean, row, **keywords)
            if not score.finishes:
                ax.annotate(f'step {score.falls_in}', (1e3 * score.mean, row), (8, 0),
                            textcoords='offset points', va='center', fontsize=8)  # fmt: skip
        if row and each.name != tried[row - 1].name:
            ax.axhline(row - 0.5, color=look['muted'], linewidth=0.6)
    ax.set(xscale='log', xlim=(0.3, 900), ylim=(len(tried) - 0.5, -0.5))
    ax.set_xlabel('mean error of the CoG [mm]')
    ax.set_xticks([1, 10, 100], ['1', '10', '100'])
    ax.set_yticks(range(len(tried)), [f'{each.label} {each.number}' for each in tried])
    for label, each in zip(ax.get_yticklabels(), tried, strict=True):
        label.set_fontweight('bold' if each.usual else 'normal')
    ax.tick_params(axis='y', length=0)


def _facts(tried: list[Variation], found: dict[tuple[Variation, str], Score]) -> tuple[Fact, ...]:
    ccg, constant = ([found[each, method] for each in tried] for method in PAPER_METHODS)
    means = [1e3 * score.mean for score in ccg if score.finishes]
    fallen = [score.falls_in for score in constant if not score.finishes]
    finished = len(means)
    return (
        Fact('tried', 'variations', len(tried), '', 0),
        Fact('ccg', 'variations in which CCG finishes', finished, '', 0,
             wanted=f'all {len(tried)}', holds=finished == len(tried)),
        Fact('constant', 'variations in which the constant vector falls', len(fallen), '', 0),
        Fact('low', 'least mean error with CCG', min(means), 'mm', 2),
        Fact('high', 'largest mean error with CCG', max(means), 'mm', 2),
        Fact('earliest', 'earliest step in which the constant vector falls',
             min(fallen, default=np.nan), '', 0, paper='4'),
        Fact('latest', 'latest step in which the constant vector falls',
             max(fallen, default=np.nan), '', 0, paper='4'),
    )  # fmt: skip
