"""Signals of biped31 without a simulation, and the ways in which a pipeline can be fed with them.

The numbers belong to no motion that physics knows; they are smooth, and every sensor has some.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.pipeline.evaluator import Evaluated
from izmp_dynamics.pipeline.samples import Samples

MS = 1_000_000
START = 1_700_000_000_000_000_000
LATEST = 200 * MS
CHUNKS = (1, 97, 2, 13, 331, 5, 57)


@dataclass
class Message:
    """What a topic published: stamps and values in the order of arrival.

    Attributes:
        received: (T,) arrival [ns], increasing.
        stamps: (T,) [ns].
        values: (T, m).
    """

    received: np.ndarray
    stamps: np.ndarray
    values: np.ndarray

    def keep(self, rows):
        """Lose all messages but some."""
        self.received, self.stamps = self.received[rows], self.stamps[rows]
        self.values = self.values[rows]

    def between(self, begin, end):
        """Mask of what arrived in a part of the time [s]."""
        t = (self.received - START) * 1e-9
        return (t >= begin) & (t < end)


def ticks(duration, period=0.01, phase=0.0):
    """Stamps [ns] from START on."""
    count = round(duration / period)
    return START + np.round((phase + period * np.arange(1, count + 1)) * 1e9).astype(np.int64)


def waves(stamps, offsets, amplitude, seed):
    """(T, m) smooth signals about their offsets."""
    random = np.random.default_rng(seed)
    frequency = random.uniform(1.0, 6.0, len(offsets))
    phase = random.uniform(0.0, 6.0, len(offsets))
    t = (stamps - START)[:, None] * 1e-9
    return np.asarray(offsets) + amplitude * np.sin(t * frequency + phase)


def quaternions(stamps):
    """(T, 4) x y z w of a trunk that sways."""
    small = np.hstack([waves(stamps, np.zeros(3), 0.05, 4), np.ones((len(stamps), 1))])
    return small / np.linalg.norm(small, axis=1, keepdims=True)


def walk(rig, duration=1.2, periods=None):
    """Signal → messages of all sensors; `periods` [s] where they are not 10 ms."""
    level = (0.0, 0.0, rig.robot.gravity)
    offsets = {
        'joints': (np.zeros(rig.model.dof), 0.05),
        'imu': ((0.0, 0.0, 0.0, *level), 0.2),
        'orientation': None,
        **{f'accelerometers[{k}]': (level, 0.2) for k in range(len(rig.accelerometers))},
        'position': ((0.0, 0.0, 0.9), 0.02),
        **{
            f'feet[{foot.name}]': ((2.0, 3.0, 140.0, 1.0, -2.0, 0.5), 5.0)
            for foot in rig.feet
            if foot.sensor is not None
        },
        **{
            f'foot_imus[{foot.name}]': ((0.0, 0.0, 0.0, *level), 1e-3)
            for foot in rig.feet
            if foot.sole_R_imu is not None
        },
    }
    if rig.robot.ground.moves:
        offsets['ground'] = None
    log = {}
    for seed, (signal, shape) in enumerate(offsets.items()):
        stamps = ticks(duration, *(periods or {}).get(signal, (0.01,)))
        if signal == 'orientation':
            values = quaternions(stamps)
        elif signal == 'ground':
            values = np.hstack([waves(stamps, (0.0, 0.0, 0.0), 0.02, 5), quaternions(stamps)])
        else:
            values = waves(stamps, *shape, seed)
        log[signal] = Message(stamps.copy(), stamps, values)
    return log


def whole(log):
    """All at once."""
    yield {signal: Samples(part.stamps, part.values) for signal, part in log.items()}


def singles(log):
    """One message at a time, in the order of arrival."""
    for signal, row in _in_order(log):
        part = log[signal]
        yield {signal: Samples(part.stamps[row : row + 1], part.values[row : row + 1])}


def chunks(log):
    """Pieces of odd lengths, the topics in another order."""
    order = _in_order(log)
    begin = number = 0
    while begin < len(order):
        end = begin + CHUNKS[number % len(CHUNKS)]
        begin, number, piece = end, number + 1, order[begin:end]
        rows = {signal: [row for name, row in piece if name == signal] for signal in log}
        yield {
            signal: Samples(log[signal].stamps[rows[signal]], log[signal].values[rows[signal]])
            for signal in reversed(log)
            if rows[signal]
        }


def late(log):
    """One message at a time, those of every topic late by its own delay, up to `LATEST`."""
    delays = np.random.default_rng(9).permutation(np.linspace(0, LATEST, len(log)))
    delayed = {}
    for (signal, part), delay in zip(log.items(), delays, strict=True):
        jitter = np.random.default_rng(int(delay)).uniform(0.5, 1.0, len(part.received))
        received = part.received + (delay * jitter).astype(np.int64)
        delayed[signal] = Message(np.maximum.accumulate(received), part.stamps, part.values)
    yield from singles(delayed)


FEEDINGS = {'whole': whole, 'chunks': chunks, 'singles': singles, 'late': late}


def _in_order(log):
    """(signal, row) of all messages in the order of arrival."""
    rows = [
        (int(time), signal, row)
        for signal, part in log.items()
        for row, time in enumerate(part.received)
    ]
    return [(signal, row) for _, signal, row in sorted(rows, key=lambda entry: entry[0])]


def evaluate(evaluator, pieces):
    """All results of an evaluator for signals in pieces."""
    results = [result for piece in pieces for result in evaluator.push(piece)]
    return Results(results + evaluator.flush())


class Results:
    """The evaluated instants one after the other.

    Attributes:
        stamps: (K,) [ns].
        columns: name → (K, …) all that was evaluated.
    """

    def __init__(self, parts: list[Evaluated]) -> None:
        self.stamps = np.concatenate([part.stamps for part in parts])
        columns = [_columns(part) for part in parts]
        names = dict.fromkeys(name for column in columns for name in column)
        self.columns = {
            name: np.concatenate(
                [
                    column.get(name, np.full((len(part.stamps), *_shape(columns, name)), np.nan))
                    for part, column in zip(parts, columns, strict=True)
                ]
            )
            for name in names
        }

    def __getitem__(self, name):
        return self.columns[name]


def _shape(columns, name):
    return next(column[name].shape[1:] for column in columns if name in column)


def _columns(result):
    quantities = ('wrenches', 'points', 'margins')
    found = {
        f'{quantity}.{name}': values
        for quantity in quantities
        for name, values in getattr(result, quantity).items()
    }
    return found | {
        'q': result.joints.positions,
        'qd': result.joints.velocities,
        'qdd': result.joints.accelerations,
        'joints_valid': result.joints.valid,
        'root_valid': result.root.valid,
        'omega': result.root.angular_velocity,
        'alpha': result.root.angular_acceleration,
        'phi': result.root.proper_acceleration,
        'R': result.world.R,
        'p': result.world.p,
        'v': result.world.v,
        'com': result.com,
        'loaded': result.loaded,
        'normal': result.plane.normal,
        'point': result.plane.point,
    }
