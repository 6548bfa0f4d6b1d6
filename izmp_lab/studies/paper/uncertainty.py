"""What relative errors hide: zero crossings; and the predicted standard deviation."""

import math
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.compare.metrics import MEASURES
from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_dynamics.sensing.noise import STANDARD_GRAVITY
from izmp_lab.studies.paper.setups import (
    PAPER_SETUPS,
    SETUP_B,
    Setup,
)
from izmp_lab.studies.paper.study import PaperStudy
from izmp_lab.studies.publish import at_most, figure
from izmp_lab.studies.runs import Arrays


@figure(
    lambda study: {
        'phases': study.phases(SETUP_B),
        'izmp': study.izmp(SETUP_B),
        'ideal': study.izmp(SETUP_B.reference()),
    }
)
def zero_crossing(study: PaperStudy, runs: dict[str, Arrays]) -> Picture:
    measures = runs['phases']['measures'][:, 1]
    delta, sums = (measures[:, MEASURES.index(name)] for name in ('paper', 'relative'))
    found, ideal = runs['izmp'], runs['ideal']
    used = found['steady']
    times, y = found['times'][used], found['points'][used, 1]
    reference = np.interp(times, ideal['times'], ideal['points'][:, 1])
    share = 100.0 * np.abs(y - reference) / np.abs(reference)
    heaviest = np.sort(share)[::-1]
    top = max(1, math.ceil(0.01 * len(share)))
    shift = 1e3 / study.experiment.walk.physics_rate * np.arange(len(delta))

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
        data=Table(
            ('shift [ms]', 'the paper’s Δ [%]', 'Σ metric [%]'),
            np.column_stack([shift, delta, sums]).tolist(),
        ),
    )  # fmt: skip


LARGEST_DEVIATION = 10.0
"""Predicted and observed σ must agree so well [%]."""

LINEAR_NOISE = 0.15
"""First order holds while σ of the normal force is below this part of it."""

SETUPS = (*PAPER_SETUPS, *(setup.aligned() for setup in PAPER_SETUPS))
"""What is compared."""


@figure(lambda study: {setup.name: study.spread(setup) for setup in SETUPS})
def prediction(study: PaperStudy, spreads: dict[str, Arrays]) -> Picture:
    sizes = {
        name: {kind: 1e3 * _rms(run[kind]) for kind in ('predicted', 'observed')}
        for name, run in spreads.items()
    }

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('x, MR-AD', line(look, 'mr-ad', marker='o', linestyle='none')),
            Entry('y, MR-AD', line(look, 'mr-ad', marker='s', linestyle='none',
                                   markerfacecolor='none')),
            Entry('x, IR-MD', line(look, 'ir-md', marker='^', linestyle='none')),
            Entry('y, IR-MD', line(look, 'ir-md', marker='v', linestyle='none',
                                   markerfacecolor='none')),
            Entry('equal; ± 10 %', line(look, 'muted', linewidth=1.0)),
        ]  # fmt: skip
        canvas, (ax,) = panels(width, 1, legend, height=3.4)
        ends = np.array([0.3, 400.0])
        ax.fill_between(ends, 0.9 * ends, 1.1 * ends, color=look['muted'], alpha=0.2, lw=0)
        ax.plot(ends, ends, color=look['muted'], linewidth=1.0)
        for setup in SETUPS:
            size, inertial = sizes[setup.name], setup.method == 'ir_md'
            for axis, marker in enumerate('^v' if inertial else 'os'):
                ax.plot(size['observed'][axis], size['predicted'][axis], marker=marker,
                        color=look['ir-md' if inertial else 'mr-ad'], linestyle='none',
                        markerfacecolor='none' if axis else None)  # fmt: skip
            corner = (-18, 7) if setup.convention == 'aligned' else (8, -10)
            ax.annotate(setup.name, (size['observed'][1], size['predicted'][1]), corner,
                        textcoords='offset points', fontsize=8.5)  # fmt: skip
        ax.set(xscale='log', yscale='log', xlim=ends, ylim=ends)
        ax.set(xlabel='observed σ of the IZMP [mm]', ylabel='predicted σ of the IZMP [mm]')
        log_ticks(ax.xaxis, (1, 10, 100))
        log_ticks(ax.yaxis, (1, 10, 100))
        return canvas

    return Picture(
        name='prediction',
        title='How uncertain the IZMP is, without repetitions',
        source='Beyond the paper',
        draw=draw,
        facts=_prediction_facts(study, sizes),
        seen='Standard deviation of the IZMP over repetitions with other noise, beside the one '
        'that follows from the noise densities by first-order propagation through array, '
        'kernel and ZMP (“izmp compare” prints it for one’s own recording); '
        'a star marks aligned quotients.',
        paper='Nothing.',
        ours='Where the noise of the normal force is below 15 % of it, all agree within '
        '{worst}; setup C (noise of the force {C_force}) is off by {C_deviation}.',
        why='The IZMP is a quotient: when the noise of the normal force is no longer small '
        'against the force, terms of second order widen its distribution (that of a quotient of '
        'two normal variables has no finite σ at all).',
        data=Table(
            ('setup', 'axis', 'predicted σ [mm]', 'observed σ [mm]'),
            [
                [name, 'xy'[axis], float(size['predicted'][axis]), float(size['observed'][axis])]
                for name, size in sizes.items()
                for axis in (0, 1)
            ],
        ),
    )  # fmt: skip


def _prediction_facts(study: PaperStudy, sizes: dict[str, Any]) -> tuple[Fact, ...]:
    facts, worst = [], 0.0
    for setup in SETUPS:
        size, force = sizes[setup.name], _force_noise(study, setup)
        off = 100.0 * float(np.abs(size['predicted'] / size['observed'] - 1.0).max())
        linear = force <= LINEAR_NOISE
        worst = max(worst, off) if linear else worst
        key = setup.name.replace('*', '_aligned')
        facts += [
            Fact(f'{key}_deviation', f'predicted against observed σ, setup {setup.name}', off,
                 '%', 1),
            Fact(f'{key}_force', f'σ of the normal force over the weight, setup {setup.name}',
                 100.0 * force, '%', 1),
        ]  # fmt: skip
    label = 'largest difference of predicted and observed σ'
    return (*facts, at_most('worst', label, worst, LARGEST_DEVIATION, '%', 1))


def _rms(values: Array) -> Array:
    """(2,) root of the mean square over the instants."""
    root: Array = np.sqrt(np.nanmean(values**2, axis=0))
    return root


def _force_noise(study: PaperStudy, setup: Setup) -> float:
    sigma = study.experiment.densities.accelerometer_sigma(setup.actuator)
    if setup.method == 'mr_ad':
        return sigma / STANDARD_GRAVITY
    return math.sqrt(2.0) * sigma / setup.differenced_over / STANDARD_GRAVITY
