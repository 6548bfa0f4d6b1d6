"""Where the nodes are, what is assumed where none has been, and how straight the knees are."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Look, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.angular_momentum.study import Study, Trial
from izmp_lab.studies.angular_momentum.walks import Score
from izmp_lab.studies.runs import Load, Run
from izmp_lab.walking.momentum_parameters import SCHEMES

_KNOTS = SCHEMES['E3'].nodes[0]
_GEOMETRIC = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.6)
_LITERAL = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.7, 0.75)


@dataclass(frozen=True)
class Choice:
    """One way to do it.

    Attributes:
        key: of its fact.
        label: what it is.
        trial: the walk.
        height: of the centre of mass [m]; that of the robot if 0.
    """

    key: str
    label: str
    trial: Trial
    height: float = 0.0


def _choices() -> tuple[Choice, ...]:
    all_early = tuple(np.round(0.1 + 0.05 * np.arange(8), 2).tolist())
    return (
        Choice('e3', 'E3: 16 nodes, at and between knots', Trial('E3')),
        Choice('knots', '16 nodes, always at knots', Trial('E3', changed={'nodes': (_KNOTS,)})),
        Choice('e3_zero', 'E3, 0 where the window grows',
               Trial('E3', changed={'end_estimate': 'zero'})),
        Choice('e4', 'E4: 8 nodes, 4 of them until 0.3 s', Trial('E4')),
        Choice('geometric', '8 nodes at knots, further and further apart',
               Trial('E4', changed={'nodes': (_GEOMETRIC,)})),
        Choice('literal', '8 nodes, all until 0.75 s',
               Trial('E4', changed={'nodes': (_LITERAL,)})),
        Choice('early', '8 nodes, all until 0.45 s', Trial('E4', changed={'nodes': (all_early,)})),
        Choice('mu', 'E4, friction 0.3 instead of 0.7', Trial('E4', changed={'friction': 0.3})),
        Choice('margin', 'E4, ZMP 20 mm inside instead of 5 mm',
               Trial('E4', changed={'margin': 0.02})),
        *(Choice(f'h{round(100 * height)}', f'E4, centre of mass at {height:.2f} m', Trial('E4'),
                 height)
          for height in (0.70, 0.78, 0.80, 0.82)),
    )  # fmt: skip


def _run(study: Study, choice: Choice) -> Run:
    robot = study.biped31
    if choice.height:
        robot = dataclasses.replace(robot, height=choice.height)
    return study.score(robot, choice.trial)


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(_run(study, choice) for choice in _choices())


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    found = [(choice, Score.from_arrays(load(_run(study, choice)))) for choice in _choices()]

    def draw(look: Look, width: float) -> Any:
        canvas, (ax,) = panels(width, 1, height=0.24 * len(found))
        for row, (_, score) in enumerate(found):
            rms, most = 1e3 * score.rms[0], 1e3 * score.largest[0]
            ax.plot([rms, most], [row, row], color=look['mr-ad'], linewidth=1.2)
            ax.plot(rms, row, color=look['mr-ad'], marker='o', markersize=5)
            if score.refused:
                ax.annotate('a leg would be straight', (1.05, row), va='center', fontsize=8)
        ax.set(xscale='log', xlim=(1, 100), ylim=(len(found) - 0.5, -0.5))
        ax.set_xlabel('error of the ZMP in x: RMS and largest [mm]')
        log_ticks(ax.xaxis, (1, 3, 10, 30, 100))
        ax.set_yticks(range(len(found)), [choice.label for choice, _ in found])
        ax.tick_params(axis='y', length=0)
        place, left = ax.get_position(), 2.75 / width
        ax.set_position([left, place.y0, place.x1 - left, place.height])
        return canvas

    return Picture(
        name='choices',
        title='Nodes, the end of the window, straight knees',
        source='Left open by the poster',
        draw=draw,
        facts=tuple(
            Fact(choice.key, f'RMS error in x, {choice.label}', 1e3 * float(score.rms[0]), 'mm', 2)
            for choice, score in found
        ),
        seen='Error of the ZMP of all bodies of biped31 in x, steps of 0.8 s and 0.25 m. The '
        'centre of mass is at 0.75 m unless stated otherwise.',
        paper='Nodes are uniform or at the beginning; where exactly, is not stated.',
        ours='Nodes that are always at the knots do not sample what is between them: {knots} '
        'instead of {e3}. What enters at the end of the window has no estimate until a node has '
        'been there; to hold the last value or to assume 0 makes little difference, {e3_zero}, as '
        'it is far ahead. “Concentrated at the beginning”, taken literally, does worse than four '
        'early nodes and four ahead, {e4}: at knots further and further apart {geometric}, all '
        'until 0.75 s {literal}, all until 0.45 s {early}, as most of the window is unknown then. '
        'The higher the centre of mass, '
        'the straighter the knees, and the more they have to hurry near the stretched leg: {h78} '
        'at 0.78 m, {h80} at 0.80 m; at 0.82 m the walk is refused.',
        why='',
        data=Table(
            ('choice', 'RMS x [mm]', 'largest x [mm]', 'RMS y [mm]', 'largest y [mm]', 'refused'),
            [
                [choice.label, 1e3 * float(score.rms[0]), 1e3 * float(score.largest[0]),
                 1e3 * float(score.rms[1]), 1e3 * float(score.largest[1]), score.refused]
                for choice, score in found
            ],
        ),
    )  # fmt: skip
