"""The motion of the root link as its sensors measure it: the floating base of both methods."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps, finite_rows
from izmp_dynamics.signals.differences import Mask


@dataclass(frozen=True)
class RootState(Record):
    """Motion of the root link at T instants, in root axes, at the origin of the root.

    Attributes:
        stamps: (T,) the instants [ns].
        angular_velocity: (T, 3) ω [rad/s].
        angular_acceleration: (T, 3) ω̇ [rad/s²].
        proper_acceleration: (T, 3) φ = a - g of the root origin [m/s²]; upwards at rest.
    """

    stamps: Stamps
    angular_velocity: Array
    angular_acceleration: Array
    proper_acceleration: Array

    @cached_property
    def valid(self) -> Mask:
        """(T,) False where a value is missing; the entries that depend on it are NaN."""
        numbers = (self.angular_velocity, self.angular_acceleration, self.proper_acceleration)
        return finite_rows(np.hstack(numbers))
