"""Beyond the paper: the zero crossings that decide its relative error."""

import math
from typing import Any

import numpy as np

from izmp_dynamics.compare.metrics import MEASURES
from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.paper.campaign import Campaign
from izmp_lab.studies.paper.setups import SETUP_B
from izmp_lab.studies.runs import Load, Run


def runs(campaign: Campaign) -> tuple[Run, ...]:
    """What the picture needs."""
    return (campaign.phases(SETUP_B), campaign.izmp(SETUP_B),
            campaign.izmp(SETUP_B.reference()))  # fmt: skip


def picture(campaign: Campaign, load: Load) -> Picture:
    """Draw it."""
    measures = load(campaign.phases(SETUP_B))['measures'][:, 1]
    delta, sums = (measures[:, MEASURES.index(name)] for name in ('paper', 'relative'))
    found, ideal = load(campaign.izmp(SETUP_B)), load(campaign.izmp(SETUP_B.reference()))
    used = found['steady']
    times, y = found['times'][used], found['points'][used, 1]
    reference = np.interp(times, ideal['times'], ideal['points'][:, 1])
    share = 100.0 * np.abs(y - reference) / np.abs(reference)
    heaviest = np.sort(share)[::-1]
    top = max(1, math.ceil(0.01 * len(share)))
    shift = 1e3 / campaign.experiment.walk.physics_rate * np.arange(len(delta))

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('one sample of setup B', line(look, 'mr-ad', marker='.', linestyle='none')),
            Entry('the paper’s Δ', line(look, 'ir-md', marker='s', dashes=(3.5, 1.6))),
            Entry('Σ|f − f_ref| / Σ|f_ref|', line(look, 'mr-ad', marker='o')),
        ]
        canvas, axes = panels(width, 2, legend)
        axes[0].plot(1e3 * np.abs(reference), share, '.', color=look['mr-ad'], markersize=4)
        axes[0].set(xscale='log', yscale='log', xlabel='|y_ref| of the sample [mm]',
                    ylabel='|y − y_ref| / |y_ref| [%]')  # fmt: skip
        log_ticks(axes[0].xaxis, (1, 2, 5, 10, 20, 50))
        log_ticks(axes[0].yaxis, (0.01, 0.1, 1, 10, 100, 1000))
        axes[1].plot(shift, delta, 's', color=look['ir-md'], linestyle='--', linewidth=1.2)
        axes[1].plot(shift, sums, 'o', color=look['mr-ad'], linestyle='-', linewidth=1.2)
        axes[1].set(xlabel='shift of the sampling [ms]', ylabel='relative error of y [%]')
        axes[1].set_xticks(shift)
        axes[1].set_ylim(bottom=0.0)
        return canvas

    return Picture(
        name='zero_crossing',
        title='The trap in the paper’s relative error',
        source='Sect. 4.6',
        draw=draw,
        facts=(
            Fact('least', 'smallest Δ over the phases', float(delta.min()), '%', 1),
            Fact('most', 'largest Δ over the phases', float(delta.max()), '%', 1),
            Fact('sum_least', 'smallest Σ metric over the phases', float(sums.min()), '%', 2),
            Fact('sum_most', 'largest Σ metric over the phases', float(sums.max()), '%', 2),
            Fact('share', 'part of Δ made by the worst 1 % of the samples',
                 100.0 * float(heaviest[:top].sum() / share.sum()), '%', 0),
        ),
        seen='Left, the relative error of each sample of setup B with ideal sensors over the '
        'size of the reference: the closer y is to zero, the larger. Right, both measures when '
        'the sampling is shifted by 2 ms at a time.',
        paper='Δ is the mean of the relative errors of the samples.',
        ours='Δ lies between {least} and {most} for the same walk and the same ideal sensors, '
        'only sampled at other instants; Σ|f − f_ref|/Σ|f_ref| between {sum_least} and '
        '{sum_most}. The worst 1 % of the samples make {share} of Δ.',
        why='',
        data=Table(
            ('shift [ms]', 'the paper’s Δ [%]', 'Σ metric [%]'),
            np.column_stack([shift, delta, sums]).tolist(),
        ),
    )  # fmt: skip
