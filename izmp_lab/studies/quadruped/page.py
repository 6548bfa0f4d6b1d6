"""All pictures of `izmp experiments quadruped`, and the words of their page."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.page import Page
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.drawing import heading, named_rows
from izmp_lab.studies.publish import Figure, at_least, at_most, figure
from izmp_lab.studies.quadruped.study import LIMITS, PUSH_AT, PUSHES, ROBOTS, QuadrupedStudy
from izmp_lab.studies.runs import Arrays, Run

Walks = dict[Any, Arrays]

CRAWL_MARGIN = 30.0
"""Least margin of a crawl [mm]."""


def _walks(study: QuadrupedStudy) -> dict[Any, Run]:
    return {(robot, gait): study.walk(robot, gait) for robot in study.robots for gait in LIMITS}


def _pushed(study: QuadrupedStudy) -> dict[Any, Run]:
    return {robot: study.walk(robot, 'trot', PUSHES[robot]) for robot in study.robots}


def _gaps(walk: Arrays) -> np.ndarray:
    """Distances (K,) of IZMP and true CoP [mm]; NaN where there is none, and where one pushes."""
    gap = 1e3 * np.linalg.norm(walk['izmp'] - walk['cop'], axis=1)
    return np.where(walk['counts'], gap, np.nan)


def _stands(walk: Arrays) -> bool:
    return not str(walk['fall'])


@figure(_walks)
def gaps(study: QuadrupedStudy, found: Walks) -> Picture:
    names = [f'{ROBOTS[robot]}, {gait}' for robot, gait in found]
    distances = {key: _gaps(walk) for key, walk in found.items()}

    def draw(look: Look, width: float) -> Any:
        mean = {'marker': 'o', 'markersize': 6, 'linestyle': ''}
        most = {'marker': '|', 'markersize': 9, 'linestyle': ''}
        legend = [
            Entry('mean', line(look, 'mr-ad', **mean)),
            Entry('99 %', line(look, 'mr-ad', **most)),
            Entry('limit of the mean', line(look, 'muted', marker='x', linestyle='')),
        ]
        canvas, (ax,) = panels(width, 1, legend, height=0.32 * len(names) + 0.6)
        for row, (key, gap) in enumerate(distances.items()):
            at = [np.nanmean(gap), np.nanpercentile(gap, 99.0)]
            ax.plot(np.maximum(at, 1e-8), [row, row], color=look['mr-ad'], linewidth=0.8)
            ax.plot(max(at[0], 1e-8), row, color=look['mr-ad'], **mean)
            ax.plot(max(at[1], 1e-8), row, color=look['mr-ad'], **most)
            ax.plot(LIMITS[key[1]], row, color=look['muted'], marker='x')
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

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('margin of the IZMP', line(look, 'mr-ad', linewidth=1.2)),
            Entry('limit', line(look, 'muted', linestyle='--', linewidth=0.9)),
        ]
        canvas, axes = panels(width, len(found), legend, height=2.0, columns=3, titles=True)
        for ax, (robot, walk) in zip(axes, found.items(), strict=True):
            ax.plot(walk['time'], 1e3 * walk['margin'], color=look['mr-ad'], linewidth=1.0)
            ax.axhline(CRAWL_MARGIN, color=look['muted'], linestyle='--', linewidth=0.9)
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


@figure(_pushed)
def push(study: QuadrupedStudy, found: Walks) -> Picture:
    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('velocity of the centre of mass to the left', line(look, 'cop', linewidth=1.2)),
            Entry('external force to the left, found', line(look, 'mr-ad', linewidth=1.2)),
            Entry('pushed', line(look, 'muted', linestyle='--', linewidth=0.9)),
        ]
        canvas, axes = panels(width, 2 * len(found), legend, height=1.7, columns=2, titles=True)
        for (robot, walk), (ax, other) in zip(
            found.items(), np.reshape(axes, (-1, 2)), strict=True
        ):
            shown = np.abs(walk['time'] - PUSH_AT - 0.5) < 1.0
            time = walk['time'][shown]
            ax.plot(time, walk['com_velocity'][shown, 1], color=look['cop'], linewidth=1.2)
            ax.set(xlabel='time [s]', ylabel='velocity [m/s]')
            other.plot(time, walk['force'][shown, 1], color=look['mr-ad'], linewidth=1.2)
            ends = PUSH_AT + np.array([0.0, 0.0, 0.1, 0.1])
            other.plot(ends, PUSHES[robot] * np.array([0, 1, 1, 0]), color=look['muted'],
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
        heading='Quadrupeds that stand, crawl and trot, measured',
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
