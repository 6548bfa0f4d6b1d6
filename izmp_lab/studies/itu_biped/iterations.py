"""What Algorithm 1 costs: iterations and time per point, over the interval between points."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.itu_biped.study import POINT_INTERVALS, Study
from izmp_lab.studies.runs import Load, Run

STEP_TIMES = (1.0, 1.4)
FORMS = ('paper’s form, β = ε = 1 mm', 'exact form, 1 nm')
PAPER_TIME = 414.0
"""Time per point but the first one [µs] (sect. 3)."""

MOST_MEAN, MOST_EXACT = 3.0, 10
RESIDUALS = {'paper': 1000.0, 'exact': 0.001}
"""Distances from the wanted CoG that both forms promise, ε of table 4 and 1 nm [µm]."""

"""Iterations per point: on average, and at most in the exact form."""

_STYLES = (('ir-md', 's', (0, (4, 1.6))), ('mr-ad', 'o', '-'))


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.iterations(time) for time in STEP_TIMES)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    counts = {time: load(study.iterations(time)) for time in STEP_TIMES}
    intervals = 1e3 * np.array(POINT_INTERVALS)

    def draw(look: Look, width: float) -> Any:
        dots = {'linewidth': 0.9, 'linestyle': (0, (1, 1.5))}
        legend = [
            *(Entry(form, line(look, colour, marker=marker, linestyle=dashes, markersize=4.5))
              for form, (colour, marker, dashes) in zip(FORMS, _STYLES, strict=True)),
            Entry('paper: 414 µs; here wanted: 3 iterations', line(look, 'ink', **dots)),
        ]  # fmt: skip
        canvas, axes = panels(width, 2, legend, height=2.8)
        for ax, key, factor, limit in zip(
            axes, ('mean', 'duration'), (1.0, 1e6), (MOST_MEAN, PAPER_TIME), strict=True
        ):
            for form, (colour, marker, dashes) in enumerate(_STYLES):
                ax.plot(intervals, factor * counts[STEP_TIMES[0]][key][:, form],
                        color=look[colour], marker=marker, linestyle=dashes,
                        markersize=4.5)  # fmt: skip
            ax.axhline(limit, color=look['ink'], **dots)
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
        facts=_facts(counts),
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
        why='',
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


def _facts(counts: dict[float, Any]) -> tuple[Fact, ...]:
    rows = {2: POINT_INTERVALS.index(0.002), 10: POINT_INTERVALS.index(0.01),
            100: POINT_INTERVALS.index(0.1)}  # fmt: skip
    facts = []
    for form, key in enumerate(('paper', 'exact')):
        for interval, row in rows.items():
            mean = max(float(found['mean'][row, form]) for found in counts.values())
            judged = interval == 2
            facts.append(
                Fact(f'{key}_{interval}', f'iterations per point, {FORMS[form]}, {interval} ms',
                     mean, '', 1, wanted=f'≤ {MOST_MEAN:g}' if judged else '',
                     holds=mean <= MOST_MEAN if judged else None)
            )  # fmt: skip
        time = max(1e6 * float(found['duration'][0, form]) for found in counts.values())
        facts.append(
            Fact(f'{key}_time', f'time per point, {FORMS[form]}, 2 ms', time, 'µs', 1,
                 paper=f'{PAPER_TIME:g} µs')
        )  # fmt: skip
    for form, (key, limit) in enumerate(RESIDUALS.items()):
        residual = 1e6 * max(float(found['residual'][:, form].max()) for found in counts.values())
        facts.append(
            Fact(f'{key}_residual', f'largest distance from the wanted CoG, {FORMS[form]}',
                 residual, 'µm', 6, wanted=f'≤ {limit:g} µm', holds=residual <= limit)
        )  # fmt: skip
    most = max(float(found['most'][:, 1].max()) for found in counts.values())
    facts.append(
        Fact('exact_most', 'most iterations of a point, exact form', most, '', 0,
             wanted=f'≤ {MOST_EXACT}', holds=most <= MOST_EXACT)
    )  # fmt: skip
    return tuple(facts)
