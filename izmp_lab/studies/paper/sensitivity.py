"""Beyond the paper: error of setup D over accelerometer distance, noise density, actuator rate."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.paper.campaign import Campaign, Score
from izmp_lab.studies.paper.fig07 import PowerLaw
from izmp_lab.studies.paper.setups import SETUP_D, Setup
from izmp_lab.studies.runs import Load, Run

DISTANCES = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Distances of the accelerometers from the IMU [m]."""

DENSITIES = (15.0, 30.0, 60.0, 120.0, 240.0)
"""Noise densities of the accelerometers [µg/√Hz]."""

ACTUATOR_RATES = (125.0, 250.0, 500.0, 1000.0)
"""Rates of actuators and sensors [Hz]; the bus has 125 Hz."""


def _scores(campaign: Campaign) -> dict[str, list[tuple[float, tuple[Run, ...]]]]:
    fast = campaign.fine_walk
    by_rate = {
        convention: [
            (
                rate,
                campaign.repetitions(
                    Setup('D', actuator=rate, convention=convention),
                    case=fast,
                    reference_rate=fast.physics_rate,
                ),
            )
            for rate in ACTUATOR_RATES
        ]
        for convention in ('paper', 'aligned')
    }
    return {
        'distance': [(r, campaign.repetitions(SETUP_D, distance=r)) for r in DISTANCES],
        'density': [(d, campaign.repetitions(SETUP_D, density=d)) for d in DENSITIES],
        'rate, paper': by_rate['paper'],
        'rate, aligned': by_rate['aligned'],
    }


def runs(campaign: Campaign) -> tuple[Run, ...]:
    """What the picture needs."""
    series_ = _scores(campaign).values()
    return tuple(run for points in series_ for _, block in points for run in block)


def picture(campaign: Campaign, load: Load) -> Picture:
    """Draw it."""
    found = {
        name: [(x, Score.of(block, load).of_measure('rms')) for x, block in points]
        for name, points in _scores(campaign).items()
    }

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
        why='',
        data=Table(
            ('varied', 'value', 'RMS of y [mm]', '± [mm]'),
            [
                [name, x, 1e3 * e.mean, 1e3 * e.half_width]
                for name, points in found.items()
                for x, e in points
            ],
        ),
    )  # fmt: skip
