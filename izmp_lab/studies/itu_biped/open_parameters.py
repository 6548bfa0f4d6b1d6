"""What the paper leaves open and what becomes of the walks otherwise; what Algorithm 1 costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_lab.studies.itu_biped.study import (
    CURVES,
    PAPER_METHODS,
    POINT_INTERVALS,
    SHOWN,
    CogScore,
    ItuStudy,
    setting_text,
)
from izmp_lab.studies.publish import at_most, figure, named_rows
from izmp_lab.studies.runs import Arrays, Run

PARAMETERS = {
    'friction': ('friction', 1.0, '.1f', ''),
    'double_support': ('double support', 100.0, '.0f', ' %'),
    'step_width': ('step width', 1e3, '.0f', ' mm'),
    'contact_time': ('contact time', 1e3, '.0f', ' ms'),
}
"""Attribute of a trial → what it is called; factor, format and unit of its values."""

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
        return PARAMETERS[self.name][0]

    @property
    def number(self) -> str:
        """The value with its unit."""
        _, factor, form, unit = PARAMETERS[self.name]
        return f'{factor * self.value:{form}}{unit}'


def variations(study: ItuStudy) -> Iterator[Variation]:
    """All variations, by parameter and value."""
    for name, others in {'friction': study.grid.frictions, **study.open_parameters}.items():
        usual = float(getattr(SHOWN.trial('converging'), name))
        for value in sorted({usual, *others}):
            yield Variation(name, value, value == usual)


def varied_walks(study: ItuStudy) -> dict[Any, Run]:
    """Describe the scores of all variations, by variation and method."""
    return {
        (each, method): study.score(
            method, SHOWN, **({} if each.usual else {each.name: each.value})
        )
        for each in variations(study)
        for method in PAPER_METHODS
    }


@figure(varied_walks)
def left_open(study: ItuStudy, found: dict[tuple[Variation, str], CogScore]) -> Picture:
    tried = list(variations(study))

    def draw(width: float) -> Any:
        legend = [
            *(CURVES[method].entry(5.5, linestyle='none')
              for method in PAPER_METHODS),
            Entry('falls', line('ink', marker='x', markersize=6, linestyle='none')),
        ]  # fmt: skip
        canvas, (ax,) = panels(width, 1, legend, height=0.24 * len(tried))
        _draw(ax, tried, found)
        named_rows(ax, [f'{each.label} {each.number}' for each in tried], width, 1.75)
        for label, each in zip(ax.get_yticklabels(), tried, strict=True):
            label.set_fontweight('bold' if each.usual else 'normal')
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
        data=Table(
            ('parameter', 'value', 'method', 'falls in step', 'mean error [mm]',
             'largest error [mm]'),
            [
                [each.label, each.value, CURVES[method].label, float(score.falls_in or np.nan),
                 1e3 * score.mean, 1e3 * score.largest]
                for (each, method), score in found.items()
            ],
        ),
        table=Table(('parameter', 'in the paper', 'here', 'treated'), TAKEN),
    )  # fmt: skip


def _draw(ax: Any, tried: list[Variation], found: dict[tuple[Variation, str], CogScore]) -> None:
    for row, each in enumerate(tried):
        for method in PAPER_METHODS:
            score = found[each, method]
            mark = {} if score.finishes else {'marker': 'x'}
            keywords = CURVES[method].style(6, linestyle='none', **mark)
            ax.plot(1e3 * score.mean, row, **keywords)
            if not score.finishes:
                ax.annotate(f'step {score.falls_in}', (1e3 * score.mean, row), (8, 0),
                            textcoords='offset points', va='center', fontsize=8)  # fmt: skip
        if row and each.name != tried[row - 1].name:
            ax.axhline(row - 0.5, color=LIGHT['muted'], linewidth=0.6)
    ax.set(xscale='log', xlim=(0.3, 900), xlabel='mean error of the CoG [mm]')
    ax.set_xticks([1, 10, 100], ['1', '10', '100'])


def _facts(
    tried: list[Variation], found: dict[tuple[Variation, str], CogScore]
) -> tuple[Fact, ...]:
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


STEP_TIMES = (1.0, 1.4)
FORMS = ('paper’s form, β = ε = 1 mm', 'exact form, 1 nm')
PAPER_TIME = 414.0
"""Time per point but the first one [µs] (sect. 3)."""

MOST_MEAN, MOST_EXACT = 3.0, 10
"""Iterations per point: on average, and at most in the exact form."""

RESIDUALS = {'paper': 1000.0, 'exact': 0.001}
"""Distances from the wanted CoG that both forms promise, ε of table 4 and 1 nm [µm]."""

_STYLES = (('ir-md', 's', (0, (4, 1.6))), ('mr-ad', 'o', '-'))


@figure(lambda study: {time: study.iterations(time) for time in STEP_TIMES})
def iterations(study: ItuStudy, counts: dict[float, Arrays]) -> Picture:
    intervals = 1e3 * np.array(POINT_INTERVALS)

    def draw(width: float) -> Any:
        dots = {'linewidth': 0.9, 'linestyle': (0, (1, 1.5))}
        legend = [
            *(Entry(form, line(colour, marker=marker, linestyle=dashes, markersize=4.5))
              for form, (colour, marker, dashes) in zip(FORMS, _STYLES, strict=True)),
            Entry('paper: 414 µs; here wanted: 3 iterations', line('ink', **dots)),
        ]  # fmt: skip
        canvas, axes = panels(width, 2, legend, height=2.8)
        for ax, key, factor, limit in zip(
            axes, ('mean', 'duration'), (1.0, 1e6), (MOST_MEAN, PAPER_TIME), strict=True
        ):
            for form, (colour, marker, dashes) in enumerate(_STYLES):
                ax.plot(intervals, factor * counts[STEP_TIMES[0]][key][:, form],
                        color=LIGHT[colour], marker=marker, linestyle=dashes,
                        markersize=4.5)  # fmt: skip
            ax.axhline(limit, color=LIGHT['ink'], **dots)
            ax.set(xscale='log', yscale='log', xlabel='time between points [ms]')
            ax.set_xticks(intervals, [f'{interval:g}' for interval in intervals])
            ax.minorticks_off()
        axes[0].set_ylabel('mean iterations per point [-]')
        axes[0].set_yticks([0.5, 1, 3, 10, 30], ['0.5', '1', '3', '10', '30'])
        axes[1].set_ylabel('time per point [µs]')
        axes[1].set_yticks([3, 10, 30, 100, 300], ['3', '10', '30', '100', '300'])
        return canvas

    return Picture(
        name='iterations',
        title='What Algorithm 1 costs',
        source='Sect. 3',
        draw=draw,
        facts=_iterations_facts(counts),
        seen='Iterations and computing time per point over the time between the points of the '
        'trajectory, which the paper does not state; steps of 1.0 s. Times are processor '
        'times of the computer that made this page.',
        paper='414 µs per point and 1.66 ms for the first one (MATLAB, Core i7 2700).',
        ours='The paper’s form needs {paper_2} iterations per point at 2 ms, {paper_10} at 10 ms '
        'and {paper_100} at 100 ms: each moves the pelvis by 1 mm, so it counts the millimetres '
        'between the points. The exact form needs {exact_2}, {exact_10} and {exact_100}, never '
        'more than {exact_most}, and comes a million times closer. A point at 2 ms takes '
        '{paper_time} and {exact_time}. Three iterations per point hold for dense trajectories '
        'only. The CoG of the paper’s form moreover rests until it is 1 mm behind and then jumps, '
        'so the walks of this page are made with the exact form.',
        data=Table(
            ('step time [s]', 'time between points [ms]', 'form', 'mean iterations',
             'most iterations', 'largest residual [mm]', 'time per point [µs]'),
            [
                [time, float(interval), FORMS[form], *(
                    float(factor * found[key][row, form]) for key, factor in (
                        ('mean', 1.0), ('most', 1.0), ('residual', 1e3), ('duration', 1e6)))]
                for time, found in counts.items()
                for row, interval in enumerate(intervals)
                for form in range(len(FORMS))
            ],
        ),
    )  # fmt: skip


def _iterations_facts(counts: dict[float, Arrays]) -> tuple[Fact, ...]:
    rows = {2: POINT_INTERVALS.index(0.002), 10: POINT_INTERVALS.index(0.01),
            100: POINT_INTERVALS.index(0.1)}  # fmt: skip
    facts = []
    for form, key in enumerate(('paper', 'exact')):
        for interval, row in rows.items():
            mean = max(float(found['mean'][row, form]) for found in counts.values())
            named = f'{key}_{interval}', f'iterations per point, {FORMS[form]}, {interval} ms'
            judged = interval == 2
            facts.append(
                at_most(*named, mean, MOST_MEAN, '', 1) if judged else Fact(*named, mean, '', 1)
            )
        time = max(1e6 * float(found['duration'][0, form]) for found in counts.values())
        facts.append(
            Fact(f'{key}_time', f'time per point, {FORMS[form]}, 2 ms', time, 'µs', 1,
                 paper=f'{PAPER_TIME:g} µs')
        )  # fmt: skip
    for form, (key, limit) in enumerate(RESIDUALS.items()):
        residual = 1e6 * max(float(found['residual'][:, form].max()) for found in counts.values())
        label = f'largest distance from the wanted CoG, {FORMS[form]}'
        facts.append(at_most(f'{key}_residual', label, residual, limit, 'µm', 6))
    most = max(float(found['most'][:, 1].max()) for found in counts.values())
    label = 'most iterations of a point, exact form'
    return (*facts, at_most('exact_most', label, most, MOST_EXACT, '', 0))
