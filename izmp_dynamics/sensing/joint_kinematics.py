"""The state of the joints at a series of instants, and what was wrong with its samples."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.signals.differences import Mask
from izmp_dynamics.signals.stamps import REASONS, Verdicts


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

    @cached_property
    def moving(self) -> Mask:
        """(K,) whether any joint moves at all, or may do so."""
        moving: Mask = (self.velocities != 0.0).any(axis=1)
        return moving


@dataclass(frozen=True)
class JointFaults:
    """What was wrong with the samples of a batch; rows count the samples as they were given.

    Attributes:
        joint_names: the n joints.
        verdicts: (T,) `StampVerdict` of each sample; 0: used.
        repaired: (T, n) outliers that were replaced by interpolation.
        faulty: (T, n) instants at which the joint has no trustworthy value.
    """

    joint_names: tuple[str, ...]
    verdicts: Verdicts
    repaired: Mask
    faulty: Mask

    def counts(self) -> Faults:
        """Count the faults, for reports."""
        left_out = (verdict for verdict in self.verdicts.tolist() if verdict)
        counts: Faults = Counter(Fault(REASONS[verdict]) for verdict in left_out)
        for reason, mask in (
            (Reason.JOINT_REPAIRED, self.repaired),
            (Reason.JOINT_FAULTY, self.faulty),
        ):
            totals = mask.sum(axis=0)
            for joint in np.flatnonzero(totals):
                counts[Fault(reason, self.joint_names[joint])] = int(totals[joint])
        return counts


def joined(parts: list[JointKinematics], dof: int) -> JointKinematics:
    """One joint kinematics after the other; none at all for n = `dof` joints."""
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.empty((0, dof))
        stamps = np.empty(0, dtype=np.int64)
        return JointKinematics(stamps, none, none, none, np.zeros(0, dtype=np.bool_))
    return JointKinematics.joined(parts)
