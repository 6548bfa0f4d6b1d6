"""Where the ZMP is meant to be: piecewise linear over the footholds.

While one foot swings, the ZMP travels along the other sole; while both carry, it crosses from one
to the other. It lies on the ground throughout, or between two grounds while the feet stand on both
sides of a ramp's edge.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_lab.walking.footsteps import Foothold, Footsteps, StepTiming
from izmp_lab.walking.plan import interpolated


@dataclass(frozen=True)
class ZmpReference:
    """The wanted ZMP over time, and the ground on which it lies.

    Attributes:
        point: (T, 3) in the world [m].
        normal: (T, 3) unit normal of the ground there; between the feet's while both carry.
        loads: (T, 2, 3) where the left and the right foot take their load while they carry [m]:
            the ends of the line on which the ZMP crosses.
    """

    point: Array
    normal: Array
    loads: Array

    def __post_init__(self) -> None:
        """Freeze copies of the arrays."""
        for name in ('point', 'normal', 'loads'):
            object.__setattr__(self, name, frozen(getattr(self, name)))


@dataclass(frozen=True)
class ZmpKnots:
    """The corners of the wanted ZMP's course.

    Attributes:
        times: (K,) [s].
        values: (K, 12) point, normal and loads, as in `ZmpReference`.
    """

    times: Array
    values: Array

    def points(self, times: Array) -> Array:
        """Return the wanted ZMP (T, 3) [m] at times (T,) [s]."""
        return interpolated(times, self.times, self.values[:, :3])

    def reference(self, times: Array) -> ZmpReference:
        """Return the whole reference at times (T,) [s]."""
        columns = interpolated(times, self.times, self.values)
        normal = columns[:, 3:6] / np.linalg.norm(columns[:, 3:6], axis=1, keepdims=True)
        return ZmpReference(columns[:, :3], normal, columns[:, 6:].reshape(-1, 2, 3))


def zmp_knots(footsteps: Footsteps, timing: StepTiming, travel: tuple[float, float]) -> ZmpKnots:
    """Lay the ZMP through the footholds.

    Args:
        footsteps: where the soles are.
        timing: when.
        travel: how far ahead of the sole's origin the ZMP is when a foot begins to carry alone,
            and when it ends [m].
    """
    begin, end = travel
    middle = 0.5 * (begin + end)
    knots = [_standing(0.0, footsteps.before(0), middle)]
    knots.append(_standing(timing.begins(0), footsteps.before(0), middle))
    for step, hold in enumerate(footsteps.steps):
        stance, swing = 1 - hold.foot, hold.foot
        ahead = {stance: begin, swing: end if step else middle}
        knots.append(_on_one_foot(timing.lifts(step), footsteps.before(step), stance, ahead))
        ahead = {stance: end, swing: begin}
        knots.append(_on_one_foot(timing.lands(step), footsteps.before(step + 1), stance, ahead))
    settled = timing.begins(timing.steps) + timing.double_support * timing.step_time
    for time in (settled, timing.duration):
        knots.append(_standing(time, footsteps.before(timing.steps), middle))
    return ZmpKnots(
        np.array([knot[0] for knot in knots]),
        np.stack([np.concatenate([array.ravel() for array in knot[1:]]) for knot in knots]),
    )


Knot = tuple[float, Array, Array, Array]
"""Time [s], ZMP (3,), normal (3,) and loads (2, 3)."""


def _standing(time: float, holds: tuple[Foothold, Foothold], ahead: float) -> Knot:
    loads = np.stack([hold.point(ahead) for hold in holds])
    normal = np.mean([hold.rotation[:, 2] for hold in holds], axis=0)
    return time, loads.mean(axis=0), normal, loads


def _on_one_foot(
    time: float, holds: tuple[Foothold, Foothold], stance: int, ahead: dict[int, float]
) -> Knot:
    loads = np.stack([hold.point(ahead[hold.foot]) for hold in holds])
    return time, loads[stance], holds[stance].rotation[:, 2], loads
