"""Sensor units on the links of a walking robot: which, how many, and how exact the IZMP is then.

The outlook of Gießler & Waltersberger (2023), sect. 6: runs, figures, page.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.model.sensors import SegmentUnit
from izmp_dynamics.pages.look import Entry, line, panels
from izmp_dynamics.pages.picture import Page, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.uncertainty import izmp_covariance
from izmp_dynamics.signals.samples import Samples
from izmp_lab.simulation.noisy_signals import SensorErrors, add_noise, sensor_noise, with_errors
from izmp_lab.simulation.scenarios import simulate_walk
from izmp_lab.simulation.segment_units import with_units
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.studies.publish import Figure, at_most, figure, heading, named_rows
from izmp_lab.studies.runs import Arrays, RobotKey, Run
from izmp_lab.walking.walk_parameters import WalkParameters

KINDS: Mapping[str, tuple[str, int]] = {
    'none': ('no units', 0),
    'imus': ('IMUs', 1),
    'arrays': ('arrays', 4),
}
"""Kind of the units → how it is called, and how many sensors a unit has."""

LIMITS: Mapping[int, float] = {16: 0.5, 12: 1.5}
"""Bits of the encoders → largest RMS error of the IZMP per axis, with arrays on all links [mm]."""

SIMULATED = 500
"""Samples of a simulated walk [Hz]."""

_STAND = 1.0
_SEED = 1
_THINNED = 8


@dataclass(frozen=True)
class UnitStudy:
    """The runs, by what they are about.

    Attributes:
        steps: of the walk.
        most: units that are added one by one.
        links: that may have one of these; all if empty.
    """

    steps: int = 4
    most: int = 8
    links: tuple[str, ...] = ()

    def errors(self, kind: str, rate: int, bits: int) -> Run:
        """Describe the evaluation of a walk with units of a kind on all links, or on none."""
        given = {'steps': self.steps, 'kind': kind, 'rate': rate, 'bits': bits}
        return Run(errors_with, given, data=_digest(), effort=4.0)

    def added(self, kind: str, by: str) -> Run:
        """Describe how units are added one by one, by the true error or by the predicted one."""
        given = {
            'steps': self.steps, 'kind': kind, 'by': by, 'most': self.most,
            'links': list(self.links),
        }  # fmt: skip
        return Run(added_one_by_one, given, data=_digest(), effort=60.0)


def _robot() -> Path:
    return find_resource('robots/biped31/robot.yaml')


def _digest() -> str:
    return RobotKey.of(_robot()).digest


class _Walk:
    """A walk of biped31 with a unit on every link; ideal signals at 500 Hz."""

    def __init__(self, steps: int) -> None:
        with TemporaryDirectory() as folder:
            self.file = with_units(load_robot_file(_robot()), 'all', Path(folder))
            parameters = WalkParameters(steps=steps, stand=_STAND)
            self.run = simulate_walk(self.file, parameters=parameters).run
            self.model: RobotModel = make_rig(self.file).model

    def units(self, kind: str) -> tuple[SegmentUnit, ...]:
        """Those of a kind on all links."""
        if kind == 'imus':
            return tuple(replace(unit, accelerometers=()) for unit in self.file.segments)
        return self.file.segments if kind == 'arrays' else ()

    def score(
        self, signals: Mapping[str, Samples], units: tuple[SegmentUnit, ...], rate: int, bits: int
    ) -> np.ndarray:
        """RMS error (2,) of the IZMP while it walks, and its predicted σ (2,): (2, 2) [m]."""
        file = replace(
            self.file,
            segments=units,
            filter=replace(self.file.filter, half_width=None),
            rates=replace(self.file.rates, bus=float(rate)),
            noise=replace(self.file.noise, encoder=2.0 * np.pi / 2**bits),
            position=None,
        )
        evaluator = Evaluator(make_rig(file, self.model))
        used = {name: each for name, each in signals.items() if evaluator.stages.uses(name)}
        parts = evaluator.push(used) + evaluator.flush()
        stamps = np.concatenate([part.stamps for part in parts])
        begin, end = self.run.stamps[[0, -1]] + np.array([1, -1]) * round(1e9 * _STAND)
        walks = (stamps > begin) & (stamps < end)
        izmp = np.concatenate([part.points['mr_ad'] for part in parts])[walks]
        cop = self.run.truth.cop_in_root()[np.searchsorted(self.run.stamps, stamps[walks])]
        thin = [part.select(slice(None, None, _THINNED)) for part in parts]
        at = np.concatenate([part.stamps for part in thin])
        variance = np.concatenate([izmp_covariance(evaluator, part) for part in thin])
        variance = np.diagonal(variance[(at > begin) & (at < end)], axis1=1, axis2=2)
        squares = np.nanmean((izmp - cop)[:, :2] ** 2, axis=0), np.nanmean(variance[:, :2], axis=0)
        return np.sqrt(squares)


_walk = functools.lru_cache(maxsize=1)(_Walk)
"""Simulated once for all runs of a process."""


def errors_with(steps: int, kind: str, rate: int, bits: int) -> Arrays:
    """Evaluate a walk with units of a kind on all links.

    Returns:
        `error`, (2, 2) [m]: RMS along x and y of the distance to the true CoP while the robot
        walks, and of its standard deviation as `pipeline.uncertainty` predicts it.
    """
    walk = _walk(steps)
    signals = decimated_signals(walk.run, SIMULATED // rate, bits, walk.file)
    return {'error': walk.score(signals, walk.units(kind), rate, bits)}


def added_one_by_one(steps: int, kind: str, by: str, most: int, links: list[str]) -> Arrays:
    """Add units in the order in which they help most, at 125 Hz with encoders of 16 bit.

    Args:
        steps: of the walk.
        kind: of the units.
        by: 'error', or 'variance', the predicted one, for which no truth is needed: the trace of
            the inverse of the Fisher information (A-optimal).
        most: how many.
        links: that may have one; all if empty.

    Returns:
        `links` (N,) the order, and `error` (N + 1, 2, 2) [m] with 0 to N of them.
    """
    walk = _walk(steps)
    signals = decimated_signals(walk.run, 4, 16, walk.file)
    left = [unit for unit in walk.units(kind) if not links or unit.link in links]
    chosen: tuple[SegmentUnit, ...] = ()
    errors = [walk.score(signals, (), SIMULATED // 4, 16)]
    while left and len(chosen) < most:
        found = [walk.score(signals, (*chosen, unit), SIMULATED // 4, 16) for unit in left]
        sizes = np.linalg.norm(found, axis=2)[:, int(by == 'variance')]
        best = int(np.argmin(sizes))
        chosen = (*chosen, left.pop(best))
        errors.append(found[best])
    return {'links': np.array([unit.link for unit in chosen]), 'error': np.array(errors)}


def decimated_signals(
    run: SimulatedRun, every: int, bits: int, file: RobotFile
) -> dict[str, Samples]:
    """Simulated signals, decimated, with the noise of the paper and quantised joint positions.

    Args:
        run: ideal signals.
        every: factor of the decimation.
        bits: of the encoders.
        file: robot file, whose units measure.

    Returns:
        As `Evaluator.push` takes them, in SI units: positions (T, n), IMUs (T, 6) ω and φ, units
        and accelerometers likewise, wrenches of the feet (T, 6).
    """
    rows = slice(None, None, every)
    thinned: dict[str, Any] = {
        name: {topic: values[rows] for topic, values in getattr(run, name).items()}
        for name in ('accelerometers', 'segments', 'wrenches')
    }
    imu = replace(
        run.imu,
        angular_velocity=run.imu.angular_velocity[rows],
        specific_force=run.imu.specific_force[rows],
        orientation_xyzw=run.imu.orientation_xyzw[rows],
    )
    fewer = replace(run, stamps=run.stamps[rows], q=run.q[rows], imu=imu, position=None, **thinned)
    noisy = add_noise(fewer, file, sensor_noise('xsens_mti20'), _SEED)
    values = {
        'joints': with_errors(fewer, file, SensorErrors(encoder_bits=bits)).q,
        'imu': np.hstack([noisy.imu.angular_velocity, noisy.imu.specific_force]),
        'orientation': fewer.imu.orientation_xyzw,
    }
    for signal in file.signals():
        if signal.kind == 'segments':
            values[signal.name] = noisy.segments[signal.topic]
        elif 'accelerometers' in signal.kind:
            values[signal.name] = noisy.accelerometers[signal.topic]
        elif signal.kind == 'feet':
            values[signal.name] = fewer.wrenches[signal.topic]
    return {name: Samples(fewer.stamps, each) for name, each in values.items()}


Results = dict[Any, Arrays]
_SETUPS = ((125, 16), (125, 12), (SIMULATED, 16), (SIMULATED, 12))


@figure(lambda study: {(*s, kind): study.errors(kind, *s) for s in _SETUPS for kind in KINDS})
def errors(study: UnitStudy, found: Results) -> Picture:
    sizes = {key: 1e3 * each['error'] for key, each in found.items()}
    names = [f'{rate} Hz, {bits} bit: {KINDS[kind][0]}' for rate, bits, kind in sizes]

    def draw(width: float) -> Any:
        legend = [
            Entry('RMS error, x and y', line('mr-ad', marker='o', linestyle='')),
            Entry('predicted', line('muted', marker='|', markersize=9, linestyle='')),
        ]
        canvas, (ax,) = panels(width, 1, legend, height=0.3 * len(names) + 0.6)
        for row, (error, predicted) in enumerate(sizes.values()):
            ax.plot(error, [row, row], color=LIGHT['mr-ad'], marker='o', linestyle='')
            ax.plot(predicted, [row, row], color=LIGHT['muted'], marker='|', markersize=9,
                    linestyle='')  # fmt: skip
        ax.set(xscale='log', xlabel='error of the IZMP [mm]')
        named_rows(ax, names, width, 1.9)
        ax.xaxis.set_major_formatter('{x:g}')
        return canvas

    facts = [
        at_most(
            f'arrays_{rate}_{bits}', f'arrays on all links, {rate} Hz, {bits} bit, larger axis',
            float(sizes[rate, bits, 'arrays'][0].max()), LIMITS[bits], 'mm',
        )
        for rate, bits in _SETUPS
    ]  # fmt: skip
    return Picture(
        name='errors',
        title='A unit on every link',
        source='Gießler & Waltersberger (2023), sect. 6',
        draw=draw,
        facts=tuple(facts),
        seen='RMS error of the IZMP about the true CoP while the robot walks, along x and y, and '
        'the standard deviation that its covariance predicts. No filter. An array is an IMU with '
        'three accelerometers.',
        paper='',
        ours='Without units, differenced encoders make the error. With accelerometers on the '
        'links it is their noise alone ({arrays_125_16} at 125 Hz). With IMUs alone each link '
        'uses the accelerometers of those next to it; what these do not see, as at a foot, the '
        'differenced gyroscope gives.',
        data=Table(
            ('rate [Hz]', 'encoders [bit]', 'units', 'x [mm]', 'y [mm]', 'predicted x [mm]',
             'predicted y [mm]'),
            [
                [rate, bits, KINDS[kind][0], *map(float, size.ravel())]
                for (rate, bits, kind), size in sizes.items()
            ],
        ),
    )  # fmt: skip


_ORDERS = (('arrays', 'error'), ('arrays', 'variance'), ('imus', 'variance'))


@figure(lambda study: {order: study.added(*order) for order in _ORDERS})
def number(study: UnitStudy, found: Results) -> Picture:
    sizes = {order: 1e3 * np.linalg.norm(each['error'], axis=2) for order, each in found.items()}
    styles = dict(zip(found, (('mr-ad', '-'), ('mr-ad', '--'), ('cop', '--')), strict=True))
    names = {(kind, by): f'{KINDS[kind][0]}, by {by}' for kind, by in found}

    def draw(width: float) -> Any:
        legend = [
            Entry(names[order], line(colour, linestyle=dashes, marker='o'))
            for order, (colour, dashes) in styles.items()
        ]
        canvas, axes = panels(width, 2, legend, height=2.6, columns=2, titles=True)
        for ax, cost in zip(axes, ('units', 'sensors'), strict=True):
            for order, size in sizes.items():
                colour, dashes = styles[order]
                each = KINDS[order[0]][1] if cost == 'sensors' else 1
                ax.plot(each * np.arange(len(size)), size[:, 0], color=LIGHT[colour],
                        linestyle=dashes, marker='o', markersize=4)  # fmt: skip
            ax.set(yscale='log', xlabel=cost, ylabel='error of the IZMP [mm]')
            ax.yaxis.set_major_formatter('{x:g}')
            ax.tick_params(axis='y', which='minor', labelleft=False)
            ax.xaxis.get_major_locator().set_params(integer=True)
            heading(ax, f'by the number of {cost}')
        return canvas

    best, predicted = sizes['arrays', 'error'], sizes['arrays', 'variance']
    return Picture(
        name='number',
        title='How many units, and where',
        source='Beyond the paper',
        draw=draw,
        facts=(
            at_most(
                'ratio', 'error of the order by variance over that of the best order, at most',
                float((predicted[:, 0] / best[: len(predicted), 0]).max()), 1.25,
            ),
        ),
        seen='Units are added one by one, each time the one after which the IZMP errs least '
        '(x and y together), or after which its predicted variance is least, for which no true '
        'CoP is needed. An IMU is one sensor, an array four. 125 Hz, encoders of 16 bit.',
        paper='',
        ours='A unit improves the links beyond it, so the trunk comes first. The order by '
        'variance errs by at most {ratio} times as much as the best one.',
        data=Table(
            ('units', 'chosen by', 'number', 'added', 'error [mm]', 'predicted [mm]'),
            [
                [KINDS[kind][0], by, count, link, float(error), float(sigma)]
                for (kind, by), size in sizes.items()
                for count, (link, (error, sigma)) in enumerate(
                    zip(('', *map(str, found[kind, by]['links'])), size, strict=True)
                )
            ],
        ),
    )  # fmt: skip


FIGURES: dict[str, tuple[Figure, str]] = {
    'errors': (errors, 'error of the IZMP with units on all links, by rate and encoders'),
    'number': (number, 'error against the number of units and of sensors'),
}
"""Name → figure, and what it shows."""


def page(study: UnitStudy) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='Sensor units on links, measured',
        lead='MR-AD takes the motion of the links from encoders, differentiated twice. A unit on '
        'a link measures it instead, and that of all links beyond it.',
        method='biped31 (31 joints) walks at 0.3 m/s in MuJoCo. Signals are ideal at 500 Hz; '
        'every sample is used, or every fourth. The noise is that of the paper at the rate of '
        'the samples (60 µg/√Hz, 0.01 °/s/√Hz); joint positions come in steps of 2π / 2^bits.',
        settings={'steps': str(study.steps), 'seed of the noise': str(_SEED)},
    )
