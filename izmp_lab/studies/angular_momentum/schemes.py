"""E1 to E4 of the poster: the ZMP of all bodies and the centre of mass, and how they look."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_lab.studies.angular_momentum.study import CURVES, MomentumStudy, Trial, ZmpScore
from izmp_lab.studies.publish import at_least, at_most, figure, heading
from izmp_lab.studies.runs import Arrays, Run
from izmp_lab.walking.walk_parameters import SCHEMES

LIMITS = {'rms': (4.0, 1.5), 'largest': (16.0, 4.0)}
"""Of E3 and E4 in x and y [mm]."""

WORSE, SAME = 6.0, 1.1
"""How many times worse E1 is at least, and E4 at most, than E3."""


@figure(
    lambda study: {
        (robot.name, scheme): study.score(robot, Trial(scheme))
        for robot in study.robots
        for scheme in SCHEMES
    }
)
def schemes(study: MomentumStudy, found: dict[tuple[str, str], ZmpScore]) -> Picture:
    names = [robot.name for robot in study.robots]

    def draw(width: float) -> Any:
        legend = [CURVES[s].entry(marker=CURVES[s].marker, linestyle='none') for s in SCHEMES]
        canvas, axes = panels(width, 2, legend, height=0.55 * len(names) + 0.5, titles=True)
        for axis, ax in enumerate(axes):
            _draw(ax, names, found, axis)
            heading(ax, f'in {"xy"[axis]}')
        return canvas

    return Picture(
        name='schemes',
        title='The four experiments',
        source='E1 to E4 of the poster',
        draw=draw,
        facts=tuple(fact for name in names for fact in _facts(name, found)),
        seen='Distance of the ZMP of all bodies, by inverse dynamics of the whole plan, from the '
        'wanted ZMP: root mean square (marker) and largest (end of the line) from the first step '
        'to the last. Steps of 0.8 s and 0.25 m; lift-offs and landings are at knots of the '
        'splines.',
        paper='E3 and E4 keep the error to a fraction of E1’s; E2 lies between, and knows a '
        'whole window too late. Its table is not legible enough in the source to quote; robot and '
        'gait are not stated.',
        ours='On biped31 E1 has {biped31_E1_rms_x} RMS and {biped31_E1_largest_x} at most in x, '
        'E2 {biped31_E2_rms_x} and {biped31_E2_largest_x}, E3 {biped31_E3_rms_x} and '
        '{biped31_E3_largest_x}, E4 {biped31_E4_rms_x} and {biped31_E4_largest_x}. The point '
        'mass’s own ZMP is perfect in all four: what differs is what legs and arms do.',
        data=Table(
            ('robot', 'scheme', 'axis', 'RMS [mm]', 'largest [mm]'),
            [
                [name, CURVES[scheme].label, 'xy'[axis], 1e3 * float(score.rms[axis]),
                 1e3 * float(score.largest[axis])]
                for (name, scheme), score in found.items()
                for axis in (0, 1)
            ],
        ),
    )  # fmt: skip


def _draw(ax: Any, names: list[str], found: dict[tuple[str, str], ZmpScore], axis: int) -> None:
    for row, name in enumerate(names):
        for index, scheme in enumerate(SCHEMES):
            score, y = found[name, scheme], row + 0.18 * (index - 1.5)
            rms, most = 1e3 * score.rms[axis], 1e3 * score.largest[axis]
            ax.plot([rms, most], [y, y], **CURVES[scheme].style(linestyle='-', linewidth=1.2))
            ax.plot(rms, y, **CURVES[scheme].style(5))
    ax.axvline(LIMITS['rms'][axis], color=LIGHT['muted'], linewidth=0.8)
    ax.axvline(LIMITS['largest'][axis], color=LIGHT['muted'], linewidth=0.8, linestyle=(0, (4, 2)))
    ax.set(xscale='log', ylim=(len(names) - 0.5, -0.5), xlabel='error of the ZMP [mm]')
    log_ticks(ax.xaxis, (1, 3, 10, 30, 100) if axis == 0 else (0.3, 1, 3, 10))
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis='y', length=0)


def _facts(name: str, found: dict[tuple[str, str], ZmpScore]) -> list[Fact]:
    facts = []
    for scheme in SCHEMES:
        score = found[name, scheme]
        for what, label in (('rms', 'RMS'), ('largest', 'largest')):
            for axis, letter in enumerate('xy'):
                value = 1e3 * float(getattr(score, what)[axis])
                key = f'{name}_{scheme}_{what}_{letter}'
                of = f'{label} error in {letter}, {scheme}, {name}'
                bound = scheme in ('E3', 'E4')
                facts.append(
                    at_most(key, of, value, LIMITS[what][axis], 'mm')
                    if bound
                    else Fact(key, of, value, 'mm')
                )
    rms = {scheme: float(found[name, scheme].rms[0]) for scheme in SCHEMES}
    worse, same = rms['E1'] / rms['E3'], rms['E4'] / rms['E3']
    facts += [
        at_least(f'{name}_worse', f'RMS error in x, E1 over E3, {name}', worse, WORSE, '', 1),
        at_most(f'{name}_same', f'RMS error in x, E4 over E3, {name}', same, SAME),
    ]
    return facts


_DRAWN = ('E1', 'E4')
_FROM_STEP, _TO_STEP = 3, 7


def _tracks(study: MomentumStudy) -> dict[str, Run]:
    return {scheme: study.tracks(study.biped31, Trial(scheme)) for scheme in SCHEMES}


@figure(_tracks)
def zmp(study: MomentumStudy, walks: dict[str, Arrays]) -> Picture:
    any_walk = walks['E1']
    begins = any_walk['begins']
    start, end = begins[_FROM_STEP], begins[_TO_STEP]
    rows = (any_walk['times'] >= start) & (any_walk['times'] <= end)
    times = any_walk['times'][rows] - start

    def draw(width: float) -> Any:
        legend = [
            Entry('wanted ZMP', line('muted', linewidth=2.4)),
            *(CURVES[scheme].entry() for scheme in SCHEMES),
        ]
        canvas, axes = panels(width, 4, legend, height=2.1)
        for axis in (0, 1):
            upper, lower = axes[axis], axes[axis + 2]
            wanted = 1e3 * (any_walk['wanted'][rows, axis] - any_walk['wanted'][rows, axis][0])
            upper.plot(times, wanted, color=LIGHT['muted'], linewidth=2.4)
            for scheme in SCHEMES:
                zmp, goal = (walks[scheme][name][rows, axis] for name in ('zmp', 'wanted'))
                if scheme in _DRAWN:
                    upper.plot(times, 1e3 * (zmp - goal) + wanted, **CURVES[scheme].style())
                lower.plot(times, 1e3 * (zmp - goal), **CURVES[scheme].style())
            for ax in (upper, lower):
                ax.set(xlabel='time [s]', xlim=(0, times[-1]))
            upper.set_ylabel(f'ZMP in {"xy"[axis]} [mm]')
            lower.set_ylabel(f'its error in {"xy"[axis]} [mm]')
        return canvas

    lift = _just_after_lift_off(walks['E4'])
    return Picture(
        name='zmp',
        title='The ZMP of all bodies over time',
        source='Figure of the poster',
        draw=draw,
        facts=(
            Fact('after', 'largest error in x within 0.15 s after lift-off, E4', lift[0], 'mm', 1),
            Fact('else', 'largest error in x at all other times, E4', lift[1], 'mm', 1),
        ),
        seen='Above, the ZMP of all bodies of biped31 for E1 and E4 during four steps, below, the '
        'distance from the wanted one for all four; steps of 0.8 s and 0.25 m, and the first '
        '0.2 s of each on both feet.',
        paper='Likewise, E1 to E4, over 4.8 s.',
        ours='What is left with E4 is {after} at most within 0.15 s after lift-off, and {else} at '
        'all other times: the swing begins with a jump of its jerk, and between two knots neither '
        'the polygon of the angular momentum nor the acceleration of the cubic spline can bend.',
        data=Table(
            ('scheme', 'time [s]', 'error in x [mm]', 'error in y [mm]'),
            [
                [CURVES[scheme].label, float(t), 1e3 * float(error[0]), 1e3 * float(error[1])]
                for scheme, walk in walks.items()
                for t, error in zip(times, (walk['zmp'] - walk['wanted'])[rows], strict=True)
            ],
        ),
    )


def _just_after_lift_off(walk: Arrays) -> tuple[float, float]:
    """Largest error in x [mm] within 0.15 s after a lift-off, and at other times of steps."""
    times, begins = walk['times'], walk['begins']
    error = 1e3 * np.abs(walk['zmp'] - walk['wanted'])[:, 0]
    walking = (times >= begins[0]) & (times < begins[-1])
    since = np.mod(times - begins[0], begins[1] - begins[0])
    after = (since >= 0.2) & (since < 0.35)
    return float(error[walking & after].max()), float(error[walking & ~after].max())


SHOWN = 4.8
"""Time that the poster shows [s]."""


@figure(_tracks)
def com(study: MomentumStudy, walks: dict[str, Arrays]) -> Picture:
    start = walks['E1']['begins'][0]
    times = walks['E1']['times'] - start
    rows = (times >= 0.0) & (times <= SHOWN)

    def draw(width: float) -> Any:
        canvas, axes = panels(width, 4, [CURVES[scheme].entry() for scheme in SCHEMES], height=2.1)
        reference = walks['E1']['com']
        for axis in (0, 1):
            for scheme, walk in walks.items():
                track, apart = walk['com'][rows, axis], (walk['com'] - reference)[rows, axis]
                axes[axis].plot(times[rows], track, **CURVES[scheme].style())
                axes[axis + 2].plot(times[rows], 1e3 * apart, **CURVES[scheme].style())
            for ax in (axes[axis], axes[axis + 2]):
                ax.set(xlabel='time since the first step [s]', xlim=(0, SHOWN))
            axes[axis].set_ylabel(f'CoM in {"xy"[axis]} [m]')
            axes[axis + 2].set_ylabel(f'from that of E1 in {"xy"[axis]} [mm]')
        return canvas

    apart = {
        scheme: 1e3 * np.abs(walk['com'] - walks['E1']['com'])[rows].max(axis=0)
        for scheme, walk in walks.items()
    }
    return Picture(
        name='com',
        title='The centre of mass over time',
        source='Figure of the poster',
        draw=draw,
        facts=tuple(
            Fact(f'{scheme}_{letter}',
                 f'largest distance from the CoM of E1 in {letter}, {scheme}',
                 float(apart[scheme][axis]), 'mm', 1)
            for scheme in SCHEMES if scheme != 'E1'
            for axis, letter in enumerate('xy')
        ),
        seen='Above, the centre of mass of biped31 for E1 to E4, over the 4.8 s that the poster '
        'shows; below, how far it is from that of E1.',
        paper='The position of the CoM for E1 to E4 over 4.8 s; values cannot be read.',
        ours='The angular momentum moves the centre of mass by up to {E4_x} in x and {E4_y} in y '
        '(E4), {E3_x} and {E3_y} (E3), {E2_x} and {E2_y} (E2).',
        why='Robot and gait are not those of the poster, which states neither.',
        data=Table(
            ('scheme', 'time [s]', 'CoM x [m]', 'CoM y [m]'),
            [
                [CURVES[scheme].label, float(t), float(x), float(y)]
                for scheme, walk in walks.items()
                for t, (x, y) in zip(times[rows], walk['com'][rows], strict=True)
            ],
        ),
    )  # fmt: skip
