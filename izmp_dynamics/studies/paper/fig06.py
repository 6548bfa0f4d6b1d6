"""Fig. 6: MR-AD and IR-MD with ideal sensors, one full step."""

from typing import Any

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.studies.look import Entry, Look, line, panels, series
from izmp_dynamics.studies.paper.campaign import Campaign
from izmp_dynamics.studies.paper.setups import SETUP_A, SETUP_B
from izmp_dynamics.studies.picture import Fact, Picture, Table
from izmp_dynamics.studies.runs import Load, Run

MR_AD, IR_MD = SETUP_B.reference(), SETUP_A.reference()
LARGEST_MEAN = 0.5
"""The two methods must agree this well in the mean [mm]."""


def runs(campaign: Campaign) -> tuple[Run, ...]:
    """What the figure needs."""
    pairs = (MR_AD, IR_MD)
    aligned = tuple(setup.aligned() for setup in pairs)
    return tuple(campaign.izmp(setup) for setup in (*pairs, *aligned))


def picture(campaign: Campaign, load: Load) -> Picture:
    """Draw the figure."""
    mr_ad, ir_md = load(campaign.izmp(MR_AD)), load(campaign.izmp(IR_MD))
    times = mr_ad['times']
    start, stop = full_step(mr_ad['step_begins'])
    shown = (times >= start - 1e-9) & (times <= stop + 1e-9)
    t = times[shown] - start
    curves = {'mr_ad': mr_ad['points'][shown], 'ir_md': ir_md['points'][shown]}
    sub_steps = mr_ad['step_begins'] - start
    sub_steps = sub_steps[(sub_steps >= -1e-9) & (sub_steps <= stop - start + 1e-9)]

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('MR-AD', line(look, 'mr-ad', linewidth=2.4)),
            Entry('IR-MD', line(look, 'ir-md', linewidth=1.1, dashes=(3.5, 1.6))),
            Entry('a sub-step begins', line(look, 'muted', linewidth=0.9, dashes=(1, 2))),
        ]
        canvas, axes = panels(width, 2, legend)
        for axis, ax in enumerate(axes):
            for begin in sub_steps:
                ax.axvline(begin, color=look['muted'], linewidth=0.9, dashes=(1, 2))
            ax.plot(t, curves['mr_ad'][:, axis], **series(look, 'mr_ad', linewidth=2.4))
            ax.plot(t, curves['ir_md'][:, axis], **series(look, 'ir_md', linewidth=1.1))
            ax.set(xlabel='time since the sub-step began [s]', xlim=(0, stop - start))
            ax.set_ylabel(f'{"xy"[axis]} of the IZMP in nif [m]')
        return canvas

    return Picture(
        name='fig6',
        title='Both methods with ideal sensors',
        source='Fig. 6',
        draw=draw,
        facts=_facts(campaign, load, mr_ad, ir_md),
        seen='x and y of the IZMP over one full step, two sub-steps, in the non-inertial frame of '
        'the root; the right foot carries first, so y is negative first. Both methods run at '
        '500 Hz with ideal sensors; the curves lie on each other.',
        paper='The two curves agree to the eye; a sub-step takes 0.448 s, the full step 0.896 s; '
        'x runs from about −0.08 m to 0.1 m.',
        ours='Mean difference {distance} in the plane ({x} in x, {y} in y) over all steps but the '
        'first and last two. A sub-step takes {sub_step}; x runs from {low} to {high}. With '
        'aligned quotients the difference is {aligned}.',
        why='The range of x is that of the gait: this one keeps the ZMP within 4 cm ahead of the '
        'ankle, Sweaty’s walks from heel to toe.',
        data=Table(
            ('time [s]', 'MR-AD x [m]', 'MR-AD y [m]', 'IR-MD x [m]', 'IR-MD y [m]'),
            np.column_stack([t, curves['mr_ad'][:, :2], curves['ir_md'][:, :2]]).tolist(),
        ),
    )


def full_step(step_begins: Array) -> tuple[float, float]:
    """Begin and end of the full step in the middle of a walk that begins on the right foot [s].

    The right foot swings in the steps 0, 2, 4 …, so it carries in the odd ones.
    """
    first = (len(step_begins) - 1) // 2 | 1
    return float(step_begins[first]), float(step_begins[first + 2])


def _facts(campaign: Campaign, load: Load, mr_ad: Any, ir_md: Any) -> tuple[Fact, ...]:
    steady = mr_ad['steady']
    error = 1e3 * (mr_ad['points'] - ir_md['points'])[steady]
    distance = float(np.linalg.norm(error[:, :2], axis=1).mean())
    x, y = np.abs(error).mean(axis=0)[:2]
    own = [load(campaign.izmp(setup.aligned()))['points'][steady] for setup in (MR_AD, IR_MD)]
    aligned = 1e3 * float(np.linalg.norm((own[0] - own[1])[:, :2], axis=1).mean())
    points = mr_ad['points'][steady]
    wanted = f'≤ {LARGEST_MEAN} mm'
    return (
        Fact('distance', 'mean distance between MR-AD and IR-MD', distance, 'mm', 3,
             wanted=wanted, holds=distance <= LARGEST_MEAN),
        Fact('x', 'mean difference in x', float(x), 'mm', 3),
        Fact('y', 'mean difference in y', float(y), 'mm', 3),
        Fact('aligned', 'mean distance with aligned quotients', aligned, 'mm', 3,
             wanted=wanted, holds=aligned <= LARGEST_MEAN),
        Fact('sub_step', 'duration of a sub-step', _sub_step(mr_ad['times'][steady], points[:, 1]),
             's', 3, paper='0.448 s'),
        Fact('low', 'smallest x', float(points[:, 0].min()), 'm', 3, paper='about −0.08 m'),
        Fact('high', 'largest x', float(points[:, 0].max()), 'm', 3, paper='about 0.1 m'),
    )  # fmt: skip


def _sub_step(times: Array, y: Array) -> float:
    """Mean time between changes of the sign of y [s]; NaN with fewer than two."""
    changes = times[1:][np.sign(y[1:]) != np.sign(y[:-1])]
    # A sign may flicker within a change; half a sub-step separates two of them.
    apart = changes[np.concatenate([[True], np.diff(changes) > 0.1])] if len(changes) else changes
    return float(np.diff(apart).mean()) if len(apart) > 1 else float('nan')
