"""How the robot walks: figs. 7 and 8, and Algorithm 1 as it is printed."""

import itertools
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, line, log_ticks, panels, patch
from izmp_dynamics.pages.picture import Fact, Picture, Table, number
from izmp_dynamics.pages.styles import LIGHT
from izmp_lab.simulation.itu_experiment import STEPS
from izmp_lab.studies.itu_biped.open_parameters import varied_walks
from izmp_lab.studies.itu_biped.study import (
    CURVES,
    PAPER_METHODS,
    POSES,
    SHOWN,
    WANTED_COG,
    WANTED_ZMP,
    CogScore,
    ItuStudy,
    Setting,
    Tracks,
    foot_text,
    setting_text,
)
from izmp_lab.studies.publish import figure, heading, named_rows
from izmp_lab.studies.runs import Run
from izmp_lab.walking.itu_biped import RIGHT_LEG, TORSO

POINTS = ('pelvis', *(f'{side} {point}' for side in ('left', 'right')
                      for point in ('hip', 'knee', 'ankle', 'heel', 'toe')))  # fmt: skip
_PELVIS, _HIP, _KNEE, _ANKLE, _HEEL, _TOE = range(6)
_RIGHT = 5  # from a point of the left leg to the same of the right one
_SLANT = (0.45, 0.3)  # of the y axis in the drawing


@figure(
    lambda study: {
        **{method: study.tracks(method, SHOWN) for method in PAPER_METHODS},
        **varied_walks(study),
    }
)
def fig7(study: ItuStudy, found: Any) -> Picture:
    walks: dict[str, Tracks] = {method: found[method] for method in PAPER_METHODS}

    def draw(width: float) -> Any:
        legend = [
            Entry('right leg', line('mr-ad', linewidth=1.6)),
            Entry('left leg', line('ir-md', linewidth=1.6)),
            Entry('CoG', line('ink', marker='o', markersize=3.5, linestyle='none')),
        ]
        low, high = _limits(walks)
        scale = (width - 0.9) / (high[0] - low[0])
        canvas, axes = panels(
            width, 2, legend, height=scale * (high[1] - low[1]), columns=1, titles=True
        )
        for ax, (method, walk), letter in zip(axes, walks.items(), 'ab', strict=True):
            _draw_walk(ax, walk)
            heading(ax, f'({letter}) {CURVES[method].label}')
            ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            ax.set(xlabel='x, with y slanted to the right and up [m]', ylabel='z [m]')
        return canvas

    return Picture(
        name='fig7',
        title='Poses with and without CCG',
        source='Fig. 7',
        draw=draw,
        facts=_facts({key: run for key, run in found.items() if key not in walks}),
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
                [CURVES[method].label, float(time), point, *map(float, place)]
                for method, walk in walks.items()
                for time, pose in zip(walk.pose_times, walk.poses, strict=True)
                for point, place in zip(POINTS, pose, strict=True)
            ],
        ),
    )


def _facts(varied: dict[Any, CogScore]) -> tuple[Fact, ...]:
    usual = {method: score for (each, method), score in varied.items() if each.usual}
    ccg, constant = (usual[method] for method in PAPER_METHODS)
    completed = STEPS if ccg.finishes else ccg.falls_in - 1
    falls = [
        score.falls_in
        for (_, method), score in varied.items()
        if method == 'constant' and not score.finishes
    ]
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
        [places[..., 0] + _SLANT[0] * places[..., 1], places[..., 2] + _SLANT[1] * places[..., 1]],
        axis=-1,
    )


def _limits(walks: dict[str, Tracks]) -> tuple[Array, Array]:
    points = np.concatenate([_projected(walk.poses).reshape(-1, 2) for walk in walks.values()])
    return points.min(axis=0) - 0.06, points.max(axis=0) + 0.06


def _draw_walk(ax: Any, walk: Tracks) -> None:
    for outline in walk.soles:
        closed = np.column_stack([np.vstack([outline, outline[:1]]), np.zeros(5)])
        ax.plot(*_projected(closed).T, color=LIGHT['sole'], linewidth=0.7)
    count = len(walk.poses)
    for index, pose in enumerate(walk.poses):
        opacity = 0.3 + 0.7 * index / (count - 1)
        for shift, colour in ((0, 'ir-md'), (_RIGHT, 'mr-ad')):
            chain = [_PELVIS, *(shift + point for point in (_HIP, _KNEE, _ANKLE, _HEEL, _TOE))]
            chain.append(shift + _ANKLE)
            ax.plot(*_projected(pose[chain]).T, color=LIGHT[colour], alpha=opacity,
                    linewidth=1.6, solid_joinstyle='round', zorder=2 + index)  # fmt: skip
        com = [np.interp(walk.pose_times[index], walk.times, walk.com[:, axis])
               for axis in range(3)]  # fmt: skip
        ax.plot(*_projected(np.array(com)), color=LIGHT['ink'], marker='o', markersize=3.5,
                alpha=opacity, zorder=40)  # fmt: skip


_BESIDE = 0.22  # [m] around the middle of the path; a fall leads far beyond
DEVIATION = 0.01
"""From this distance on the track counts as left [m]."""


@figure(
    lambda study: {
        **{method: study.tracks(method, SHOWN) for method in PAPER_METHODS},
        'score': study.score('constant', SHOWN),
    }
)
def fig8(study: ItuStudy, found: Any) -> Picture:
    walks: dict[str, Tracks] = {method: found[method] for method in PAPER_METHODS}
    plan = walks['converging']

    def draw(width: float) -> Any:
        legend = [
            WANTED_ZMP.entry(), WANTED_COG.entry(),
            *(CURVES[method].entry(text=text) for method, text in (
                ('converging', 'CoG with CCG'), ('constant', 'CoG with the constant vector'))),
            Entry('soles', patch('sole', alpha=0.25)),
        ]  # fmt: skip
        left, right = plan.soles[..., 0].min() - 0.05, plan.soles[..., 0].max() + 0.05
        height = max((width - 0.9) / (right - left) * 2 * _BESIDE, 1.4)
        canvas, (ax,) = panels(width, 1, legend, height=height)
        for outline in plan.soles:
            ax.fill(*outline.T, color=LIGHT['sole'], alpha=0.18, linewidth=0)
        ax.plot(*plan.wanted_zmp[:, :2].T, **WANTED_ZMP.style())
        for method in PAPER_METHODS:
            ax.plot(*walks[method].com[:, :2].T, **CURVES[method].style())
        ax.plot(*plan.wanted_com[:, :2].T, **WANTED_COG.style())
        ax.set(xlim=(left, right), ylim=(-_BESIDE, _BESIDE), xlabel='x [m]', ylabel='y [m]')
        return canvas

    return Picture(
        name='fig8',
        title='Wanted and simulated tracks of the CoG',
        source='Fig. 8',
        draw=draw,
        facts=_fig8_facts(found['score'], walks),
        seen=f'The ground from above: {setting_text(SHOWN)}. Both walks have the same wanted ZMP '
        'and CoG.',
        paper='With CCG the CoG agrees with the wanted one; without, it deviates after the second '
        'step and the robot falls in the fourth. The feet slide, which explains errors along x '
        'and y.',
        ours='With CCG the track stays within {ccg_aside} of the wanted one. With the constant '
        'vector it is left by more than {limit} from step {leaves_in} on.',
        why='It is not sliding that separates the tracks here: with the constant vector the CoG '
        'is wrong by up to {planned} in the plan already, because each leg has {leg_share} of the '
        'mass and a swinging one takes the CoG along. What is left with CCG is the give of the '
        'contacts.',
        data=Table(
            ('method', 'time [s]', 'CoG x [m]', 'CoG y [m]', 'wanted CoG x [m]',
             'wanted CoG y [m]', 'wanted ZMP x [m]', 'wanted ZMP y [m]'),
            [
                [method, *map(float, row)]
                for method, walk in walks.items()
                for row in _rows(walk)
            ],
        ),
    )  # fmt: skip


def _rows(walk: Tracks) -> Array:
    count = len(walk.times)
    columns = (walk.com, walk.wanted_com[:count], walk.wanted_zmp[:count])
    return np.column_stack([walk.times, *(column[:, :2] for column in columns)])


def _fig8_facts(score: CogScore, walks: dict[str, Tracks]) -> tuple[Fact, ...]:
    aside = {method: _aside(walk) for method, walk in walks.items()}
    constant = walks['constant']
    leg = sum(part.mass for part in RIGHT_LEG)
    away = np.flatnonzero(aside['constant'] > DEVIATION)
    step = np.nan
    if len(away):
        begins, left_at = constant.step_begins, constant.times[away[0]]
        step = max(1, int(np.searchsorted(begins, left_at, side='right')))
    return (
        Fact('ccg_aside', 'largest distance from the wanted track with CCG',
             1e3 * float(aside['converging'].max()), 'mm', 1),
        Fact('limit', 'distance from which on a track counts as left', 1e3 * DEVIATION, 'mm', 0),
        Fact('leaves_in', 'step in which the constant vector leaves the track', step, '', 0,
             paper='3'),
        Fact('planned', 'largest error of the CoG in the plan with the constant vector',
             1e3 * score.planned, 'mm', 0),
        Fact('leg_share', 'share of a leg in the mass', 100.0 * leg / (2.0 * leg + TORSO.mass),
             '%', 0),
    )  # fmt: skip


def _aside(walk: Tracks) -> Array:
    """(K,) horizontal distance of the CoG from the wanted one [m]."""
    distance: Array = np.linalg.norm((walk.com - walk.wanted_com[: len(walk.com)])[:, :2], axis=1)
    return distance


FEET, STEP_TIMES, FRICTIONS = ((0.17, 0.07), (0.23, 0.10)), (1.0, 1.4), (0.6, 1.0)

PAPER_MEAN, PAPER_LARGEST, PAPER_SMALLEST = 23.8, 55.9, 0.96
"""Errors of the CoG with CCG in the paper [mm] (sect. 3)."""


def _literal_runs(study: ItuStudy) -> dict[Setting, Run]:
    settings = (
        Setting(step_time, foot, friction)
        for foot, step_time, friction in itertools.product(FEET, STEP_TIMES, FRICTIONS)
        if step_time in study.grid.step_times and friction in study.grid.frictions
    )
    return {each: study.score('converging', each, literal=True) for each in settings}


@figure(_literal_runs)
def literal(study: ItuStudy, found: dict[Setting, CogScore]) -> Picture:
    names = [f'{foot_text(s.foot)}, {s.step_time:.1f} s, {s.friction:.1f}' for s in found]

    def draw(width: float) -> Any:
        legend = [
            Entry('mean to largest error', line('mr-ad', marker='o')),
            Entry('falls', line('ir-md', marker='x')),
            Entry('mean and largest in the paper', line('muted', dashes=(4, 2))),
        ]
        canvas, (ax,) = panels(width, 1, legend, height=0.3 * len(found) + 0.4)
        for row, score in enumerate(found.values()):
            colour = LIGHT['mr-ad' if score.finishes else 'ir-md']
            ax.plot([1e3 * score.mean, 1e3 * score.largest], [row, row], color=colour)
            ax.plot(1e3 * score.mean, row, 'o' if score.finishes else 'x', color=colour)
        for value in (PAPER_MEAN, PAPER_LARGEST):
            ax.axvline(value, color=LIGHT['muted'], linewidth=0.9, dashes=(4, 2))
        ax.set(xscale='log', xlabel='error of the CoG [mm]')
        log_ticks(ax.xaxis, (10, 20, 50, 100, 200, 500))
        named_rows(ax, names, width, 2.1)
        return canvas

    return Picture(
        name='literal',
        title='Algorithm 1 as it is printed',
        source='Algorithm 1 and Fig. 11',
        draw=draw,
        facts=_literal_facts(found),
        seen='The error of the CoG when the joints follow Algorithm 1 as it is printed: β = ε = '
        '1 mm, a point every 10 ms, servos that are given positions alone. Size of the feet, '
        'duration of a step and friction at the left; of a robot that falls, up to the fall.',
        paper='23.8 mm in the mean, 55.9 mm at most, 0.96 mm at least; the walk is completed. '
        'Size of the feet, duration and friction are not stated.',
        ours='{finished} of {walks} walks are completed. Of these, that closest to the paper has '
        '{mean} in the mean, {largest} at most and {smallest} at least.',
        why='The other figures take the exact form and servos that know the torques of the '
        'motion, which the paper does not have; without both, the errors are of the size of the '
        'paper’s. Torques of the printed form cannot be computed at all: its CoG rests and jumps '
        'by 1 mm, within 10 ms that is an acceleration of the order of g, and inverse dynamics '
        'says that the robot leaves the ground.',
        data=_table(found),
        table=_table(found),
    )


def _table(found: dict[Setting, CogScore]) -> Table:
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


def _literal_facts(found: dict[Setting, CogScore]) -> tuple[Fact, ...]:
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
        Fact('smallest', 'its smallest error', smallest, 'mm', 2, paper=f'{PAPER_SMALLEST} mm'),
    )  # fmt: skip
