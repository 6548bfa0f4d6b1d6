"""The two plants: ideal constraints against real contacts."""

from collections.abc import Iterator, Mapping
from typing import Any

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.seesaw.study.figures.styles import LABELS, entry, style
from izmp_lab.seesaw.study.tasks import (
    CONTROLLERS,
    Study,
    Track,
    Tracks,
    everywhere,
    tracks_of,
)
from izmp_lab.studies.runs import Load, Run

LARGEST_DIFFERENCE = 15.0
"""Between the plants [%]."""

EQUILIBRIUM, CONSTRAINT = 1e-9, 1e-5
"""Largest drift from the equilibrium and of the constraints in the KKT plant [m], [rad]."""


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    at_rest = [study.rest(name) for name in CONTROLLERS]
    return (*everywhere(study.push), *everywhere(study.sine), *at_rest)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    pushed, swinging = tracks_of(study.push, load), tracks_of(study.sine, load)
    at_rest = {name: Track.of(load(study.rest(name))) for name in CONTROLLERS}

    def draw(look: Look, width: float) -> Any:
        thick: dict[str, Any] = {'linestyle': '-', 'linewidth': 2.4}
        thin: dict[str, Any] = {'linestyle': (0, (2, 2)), 'linewidth': 1.0}
        legend = [
            *(entry(look, name, f'{LABELS[name]}, MuJoCo', **thick) for name in CONTROLLERS),
            Entry('KKT', line(look, 'ink', **thin)),
        ]
        canvas, axes = panels(width, 2, legend, titles=True)
        for ax, tracks, title in zip(axes, (pushed, swinging), ('push', 'sine'), strict=True):
            for name in CONTROLLERS:
                mujoco, kkt = tracks['mujoco', name], tracks['kkt', name]
                ax.plot(mujoco.times, mujoco.angle, **style(look, name, **thick))
                ax.plot(kkt.times, kkt.angle, color=look['ink'], **thin)
            ax.set(xlabel='time [s]', ylabel='θ [°]')
            begin = study.push_time - 1.0 if title == 'push' else 0.0
            ax.set_xlim(begin, begin + 10.0)
            ax.set_title(title, fontsize=9.5, loc='left')
        return canvas

    return Picture(
        name='plants',
        title='Two plants',
        source='Beyond the paper',
        draw=draw,
        facts=tuple(_facts(pushed, swinging, at_rest)),
        seen='Angle of the board in MuJoCo, with contacts that yield and slip as contacts do, and '
        'in the KKT plant, whose constraints are ideal.',
        paper='One plant: Gazebo with ODE.',
        ours='The largest angles and the tracking errors of the two plants differ by at most '
        '{difference}. Without a push the KKT plant stays within {equilibrium} of its '
        'equilibrium; its constraints are violated by at most {constraint}.',
        why='',
        data=Table(
            ('case', 'controller', 'MuJoCo', 'KKT', 'unit'),
            [
                [case, LABELS[name], mujoco, kkt, unit]
                for case, name, mujoco, kkt, unit in _compared(pushed, swinging)
            ],
        ),
    )


def _compared(pushed: Tracks, swinging: Tracks) -> Iterator[tuple[str, str, float, float, str]]:
    """Case, controller, value in MuJoCo, value in the KKT plant, unit."""
    for name in CONTROLLERS:
        for case, tracks in (('push', pushed), ('sine', swinging)):
            values = [tracks[plant, name].largest_angle() for plant in ('mujoco', 'kkt')]
            yield f'largest |θ|, {case}', name, values[0], values[1], '°'
        values = [swinging[plant, name].rmse() for plant in ('mujoco', 'kkt')]
        yield 'RMS error of the CoM, sine', name, values[0], values[1], 'mm'


def _facts(pushed: Tracks, swinging: Tracks, at_rest: Mapping[str, Track]) -> Iterator[Fact]:
    differences = []
    sound = all(track.sound for tracks in (pushed, swinging) for track in tracks.values())
    for case, name, mujoco, kkt, _ in _compared(pushed, swinging):
        difference = 100.0 * abs(mujoco - kkt) / abs(kkt)
        differences.append(difference)
        key = f'{name}_{len(differences)}'
        yield Fact(
            key,
            f'{LABELS[name]}, {case}: difference of the plants',
            difference,
            '%',
            2,
            wanted=f'≤ {LARGEST_DIFFERENCE:g} %',
            holds=difference <= LARGEST_DIFFERENCE and sound,
        )
    yield Fact('difference', 'largest of these', max(differences), '%', 2)
    yield Fact(
        'equilibrium',
        'drift of joints and board from the equilibrium, KKT',
        1e9 * max(track.deviation for track in at_rest.values()),
        'nrad',
        4,
        wanted=f'≤ {1e9 * EQUILIBRIUM:g} nrad',
        holds=all(track.deviation <= EQUILIBRIUM and track.sound for track in at_rest.values()),
    )
    drift = max(tracks['kkt', name].drift for tracks in (pushed, swinging) for name in CONTROLLERS)
    yield Fact(
        'constraint',
        'largest error of a constraint, KKT',
        1e6 * drift,
        'µm or µrad',
        3,
        wanted=f'≤ {1e6 * CONSTRAINT:g}',
        holds=drift <= CONSTRAINT and sound,
    )
