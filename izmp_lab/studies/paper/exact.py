"""First of all: on the exact motion the IZMP is what the ground does."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.paper.campaign import Campaign
from izmp_lab.studies.runs import Load, Run

LARGEST_ARM = 1.0
"""Rounding alone may part IZMP and CoP: 1e-6 mm [nm]."""

LARGEST_ARRAY = 1.0
"""Rounding alone may part the array from the simulation [10⁻⁹ m/s²], [10⁻⁹ rad/s²]."""

LARGEST_GAP = 0.4
"""The soles sink 0.24 to 0.34 mm into the soft contacts, as the weight decides, and tilt when
something pushes; what is above is for other versions of the simulator [mm]."""

COLOURS = ('mr-ad', 'ir-md', 'cop', 'other', 'ink')


def runs(campaign: Campaign) -> tuple[Run, ...]:
    """What the picture needs."""
    return tuple(campaign.exact(case) for case in campaign.walks.values())


def picture(campaign: Campaign, load: Load) -> Picture:
    """Draw it."""
    found = {name: load(campaign.exact(case)) for name, case in campaign.walks.items()}
    times = {name: run['times'] for name, run in found.items()}
    arms = {name: 1e9 * run['arm'] for name, run in found.items()}
    gaps = {name: 1e3 * run['gap'] for name, run in found.items()}

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry(name, line(look, colour, linewidth=1.0))
            for name, colour in zip(found, COLOURS, strict=True)
        ]
        canvas, axes = panels(width, 2, legend)
        labels = ('arm of the tipping moment [nm]', 'distance to the CoP [mm]')
        for ax, tracks, label in zip(axes, (arms, gaps), labels, strict=True):
            for colour, (name, track) in zip(COLOURS, tracks.items(), strict=True):
                ax.plot(times[name], np.maximum(track, 1e-9), color=look[colour], linewidth=0.8)
            ax.set(yscale='log', xlabel='time [s]', ylabel=label)
        return canvas

    return Picture(
        name='exact',
        title='On the exact motion the IZMP is the CoP',
        source='Sect. 4.4 and eq. 21',
        draw=draw,
        facts=tuple(
            fact
            for number, (name, run) in enumerate(found.items())
            for fact in _facts(number, name, arms[name], gaps[name][run['steady']])
        )
        + _array_facts(np.max([run['array'] for run in found.values()], axis=0)),
        seen='Left, the moment along the ground of what the ground (and the push) does, about the '
        'IZMP of MR-AD, over the normal force; the motion is that of the simulation, without '
        'sensors or quotients, and the ground is the true one. Right, the distance of that IZMP '
        'from the CoP of the simulation when the ground is the plane of the sole, as a robot '
        'knows it. Every instant of every walk, standing included; the mean is over all steps but '
        'the first and last two.',
        paper='Without external forces the IZMP is the CoP.',
        ours='The tipping moment is zero at the IZMP in every walk, but for rounding. On the '
        'plane '
        'of the sole the distances to the CoP are {gap_0}, {gap_1}, {gap_2}, {gap_3} and {gap_4} '
        'in the mean. With ideal sensors the accelerometer array finds φ to {array_phi} and ω̇ to '
        '{array_alpha}.',
        why='The soles sink into the soft contacts of the simulation by some 0.2 mm, so the '
        'plane of the sole is not quite that of the ground; on the edge of the slope two soles '
        'stand on two planes, and the CoP of the simulation is between them.',
        data=Table(
            ('walk', 'time [s]', 'arm [nm]', 'distance to the CoP [mm]'),
            [
                [name, float(times[name][k]), float(arms[name][k]), float(gaps[name][k])]
                for name in found
                for k in range(0, len(times[name]), 20)
            ],
        ),
    )


def _array_facts(errors: Array) -> tuple[Fact, ...]:
    names = (('phi', 'φ', 'm/s²'), ('alpha', 'ω̇', 'rad/s²'))
    return tuple(
        Fact(f'array_{key}', f'all walks: largest error of {symbol} by the accelerometer array',
             1e9 * float(error), f'10⁻⁹ {unit}', 4, paper='exact', wanted=f'≤ {LARGEST_ARRAY:g}',
             holds=1e9 * float(error) <= LARGEST_ARRAY)
        for (key, symbol, unit), error in zip(names, errors, strict=True)
    )  # fmt: skip


def _facts(number: int, name: str, arms: Array, gaps: Array) -> tuple[Fact, ...]:
    arm, gap = float(np.nanmax(arms)), float(np.nanmean(gaps))
    return (
        Fact(f'arm_{number}', f'walk {name}: largest arm of the tipping moment about the IZMP',
             arm, 'nm', 4, paper='zero', wanted=f'≤ {LARGEST_ARM:g} nm',
             holds=arm <= LARGEST_ARM),
        Fact(f'gap_{number}', f'walk {name}: mean distance to the CoP, on the sole’s plane',
             gap, 'mm', 3, wanted=f'≤ {LARGEST_GAP:g} mm', holds=gap <= LARGEST_GAP),
    )  # fmt: skip
