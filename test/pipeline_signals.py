"""Signals of biped31 without a simulation, and the ways in which a pipeline can be fed with them.

The numbers belong to no motion that physics knows; they are smooth, and every sensor has some.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import frozen
from izmp_dynamics.signals.samples import Samples

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
    """All results of an evaluator for signals in pieces, as one."""
    results = [result for piece in pieces for result in pushed(evaluator, piece)]
    return joined(results + evaluator.flush())


def pushed(evaluator, piece):
    """What a piece completes; single samples are read-only, as those of messages."""
    for signal, samples in piece.items():
        evaluator.take({signal: Samples(samples.stamps, frozen(samples.values))})
    return evaluator.advance()


def joined(parts):
    """Results one after the other: arrays, and what is made of arrays."""
    first = parts[0]
    if dataclasses.is_dataclass(first):
        names = [field.name for field in dataclasses.fields(first)]
        return type(first)(**{name: joined([getattr(p, name) for p in parts]) for name in names})
    if isinstance(first, dict):
        names = dict.fromkeys(name for part in parts for name in part)
        return {name: np.concatenate([_of(part, name, parts) for part in parts]) for name in names}
    if isinstance(first, tuple):
        return tuple(joined(some) for some in zip(*parts, strict=True))
    return np.concatenate(parts) if isinstance(first, np.ndarray) else first


def columns(result, name=''):
    """Name → (K, …) all arrays of a result."""
    if dataclasses.is_dataclass(result):
        result = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    if isinstance(result, tuple):
        result = dict(enumerate(result))
    if isinstance(result, dict):
        found = [columns(value, f'{name}.{key}') for key, value in result.items()]
        return {path: values for some in found for path, values in some.items()}
    return {name[1:]: result} if isinstance(result, np.ndarray) else {}


def _of(part, name, parts):
    """Values of a part; NaN where only the others have them."""
    if name in part:
        return part[name]
    rows = len(next(iter(part.values())))
    shape = next(other[name].shape[1:] for other in parts if name in other)
    return np.full((rows, *shape), np.nan)
