"""Error of the IZMP with sensor units on no, on some and on all links (docs/segments.md).

    python benchmarks/segment_units.py [--greedy LINKS]

biped31 walks in MuJoCo with ideal sensors at 500 Hz; every sample is used, or every fourth. The
noise is that of the paper at the rate of the samples, joint positions come in steps of 2π / 2^16
or 2^12. The error is that against the true CoP while the robot walks; w is the half-width of the
filter, 0 without one; 'predicted' is the standard deviation by `pipeline.uncertainty`. With
--greedy units are added one by one, each time the one after which the IZMP errs least, or with
--information the one after which its predicted variance is least: that needs no true CoP.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.uncertainty import izmp_covariance
from izmp_dynamics.signals.samples import Samples
from izmp_lab.simulation.noisy_signals import SensorErrors, add_noise, sensor_noise, with_errors
from izmp_lab.simulation.scenarios import simulate_walk
from izmp_lab.simulation.segment_units import with_units
from izmp_lab.walking.walk_parameters import WalkParameters

STAND = 1.0
RATE = 500


def sampled(run, every, bits, file, seed=1):
    """Signals of every so-manieth sample, with noise and steps of the encoders."""
    rows = slice(None, None, every)
    fewer = replace(
        run,
        stamps=run.stamps[rows],
        q=run.q[rows],
        imu=replace(
            run.imu,
            angular_velocity=run.imu.angular_velocity[rows],
            specific_force=run.imu.specific_force[rows],
            orientation_xyzw=run.imu.orientation_xyzw[rows],
        ),
        position=None,
        **{
            name: {topic: values[rows] for topic, values in getattr(run, name).items()}
            for name in ('accelerometers', 'segments', 'wrenches')
        },
    )
    noisy = add_noise(fewer, file, sensor_noise('xsens_mti20'), seed)
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


def score(run, file, model, signals, rate, half_width, bits):
    """RMS of the error, and of its predicted standard deviation, in x and y [mm]."""
    file = replace(
        file,
        filter=replace(file.filter, half_width=half_width),
        rates=replace(file.rates, bus=float(rate)),
        noise=replace(file.noise, encoder=2.0 * np.pi / 2**bits),
        position=None,
    )
    evaluator = Evaluator(make_rig(file, model))
    used = {name: each for name, each in signals.items() if evaluator.stages.uses(name)}
    parts = evaluator.push(used) + evaluator.flush()
    stamps = np.concatenate([part.stamps for part in parts])
    times = 1e-9 * (stamps - run.stamps[0])
    walks = (times > STAND) & (times < times[-1] - STAND)
    izmp = np.concatenate([part.points['mr_ad'] for part in parts])
    error = izmp - run.truth.cop_in_root()[np.searchsorted(run.stamps, stamps)]
    rows = slice(None, None, 8)
    variance = np.concatenate([izmp_covariance(evaluator, part.select(rows)) for part in parts])
    walking = np.concatenate([part.stamps[rows] for part in parts])
    walking = (walking > stamps[walks][0]) & (walking < stamps[walks][-1])
    spread = np.nanmean(np.diagonal(variance[walking], axis1=1, axis2=2), axis=0)
    return 1e3 * np.sqrt(np.nanmean(error[walks] ** 2, axis=0))[:2], 1e3 * np.sqrt(spread)[:2]


def without_accelerometers(unit):
    """A unit of gyroscope and accelerometer alone."""
    return replace(unit, accelerometers=())


def table(run, file, model):
    """Print errors with units on all links, of either kind, and without units."""
    plain = replace(file, segments=())
    inertial = replace(file, segments=tuple(map(without_accelerometers, file.segments)))
    print('rate [Hz]  bits  w [ms]  units          error x, y [mm RMS]   predicted x, y [mm]')
    for rate in (125, RATE):
        for bits in (16, 12):
            signals = sampled(run, RATE // rate, bits, file)
            for half_width in (None, 0.016):
                for name, each in (('none', plain), ('IMUs', inertial), ('arrays', file)):
                    found = score(run, each, model, signals, rate, half_width, bits)
                    x, y, sx, sy = np.concatenate(found)
                    width = 1e3 * (half_width or 0.0)
                    print(
                        f'{rate:9d} {bits:5d} {width:7g}  {name:12} '
                        f'{x:9.2f} {y:9.2f}    {sx:9.2f} {sy:9.2f}',
                        flush=True,
                    )


def greedy(run, file, model, links, most, information):
    """Print the order in which units help most, at 125 Hz with 16 bit."""
    signals = sampled(run, 4, 16, file)
    left = [u for u in file.segments if links == 'all' or u.link in links.split(',')]
    chosen = ()
    while left and len(chosen) < most:
        sizes = [
            np.hypot(*np.transpose(score(run, replace(file, segments=(*chosen, unit)), model,
                                         signals, 125, None, 16)))
            for unit in left
        ]  # fmt: skip
        best = int(np.argmin([each[int(information)] for each in sizes]))
        chosen = (*chosen, left.pop(best))
        error, predicted = sizes[best]
        print(
            f'{len(chosen):3d}  {error:7.2f} mm, predicted {predicted:7.2f} mm  '
            f'+ {chosen[-1].link}',
            flush=True,
        )


def main():
    """Print the table, or the order in which units help most."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--steps', type=int, default=4)
    parser.add_argument('--greedy', metavar='LINKS', help='links with commas between, or all')
    parser.add_argument('--most', type=int, default=8, help='units with --greedy')
    parser.add_argument('--information', action='store_true', help='choose by predicted variance')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain = load_robot_file(find_resource('robots/biped31/robot.yaml'))
        file = with_units(plain, 'all', Path(folder))
        parameters = WalkParameters(steps=options.steps, stand=STAND)
        run = simulate_walk(file, parameters=parameters).run
        model = make_rig(file).model
    if options.greedy:
        greedy(run, file, model, options.greedy, options.most, options.information)
    else:
        table(run, file, model)


if __name__ == '__main__':
    main()
