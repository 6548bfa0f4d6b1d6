"""Errors on motion that was held out: what a result is judged by."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.instants import RATE, Instants
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.residuals import (
    blocks,
    readings,
    required,
    root_motion,
    tilts,
    zmp_and_cop,
)

FOLDS = 4
"""Parts that the motion is cut into; each is judged by what the others gave."""

LEAST_MOTION = 2.0
"""Less motion cannot be cut [s]."""

WORSE, BETTER = 1.01, 0.97
"""Held-out errors as parts of what they were: none may rise above, one must fall below."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Squares:
    """Squares of errors at the instants of a part of the motion, as many as have each.

    Attributes:
        force: of the wrench [N²].
        moment: of the wrench [(N·m)²].
        izmp: (…, 2) of the distance of IZMP and CoP along x and y of the root [m²].
        rest: of the specific force while a foot rests [(m/s²)²].
    """

    force: Array
    moment: Array
    izmp: Array
    rest: Array


@dataclass(frozen=True)
class HeldOut:
    """Errors on motion that was held out, root mean squares.

    Attributes:
        force: of the wrench [N].
        moment: of the wrench [N·m].
        izmp: distance of IZMP and CoP along x and y of the root (2,) [m].
        rest: of the specific force while a foot rests [m/s²].
    """

    force: float
    moment: float
    izmp: tuple[float, float]
    rest: float

    @classmethod
    def of(cls, parts: Sequence[Squares]) -> 'HeldOut':
        """Pool the parts of the motion."""
        izmp = np.concatenate([part.izmp for part in parts])
        return cls(
            _rms([part.force for part in parts]),
            _rms([part.moment for part in parts]),
            (_rms([izmp[:, 0]]), _rms([izmp[:, 1]])),
            _rms([part.rest for part in parts]),
        )

    def against(self, before: 'HeldOut') -> Array:
        """What decides, as ratios to the errors before: wrench and IZMP.

        Force and moment count together, as a force that is left moves the moment about the root.
        Robots without force sensors are judged by `rest`.
        """
        wrench = np.hypot(self.force / before.force, self.moment / before.moment) / np.sqrt(2.0)
        ratios = np.array([wrench, np.hypot(*self.izmp) / np.hypot(*before.izmp)])
        return ratios if np.isfinite(ratios).all() else np.array([self.rest / before.rest])

    def score(self, before: 'HeldOut') -> float:
        """The mean of these ratios; the smaller the better."""
        return float(np.mean(self.against(before)))


def motion_time(stretches: Sequence[Instants]) -> float:
    """How long the robot moves [s]."""
    return sum(int(np.count_nonzero(part.moving)) for part in stretches) / RATE


def folds(stretches: Sequence[Instants]) -> list[tuple[Flags, ...]]:
    """Cut the motion into parts of equal length.

    Returns:
        For each part the instants (K,) of every stretch that are held out.
    """
    cuts = np.linspace(0, sum(int(part.moving.sum()) for part in stretches), FOLDS + 1)
    before, numbers = 0, []
    for part in stretches:
        number = before + np.cumsum(part.moving) - 1
        before += int(part.moving.sum())
        numbers.append(number)
    return [
        tuple(
            part.moving & (number >= low) & (number < high)
            for part, number in zip(stretches, numbers, strict=True)
        )
        for low, high in itertools.pairwise(cuts)
    ]


def errors(
    stretches: Sequence[Instants], layout: Layout, x: Array, used: Sequence[Flags]
) -> Squares:
    """Squares of the errors at the instants (K,) of every stretch that are used, for x (N,)."""
    force, moment, izmp, rest = [], [], [np.empty((0, 2))], []
    for whole, rows in zip(stretches, used, strict=True):
        if not rows.any():
            continue
        instants = whole.select(rows)
        motion = root_motion(instants, layout, x)
        needed, feet = required(instants, layout, x, motion), readings(instants, layout, x)
        for block in blocks(instants, motion, needed, feet, tilts(layout, x)):
            values = block.values[block.rows]
            if block.name == 'wrench':
                split = 3 if values.shape[1] == 6 else 1
                force.append((values[:, :split] ** 2).sum(axis=1))
                moment.append((values[:, split:] ** 2).sum(axis=1))
            elif block.name.startswith('accelerometer'):
                rest.append((values**2).sum(axis=1))
        if instants.measured and len(instants.measured) == len(instants.rig.feet):
            one, other = zmp_and_cop(instants, needed, feet)
            gap = (one - other)[:, :2] ** 2
            izmp.append(gap[np.isfinite(gap).all(axis=1)])
    none = [np.empty(0)]
    return Squares(*(np.concatenate(part or none) for part in (force, moment, izmp, rest)))


def _rms(squares: Sequence[Array]) -> float:
    joined = np.concatenate(squares)
    return float(np.sqrt(joined.mean())) if len(joined) else float('nan')


def improves(before: HeldOut, after: HeldOut, better: bool) -> bool:
    """Whether neither wrench nor IZMP is worse on what was held out.

    Args:
        before: without the corrections.
        after: with them.
        better: whether one of both must also be clearly better, as nothing else shows that
            something is corrected: other mountings of the force sensors.
    """
    ratios = after.against(before)
    return bool(np.all(ratios <= WORSE) and (not better or np.any(ratios < BETTER)))
