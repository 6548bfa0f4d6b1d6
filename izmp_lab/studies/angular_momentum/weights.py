"""The weights α and γ, which the poster does not state."""

from typing import Any

from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.angular_momentum.study import Robot, Study, Trial
from izmp_lab.studies.angular_momentum.walks import Score
from izmp_lab.studies.runs import Load, Run

_COLOURS = ('mr-ad', 'ir-md')
_TOO_LARGE = 1e-2


def _run(study: Study, robot: Robot, weight: float) -> Run:
    return study.score(robot, Trial('E4', changed={'alpha': weight, 'gamma': weight}))


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(_run(study, robot, weight) for robot in study.robots for weight in study.weights)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    found = {
        (robot.name, weight): Score.from_arrays(load(_run(study, robot, weight)))
        for robot in study.robots
        for weight in study.weights
    }

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry(robot.name, line(look, colour, marker='o', markersize=4.5))
            for robot, colour in zip(study.robots, _COLOURS, strict=False)
        ]
        canvas, axes = panels(width, 2, legend, height=2.4)
        for axis, ax in enumerate(axes):
            for robot, colour in zip(study.robots, _COLOURS, strict=False):
                errors = [1e3 * found[robot.name, weight].rms[axis] for weight in study.weights]
                ax.plot(study.weights, errors, color=look[colour], marker='o', markersize=4.5)
            ax.set(xscale='log', yscale='log', xlabel='α = γ, with β = 1')
            ax.set_ylabel(f'RMS error of the ZMP in {"xy"[axis]} [mm]')
            log_ticks(ax.yaxis, (1, 3, 10, 30, 100) if axis == 0 else (0.3, 1, 3, 10, 30))
        return canvas

    usual, degraded = (found['biped31', weight].rms[0] for weight in (1e-6, _TOO_LARGE))
    return Picture(
        name='weights',
        title='The weights',
        source='Left open by the poster',
        draw=draw,
        facts=(
            Fact('usual', 'RMS error in x with α = γ = 1e-6, biped31', 1e3 * float(usual), 'mm',
                 2),
            Fact('degraded', 'RMS error in x with α = γ = 1e-2, biped31',
                 1e3 * float(degraded), 'mm', 1),
        ),
        seen='Error of the ZMP of all bodies with E4 over the weights α of the acceleration of '
        'the centre of mass and γ of its distance from the wanted ZMP. β weighs the contact '
        'torque over the weight of the robot, which is the distance of the ZMP in metres, so the '
        'numbers hold for robots of every mass.',
        paper='α, β and γ are not stated.',
        ours='Both must be small against β: 1e-6 leaves {usual}, 1e-2 degrades it to '
        '{degraded}. They are not needed to make the programme convex; the terminal condition '
        'keeps the centre of mass from diverging.',
        why='',
        data=Table(
            ('robot', 'α = γ', 'RMS x [mm]', 'RMS y [mm]'),
            [
                [name, weight, *(1e3 * score.rms).tolist()]
                for (name, weight), score in found.items()
            ],
        ),
    )  # fmt: skip
