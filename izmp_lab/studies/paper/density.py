"""Beyond the paper: which noise densities its relative errors would need."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.estimate import Estimate
from izmp_lab.studies.paper.bars import PAPER_PERCENT
from izmp_lab.studies.paper.campaign import Campaign, Score
from izmp_lab.studies.paper.setups import SETUP_A, SETUP_C, SETUP_D, SETUP_E, Setup
from izmp_lab.studies.runs import Load, Run

ACCELEROMETER = (3.75, 7.5, 15.0, 30.0, 60.0)
"""Densities of the accelerometers [µg/√Hz]."""

GYROSCOPE = (0.0025, 0.005, 0.01, 0.02)
"""Densities of the gyroscope [°/s/√Hz]."""

_SWEEPS: dict[str, tuple[tuple[Setup, ...], tuple[float, ...]]] = {
    'accelerometer': ((SETUP_A, SETUP_C), ACCELEROMETER),
    'gyroscope': ((SETUP_E, SETUP_D), GYROSCOPE),
}
"""Sensor → setups and densities. IR-MD bears no noise of a gyroscope."""

_COLOURS = {'A': 'ir-md', 'C': 'other', 'E': 'mr-ad', 'D': 'cop'}
_MARKERS = {'A': 'o', 'C': 's', 'E': 'v', 'D': '^'}


def _blocks(campaign: Campaign) -> dict[tuple[str, str, float], tuple[Run, ...]]:
    def repeat(sensor: str, setup: Setup, density: float) -> tuple[Run, ...]:
        if sensor == 'accelerometer':
            return campaign.repetitions(setup, density=density)
        return campaign.repetitions(setup, gyro_density=density)

    return {
        (sensor, setup.name, density): repeat(sensor, setup, density)
        for sensor, (setups, densities) in _SWEEPS.items()
        for setup in setups
        for density in densities
    }


def runs(campaign: Campaign) -> tuple[Run, ...]:
    """What the picture needs."""
    return tuple(run for block in _blocks(campaign).values() for run in block)


def picture(campaign: Campaign, load: Load) -> Picture:
    """Draw it."""
    found = {
        key: Score.of(block, load).of_measure('paper') for key, block in _blocks(campaign).items()
    }

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry(f'setup {name}, median of Δ', line(look, colour, marker=_MARKERS[name]))
            for name, colour in _COLOURS.items()
        ]
        legend += [
            Entry('mean', line(look, 'muted', linestyle=':')),
            Entry('printed in the paper', line(look, 'muted', dashes=(4, 2))),
        ]
        canvas, axes = panels(width, 2, legend)
        labels = ('accelerometers [µg/√Hz]', 'gyroscope [°/s/√Hz]')
        for ax, (sensor, (setups, densities)), label in zip(
            axes, _SWEEPS.items(), labels, strict=True
        ):
            for setup in setups:
                colour = look[_COLOURS[setup.name]]
                deltas = [found[sensor, setup.name, density] for density in densities]
                ax.plot(densities, [d.median for d in deltas], color=colour,
                        marker=_MARKERS[setup.name], markersize=5, linewidth=1.2)  # fmt: skip
                ax.plot(densities, [d.mean for d in deltas], ':', color=colour, linewidth=1.0)
                low, high = zip(*(d.range for d in deltas), strict=True)
                ax.fill_between(densities, low, high, color=colour, alpha=0.12, linewidth=0)
                ax.axhline(PAPER_PERCENT[setup.name], color=colour, linewidth=0.9, dashes=(4, 2))
            ax.set(xscale='log', yscale='log', xlabel=f'noise density of the {label}',
                   ylabel='Δ of y [%]')  # fmt: skip
            log_ticks(ax.xaxis, densities)
            log_ticks(ax.yaxis, (1, 10, 100, 1000))
        return canvas

    return Picture(
        name='density',
        title='Which noise densities the paper’s errors would need',
        source='Fig. 9 and Fig. 10',
        draw=draw,
        facts=_facts(found),
        seen='Δ of single repetitions over the noise density: median, mean (dotted), the range of '
        '95 % of the repetitions, and the value that the paper prints (dashed). IR-MD bears the '
        'number of the accelerometers as noise of the linear velocity and none of the gyroscope.',
        paper='σ = ν√f with the noise density ν of “the data sheet of the Xsens MTi-20 VRU”; the '
        'number is not printed.',
        ours='The median of A is the paper’s at {A_needed} instead of 60 µg/√Hz, that of C at '
        '{C_needed}. Halving the density of the gyroscope changes the median of E from '
        '{E_usual} to {E_half}, that of D from {D_usual} to {D_half}.',
        why='60 µg/√Hz and 0.01 °/s/√Hz are the numbers of the maker’s MTi 100-series; the table '
        'of the 10-series, to which the MTi-20 belongs, was not at hand, so they are assumed. No '
        'unit of the maker is as quiet as A and C would need; a central quotient (over 16 ms) '
        'halves the errors, half of what is missing. Which of the two the paper had is open.',
        data=Table(
            ('varied', 'setup', 'density', 'Δ, median [%]', 'Δ, mean [%]', 'Δ, 2.5 % [%]',
             'Δ, 97.5 % [%]'),
            [
                [sensor, name, density, delta.median, delta.mean, *delta.range]
                for (sensor, name, density), delta in found.items()
            ],
        ),
    )  # fmt: skip


def _facts(found: dict[tuple[str, str, float], Estimate]) -> tuple[Fact, ...]:
    facts = []
    for setup in (SETUP_A, SETUP_C):
        medians = np.array([found['accelerometer', setup.name, d].median for d in ACCELEROMETER])
        needed = density_for(PAPER_PERCENT[setup.name], np.array(ACCELEROMETER), medians)
        facts.append(Fact(f'{setup.name}_needed', f'density at which the median Δ of setup '
                          f'{setup.name} is the paper’s', needed, 'µg/√Hz', 1))  # fmt: skip
    for setup in (SETUP_E, SETUP_D):
        for key, density in (('usual', 0.01), ('half', 0.005)):
            median = found['gyroscope', setup.name, density].median
            facts.append(Fact(f'{setup.name}_{key}', f'median Δ of setup {setup.name} at '
                              f'{density:g} °/s/√Hz', median, '%', 1))  # fmt: skip
    return tuple(facts)


def density_for(wanted: float, densities: Array, values: Array) -> float:
    """Find where values (D,) that rise with the densities (D,) reach one; NaN if they do not.

    Interpolates the logarithms.
    """
    rising = np.maximum.accumulate(values)
    if not rising[0] <= wanted <= rising[-1]:
        return float('nan')
    return float(np.exp(np.interp(np.log(wanted), np.log(rising), np.log(densities))))
