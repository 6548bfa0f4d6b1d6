"""Gates, central quotients and their judgement in one compiled call, for `acd`."""

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.differences import Mask, central, contiguous
from izmp_dynamics.signals.outlier_gate import gate, judge, settled_rows

_HALF = 1
"""Samples on either side of an instant that its quotients take in."""


@kernel
def central_instants(
    stamps: Stamps,
    positions: Array,
    limit: Array,
    resolution: Array,
    gap: int,
    reach: int,
    recovery: int,
    next_row: int,
    quotients: Array,
    exists: Mask,
    valid: Mask,
    masks: Mask,
) -> tuple[int, bool]:
    """Differentiate the newest samples of a stream, as `acd` does step by step.

    Args:
        stamps: (T,) strictly increasing [ns].
        positions: (T, n) encoder values [rad] or [m].
        limit: (n,) acceleration limits [rad/s²] or [m/s²].
        resolution: (n,) of the encoders [rad] or [m].
        gap: samples further apart do not know each other [ns].
        reach: samples after one that decide whether it is an outlier.
        recovery: instants that a joint stays at fault after a kink.
        next_row: first row that has not been handed out; negative: no sample follows.
        quotients: (3, T, n) is given the values and their derivatives, as far as they are known.
        exists: (T,) is given whether there are quotients.
        valid: (T,) is given whether all joints can be trusted.
        masks: (2, T, n) False; is given what was repaired, and what is faulty.

    Returns:
        Before which row no further sample can change anything; whether anything is wrong.
    """
    used, found = np.empty(positions.shape), np.empty_like(masks)
    outliers, kinks = found[0], found[1]
    gate(stamps, positions, limit, resolution, gap, used, outliers, kinks)
    rows = len(stamps)
    if next_row >= 0:
        rows = settled_rows(stamps, outliers, gap, reach)
    central(stamps[:rows], used[:rows], gap, quotients[:, :rows], exists[:rows])
    valid[:rows] = exists[:rows]
    any_wrong = judge(
        stamps[:rows], quotients[0, :rows], quotients[1, :rows], quotients[2, :rows],
        exists[:rows], outliers[:rows], kinks[:rows], gap, 0, _HALF, recovery,
        valid[:rows], masks[0, :rows], masks[1, :rows],
    )  # fmt: skip
    if next_row < 0:
        return rows, any_wrong
    end = max(next_row, rows - _HALF)
    while end < rows and not contiguous(stamps, end, min(end + _HALF, len(stamps) - 1), gap):
        end += 1
    return end, any_wrong
