"""The ZMP of all bodies over time: wanted, of a point mass's plan, with estimated momentum."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.angular_momentum.study import SCHEMES, Study, Trial
from izmp_lab.studies.angular_momentum.styles import LABELS, entry, style
from izmp_lab.studies.runs import Load, Run

_DRAWN = ('E1', 'E4')
_FROM_STEP, _TO_STEP = 3, 7


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.tracks(study.biped31, Trial(scheme)) for scheme in SCHEMES)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    walks = {s: load(study.tracks(study.biped31, Trial(s))) for s in SCHEMES}
    any_walk = walks['E1']
    begins = any_walk['begins']
    start, end = begins[_FROM_STEP], begins[_TO_STEP]
    rows = (any_walk['times'] >= start) & (any_walk['times'] <= end)
    times = any_walk['times'][rows] - start

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('wanted ZMP', line(look, 'muted', linewidth=2.4)),
            *(entry(look, scheme) for scheme in SCHEMES),
        ]
        canvas, axes = panels(width, 4, legend, height=2.1)
        for axis in (0, 1):
            upper, lower = axes[axis], axes[axis + 2]
            wanted = 1e3 * (any_walk['wanted'][rows, axis] - any_walk['wanted'][rows, axis][0])
            upper.plot(times, wanted, color=look['muted'], linewidth=2.4)
            for scheme in SCHEMES:
                zmp, goal = (walks[scheme][name][rows, axis] for name in ('zmp', 'wanted'))
                if scheme in _DRAWN:
                    upper.plot(times, 1e3 * (zmp - goal) + wanted, **style(look, scheme))
                lower.plot(times, 1e3 * (zmp - goal), **style(look, scheme))
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
        'all other times: the swing begins with a jump of its jerk, and '
        'between two knots neither the polygon of the angular momentum nor the acceleration of '
        'the cubic spline can bend.',
        why='',
        data=Table(
            ('scheme', 'time [s]', 'error in x [mm]', 'error in y [mm]'),
            [
                [LABELS[scheme], float(t), 1e3 * float(error[0]), 1e3 * float(error[1])]
                for scheme, walk in walks.items()
                for t, error in zip(times, (walk['zmp'] - walk['wanted'])[rows], strict=True)
            ],
        ),
    )


def _just_after_lift_off(walk: dict[str, Any]) -> tuple[float, float]:
    """Largest error in x [mm] within 0.15 s after a lift-off, and at other times of steps."""
    times, begins = walk['times'], walk['begins']
    error = 1e3 * np.abs(walk['zmp'] - walk['wanted'])[:, 0]
    walking = (times >= begins[0]) & (times < begins[-1])
    since = np.mod(times - begins[0], begins[1] - begins[0])
    after = (since >= 0.2) & (since < 0.35)
    return float(error[walking & after].max()), float(error[walking & ~after].max())
