"""The centre of mass over time, E1 to E4."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Look, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.angular_momentum.study import SCHEMES, Study, Trial
from izmp_lab.studies.angular_momentum.styles import LABELS, entry, style
from izmp_lab.studies.runs import Load, Run

SHOWN = 4.8
"""Time that the poster shows [s]."""


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.tracks(study.biped31, Trial(scheme)) for scheme in SCHEMES)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    walks = {s: load(study.tracks(study.biped31, Trial(s))) for s in SCHEMES}
    start = walks['E1']['begins'][0]
    times = walks['E1']['times'] - start
    rows = (times >= 0.0) & (times <= SHOWN)

    def draw(look: Look, width: float) -> Any:
        canvas, axes = panels(width, 4, [entry(look, scheme) for scheme in SCHEMES], height=2.1)
        reference = walks['E1']['com']
        for axis in (0, 1):
            for scheme, walk in walks.items():
                track, apart = walk['com'][rows, axis], (walk['com'] - reference)[rows, axis]
                axes[axis].plot(times[rows], track, **style(look, scheme))
                axes[axis + 2].plot(times[rows], 1e3 * apart, **style(look, scheme))
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
                [LABELS[scheme], float(t), float(x), float(y)]
                for scheme, walk in walks.items()
                for t, (x, y) in zip(times[rows], walk['com'][rows], strict=True)
            ],
        ),
    )  # fmt: skip
