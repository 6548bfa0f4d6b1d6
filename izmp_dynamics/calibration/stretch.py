"""A recording as stretches without gaps, each signal an array over its own stamps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.pipeline.limits import (
    LARGEST_JOINT_POSITION,
    LARGEST_LOAD,
    LARGEST_MOTION,
    too_large,
)
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.signals.correction import Correction
from izmp_dynamics.signals.gyroscope_delay import realigned
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds

SHORTEST = 1.5
"""A stretch that is shorter is left out [s]."""

LONGEST_GAP = 0.2
"""A longer time without a sample ends a stretch [s]; one of four periods does as well."""


@dataclass(frozen=True)
class Stretch:
    """Signals of a robot over a time without gaps, less the errors that its file states.

    Attributes:
        bag: name of the recording.
        begin: of the time that all signals share [ns].
        end: of that time [ns].
        joints: (T, n) positions; joints without a publisher are at zero.
        imu: (T, 6) angular velocity [rad/s] and specific force [m/s²] in the axes of the sensor.
        feet: foot → (T, 6) wrench in the axes of its sensor's frame, as it acts on the robot.
    """

    bag: str
    begin: int
    end: int
    joints: Samples
    imu: Samples
    feet: Mapping[str, Samples]

    @property
    def duration(self) -> float:
        """How long it is [s]."""
        return (self.end - self.begin) / NANOSECONDS


def cut_stretches(name: str, rig: Rig, signals: Mapping[str, Samples]) -> tuple[Stretch, ...]:
    """Cut signals into stretches in which joints, IMU and all feet's sensors publish.

    Args:
        name: of the recording.
        rig: the robot, prepared; what its file states about errors is taken out.
        signals: by name as `pipeline.evaluator` takes them, in any order of their stamps.
    """
    joints = _usable(signals.get('joints'), Correction(), whole=False)
    imu = _usable(signals.get('imu'), rig.imu.correction, LARGEST_MOTION)
    imu = realigned(imu, rig.imu.correction.gyroscope_delay)
    load = LARGEST_LOAD * rig.model.total_mass * rig.robot.gravity
    feet = {
        foot.name: _usable(signals.get(f'feet[{foot.name}]'), foot.correction, load)
        for foot in rig.feet
        if foot.sensor is not None
    }
    return tuple(_cut(name, _columns(joints), joints, imu, feet))


def _usable(
    samples: Samples | None,
    correction: Correction,
    largest: Array | float = np.inf,
    whole: bool = True,
) -> Samples:
    """Samples in the order of their stamps, each stamp once, without those that are none.

    Args:
        samples: (T, m); None: there are none.
        correction: of them.
        largest: size that no such sensor can read.
        whole: whether all numbers of a sample must be there.
    """
    if samples is None:
        return Samples.empty(6)
    samples = correction.apply(samples.rows(~too_large(samples.values, largest)))
    good = (samples.stamps > 0) & ~np.isinf(samples.values).any(axis=1)
    if whole:
        good &= np.isfinite(samples.values).all(axis=1)
    return _merged(samples.rows(good))


def _merged(samples: Samples) -> Samples:
    """Samples (T, m) in the order of their stamps; those of equal stamps are one.

    Of numbers that several of them have the first counts: publishers of some joints each may share
    their stamps.
    """
    stamps, which = np.unique(samples.stamps, return_inverse=True)
    values = np.full((len(stamps), samples.values.shape[1]), np.nan)
    for k, column in enumerate(samples.values.T):
        known = np.flatnonzero(np.isfinite(column))[::-1]  # the last one assigned stays
        values[which[known], k] = column[known]
    return Samples(stamps, values)


def _columns(joints: Samples) -> list[Samples]:
    """The samples of every joint that has some."""
    credible = np.abs(np.nan_to_num(joints.values, nan=np.inf)) <= LARGEST_JOINT_POSITION
    return [
        Samples(joints.stamps[rows], joints.values[rows, k : k + 1])
        for k, rows in enumerate(credible.T)
        if rows.any()
    ]


def _cut(
    bag: str, columns: list[Samples], joints: Samples, imu: Samples, feet: dict[str, Samples]
) -> Iterator[Stretch]:
    """Yield the times in which no signal has a gap."""
    gaps = [gap for samples in (*columns, imu, *feet.values()) for gap in _gaps(samples)]
    signals = (*columns, imu, *feet.values())
    if not columns or not all(len(samples) for samples in signals):
        return
    begin = max(int(samples.stamps[0]) for samples in signals)
    last = min(int(samples.stamps[-1]) for samples in signals)
    while begin < last:
        ahead = [gap for gap in gaps if gap[1] > begin]
        end = min((gap[0] for gap in ahead), default=last)
        end = min(end, last)
        if end - begin >= nanoseconds(SHORTEST):
            yield Stretch(
                bag,
                begin,
                end,
                _filled(joints, begin, end),
                _between(imu, begin, end),
                {name: _between(samples, begin, end) for name, samples in feet.items()},
            )
        later = [gap[1] for gap in ahead if gap[0] <= end]
        begin = max(later, default=last)


def _gaps(samples: Samples) -> list[tuple[int, int]]:
    """Stamps before and after every gap [ns]."""
    rows = np.flatnonzero(np.diff(samples.stamps) > _longest_step(samples))
    return [(int(samples.stamps[k]), int(samples.stamps[k + 1])) for k in rows]


def _longest_step(samples: Samples) -> int:
    """Time between samples that is no gap yet [ns]."""
    steps = np.diff(samples.stamps)
    return max(nanoseconds(LONGEST_GAP), 4 * int(np.median(steps)) if len(steps) else 0)


def _between(samples: Samples, begin: int, end: int) -> Samples:
    """The samples of a time, and one neighbour on either side."""
    first = max(0, int(np.searchsorted(samples.stamps, begin)) - 1)
    part = samples.rows(slice(first, int(np.searchsorted(samples.stamps, end)) + 2))
    reach = _longest_step(samples)  # a neighbour beyond a gap is none
    return part.rows((part.stamps >= begin - reach) & (part.stamps <= end + reach))


def _filled(joints: Samples, begin: int, end: int) -> Samples:
    """Every joint at every stamp, interpolated where a message lacks it."""
    part = _between(joints, begin, end)
    values: Array = np.zeros_like(part.values)
    for k, column in enumerate(part.values.T):
        known = np.isfinite(column) & (np.abs(column) <= LARGEST_JOINT_POSITION)
        if known.any():
            values[:, k] = np.interp(part.stamps, part.stamps[known], column[known])
    return Samples(part.stamps, values)
