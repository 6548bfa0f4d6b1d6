"""What force plates say about the motion: where they are against it, and where the mass is.

A foot that walks is loaded from heel to toes: the middle of that path is the middle of the sole.
Where it is not, either the sole is longer than it is taken to be, which is ahead of each foot, or
the plates are shifted, which has one direction in the world. Steps in several directions separate
the two. Once that is mended, the centre of pressure is below the centre of mass on average, or the
model has its mass elsewhere than the person.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.signal

from izmp_dynamics.base.conventions import Array

_SCATTER = 0.015
"""Of the middle of the path of a step, a standard deviation [m]."""

_SOLE = 0.02
"""How far the middle of a sole may be off, a standard deviation [m]."""

_WINDOW = 1.0
"""Time over which forces and motion are compared [s]."""

_CARRIED = 0.03
"""Part of the vertical impulse that may be missing where plates carry all of the body [-]."""

_ROLLED = 0.5
"""Part of the sole that the path of a step covers at least [-]."""


class Step(NamedTuple):
    """What one foot felt from touch-down to lift-off, alone.

    Attributes:
        corners: (4, 2) of its sole, in its link [m].
        path: (N, 2) centre of pressure there [m].
        R: (N, 3, 3) world_R_link.
    """

    corners: Array
    path: Array
    R: Array


class Shift(NamedTuple):
    """How far plates are from where the feet say, or a mass from where plates say.

    Attributes:
        value: (2,) from where they are to where they are taken to be [m].
        sigma: (2,) standard deviations [m].
        steps: how many steps, or times of a second, show it.
    """

    value: Array
    sigma: Array
    steps: int

    @property
    def clear(self) -> npt.NDArray[np.bool_]:
        """(2,) whether it is neither chance nor smaller than what soles leave open."""
        return np.abs(self.value) > np.maximum(3.0 * self.sigma, _SOLE)


def find_shift(steps: Sequence[Step]) -> Shift | None:
    """Find the shift that all plates have in common.

    Args:
        steps: of all feet.

    Returns:
        The shift in the world; None if fewer than three feet rolled over a plate.
    """
    rows, given = [], []
    for heading, offset in _offsets(steps):
        rows.append(np.column_stack([np.eye(2), heading]))
        given.append(offset)
    prior = np.array([[0.0, 0.0, _SCATTER / _SOLE]])  # on the sole alone
    return _fitted([*rows, prior], [*given, np.zeros(1)]) if len(rows) > 2 else None


def find_imbalance(
    times: Array, com: Array, R: Array, wrench: Array, mass: float, gravity: float
) -> Shift | None:
    """Find how far the centre of mass of a model is from where the plates say.

    The impulse of moments about a fixed point is the change of angular momentum (Euler's second
    law, of the mass as a point), so for a time in which plates carry all of the body

        ∫ Fz cop dt = m g ∫ c dt + m [c ż − c_z ċ],

    of horizontal parts, less what bodies turn about themselves, which is little in a second.
    That needs velocities at its ends, but no acceleration.

    Args:
        times: (T,) [s], uniform.
        com: (T, 3) centre of mass in the world [m].
        R: (T, 3, 3) world_R_body of the body in whose axes the shift is constant.
        wrench: (T, 6) sum of all plates, about the origin of the world [N, N·m].
        mass: of the model [kg].
        gravity: magnitude [m/s²].

    Returns:
        The shift in x and y of the body; None if it is shown for less than two seconds.
    """
    if np.ptp(times) < _WINDOW:
        return None
    step = float(times[1] - times[0])
    count, smooth = round(_WINDOW / step), 2 * round(0.05 / step) + 1
    rows, given, first, weight = [], [], smooth // 2, mass * gravity
    mean = np.concatenate([[0.5], np.ones(count - 1), [0.5]]) / count
    velocity = scipy.signal.savgol_filter(com, smooth, 2, deriv=1, delta=step, axis=0)
    while first + count + smooth // 2 < len(times):
        part, ends = slice(first, first + count + 1), [first, first + count]
        middle, force, moment = mean @ com[part], mean @ wrench[part, :3], mean @ wrench[part, 3:]
        moment = moment - np.cross([*middle[:2], 0.0], force)
        c, v = com[ends] - middle, velocity[ends]
        fall = np.diff(v[:, 2])[0] / (gravity * _WINDOW)
        if abs(force[2] / weight - 1.0 - fall) > _CARRIED:
            first += max(1, count // 20)
            continue
        spin = np.diff(c[:, :2] * v[:, 2:] - com[ends, 2:] * v[:, :2], axis=0)[0]
        cop = np.array([-moment[1], moment[0]]) / weight
        rows.append(np.tensordot(mean, R[part], 1)[:2, :2])
        given.append(spin / (gravity * _WINDOW) - cop)
        first += count
    return _fitted(rows, given) if len(rows) > 1 else None


def _fitted(rows: Sequence[Array], given: Sequence[Array]) -> Shift:
    """Of the first two unknowns of A x = y by least squares; a prior is one more row."""
    A, y = np.vstack(rows), np.concatenate(given)
    covariance = np.linalg.inv(A.T @ A)
    x = covariance @ A.T @ y
    left = len(y) - A.shape[1]
    scatter = max(_SCATTER, float(np.sqrt(np.sum((y - A @ x) ** 2) / left)))
    return Shift(x[:2], scatter * np.sqrt(np.diag(covariance)[:2]), len(y) // 2)


def _offsets(steps: Sequence[Step]) -> Iterator[tuple[Array, Array]]:
    """Of steps that roll: direction of the foot (2,), middle of path from that of sole (2,)."""
    for step in steps:
        low, high = np.percentile(step.path, (2.0, 98.0), axis=0)
        if high[0] - low[0] > _ROLLED * np.ptp(step.corners[:, 0]):
            heading = step.R[:, :2, 0].sum(axis=0)
            heading /= np.linalg.norm(heading)
            x, y = (low + high) / 2.0 - step.corners.mean(axis=0)
            yield heading, x * heading + y * np.array([-heading[1], heading[0]])
