"""Fig. 6: MR-AD and IR-MD with ideal sensors, one full step."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, line, panels, series
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.paper.campaign import Campaign
from izmp_lab.studies.paper.setups import SETUP_A, SETUP_B
from izmp_lab.studies.runs import Load, Run
from izmp_lab.studies.store import Arrays

MR_AD, IR_MD = SETUP_B.reference(), SETUP_A.reference()
LARGEST_MEAN, LARGEST_ALIGNED = 0.12, 0.45
"""The two methods must agree this well in the mean [mm].

Nothing is random here; 0.080 and 0.352 to 0.372 are measured, and what is above is for other
versions of the simulator. Aligned quotients differ more: those of the momentum span two steps.
"""

PRINTED = (-0.08, 0.10)
"""Range of x that the paper states [m]."""


def runs(campaign: Campaign) -> tuple[Run, ...]:
    """What the figure needs."""
    pairs = (MR_AD, IR_MD)
    aligned = tuple(setup.aligned() for setup in pairs)
    level = tuple(campaign.izmp(setup) for setup in (*pairs, *aligned))
    return (*level, *(campaign.izmp(setup, case=campaign.rolling_walk) for setup in pairs))


def picture(campaign: Campaign, load: Load) -> Picture:
    """Draw the figure."""
    mr_ad, ir_md = load(campaign.izmp(MR_AD)), load(campaign.izmp(IR_MD))
    times = mr_ad['times']
    start, stop = full_step(mr_ad['step_begins'])
    shown = (times >= start - 1e-9) & (times <= stop + 1e-9)
    t = times[shown] - start
    curves = {'mr_ad': mr_ad['points'][shown], 'ir_md': ir_md['points'][shown]}
    rolling = {
        name: load(campaign.izmp(setup, case=campaign.rolling_walk))
        for name, setup in (('mr_ad', MR_AD), ('ir_md', IR_MD))
    }
    places = {
        'x of the IZMP in nif [m]': {n: run['points'][shown, 0] for n, run in rolling.items()},
        'x in the carrying sole [m]': {n: run['in_foot'][shown, 0] for n, run in rolling.items()},
    }
    sub_steps = mr_ad['step_begins'] - start
    sub_steps = sub_steps[(sub_steps >= -1e-9) & (sub_steps <= stop - start + 1e-9)]

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('MR-AD', line(look, 'mr-ad', linewidth=2.4)),
            Entry('IR-MD', line(look, 'ir-md', linewidth=1.1, dashes=(3.5, 1.6))),
            Entry('a sub-step begins', line(look, 'muted', linewidth=0.9, dashes=(1, 2))),
            Entry('range in the paper', line(look, 'muted', linewidth=0.9, dashes=(4, 2))),
        ]
        canvas, axes = panels(width, 4, legend, height=2.3, titles=True)
        usual = {f'{"xy"[k]} of the IZMP in nif [m]': {n: c[:, k] for n, c in curves.items()}
                 for k in (0, 1)}  # fmt: skip
        drawn = [*usual.items(), *places.items()]
        for number, (ax, (label, tracks)) in enumerate(zip(axes, drawn, strict=True)):
            for begin in sub_steps:
                ax.axvline(begin, color=look['muted'], linewidth=0.9, dashes=(1, 2))
            ax.plot(t, tracks['mr_ad'], **series(look, 'mr_ad', linewidth=2.4))
            ax.plot(t, tracks['ir_md'], **series(look, 'ir_md', linewidth=1.1))
            ax.set(xlabel='time since the sub-step began [s]', xlim=(0, stop - start))
            ax.set(ylabel=label, title='usual gait' if number < 2 else 'gait from heel to toe')
        for printed in PRINTED:
            axes[3].axhline(printed, color=look['muted'], linewidth=0.9, dashes=(4, 2))
        return canvas

    return Picture(
        name='fig6',
        title='Both methods with ideal sensors',
        source='Fig. 6',
        draw=draw,
        facts=(*_facts(campaign, load, mr_ad, ir_md), *_rolling_facts(rolling)),
        seen='x and y of the IZMP over one full step, two sub-steps, in the non-inertial frame of '
        'the root; the right foot carries first, so y is negative first. Both methods run at '
        '500 Hz with ideal sensors; the curves lie on each other. Below, x of a gait whose wanted '
        'ZMP goes from 8 cm behind the ankle to 10 cm ahead of it: in nif, and in the frame of '
        'the sole that carries.',
        paper='The two curves agree to the eye; a sub-step takes 0.448 s, the full step 0.896 s; '
        'x runs from about −0.08 m to 0.1 m.',
        ours='Usual gait: mean difference {distance} in the plane ({x} in x, {y} in y) over all '
        'steps but the '
        'first and last two. A sub-step takes {sub_step}; x falls from {high} to {low}. With '
        'aligned quotients the difference is {aligned}. From heel to toe: difference '
        '{rolling_distance}; x rises from {foot_low} to {foot_high} in the sole, and stays '
        'between '
        '{rolling_low} and {rolling_high} in nif.',
        why='In nif x falls by the way of the root, 0.134 m per sub-step, and rises by that of '
        'the ZMP in the sole. The usual gait here keeps the ZMP within 4 cm ahead of the ankle, '
        'so x falls. To rise by 0.18 m in nif the ZMP would have to go 0.31 m along a sole of '
        '0.24 m; the paper’s range is that in the sole (“related to the foot”), and a gait from '
        'heel to toe has it.',
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
    return (
        Fact('distance', 'mean distance between MR-AD and IR-MD', distance, 'mm', 3,
             wanted=f'≤ {LARGEST_MEAN} mm', holds=distance <= LARGEST_MEAN),
        Fact('x', 'mean difference in x', float(x), 'mm', 3),
        Fact('y', 'mean difference in y', float(y), 'mm', 3),
        Fact('aligned', 'mean distance with aligned quotients', aligned, 'mm', 3,
             wanted=f'≤ {LARGEST_ALIGNED} mm', holds=aligned <= LARGEST_ALIGNED),
        Fact('sub_step', 'duration of a sub-step', _sub_step(mr_ad['times'][steady], points[:, 1]),
             's', 3, paper='0.448 s'),
        Fact('low', 'smallest x in nif', float(points[:, 0].min()), 'm', 3),
        Fact('high', 'largest x in nif', float(points[:, 0].max()), 'm', 3),
    )  # fmt: skip


def _rolling_facts(rolling: dict[str, Arrays]) -> tuple[Fact, ...]:
    mr_ad, ir_md = rolling['mr_ad'], rolling['ir_md']
    steady = mr_ad['steady']
    error = 1e3 * (mr_ad['points'] - ir_md['points'])[steady, :2]
    distance = float(np.linalg.norm(error, axis=1).mean())
    nif, sole = mr_ad['points'][steady, 0], mr_ad['in_foot'][steady, 0]
    low, high = (float(np.percentile(sole, share)) for share in (1.0, 99.0))
    return (
        Fact('rolling_distance', 'mean distance between MR-AD and IR-MD, from heel to toe',
             distance, 'mm', 3, wanted=f'≤ {LARGEST_MEAN} mm', holds=distance <= LARGEST_MEAN),
        Fact('foot_low', 'x in the sole, from heel to toe, 1 % quantile', low, 'm', 3,
             paper='about −0.08 m'),
        Fact('foot_high', 'x in the sole, from heel to toe, 99 % quantile', high, 'm', 3,
             paper='about 0.1 m'),
        Fact('rolling_low', 'smallest x in nif, from heel to toe', float(nif.min()), 'm', 3),
        Fact('rolling_high', 'largest x in nif, from heel to toe', float(nif.max()), 'm', 3),
    )  # fmt: skip


def _sub_step(times: Array, y: Array) -> float:
    """Mean time between changes of the sign of y [s]; NaN with fewer than two."""
    changes = times[1:][np.sign(y[1:]) != np.sign(y[:-1])]
    # A sign may flicker within a change; half a sub-step separates two of them.
    apart = changes[np.concatenate([[True], np.diff(changes) > 0.1])] if len(changes) else changes
    return float(np.diff(apart).mean()) if len(apart) > 1 else float('nan')
