"""Quadrupeds that stand, crawl and trot in MuJoCo: runs, what is kept, figures, page."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import seconds
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.robot_file import robot_file_path
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pages.look import Entry, line, panels
from izmp_dynamics.pages.picture import Fact, Page, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_dynamics.verdict.summary import summary_of
from izmp_lab.simulation.quadruped import simulate_quadruped
from izmp_lab.studies.publish import Figure, at_least, at_most, figure, heading, named_rows
from izmp_lab.studies.runs import Arrays, RobotKey, Run

ROBOTS: Mapping[str, str] = {'go2': 'Go2', 'anymal_c': 'ANYmal C', 'solo12': 'Solo12'}
"""Name → how it is called on the page."""

LIMITS: Mapping[str, float] = {'stand': 0.01, 'crawl': 0.3, 'trot': 0.8}
"""Gait → largest mean distance of IZMP and true CoP [mm]."""

PUSHES: Mapping[str, float] = {'go2': 60.0, 'anymal_c': 60.0, 'solo12': 9.0}
"""Force of a push of 0.1 s [N]; that of Solo12 by its mass: it weighs a sixth of Go2."""

PUSH_AT = 4.0
"""[s]"""

_DURATION = {'stand': 3.0, 'crawl': 15.0, 'trot': 8.0}


@dataclass(frozen=True)
class QuadrupedStudy:
    """The runs, by what they are about.

    Attributes:
        robots: names.
    """

    robots: tuple[str, ...] = tuple(ROBOTS)

    def walk(self, robot: str, gait: str, push: float = 0.0) -> Run:
        """Describe a walk and its evaluation; with a push to the left [N]."""
        given = {'robot': robot, 'gait': gait, 'duration': _DURATION[gait], 'push': push}
        data = RobotKey.of(robot_file_path(robot)).digest
        return Run(evaluated, given, data=data, effort=_DURATION[gait])


def evaluated(robot: str, gait: str, duration: float, push: float) -> Arrays:
    """Simulate a walk, record it, and evaluate the recording as any other.

    Returns:
        Per instant of the evaluation: `time` (K,) [s], `izmp` and `cop` (K, 2) in the world [m],
        `com_velocity` (K, 2) [m/s], `margin` (K,) [m], `force` (K, 2) found external force along
        the ground [N], `counts` (K,) whether nothing pushes. As numbers and texts: `exact`,
        largest distance [m] with the exact motion; `weight`, measured force over the weight [-];
        `pushes` (P, 5) start, duration [s] and force [N]; `fall`, `state`.
    """
    pushes = [f'{push:g}:left:{PUSH_AT:g}'] if push else []
    with TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        simulated = simulate_quadruped(robot, gait, bag, duration=duration, pushes=pushes)
        found = evaluate_bag(bag, bag / 'robot.yaml')
    run, file = simulated.run, simulated.file
    truth, root = run.truth, run.truth.root
    motion = *root.felt(file.gravity), run.q, truth.qd, truth.qdd
    wrench, _ = MrAd(load_model(file.read_urdf(), file.root)).batch(*motion)
    ground = -np.einsum('tji,tj->ti', root.rotation, root.position)
    exact = zero_moment_point(wrench, root.rotation[:, 2, :], ground, 1.0) - truth.cop_in_root()
    free = np.asarray(~truth.applied_wrench.any(axis=1))

    rows = np.searchsorted(run.stamps, found.stamps)
    track, R = found.tracks['mr_ad'], root.rotation[rows]
    izmp = np.einsum('tij,tj->ti', R, track.point) + root.position[rows]
    force = np.full((len(rows), 3), np.nan)
    if found.external_force is not None:
        force = np.einsum('tij,tj->ti', R, found.external_force)
    velocity = np.gradient(truth.com, axis=0) * 1e9 / float(run.stamps[1] - run.stamps[0])
    summary = summary_of(found)
    return {
        'time': seconds(run.stamps)[rows],
        'izmp': izmp[:, :2],
        'cop': truth.cop[rows, :2],
        'com_velocity': velocity[rows, :2],
        'margin': track.margin,
        'force': force[:, :2],
        'counts': free[rows],
        'exact': np.array(np.abs(exact[free]).max()),
        'weight': np.array(summary.measured_over_weight),
        'pushes': np.array([
            [each.start, each.duration, *each.force] for each in summary.pushes
        ]).reshape(-1, 5),
        'fall': np.array(run.fall),
        'state': np.array(summary.verdict.state),
    }  # fmt: skip


Walks = dict[Any, Arrays]

CRAWL_MARGIN = 30.0
"""Least margin of a crawl [mm]."""


def _gaps(walk: Arrays) -> np.ndarray:
    """Distances (K,) of IZMP and true CoP [mm]; NaN where there is none, and where one pushes."""
    gap = 1e3 * np.linalg.norm(walk['izmp'] - walk['cop'], axis=1)
    return np.where(walk['counts'], gap, np.nan)


def _stands(walk: Arrays) -> bool:
    return not str(walk['fall'])


@figure(lambda study: {(r, gait): study.walk(r, gait) for r in study.robots for gait in LIMITS})
def gaps(study: QuadrupedStudy, found: Walks) -> Picture:
    names = [f'{ROBOTS[robot]}, {gait}' for robot, gait in found]
    distances = {key: _gaps(walk) for key, walk in found.items()}

    def draw(width: float) -> Any:
        mean = {'marker': 'o', 'markersize': 6, 'linestyle': ''}
        most = {'marker': '|', 'markersize': 9, 'linestyle': ''}
        legend = [
            Entry('mean', line('mr-ad', **mean)),
            Entry('99 %', line('mr-ad', **most)),
            Entry('limit of the mean', line('muted', marker='x', linestyle='')),
        ]
        canvas, (ax,) = panels(width, 1, legend, height=0.32 * len(names) + 0.6)
        for row, (key, gap) in enumerate(distances.items()):
            at = [np.nanmean(gap), np.nanpercentile(gap, 99.0)]
            ax.plot(np.maximum(at, 1e-8), [row, row], color=LIGHT['mr-ad'], linewidth=0.8)
            ax.plot(max(at[0], 1e-8), row, color=LIGHT['mr-ad'], **mean)
            ax.plot(max(at[1], 1e-8), row, color=LIGHT['mr-ad'], **most)
            ax.plot(LIMITS[key[1]], row, color=LIGHT['muted'], marker='x')
        ax.set(xscale='log', xlabel='distance of IZMP and true CoP [mm]')
        named_rows(ax, names, width, 1.4)
        return canvas

    facts = [
        at_most(
            'exact', 'exact motion, at most', 1e3 * max(float(w['exact']) for w in found.values()),
            1e-6, 'mm', 10, sound=all(map(_stands, found.values())),
        )
    ]  # fmt: skip
    facts += [
        at_most(
            f'{robot}_{gait}', f'{ROBOTS[robot]}, {gait}, mean',
            float(np.nanmean(distances[robot, gait])), LIMITS[gait], 'mm', 4,
            sound=_stands(found[robot, gait]),
        )
        for robot, gait in found
    ]  # fmt: skip
    return Picture(
        name='gaps',
        title='How far the IZMP is from the true CoP',
        source='Beyond the paper',
        draw=draw,
        facts=tuple(facts),
        seen='Mean and 99 % of the distance along the ground, from encoders at 500 Hz that are '
        'differenced, over the whole recording.',
        paper='',
        ours='With the exact accelerations of the simulation the two are the same point within '
        '{exact}. What differencing adds comes from touchdowns, where accelerations jump.',
        data=Table(
            ('robot', 'gait', 'mean [mm]', '99 % [mm]', 'largest [mm]', 'exact [mm]',
             'measured force over weight [-]', 'verdict'),
            [
                [ROBOTS[robot], gait, float(np.nanmean(gap)), float(np.nanpercentile(gap, 99.0)),
                 float(np.nanmax(gap)), 1e3 * float(found[robot, gait]['exact']),
                 float(found[robot, gait]['weight']), str(found[robot, gait]['state'])]
                for (robot, gait), gap in distances.items()
            ],
        ),
    )  # fmt: skip


@figure(lambda study: {robot: study.walk(robot, 'crawl') for robot in study.robots})
def crawl(study: QuadrupedStudy, found: Walks) -> Picture:
    least = {robot: 1e3 * float(np.nanmin(walk['margin'])) for robot, walk in found.items()}

    def draw(width: float) -> Any:
        legend = [
            Entry('margin of the IZMP', line('mr-ad', linewidth=1.2)),
            Entry('limit', line('muted', linestyle='--', linewidth=0.9)),
        ]
        canvas, axes = panels(width, len(found), legend, height=2.0, columns=3, titles=True)
        for ax, (robot, walk) in zip(axes, found.items(), strict=True):
            ax.plot(walk['time'], 1e3 * walk['margin'], color=LIGHT['mr-ad'], linewidth=1.0)
            ax.axhline(CRAWL_MARGIN, color=LIGHT['muted'], linestyle='--', linewidth=0.9)
            ax.set(xlabel='time [s]', ylabel='margin [mm]', ylim=(0.0, None))
            heading(ax, ROBOTS[robot])
        return canvas

    return Picture(
        name='crawl',
        title='The margin of a crawl',
        source='Beyond the paper',
        draw=draw,
        facts=tuple(
            at_least(
                robot, f'{ROBOTS[robot]}, minimum margin', each, CRAWL_MARGIN, 'mm', 1,
                sound=_stands(found[robot]),
            )
            for robot, each in least.items()
        ),
        seen='Distance of the IZMP from the edge of the feet that carry, three or four.',
        paper='',
        ours='One foot after the other swings, while the centre of mass waits 45 mm inside the '
        'triangle of the others.',
        data=Table(
            ('robot', 'time [s]', 'margin [mm]'),
            [
                [ROBOTS[robot], float(time), 1e3 * float(margin)]
                for robot, walk in found.items()
                for time, margin in zip(walk['time'], walk['margin'], strict=True)
            ],
        ),
    )  # fmt: skip


@figure(lambda study: {robot: study.walk(robot, 'trot', PUSHES[robot]) for robot in study.robots})
def push(study: QuadrupedStudy, found: Walks) -> Picture:
    def draw(width: float) -> Any:
        legend = [
            Entry('velocity of the centre of mass to the left', line('cop', linewidth=1.2)),
            Entry('external force to the left, found', line('mr-ad', linewidth=1.2)),
            Entry('pushed', line('muted', linestyle='--', linewidth=0.9)),
        ]
        canvas, axes = panels(width, 2 * len(found), legend, height=1.7, columns=2, titles=True)
        for (robot, walk), (ax, other) in zip(
            found.items(), np.reshape(axes, (-1, 2)), strict=True
        ):
            shown = np.abs(walk['time'] - PUSH_AT - 0.5) < 1.0
            time = walk['time'][shown]
            ax.plot(time, walk['com_velocity'][shown, 1], color=LIGHT['cop'], linewidth=1.2)
            ax.set(xlabel='time [s]', ylabel='velocity [m/s]')
            other.plot(time, walk['force'][shown, 1], color=LIGHT['mr-ad'], linewidth=1.2)
            ends = PUSH_AT + np.array([0.0, 0.0, 0.1, 0.1])
            other.plot(ends, PUSHES[robot] * np.array([0, 1, 1, 0]), color=LIGHT['muted'],
                       linestyle='--', linewidth=0.9)  # fmt: skip
            other.set(xlabel='time [s]', ylabel='force [N]')
            for each in (ax, other):
                heading(each, ROBOTS[robot])
        return canvas

    facts = [fact for robot, walk in found.items() for fact in _push_facts(robot, walk)]
    return Picture(
        name='push',
        title='Pushes in a trot',
        source='Beyond the paper',
        draw=draw,
        facts=tuple(facts),
        seen=f'A push to the left from {PUSH_AT:g} s on, for 0.1 s.',
        paper='',
        ours='The feet that swing land where the capture point goes, and the trot goes on. '
        'Pushes found: {go2_size} of 60 N.',
        data=Table(
            ('robot', 'pushed [N]', 'start [s]', 'duration [s]', 'forward [N]', 'left [N]',
             'up [N]', 'verdict'),
            [
                [ROBOTS[robot], PUSHES[robot], *map(float, each), str(walk['state'])]
                for robot, walk in found.items()
                for each in walk['pushes']
            ],
        ),
    )  # fmt: skip


def _push_facts(robot: str, walk: Arrays) -> list[Fact]:
    name, pushes = ROBOTS[robot], walk['pushes']
    start, size = (
        (float(pushes[0, 0]), float(np.linalg.norm(pushes[0, 2:])))
        if len(pushes)
        else (np.nan, np.nan)
    )
    alone = len(pushes) == 1 and _stands(walk)
    off = 100.0 * abs(size / PUSHES[robot] - 1.0)
    late = 1e3 * abs(start + float(walk['time'][0]) - PUSH_AT)
    return [
        Fact(f'{robot}_size', f'{name}, force found', size, 'N', 1),
        at_most(f'{robot}_off', f'{name}, its error', off, 15.0, '%', 1, sound=alone),
        at_most(f'{robot}_late', f'{name}, error of its start', late, 20.0, 'ms', 0, sound=alone),
    ]


FIGURES: dict[str, tuple[Figure, str]] = {
    'gaps': (gaps, 'how far the IZMP is from the true CoP, by robot and gait'),
    'crawl': (crawl, 'the margin of a crawl'),
    'push': (push, 'pushes in a trot, survived and found'),
}
"""Name → figure, and what it shows."""


def page(study: QuadrupedStudy) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='Quadrupeds, measured',
        lead='Quadrupeds on ball feet stand, crawl and trot on level ground in MuJoCo. What their '
        'encoders, IMU and foot sensors measure is recorded and evaluated like the recording of '
        'any robot; the truth is known.',
        method='Whole-body control: a quadratic programme distributes contact forces within '
        'friction cones so that the centre of mass and the rotation of the trunk accelerate as '
        'wanted; in a trot the feet land where the capture point goes. The controller knows the '
        'true state. Sensors are ideal; velocities and accelerations of the joints are '
        'differenced from positions at 500 Hz. Nothing is random.',
        settings={
            'robots': ', '.join(ROBOTS[robot] for robot in study.robots),
            'pushes': ', '.join(f'{ROBOTS[r]} {PUSHES[r]:g} N' for r in study.robots),
        },
    )
