"""Simulated twins of what happens to real robots: one simulated sway, made wrong in many ways.

The recording is simulated once; its signals are read once and changed in memory, so that a twin
costs an evaluation of some seconds of signals.
"""

import dataclasses

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.model.method import Filter
from izmp_dynamics.recording.replay import Collector, make_evaluator

from .recorded import read_bag

ENCODER_STEP = 1e-5
"""Step of a fine encoder [rad]; at 500 Hz and without a filter the IZMP scatters by 67 mm."""


def twin(bag, robot, change=lambda signals: None, half_width=None):
    """Evaluation of a recording whose signals a function has changed."""
    if half_width is not None:
        robot = dataclasses.replace(robot, filter=Filter(half_width=half_width))
    recording, signals = read_bag(bag, robot)
    change(signals)
    evaluator, collector = make_evaluator(recording), Collector(recording)
    for results in evaluator.push(signals) + evaluator.flush():
        collector.add(results)
    stages = {'angular_acceleration.used': evaluator.root.method}
    return collector.evaluation(evaluator, stages=stages)


def noisy_encoders(step=ENCODER_STEP, seed=3):
    """Joint positions in steps of an encoder, with white noise of as much."""

    def change(signals):
        values = signals['joints'].values
        noise = np.random.default_rng(seed).normal(0.0, step, values.shape)
        signals['joints'] = replaced(signals['joints'], step * np.round((values + noise) / step))

    return change


def turned_imu(degrees):
    """Specific force and angular velocity of an IMU mounted otherwise than stated."""

    def change(signals):
        R = Rotation.from_rotvec(np.radians(degrees)).as_matrix()
        values = signals['imu'].values
        turned = np.hstack([values[:, :3] @ R.T, values[:, 3:] @ R.T])
        signals['imu'] = replaced(signals['imu'], turned)

    return change


def leaning(degrees, start=1.5, takes=0.6, orientation=True):
    """The IMU of a robot that tips forward as a whole, to an angle at which it is held."""

    def change(signals):
        for name in ('imu', 'orientation'):
            samples = signals[name]
            u = ((samples.stamps - samples.stamps[0]) * 1e-9 - start).clip(0.0, takes) / takes
            angle = np.radians(degrees) * (u - np.sin(2.0 * np.pi * u) / (2.0 * np.pi))
            turn, values = Rotation.from_euler('y', angle[:, None]), samples.values.copy()
            if name == 'imu':
                values = np.hstack([turn.inv().apply(part) for part in np.split(values, 2, 1)])
                values[:, 1] += np.radians(degrees) * (1.0 - np.cos(2.0 * np.pi * u)) / takes
            else:
                values = (Rotation.from_quat(values) * turn).as_quat()
            signals[name] = replaced(samples, values)
        if not orientation:
            signals.pop('orientation')

    return change


def lost(signal, *spans):
    """No samples of a signal in some spans of time (from, to) [s]."""

    def change(signals):
        samples = signals[signal]
        time = (samples.stamps - samples.stamps[0]) * 1e-9
        kept = ~np.any([(time > begin) & (time < end) for begin, end in spans], axis=0)
        signals[signal] = samples.select(kept)

    return change


def held(signal, begin, end):
    """A signal repeats itself from `begin` to `end` [s]."""

    def change(signals):
        samples = signals[signal]
        time = (samples.stamps - signals['joints'].stamps[0]) * 1e-9
        rows, values = np.flatnonzero((time >= begin) & (time < end)), samples.values.copy()
        values[rows] = values[rows[0]]
        signals[signal] = replaced(samples, values)

    return change


def until(end):
    """Only what was recorded before a time [s] from the first joints on."""

    def change(signals):
        last = signals['joints'].stamps[0] + round(1e9 * end)
        for name, samples in signals.items():
            signals[name] = samples.select(samples.stamps <= last)

    return change


def together(*changes):
    """One change after the other."""

    def change(signals):
        for part in changes:
            part(signals)

    return change


def replaced(samples, values):
    return type(samples)(samples.stamps, values)
