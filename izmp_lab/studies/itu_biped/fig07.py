"""Fig. 7: poses of the robot with and without CCG."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.simulation.itu_experiment import STEPS
from izmp_lab.studies.itu_biped import open_parameters
from izmp_lab.studies.itu_biped.study import SHOWN, Study
from izmp_lab.studies.itu_biped.styles import LABELS, PAPER_METHODS, setting_text
from izmp_lab.studies.itu_biped.walks import POSES, Score
from izmp_lab.studies.runs import Load, Run

POINTS = ('pelvis', *(f'{side} {point}' for side in ('left', 'right')
                      for point in ('hip', 'knee', 'ankle', 'heel', 'toe')))  # fmt: skip
_PELVIS, _HIP, _KNEE, _ANKLE, _HEEL, _TOE = range(6)
_RIGHT = 5  # from a point of the left leg to the same of the right one
_SLANT = (0.45, 0.3)  # of the y axis in the drawing


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    walks = [study.tracks(method, SHOWN) for method in PAPER_METHODS]
    return (*walks, *open_parameters.runs(study))


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    walks = {method: load(study.tracks(method, SHOWN)) for method in PAPER_METHODS}

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('right leg', line(look, 'mr-ad', linewidth=1.6)),
            Entry('left leg', line(look, 'ir-md', linewidth=1.6)),
            Entry('CoG', line(look, 'ink', marker='o', markersize=3.5, linestyle='none')),
        ]
        low, high = _limits(walks)
        scale = (width - 0.9) / (high[0] - low[0])
        canvas, axes = panels(
            width, 2, legend, height=scale * (high[1] - low[1]), columns=1, titles=True
        )
        for ax, (method, walk), letter in zip(axes, walks.items(), 'ab', strict=True):
            _draw_walk(ax, look, walk)
            ax.set_title(f'({letter}) {LABELS[method]}', fontsize=9.5, loc='left')
            ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            ax.set(xlabel='x, with y slanted to the right and up [m]', ylabel='z [m]')
        return canvas

    return Picture(
        name='fig7',
        title='Poses with and without CCG',
        source='Fig. 7',
        draw=draw,
        facts=_facts(study, load),
        seen=f'The run of {setting_text(SHOWN)}, divided into {POSES - 1} equal intervals; later '
        'poses are darker. The robot walks to the right; y points into the picture, drawn '
        'slanted. Lines join the joints of the legs; the torso is left out.',
        paper='(a) With CCG the robot completes its six steps. (b) Without, it falls in '
        '(also: after) the fourth step. Step time, foot size and friction are not stated.',
        ours=f'(a) With CCG the robot completes {{completed}} of {STEPS} steps. (b) With the '
        'constant vector it tips over sideways in step {falls_in}, at {fall_time}.',
        why='In which step it falls is decided by what the paper leaves open: over the variations '
        'of one such parameter each it is step {earliest} to {latest}, and the fourth in {fourth} '
        'of them; see the figure on what the paper leaves open. A run ends when the pelvis is '
        'tilted by 60° or has lost 40 % of its height: the last pose is not that of a robot lying '
        'on the ground.',
        data=Table(
            ('method', 'time [s]', 'point', 'x [m]', 'y [m]', 'z [m]'),
            [
                [LABELS[method], float(time), point, *map(float, place)]
                for method, walk in walks.items()
                for time, pose in zip(walk['pose_times'], walk['poses'], strict=True)
                for point, place in zip(POINTS, pose, strict=True)
            ],
        ),
    )


def _facts(study: Study, load: Load) -> tuple[Fact, ...]:
    ccg, constant = (
        Score.from_arrays(load(study.score(method, SHOWN))) for method in PAPER_METHODS
    )
    completed = STEPS if ccg.finishes else ccg.falls_in - 1
    falls = open_parameters.falls(study, load)
    return (
        Fact('completed', 'steps completed with CCG', completed, '', 0, paper='6', wanted='6',
             holds=completed == STEPS),
        Fact('falls_in', 'step in which the robot with the constant vector falls',
             constant.falls_in or np.nan, '', 0, paper='4', wanted='it falls',
             holds=not constant.finishes),
        Fact('fall_time', 'when it falls', constant.fall_time, 's', 2),
        Fact('earliest', 'earliest such step over all variations', min(falls, default=np.nan), '',
             0, paper='4'),
        Fact('latest', 'latest such step over all variations', max(falls, default=np.nan), '', 0,
             paper='4'),
        Fact('fourth', 'variations in which it is the fourth step', falls.count(4), '', 0),
    )  # fmt: skip


def _projected(places: Array) -> Array:
    """Oblique view (…, 2) of places (…, 3): x to the right, z up, y slanted."""
    return np.stack(
        [
            places[..., 0] + _SLANT[0] * places[..., 1],
            places[..., 2] + _SLANT[1] * places[..., 1],
        ],
        axis=-1,
    )


def _limits(walks: dict[str, Any]) -> tuple[Array, Array]:
    points = np.concatenate([_projected(walk['poses']).reshape(-1, 2) for walk in walks.values()])
    return points.min(axis=0) - 0.06, points.max(axis=0) + 0.06


def _draw_walk(ax: Any, look: Look, walk: Any) -> None:
    for outline in walk['soles']:
        closed = np.column_stack([np.vstack([outline, outline[:1]]), np.zeros(5)])
        ax.plot(*_projected(closed).T, color=look['sole'], linewidth=0.7)
    count = len(walk['poses'])
    for index, pose in enumerate(walk['poses']):
        opacity = 0.3 + 0.7 * index / (count - 1)
        for shift, colour in ((0, 'ir-md'), (_RIGHT, 'mr-ad')):
            chain = [_PELVIS, *(shift + point for point in (_HIP, _KNEE, _ANKLE, _HEEL, _TOE))]
            chain.append(shift + _ANKLE)
            ax.plot(*_projected(pose[chain]).T, color=look[colour], alpha=opacity,
                    linewidth=1.6, solid_joinstyle='round', zorder=2 + index)  # fmt: skip
        com = [np.interp(walk['pose_times'][index], walk['times'], walk['com'][:, axis])
               for axis in range(3)]  # fmt: skip
        ax.plot(*_projected(np.array(com)), color=look['ink'], marker='o', markersize=3.5,
                alpha=opacity, zorder=40)  # fmt: skip
