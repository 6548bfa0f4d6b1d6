"""The motion of the root link as its sensors measure it: the floating base of both methods."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.signals.differences import Mask


@dataclass(frozen=True)
class RootState(Record):
    """Motion of the root link at T instants, in root axes, at the origin of the root.

    Attributes:
        stamps: (T,) the instants [ns].
        angular_velocity: (T, 3) ω [rad/s].
        angular_acceleration: (T, 3) ω̇ [rad/s²].
        proper_acceleration: (T, 3) φ = a - g of the root origin [m/s²]; upwards at rest.
        valid: (T,) False where a value is missing; the entries that depend on it are NaN.
    """

    stamps: Stamps
    angular_velocity: Array
    angular_acceleration: Array
    proper_acceleration: Array
    valid: Mask


def root_state(
    stamps: Stamps,
    angular_velocity: Array,
    angular_acceleration: Array,
    proper_acceleration: Array,
) -> RootState:
    """Assemble a `RootState`; an instant is valid if all its numbers are finite."""
    together = np.concatenate(
        [angular_velocity, angular_acceleration, proper_acceleration], axis=1
    )
    return RootState(
        stamps,
        angular_velocity,
        angular_acceleration,
        proper_acceleration,
        np.isfinite(together).all(axis=1),
    )
