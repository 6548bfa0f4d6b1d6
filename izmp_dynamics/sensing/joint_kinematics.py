"""The state of the joints at a series of instants."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.signals.differences import Mask


@dataclass(frozen=True)
class JointKinematics(Record):
    """Joint positions, velocities and accelerations at K instants.

    Attributes:
        stamps: (K,) the instants [ns].
        positions: (K, n) q [rad] or [m].
        velocities: (K, n) q̇ [rad/s] or [m/s].
        accelerations: (K, n) q̈ [rad/s²] or [m/s²].
        valid: (K,) False where a joint has no trustworthy value; those entries are NaN.
    """

    stamps: Stamps
    positions: Array
    velocities: Array
    accelerations: Array
    valid: Mask

    @classmethod
    def none(cls, dof: int) -> 'JointKinematics':
        """No instants of n = `dof` joints."""
        stamps, nothing = np.empty(0, dtype=np.int64), np.empty((0, dof))
        return cls(stamps, nothing, nothing, nothing, np.zeros(0, dtype=np.bool_))

    @cached_property
    def moving(self) -> Mask:
        """(K,) whether any joint moves at all, or may do so."""
        return np.asarray((self.velocities != 0.0).any(axis=1))
