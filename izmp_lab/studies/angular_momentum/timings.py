"""How long planning takes."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Look, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.angular_momentum.study import Study
from izmp_lab.studies.runs import Load, Run

_SCHEMES = ('E3', 'E4')
_NODES = {'E3': 16, 'E4': 8}

_PARTS = {
    'solver': 'solver of the programme',
    'programme': 'programme with its setting up',
    'nodes': 'estimation at the nodes',
    'plan': 'whole plan',
    'interval': 'plan and joint references',
}
_COLOURS = {'E3': 'cop', 'E4': 'mr-ad'}


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.timings(robot, s) for robot in study.robots for s in _SCHEMES)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    found = {
        (robot.name, scheme): load(study.timings(robot, scheme))
        for robot in study.robots
        for scheme in _SCHEMES
    }

    def draw(look: Look, width: float) -> Any:
        canvas, axes = panels(width, len(study.robots), height=0.34 * len(_PARTS), titles=True,
                              columns=1)  # fmt: skip
        for ax, robot in zip(axes, study.robots, strict=True):
            for row, part in enumerate(_PARTS):
                for scheme, shift in (('E3', -0.15), ('E4', 0.15)):
                    times = 1e3 * found[robot.name, scheme][part]
                    low, middle, high = np.percentile(times, [1, 50, 99])
                    colour = look[_COLOURS[scheme]]
                    ax.plot([low, high], [row + shift] * 2, color=colour, linewidth=1.4)
                    ax.plot(middle, row + shift, color=colour, marker='o', markersize=5)
                    ax.annotate(f'{scheme} {middle:.2f}', (high, row + shift), (5, -3),
                                textcoords='offset points', fontsize=8)  # fmt: skip
            ax.set(xscale='log', xlim=(0.02, 200), ylim=(len(_PARTS) - 0.5, -0.5))
            ax.axvline(100.0, color=look['muted'], linewidth=0.8)
            log_ticks(ax.xaxis, (0.1, 1, 10, 100))
            ax.set_xlabel('time [ms]')
            ax.set_yticks(range(len(_PARTS)), list(_PARTS.values()))
            ax.tick_params(axis='y', length=0)
            ax.set_title(robot.name, fontsize=9.5, loc='left')
            place, left = ax.get_position(), 2.1 / width
            ax.set_position([left, place.y0, place.x1 - left, place.height])
        return canvas

    facts = tuple(fact for robot in study.robots for fact in _facts(robot.name, found))
    return Picture(
        name='timings',
        title='How long planning takes',
        source='Calculation times of the poster',
        draw=draw,
        facts=facts,
        seen='Time of one core for the parts of a planning cycle, wall time for the last row, '
        'while other processes compute: median and 1st to 99th percentile of '
        f'{study.cycles} cycles, that is {study.cycles / 10:.0f} s of walking. The line is the '
        'planning interval.',
        paper='150 µs per node, on an Intel i5-2500 at 3.3 GHz.',
        ours='With E4 on biped31 the solver takes {biped31_solver}, the programme with all that '
        'sets it up {biped31_programme}, a node {biped31_node}, a whole plan {biped31_plan}; the '
        'slowest of all cycles took {biped31_slowest} of the 100 ms that there are.',
        why='',
        data=Table(
            ('robot', 'scheme', 'part', 'median [ms]', '99 % [ms]', 'largest [ms]'),
            [
                [robot, scheme, _PARTS[part], 1e3 * float(np.median(times[part])),
                 1e3 * float(np.percentile(times[part], 99)), 1e3 * float(times[part].max())]
                for (robot, scheme), times in found.items()
                for part in _PARTS
            ],
        ),
    )  # fmt: skip


def _facts(name: str, found: dict[tuple[str, str], Any]) -> list[Fact]:
    times = {part: 1e3 * found[name, 'E4'][part] for part in _PARTS}
    node = 1e3 * float(np.median(times['nodes'])) / _NODES['E4']
    medians = {part: float(np.median(values)) for part, values in times.items()}
    slowest = float(times['interval'].max())

    def fact(key: str, label: str, value: float, unit: str, digits: int) -> Fact:
        return Fact(f'{name}_{key}', f'{label}, E4, {name}', value, unit, digits)

    return [
        fact('solver', 'median time of the solver', medians['solver'], 'ms', 3),
        fact('programme', 'median time of the programme', medians['programme'], 'ms', 2),
        fact('node', 'median time per node', node, 'µs', 0),
        fact('plan', 'median time of a plan', medians['plan'], 'ms', 2),
        fact('slowest', 'slowest cycle', slowest, 'ms', 1),
    ]
