"""Fig. 8: noisy and ideal sensors at 125 Hz, with the predicted band."""

import math
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, line, panels, patch, series
from izmp_dynamics.pages.picture import Fact, Picture, Table, number
from izmp_lab.studies.paper.campaign import Campaign
from izmp_lab.studies.paper.fig06 import full_step
from izmp_lab.studies.paper.setups import SETUP_A, SETUP_B
from izmp_lab.studies.runs import Load, Run
from izmp_lab.studies.store import Arrays

INSIDE = (92.0, 98.0)
"""95.4 % of a normal distribution are within ± 2 σ; a walk has some 300 samples or more [%]."""

STANDARD_ERRORS = 4.0
"""So many standard errors an observed σ may be off."""

_METHODS = {'mr_ad': SETUP_B, 'ir_md': SETUP_A}
_LABELS = {'mr_ad': 'MR-AD', 'ir_md': 'IR-MD'}


def runs(campaign: Campaign) -> tuple[Run, ...]:
    """What the figure needs."""
    points = (campaign.izmp(s, noisy) for s in _METHODS.values() for noisy in (False, True))
    return (*points, campaign.sensor_noise())


def picture(campaign: Campaign, load: Load) -> Picture:
    """Draw the figure."""
    ideal = {name: load(campaign.izmp(setup)) for name, setup in _METHODS.items()}
    noisy = {name: load(campaign.izmp(setup, True)) for name, setup in _METHODS.items()}
    times = ideal['mr_ad']['times']
    start, stop = full_step(ideal['mr_ad']['step_begins'])
    shown = (times >= start - 1e-9) & (times <= stop + 1e-9)
    t = times[shown] - start
    error = {n: 1e3 * (noisy[n]['points'] - ideal[n]['points'])[:, :2] for n in _METHODS}
    sigma = {n: 1e3 * noisy[n]['sigma'] for n in _METHODS}

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('MR-AD', line(look, 'mr-ad', linewidth=1.3)),
            Entry('MR-AD, ideal', line(look, 'mr-ad', linewidth=2.6, alpha=0.35)),
            Entry('IR-MD', line(look, 'ir-md', linewidth=1.2, dashes=(3.5, 1.6))),
            Entry('IR-MD, ideal', line(look, 'ir-md', linewidth=2.6, alpha=0.35)),
            Entry('predicted ± 2 σ', patch(look, 'other', alpha=0.25)),
        ]
        canvas, axes = panels(width, 4, legend, height=2.4)
        for axis, ax in enumerate(axes[:2]):
            for name in ('ir_md', 'mr_ad'):
                faint = series(look, name, linewidth=2.6, alpha=0.35, linestyle='-')
                ax.plot(t, ideal[name]['points'][shown, axis], **faint)
                ax.plot(t, noisy[name]['points'][shown, axis], **series(look, name))
            ax.set(xlabel='time since the sub-step began [s]', xlim=(0, stop - start))
            ax.set_ylabel(f'{"xy"[axis]} of the IZMP in nif [m]')
        for name, ax in zip(_METHODS, axes[2:], strict=True):
            band = 2.0 * sigma[name][shown, 1]
            ax.fill_between(t, -band, band, color=look['other'], alpha=0.25, linewidth=0)
            ax.plot(t, error[name][shown, 1], **series(look, name))
            ax.set(xlabel='time since the sub-step began [s]', xlim=(0, stop - start))
            ax.set_ylabel(f'{_LABELS[name]}: noise of y [mm]')
        return canvas

    used = ideal['mr_ad']['steady']
    facts = _facts({n: e[used] for n, e in error.items()}, {n: s[used] for n, s in sigma.items()})
    return Picture(
        name='fig8',
        title='Noisy sensors',
        source='Fig. 8',
        draw=draw,
        facts=(*facts, *_sensor_facts(campaign, load(campaign.sensor_noise()))),
        seen='Above, the IZMP over one full step with noisy sensors, on the curves with ideal '
        'ones; all at 125 Hz. Below, what the noise does to y, in the band of ± 2 σ that follows '
        'from the noise densities alone, without a repetition.',
        paper='Marginal impact of the noise on MR-AD, significant impact on IR-MD.',
        ours='The noise of y is {mr_ad_y} for MR-AD and {ir_md_y} for IR-MD (RMS), {ratio} times '
        'as much; {mr_ad_inside} and {ir_md_inside} of the samples lie within ± 2 σ (95.4 % of a '
        'normal distribution do).',
        why='',
        data=Table(
            ('time [s]',
             *(f'{label} {kind} {axis} [m]' for label in _LABELS.values()
               for kind in ('ideal', 'noisy') for axis in 'xy'),
             *(f'{label} predicted σ of {axis} [m]' for label in _LABELS.values()
               for axis in 'xy')),
            np.column_stack(
                [t, *(run[name]['points'][shown, :2] for name in _METHODS
                      for run in (ideal, noisy)),
                 *(noisy[name]['sigma'][shown] for name in _METHODS)]
            ).tolist(),
        ),
    )  # fmt: skip


def _facts(error: dict[str, Array], sigma: dict[str, Array]) -> tuple[Fact, ...]:
    facts = []
    rms = {name: np.sqrt(np.nanmean(values**2, axis=0)) for name, values in error.items()}
    for name, label in _LABELS.items():
        inside = np.abs(error[name]) <= 2.0 * sigma[name]
        share = 100.0 * float(inside.mean())
        digits = 2 if name == 'mr_ad' else 0
        facts += [
            Fact(f'{name}_x', f'noise of x, {label}, RMS', float(rms[name][0]), 'mm', digits),
            Fact(f'{name}_y', f'noise of y, {label}, RMS', float(rms[name][1]), 'mm', digits),
            Fact(f'{name}_inside', f'samples within ± 2 σ, {label}', share, '%', 1,
                 wanted=f'{INSIDE[0]:g} to {INSIDE[1]:g} %',
                 holds=INSIDE[0] <= share <= INSIDE[1]),
        ]  # fmt: skip
    ratio = float(rms['ir_md'][1] / rms['mr_ad'][1])
    return (*facts, Fact('ratio', 'noise of y, IR-MD over MR-AD', ratio, '', 0))


def _sensor_facts(campaign: Campaign, found: Arrays) -> tuple[Fact, ...]:
    """The noise of the sensors over σ = ν√f, with the units of data sheets written out."""
    densities, root = campaign.experiment.densities, math.sqrt(float(found['rate'][0]))
    micro_g, degree = 9.80665e-6, math.pi / 180.0
    names = ('accelerometers', 'gyroscope', 'linear velocity')
    stated = (micro_g * densities.accelerometer, degree * densities.gyroscope,
              micro_g * densities.accelerometer)  # fmt: skip
    facts = []
    for name, density, rms, count in zip(names, stated, found['rms'], found['count'], strict=True):
        ratio, room = float(rms) / (density * root), STANDARD_ERRORS / math.sqrt(2.0 * int(count))
        facts.append(
            Fact(name.replace(' ', '_'), f'noise of the {name} over ν√f', ratio, '', 3, paper='1',
                 wanted=f'1 ± {number(room, 3)}', holds=abs(ratio - 1.0) <= room)
        )  # fmt: skip
    return tuple(facts)
