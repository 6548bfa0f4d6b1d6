"""Beyond the paper: the gap between CoP and IZMP under a push."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels, series
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.paper.campaign import Campaign
from izmp_lab.studies.paper.setups import SETUP_D
from izmp_lab.studies.runs import Load, Run


def runs(campaign: Campaign) -> tuple[Run, ...]:
    """What the picture needs."""
    return (campaign.push(SETUP_D.aligned()),)


def picture(campaign: Campaign, load: Load) -> Picture:
    """Draw it."""
    run = load(campaign.push(SETUP_D.aligned()))
    times, pushed = run['times'], run['pushed']
    begin = float(times[pushed][0])
    shown = (times >= begin - 0.25) & (times <= begin + 0.45)
    t = times[shown] - begin
    gap = 1e3 * (run['izmp'] - run['cop'])[:, 1]
    expected = 1e3 * run['expected'][:, 1]

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('IZMP, MR-AD', line(look, 'mr-ad', linewidth=1.3)),
            Entry('CoP', line(look, 'cop', linewidth=3.0, alpha=0.55)),
            Entry('gap that the push explains', line(look, 'other', linewidth=2.4, alpha=0.6)),
            Entry('gap IZMP − CoP', line(look, 'ink', linewidth=1.0)),
        ]
        canvas, axes = panels(width, 2, legend)
        axes[0].plot(t, run['cop'][shown, 1], **series(look, 'cop'))
        axes[0].plot(t, run['izmp'][shown, 1], **series(look, 'mr_ad'))
        axes[0].set_ylabel('y in nif [m]')
        axes[1].plot(t, expected[shown], color=look['other'], linewidth=2.4, alpha=0.6)
        axes[1].plot(t, gap[shown], color=look['ink'], linewidth=1.0)
        axes[1].set_ylabel('gap in y [mm]')
        for ax in axes:
            ax.set(xlabel='time since the push began [s]', xlim=(t[0], t[-1]))
        return canvas

    calm = (times < begin - 0.05) & (times > begin - 1.0)
    error = np.abs(gap - expected)
    return Picture(
        name='push',
        title='The gap between CoP and IZMP under a push',
        source='Beyond the paper (sect. 1 and 6 announce it)',
        draw=draw,
        facts=(
            Fact('force', 'sideways push on the root', campaign.experiment.push, 'N', 0),
            Fact('gap', 'mean gap while it pushes', float(np.nanmean(gap[pushed])), 'mm', 1),
            Fact('expected', 'gap that the push explains',
                 float(np.nanmean(expected[pushed])), 'mm', 1),
            Fact('error', 'mean difference of the two while it pushes',
                 float(np.nanmean(error[pushed])), 'mm', 2),
            Fact('calm', 'mean |gap| in the second before', float(np.nanmean(np.abs(gap[calm]))),
                 'mm', 2),
        ),
        seen='A force of {force} pushes the root sideways for 0.1 s while the robot walks. The '
        'IZMP knows all that moves the robot, the CoP only what the ground does, so the gap '
        'between them shows the push at once.',
        paper='Only without external forces are CoP and IZMP the same; no measurement.',
        ours='The gap is {gap} in the mean while it pushes, {expected} are what the push '
        'explains (difference {error}); before, it is {calm}.',
        why='',
        data=Table(
            ('time [s]', 'IZMP y [m]', 'CoP y [m]', 'gap [mm]', 'explained gap [mm]'),
            np.column_stack([t, run['izmp'][shown, 1], run['cop'][shown, 1], gap[shown],
                             expected[shown]]).tolist(),
        ),
    )  # fmt: skip
