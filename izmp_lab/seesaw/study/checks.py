"""What the runs rest on: equations, the IZMP on the moving board, the two plants."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_lab.seesaw.study.izmp import CASES, NAMES, REPLAYED, distances, run_of, share
from izmp_lab.seesaw.study.tasks import (
    CONTROLLERS,
    CURVES,
    SeesawStudy,
    Track,
    Tracks,
    everywhere,
)
from izmp_lab.studies.publish import Curve, at_least, at_most, figure, heading
from izmp_lab.studies.runs import Arrays, Run

ACCELERATION = 1e-9
"""Largest error of the angular acceleration of the board [rad/s²]."""

MOMENTUM = 1e-4
"""Largest error of a rate of change of the momentum [N], [N·m]; it is a difference quotient."""

_MARKS: tuple[tuple[str, str, str, str], ...] = (
    ('eq30', 'eq. 30 with Γ⁻¹', 'cop', 'o'),
    ('printed', 'eq. 30 as printed', 'ir-md', 's'),
)


@figure(lambda study: {'errors': study.equations()})
def equations(study: SeesawStudy, found: dict[str, Arrays]) -> Picture:
    errors = found['errors']

    def draw(width: float) -> Any:
        legend = [
            Entry(label, line(colour, marker=marker, linestyle='', markersize=4.5))
            for _, label, colour, marker in _MARKS
        ]
        canvas, (ax,) = panels(width, 1, legend)
        for name, _, colour, marker in _MARKS:
            ax.plot(errors['rate'], errors[name], color=LIGHT[colour], marker=marker,
                    linestyle='', markersize=4.5)  # fmt: skip
        ax.set(xlabel='|θ̇| of the board [rad/s]', ylabel='error of θ̈ [rad/s²]', yscale='log')
        return canvas

    return Picture(
        name='equations',
        title='The equations hold while everything moves',
        source='Eqs. 9, 30 and 31',
        draw=draw,
        facts=tuple(_facts(errors)),
        seen='Board, joints and root of {states} drawn states move at random, with random '
        'torques. The motion that follows is that of the KKT plant, which solves Newton and Euler '
        'for robot and board with all constraints and uses none of these equations. Shown is by '
        'how much the angular acceleration of the board is wrong by eq. 30.',
        paper='h̄_s of eq. 30 is printed without Γ⁻¹ in its last term.',
        ours='With Γ⁻¹ the angular acceleration is right within {eq30}; as printed it is off by '
        'up to {printed}. The momenta of the robot (eq. 9) and of robot and board (eq. 31) change '
        'as stated within {eq9} and {eq31}.',
        data=Table(
            ('|θ̇| [rad/s]', *(f'{label}: error [rad/s²]' for _, label, _, _ in _MARKS),
             'eq. 9: error [N, N·m]', 'eq. 31: error [N, N·m]'),
            [list(row) for row in zip(
                *(errors[name].tolist() for name in ('rate', 'eq30', 'printed', 'eq9', 'eq31')),
                strict=True,
            )],
        ),
    )  # fmt: skip


def _facts(errors: Arrays) -> Iterator[Fact]:
    yield Fact('states', 'moving states', len(errors['rate']), '', 0)
    for key, what, unit, scale, limit in (
        ('eq30', 'eq. 30, angular acceleration of the board', 'prad/s²', 1e12, ACCELERATION),
        ('eq9', 'eq. 9, rate of the robot’s momentum', 'µN or µN·m', 1e6, MOMENTUM),
        ('eq31', 'eq. 31, rate of the total momentum', 'µN or µN·m', 1e6, MOMENTUM),
    ):
        largest = float(errors[key].max())
        yield Fact(key, f'{what}: largest error', scale * largest, unit, 1,
                   wanted=f'≤ {scale * limit:g} {unit}', holds=largest <= limit)  # fmt: skip
    yield Fact('printed', 'eq. 30 as printed: largest error', float(errors['printed'].max()),
               'rad/s²', 3)  # fmt: skip


LARGEST_EXACT = 1.0
"""Distance from the true CoP on the exact motion: rounding alone, 1e-6 mm [nm]."""

LARGEST_REPLAYED = 0.12
"""Mean distance of a recording from the true CoP: what quotients at 500 Hz make [mm]; 0.02 to 0.03
are measured with iCub, 0.06 to 0.09 with biped31."""

LEAST_SHARE = 99.0
"""Part of the instants that must be evaluated, or the means say nothing [%]."""

WRONG: Mapping[str, float] = {'level_seen': 5.0, 'board_still': 5.0}
"""Assumption → how many times as far off as MR-AD of a recording it must be, to be called wrong.

`level` is not among them: most of its distance is travel of the board, no error of the formula.
"""


_POINTS = {
    'level_seen': Curve(NAMES['level_seen'], 'ir-md', '-', 1.1, ''),
    'board_still': Curve(NAMES['board_still'], 'other', '-', 0.8, ''),
    REPLAYED: Curve(NAMES[REPLAYED], 'ink', (0, (3, 2)), 1.1, ''),
}


@figure(lambda study: {case: run_of(study.robot, case) for case in CASES})
def izmp(study: SeesawStudy, found: dict[str, Arrays]) -> Picture:
    def draw(width: float) -> Any:
        legend = [
            Entry('true CoP', line('cop', linewidth=2.4)),
            *(curve.entry() for curve in _POINTS.values()),
        ]
        canvas, axes = panels(width, 2, legend, height=2.7, titles=True)
        for ax, (case, points) in zip(axes, found.items(), strict=True):
            ax.plot(points['times'], 1e3 * points['cop'][:, 1], color=LIGHT['cop'], linewidth=2.4)
            for name, curve in _POINTS.items():
                ax.plot(points['times'], 1e3 * points[name][:, 1], **curve.style())
            reach = 2.0 * 1e3 * float(np.nanmax(np.abs(points['cop'][:, 1])))
            ax.set(xlabel='time [s]', ylabel='y on the board [mm]', ylim=(-reach, reach))
            ax.set_xlim(0.0, float(points['times'][-1]))
            ax.set_title({'push': '100 N for 10 ms at 2 s', 'sine': 'CoM swings by 25 mm'}[case])
        return canvas

    return Picture(
        name='izmp',
        title='The IZMP on the moving board',
        source='Beyond the paper',
        draw=draw,
        facts=_izmp_facts(found),
        seen='Where on the board the ZMP is, across it. The true CoP is that of the contacts in '
        'MuJoCo. MR-AD is evaluated on the plane of the board, a named frame that moves; beside '
        'it two that do not know that the board moves: a plane that stays level, its point seen '
        'from where the board really is, and the board taken for the world. The instants of '
        'the push are left out of the numbers: there the IZMP is '
        'beside the CoP by what the push does.',
        paper='Not considered.',
        ours='With exact derivatives MR-AD is at most {exact_push} (push) and {exact_sine} (sine) '
        'from the true CoP, with those of ACD at 500 Hz {replayed_push_mean} (push) and '
        '{replayed_sine_mean} (sine). The classic formula on a plane that stays level, like for '
        'like, is wrong by {level_seen_push_mean} and {level_seen_sine_mean}: some times as much, '
        'but little, as the force is nearly upright. Without the pose of the board its point is '
        'off by {level_push_mean} and {level_sine_mean}, most of which is how far the board has '
        'rolled. Who takes the board for the world is wrong by {board_still_push_mean} and '
        '{board_still_sine_mean}, at most {board_still_sine_max}: gravity is tilted against the '
        'board, and the board accelerates. The CoM alone, along gravity, is wrong by '
        '{gravity_push_mean} and {gravity_sine_mean}.',
        data=Table(
            ('case', 'time [s]', *(f'{name} y [mm]' for name in ('true CoP', *NAMES.values()))),
            [
                [case, float(points['times'][k]),
                 *(1e3 * float(points[name][k, 1]) for name in ('cop', *NAMES))]
                for case, points in found.items()
                for k in range(len(points['times']))
            ],
        ),
    )  # fmt: skip


def _izmp_facts(found: Mapping[str, Arrays]) -> tuple[Fact, ...]:
    facts = []
    limits = {REPLAYED: LARGEST_REPLAYED}
    for case, points in found.items():
        largest = 1e6 * float(distances(points, 'moving').max())
        label = f'{NAMES["moving"]}: largest distance from the true CoP, {case}'
        facts.append(at_most(f'exact_{case}', label, largest, LARGEST_EXACT, 'nm', 4,
                             sound=share(points) >= LEAST_SHARE))  # fmt: skip
    for name, text in NAMES.items():
        for case, points in found.items():
            distance = distances(points, name)
            mean, largest = float(distance.mean()), float(distance.max())
            limit, complete = limits.get(name), share(points) >= LEAST_SHARE
            facts += [
                Fact(f'{name}_{case}_mean', f'{text}: mean distance from the true CoP, {case}',
                     mean, 'mm', 2, wanted=f'≤ {limit:g} mm' if limit else '',
                     holds=mean <= limit and complete if limit else None),
                Fact(f'{name}_{case}_max', f'{text}: largest distance, {case}', largest, 'mm', 2),
            ]  # fmt: skip
            if name in WRONG:
                times = mean / float(distances(points, REPLAYED).mean())
                facts.append(
                    Fact(f'{name}_{case}_times', f'{text}: mean distance over that of '
                         f'{NAMES[REPLAYED]}, {case}', times, '', 1,
                         wanted=f'≥ {WRONG[name]:g}', holds=times >= WRONG[name] and complete)
                )  # fmt: skip
    for case, points in found.items():
        label = f'instants without a push that are evaluated, {case}'
        facts.append(at_least(f'{case}_share', label, share(points), LEAST_SHARE, '%'))
    return tuple(facts)


LARGEST_DIFFERENCE = 15.0
"""Between the plants [%]."""

EQUILIBRIUM = 1.0
"""Largest drift from the equilibrium in the KKT plant [nm], [nrad]."""

CONSTRAINT = 1e-5
"""Largest drift of the constraints in the KKT plant [m], [rad]."""


def _plants_runs(study: SeesawStudy) -> dict[Any, Run]:
    return {
        **{('push', *key): run for key, run in everywhere(study.push).items()},
        **{('sine', *key): run for key, run in everywhere(study.sine).items()},
        **{('rest', name): study.rest(name) for name in CONTROLLERS},
    }


@figure(_plants_runs)
def plants(study: SeesawStudy, found: dict[Any, Track]) -> Picture:
    pushed, swinging = (
        {key[1:]: track for key, track in found.items() if key[0] == case}
        for case in ('push', 'sine')
    )
    at_rest = {name: found['rest', name] for name in CONTROLLERS}

    def draw(width: float) -> Any:
        thick: dict[str, Any] = {'linestyle': '-', 'linewidth': 2.4}
        thin: dict[str, Any] = {'linestyle': (0, (2, 2)), 'linewidth': 1.0}
        legend = [
            *(c.entry(text=f'{c.label}, MuJoCo', **thick) for c in CURVES.values()),
            Entry('KKT', line('ink', **thin)),
        ]
        canvas, axes = panels(width, 2, legend, titles=True)
        for ax, tracks, title in zip(axes, (pushed, swinging), ('push', 'sine'), strict=True):
            for name in CONTROLLERS:
                mujoco, kkt = tracks['mujoco', name], tracks['kkt', name]
                ax.plot(mujoco.times, mujoco.angle, **CURVES[name].style(**thick))
                ax.plot(kkt.times, kkt.angle, color=LIGHT['ink'], **thin)
            ax.set(xlabel='time [s]', ylabel='θ [°]')
            begin = study.push_time - 1.0 if title == 'push' else 0.0
            ax.set_xlim(begin, begin + 10.0)
            heading(ax, title)
        return canvas

    return Picture(
        name='plants',
        title='Two plants',
        source='Beyond the paper',
        draw=draw,
        facts=tuple(_plants_facts(pushed, swinging, at_rest)),
        seen='Angle of the board in MuJoCo, with contacts that yield and slip as contacts do, and '
        'in the KKT plant, whose constraints are ideal.',
        paper='One plant: Gazebo with ODE.',
        ours='The largest angles and the tracking errors of the two plants differ by at most '
        '{difference}. Without a push the KKT plant stays within {equilibrium} of its '
        'equilibrium; its constraints are violated by at most {constraint}.',
        data=Table(
            ('case', 'controller', 'MuJoCo', 'KKT', 'unit'),
            [
                [case, CURVES[name].label, mujoco, kkt, unit]
                for case, name, mujoco, kkt, unit in _compared(pushed, swinging)
            ],
        ),
    )


def _compared(pushed: Tracks, swinging: Tracks) -> Iterator[tuple[str, str, float, float, str]]:
    for name in CONTROLLERS:
        for case, tracks in (('push', pushed), ('sine', swinging)):
            values = [tracks[plant, name].largest_angle() for plant in ('mujoco', 'kkt')]
            yield f'largest |θ|, {case}', name, values[0], values[1], '°'
        values = [swinging[plant, name].rmse() for plant in ('mujoco', 'kkt')]
        yield 'RMS error of the CoM, sine', name, values[0], values[1], 'mm'


def _plants_facts(
    pushed: Tracks, swinging: Tracks, at_rest: Mapping[str, Track]
) -> Iterator[Fact]:
    differences = []
    sound = all(track.sound for tracks in (pushed, swinging) for track in tracks.values())
    for case, name, mujoco, kkt, _ in _compared(pushed, swinging):
        difference = 100.0 * abs(mujoco - kkt) / abs(kkt)
        differences.append(difference)
        key = f'{name}_{len(differences)}'
        label = f'{CURVES[name].label}, {case}: difference of the plants'
        yield at_most(key, label, difference, LARGEST_DIFFERENCE, '%', sound=sound)
    yield Fact('difference', 'largest of these', max(differences), '%', 2)
    yield at_most('equilibrium', 'drift of joints and board from the equilibrium, KKT',
                  1e9 * max(track.deviation for track in at_rest.values()), EQUILIBRIUM, 'nrad', 4,
                  sound=all(track.sound for track in at_rest.values()))  # fmt: skip
    drift = max(tracks['kkt', name].drift for tracks in (pushed, swinging) for name in CONTROLLERS)
    yield Fact('constraint', 'largest error of a constraint, KKT', 1e6 * drift, 'µm or µrad', 3,
               wanted=f'≤ {1e6 * CONSTRAINT:g}', holds=drift <= CONSTRAINT and sound)  # fmt: skip
