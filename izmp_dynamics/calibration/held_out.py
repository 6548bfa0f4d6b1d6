"""Motion that is held out: errors on it, which a result is judged by, and what an item changes."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.residuals import Terms, residuals, zmp_and_cop
from izmp_dynamics.calibration.segments import RATE, Instants
from izmp_dynamics.calibration.solver import SEGMENT, Solution, linearised

FOLDS = 4
"""Parts that the motion is cut into; each is judged by what the others gave."""

LEAST_MOTION = 2.0
"""Less motion cannot be cut [s]."""

CLEAR = 2.0
"""Standard errors of a mean over parts of the motion that may be noise."""

LEAST_FORCE = 1e-3
"""Forces matter from this part of the weight on, as a tilt of a milliradian has it [-]."""

_LEAST_ARM = 0.5e-3  # moments matter if they move the IZMP so far [m]
_LEAST_RATE = 1e-3  # angular velocities matter from here on [rad/s]

WORSE = 1.01
"""Errors as part of what they were from which on they are worse [-]."""


class Squares(NamedTuple):
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

    @property
    def gap(self) -> float:
        """Distance of IZMP and CoP, along x or y of the root, whichever is larger [m]."""
        return max(self.izmp)

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


def noise(values: Array) -> Array:
    """(…) what the mean of values (P, …), one for each of P parts of the motion, leaves open."""
    open_: Array = CLEAR * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return open_


def worse(before: Sequence[Squares], after: Sequence[Squares]) -> tuple[str, ...]:
    """What gets worse on the parts of the motion, by more than its noise: names of `Squares`.

    Force, moment and IZMP each on its own, or `rest` where none of them is known.
    """
    known = any(len(part.force) for part in before)
    found = []
    for name in ('force', 'moment', 'izmp') if known else ('rest',):
        pairs = [(getattr(b, name), getattr(a, name)) for b, a in zip(before, after, strict=True)]
        means = np.array([(old.mean(), new.mean()) for old, new in pairs if len(old) and len(new)])
        if len(means) < 2:
            continue
        old, new = means.T
        if new.mean() > max(WORSE**2 * old.mean(), old.mean() + noise(old)):
            found.append(name)
    return tuple(found)


def motion_time(segments: Sequence[Instants]) -> float:
    """How long the robot moves [s]."""
    return sum(int(np.count_nonzero(part.moving)) for part in segments) / RATE


def folds(segments: Sequence[Instants]) -> list[tuple[Flags, ...]]:
    """Cut the motion into parts of equal length.

    Returns:
        For each part the instants (K,) of every segment that are held out.
    """
    cuts = np.linspace(0, sum(int(part.moving.sum()) for part in segments), FOLDS + 1)
    before, numbers = 0, []
    for part in segments:
        number = before + np.cumsum(part.moving) - 1
        before += int(part.moving.sum())
        numbers.append(number)
    return [
        tuple(
            part.moving & (number >= low) & (number < high)
            for part, number in zip(segments, numbers, strict=True)
        )
        for low, high in itertools.pairwise(cuts)
    ]


def errors(
    segments: Sequence[Instants], layout: Layout, x: Array, used: Sequence[Flags]
) -> Squares:
    """Squares of the errors at the instants (K,) of every segment that are used, for x (N,)."""
    force, moment, izmp, rest = [], [], [np.empty((0, 2))], []
    for segment, rows in zip(segments, used, strict=True):
        if not rows.any():
            continue
        instants = segment.select(rows)
        terms = Terms.of(instants, layout, x)
        for block in residuals(instants, terms):
            values = block.values
            if block.kind == 'wrench':
                split = 3 if values.shape[1] == 6 else 1
                force.append((values[:, :split] ** 2).sum(axis=1))
                moment.append((values[:, split:] ** 2).sum(axis=1))
            elif block.kind == 'accelerometer':
                rest.append((values**2).sum(axis=1))
        if instants.all_measured:
            one, other = zmp_and_cop(instants, terms)
            gap = (one - other)[:, :2] ** 2
            izmp.append(gap[np.isfinite(gap).all(axis=1)])
    none = [np.empty(0)]
    return Squares(*(np.concatenate(part or none) for part in (force, moment, izmp, rest)))


def _rms(squares: Sequence[Array]) -> float:
    joined = np.concatenate(squares)
    return float(np.sqrt(joined.mean())) if len(joined) else float('nan')


@dataclass(frozen=True)
class Judged:
    """Residuals of a kind on P parts of the motion, as a quadratic form in changes of x.

    Attributes:
        A: (P, N, N) Σ JᵀJ of each part.
        b: (P, N) Σ Jᵀv.
        c: (P,) Σ v².
        count: (P,) rows.
        least: what matters.
    """

    A: Array
    b: Array
    c: Array
    count: Array
    least: float

    def squares(self, parts: Sequence[int], changes: Array) -> Array:
        """(P, I) of residuals on P parts of the motion, with x changed by (P, I, N).

        Their sum over the parts is the mean square as part of what matters.
        """
        y, A, b = changes, self.A[parts], self.b[parts, :, None]
        squares = (y @ A * y).sum(axis=2) + 2.0 * (y @ b)[..., 0] + self.c[parts, None]
        total: Array = squares / (self.least**2 * max(1, int(self.count[parts].sum())))
        return total


def judge(
    segments: Sequence[Instants], solution: Solution, parts: Sequence[tuple[Flags, ...]]
) -> list[Judged]:
    """Sum up residuals near a solution on the parts of the motion, forces apart from moments."""
    rig, size = segments[0].rig, len(solution.x)
    weight = rig.model.total_mass * rig.robot.gravity
    found: dict[tuple[str, int], Judged] = {}
    free = np.ones(size, dtype=np.bool_)
    for linear in linearised(segments, solution.layout, solution.about, free):
        for rows, jacobian in linear:
            matter: tuple[float, ...] = (LEAST_FORCE * weight, _LEAST_ARM * weight)
            if rows.kind == 'gyroscope':
                matter = (_LEAST_RATE,)
            if rows.kind in ('accelerometer', 'unit'):
                matter = (LEAST_FORCE * rig.robot.gravity,)
            if rows.kind == 'unit':
                matter = (_LEAST_RATE, *matter)
            for k, (columns, least) in enumerate(zip(rows.vectors, matter, strict=False)):
                sums = found.setdefault((rows.name, k), _nothing(len(parts), size, least))
                for part, of in enumerate(parts if len(rows) else ()):
                    mine = of[rows.label[0] // SEGMENT][rows.row]
                    J = jacobian[mine, columns].reshape(-1, size)
                    v = rows.values[mine, columns].reshape(-1)
                    sums.A[part] += J.T @ J
                    sums.b[part] += J.T @ v
                    sums.c[part] += v @ v
                    sums.count[part] += len(rows.values[mine])
    return list(found.values())


def _nothing(parts: int, size: int, least: float) -> Judged:
    A, b = np.zeros((parts, size, size)), np.zeros((parts, size))
    return Judged(A, b, np.zeros(parts), np.zeros(parts), least)
