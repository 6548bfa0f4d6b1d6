"""What friction of the joints has to do with it: the check of the sampled loop."""

from collections.abc import Iterator, Mapping
from typing import Any

from izmp_dynamics.pages.look import Look, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.seesaw.study.figures.styles import LABELS, MARKERS, entry, style
from izmp_lab.seesaw.study.tasks import CONTROLLERS, Study
from izmp_lab.studies.runs import Load, Run

_USUAL = 1.0  # [N·m·s/rad]


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.check(name, d) for name in CONTROLLERS for d in study.dampings)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    growth = {
        name: {d: float(load(study.check(name, d))['growth']) for d in study.dampings}
        for name in CONTROLLERS
    }

    def draw(look: Look, width: float) -> Any:
        legend = [entry(look, name, marker=MARKERS[name], markersize=4.5) for name in CONTROLLERS]
        canvas, axes = panels(width, 2, legend)
        for ax, limits in zip(axes, ((0.9, 2.5), (0.994, 1.004)), strict=True):
            for name in CONTROLLERS:
                ax.plot(list(growth[name]), list(growth[name].values()),
                        **style(look, name, marker=MARKERS[name], markersize=4.5))  # fmt: skip
            ax.axhline(1.0, color=look['muted'], linewidth=0.8)
            ax.set(xlabel='joint friction [N·m·s/rad]', ylabel='growth per tick', ylim=limits)
        return canvas

    return Picture(
        name='damping',
        title='Friction of the joints decides whether the loop is stable',
        source='Beyond the paper',
        draw=draw,
        facts=tuple(_facts(growth)),
        seen='The loop of controller (100 Hz, torques held) and robot, linearised about the '
        'stance: by which factor the least stable deviation grows per tick, over the viscous '
        'friction of all joints; the right panel shows the same near 1. The loop is stable below '
        '1. The controller does not know of the friction.',
        paper='Not considered; iCub has 1 N·m·s/rad in Gazebo.',
        ours='Without friction a deviation grows {mixed_0}-fold (mixed) and {robot_0}-fold '
        '(robot) in each tick; with 1 N·m·s/rad the loop is stable.',
        why='The damping of the posture, held for 10 ms, overshoots on light links: with d T / I '
        'above 2 a sampled damper is unstable, and the forearm turns with 0.002 kg·m² about the '
        'upper arm. Much friction, on the other hand, is a disturbance that the mixed controller '
        'does not get over: it has no stiffness against it. The command '
        'that simulates makes this check first.',
        data=Table(
            ('controller', 'joint friction [N·m·s/rad]', 'growth per tick'),
            [
                [LABELS[name], d, value]
                for name, values in growth.items()
                for d, value in values.items()
            ],
        ),
    )


def _facts(growth: Mapping[str, Mapping[float, float]]) -> Iterator[Fact]:
    for name in CONTROLLERS:
        without, usual = growth[name][0.0], growth[name][_USUAL]
        yield Fact(
            f'{name}_0',
            f'{LABELS[name]}: growth per tick without friction',
            without,
            '',
            2,
            wanted='> 1',
            holds=without > 1.0,
        )
        yield Fact(f'{name}_1', f'{LABELS[name]}: growth per tick with 1 N·m·s/rad', usual, '', 4,
                   wanted='< 1', holds=usual < 1.0)  # fmt: skip
