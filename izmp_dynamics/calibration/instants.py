"""A stretch after the filter, at uniform instants: what all residuals are made from."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.ndimage

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.calibration.regressor import LinkInertia
from izmp_dynamics.calibration.smooth import SmoothSignal
from izmp_dynamics.calibration.stretch import Stretch
from izmp_dynamics.dynamics.mr_ad_batch import compile_batch
from izmp_dynamics.pipeline.rig import FootRig, Rig
from izmp_dynamics.stability.sole_motion import SoleMotion, sole_motion

RATE = 50.0
"""Of the instants [Hz]."""

SLOW = 0.1
"""A robot whose joints are all slower stands [rad/s] or [m/s]."""

NEAR = 0.3
"""Time before and after a movement that belongs to it [s]."""

POSTURE = 1.0
"""Standing counts as so much of walking, however long it lasts [s]."""

EDGE = 0.3
"""Time at both ends of a stretch that is left out, for the filter and the delays [s]."""

BEYOND = 5.0
"""Time about a piece of a stretch in which its signals are known: longer than any delay [s]."""

Flags = npt.NDArray[np.bool_]


@dataclass
class Instants:
    """A stretch, filtered, at K uniform instants.

    Attributes:
        rig: the robot.
        links: its links with mass.
        times: (K,) [s].
        q: (K, n) joint positions [rad] or [m].
        qd: (K, n) their derivatives.
        qdd: (K, n) their second derivatives.
        imu: signal (6,).
        feet: foot → signal (6,).
        soles: of the feet.
        sensors: foot → root_R_sensor (K, 3, 3) and its origin (K, 3).
        below: foot → links that its sensor does not feel.
        rest: (K, F) which feet rest.
        air: (K, F) which feet are in the air.
    """

    rig: Rig
    links: tuple[LinkInertia, ...]
    times: Array
    q: Array
    qd: Array
    qdd: Array
    imu: SmoothSignal
    feet: Mapping[str, SmoothSignal]
    soles: tuple[SoleMotion, ...]
    sensors: Mapping[str, tuple[Array, Array]]
    below: Mapping[str, frozenset[str]]
    rest: Flags = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))
    air: Flags = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def moving(self) -> Flags:
        """(K,) whether the joints move, or have moved or will move within `NEAR`."""
        fast = np.abs(self.qd).max(axis=1, initial=0.0) > SLOW
        width = 2 * round(NEAR * RATE) + 1
        flags: Flags = scipy.ndimage.binary_dilation(fast, np.ones(width))
        return flags

    @cached_property
    def shares(self) -> Array:
        """(K,) what an instant counts: however long the robot stands, it is one posture."""
        shares = np.ones(len(self))
        labels, count = scipy.ndimage.label(~self.moving)
        for label in range(1, count + 1):
            rows = labels == label
            shares[rows] = min(1.0, POSTURE * RATE / np.count_nonzero(rows))
        return shares

    def select(self, rows: Flags) -> 'Instants':
        """The instants of a mask (K,), for residuals at them; it does not know what moves."""

        def cut(value: Any) -> Any:
            some = isinstance(value, np.ndarray) and len(value)
            return np.ascontiguousarray(value[rows]) if some else value

        soles = tuple(
            SoleMotion(**{name: cut(value) for name, value in vars(sole).items()})
            for sole in self.soles
        )
        sensors = {name: (cut(R), cut(p)) for name, (R, p) in self.sensors.items()}
        arrays = {
            name: cut(getattr(self, name)) for name in ('times', 'q', 'qd', 'qdd', 'rest', 'air')
        }
        return replace(self, soles=soles, sensors=sensors, **arrays)

    def piece(self, first: int, end: int) -> 'Instants':
        """The instants from one on and before another; it knows what moves, and its signals."""
        rows = np.zeros(len(self), dtype=np.bool_)
        rows[first:end] = True
        part = self.select(rows)
        near = part.times[0] - BEYOND, part.times[-1] + BEYOND
        feet = {name: signal.between(*near) for name, signal in self.feet.items()}
        part = replace(part, imu=self.imu.between(*near), feet=feet)
        vars(part).update(moving=self.moving[rows], shares=self.shares[rows])
        return part

    def with_contacts(self, rest: Flags, air: Flags) -> 'Instants':
        """The same instants with other contacts (K, F)."""
        part = copy.copy(self)
        part.rest, part.air = rest, air
        return part

    @property
    def measured(self) -> tuple[FootRig, ...]:
        """The feet with sensors."""
        return tuple(foot for foot in self.rig.feet if foot.sensor is not None)

    @property
    def normal_only(self) -> bool:
        """Whether any foot measures the vertical force alone."""
        return any(foot.normal_only for foot in self.measured)


def prepare(stretch: Stretch, rig: Rig, links: tuple[LinkInertia, ...], cutoff: float) -> Instants:
    """Filter a stretch and move the robot's feet.

    Args:
        stretch: the signals.
        rig: the robot.
        links: its links with mass.
        cutoff: of the filter [Hz].
    """
    origin = stretch.begin
    rate = max(100.0, min(500.0, 40.0 * cutoff))
    compile_batch()
    joints, imu = (
        SmoothSignal(samples, cutoff, origin, rate) for samples in (stretch.joints, stretch.imu)
    )
    feet = {n: SmoothSignal(s, cutoff, origin, rate) for n, s in stretch.feet.items()}
    end = (stretch.end - origin) / NANOSECONDS
    times = np.arange(EDGE, end - EDGE, 1.0 / RATE)
    q, qd, qdd = (joints.at(times, order) for order in range(3))
    model = rig.model
    sensors, below = {}, {}
    for foot in rig.feet:
        if foot.sensor is not None:
            sensors[foot.name] = model.frame_pose(foot.sensor, q)
            below[foot.name] = _links_below(rig, foot)
    soles = tuple(
        sole_motion(model, foot.sole, foot.polygon, lambda shift: joints.at(times + shift))
        for foot in rig.feet
    )
    whole = Instants(rig, links, times, q, qd, qdd, imu, feet, soles, sensors, below)
    return whole.select(np.ones(len(times), dtype=np.bool_))  # one layout of arrays, here and sent


def _links_below(rig: Rig, foot: FootRig) -> frozenset[str]:
    """Links that the sensor of a foot does not feel."""
    stated = next(f.wrench for f in rig.robot.feet if f.name == foot.name)
    if stated is None or stated.below is None:
        return frozenset()
    return rig.model.links_carried(stated.below)
