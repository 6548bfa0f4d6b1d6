"""Which feet are in the air, by the joints alone."""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.stability.clearance import CLEARANCE_BY_JOINTS, lowest_above, stays_point


def in_air(evaluation: Evaluation, foot: Foot) -> npt.NDArray[np.bool_]:
    """(K,) whether the joints hold a foot above the soles of all others.

    Not known, so False, where the others touch the ground with points, which have no plane, and
    where a joint between the root and a sole is not known.
    """
    others = [
        other
        for other in evaluation.feet
        if other is not foot
        and other.axes is not None
        and not stays_point(other.sole)
        and not (other.held_joints or foot.held_joints)
    ]

    def aloft(rows: slice) -> npt.NDArray[np.bool_]:
        heights = [
            lowest_above(foot.sole[rows], other.sole[rows].mean(axis=1), other.axes[rows, :, 2])
            for other in others
            if other.axes is not None
        ]
        if not heights:
            return np.zeros(rows.stop - rows.start, dtype=np.bool_)
        with np.errstate(invalid='ignore'):
            lowest: Array = np.min(heights, axis=0)
            return np.asarray(lowest > CLEARANCE_BY_JOINTS)

    found: npt.NDArray[np.bool_] = evaluation.columns.by_blocks(len(evaluation.stamps), aloft)
    return found
