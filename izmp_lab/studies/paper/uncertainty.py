"""What the errors depend on: noise densities, zero crossings, predicted σ, distance and rate."""

import math
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.compare.metrics import MEASURES
from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_dynamics.sensing.noise import STANDARD_GRAVITY
from izmp_lab.studies.paper.ideal_sensors import PowerLaw
from izmp_lab.studies.paper.noisy_sensors import PAPER_PERCENT
from izmp_lab.studies.paper.setups import (
    PAPER_SETUPS,
    SETUP_A,
    SETUP_B,
    SETUP_C,
    SETUP_D,
    SETUP_E,
    Setup,
)
from izmp_lab.studies.paper.study import Estimate, PaperStudy, in_blocks, scores_of
from izmp_lab.studies.publish import at_most, figure
from izmp_lab.studies.runs import Arrays, Run

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


def _blocks(study: PaperStudy) -> dict[tuple[str, str, float], tuple[Run, ...]]:
    def repeat(sensor: str, setup: Setup, density: float) -> tuple[Run, ...]:
        if sensor == 'accelerometer':
            return study.repetitions(setup, density=density)
        return study.repetitions(setup, gyro_density=density)

    return {
        (sensor, setup.name, density): repeat(sensor, setup, density)
        for sensor, (setups, densities) in _SWEEPS.items()
        for setup in setups
        for density in densities
    }


@figure(lambda study: in_blocks(_blocks(study)))
def density(study: PaperStudy, runs: dict[Any, Arrays]) -> Picture:
    found = {key: score.of_measure('paper') for key, score in scores_of(runs).items()}

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


DISTANCES = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Distances of the accelerometers from the IMU [m]."""

DENSITIES = (15.0, 30.0, 60.0, 120.0, 240.0)
"""Noise densities of the accelerometers [µg/√Hz]."""

ACTUATOR_RATES = (125.0, 250.0, 500.0, 1000.0)
"""Rates of actuators and sensors [Hz]; the bus has 125 Hz."""


def _sensitivity_runs(study: PaperStudy) -> dict[Any, Run]:
    fast = study.fine_walk
    by_rate = {
        (f'rate, {convention}', rate): study.repetitions(
            Setup('D', actuator=rate, convention=convention),
            case=fast,
            reference_rate=fast.physics_rate,
        )
        for convention in ('paper', 'aligned')
        for rate in ACTUATOR_RATES
    }
    return in_blocks({
        **{('distance', r): study.repetitions(SETUP_D, distance=r) for r in DISTANCES},
        **{('density', d): study.repetitions(SETUP_D, density=d) for d in DENSITIES},
        **by_rate,
    })  # fmt: skip


@figure(_sensitivity_runs)
def sensitivity(study: PaperStudy, runs: dict[Any, Arrays]) -> Picture:
    found: dict[str, list[tuple[float, Estimate]]] = {}
    for (name, x), score in scores_of(runs).items():
        found.setdefault(name, []).append((x, score.of_measure('rms')))

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('setup D', line(look, 'mr-ad', marker='o', markersize=5)),
            Entry('with aligned quotients', line(look, 'cop', marker='v', markersize=5,
                                                 linestyle=':')),
        ]  # fmt: skip
        canvas, axes = panels(width, 3, legend, height=2.6, columns=3)
        places = (
            (('distance',), 'distance r of the accelerometers [m]'),
            (('density',), 'noise density [µg/√Hz]'),
            (('rate, paper', 'rate, aligned'), 'actuator rate [Hz]'),
        )
        for ax, (names, label) in zip(axes, places, strict=True):
            for name in names:
                own = name.endswith('aligned')
                style = {'color': look['cop' if own else 'mr-ad'],
                         'marker': 'v' if own else 'o', 'markersize': 5, 'linewidth': 1.2,
                         'linestyle': ':' if own else '-'}  # fmt: skip
                x, y = zip(*((x, 1e3 * e.mean) for x, e in found[name]), strict=True)
                ax.plot(x, y, **style)
            ticks = [value for value, _ in found[names[0]]]
            ax.set(xscale='log', xlabel=label, ylabel='RMS error of y [mm]')
            log_ticks(ax.xaxis, ticks)
            ax.minorticks_off()
            ax.set_ylim(bottom=0.0)
        return canvas

    law = {
        name: PowerLaw.fit(*np.array([(x, e.mean) for x, e in found[name]]).T)
        for name in ('distance', 'density')
    }
    rates = {name: dict(found[name]) for name in ('rate, paper', 'rate, aligned')}
    return Picture(
        name='sensitivity',
        title='What the error of MR-AD depends on',
        source='Beyond the paper',
        draw=draw,
        facts=(
            Fact('distance', 'exponent over the distance r', law['distance'].slope, '', 2),
            Fact('density', 'exponent over the noise density', law['density'].slope, '', 2),
            *(
                Fact(f'{convention}_{rate:.0f}',
                     f'RMS of y at {rate:g} Hz, {convention} quotients',
                     1e3 * rates[f'rate, {convention}'][rate].mean, 'mm', 2,
                     1e3 * rates[f'rate, {convention}'][rate].half_width)
                for convention in ('paper', 'aligned') for rate in ACTUATOR_RATES
            ),
        ),
        seen='RMS error of y of setup D against its ideal reference when one parameter is '
        'changed. In the rightmost panel σ = ν√f grows with the rate while the skew of the '
        'quotients shrinks.',
        paper='Sect. 6 says that a small distance makes the noise dominate, without numbers.',
        ours='The error goes as r^s with s = {distance} and as ν^s with s = {density}. With the '
        'paper’s quotients it is {paper_125} at 125 Hz, {paper_250} at 250 Hz, {paper_500} at '
        '500 Hz and {paper_1000} at 1 kHz; with aligned quotients {aligned_125}, '
        '{aligned_250}, {aligned_500} and {aligned_1000}: there slower sensors are quieter.',
        data=Table(
            ('varied', 'value', 'RMS of y [mm]', '± [mm]'),
            [
                [name, x, 1e3 * e.mean, 1e3 * e.half_width]
                for name, points in found.items()
                for x, e in points
            ],
        ),
    )  # fmt: skip
