"""Wild encoder values: found, repaired where that is safe, declared invalid where it is not.

One wrong joint position corrupts three joint accelerations and with them the whole contact wrench.
The gate works per joint, on physical bounds:

* *Spike.* A sample is compared with what its two predecessors, its two successors and its two
  neighbours predict for its instant. If all three disagree with it in the same direction, it went
  out and back within one sample. Smooth motion and sudden changes of velocity (an impact) never
  look like that: there the prediction from one side holds. A joint that cannot accelerate faster
  than a can go out and back by a h² / 4 at most in an interval h; beyond that, plus the
  resolution of the encoder, the sample is an outlier. A value that is not finite is one too.
* *Repair.* A single outlier between good neighbours is left out: the cubic through the two good
  samples on either side gives the value at its instant. Two or more in a row are not repaired.
* *Kink.* What remains is checked for the acceleration itself: the distance of a sample from the
  straight line between its neighbours is a h1 h2 / 2 for the acceleration a. Beyond the limit,
  plus the resolution, no joint moved like that: the instant is invalid.

The limit is 1000 rad/s² (m/s² for prismatic joints) by default. A change of velocity by 5 rad/s
from one sample to the next, harder than a heel strike, passes at any rate up to 1 kHz. The
resolution is 0.002 rad, one count of a 12-bit encoder: without it, the steps of such
an encoder would look like 1500 rad/s² at 1 kHz.
"""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.differences import Mask, contiguous

ACCELERATION_LIMIT = 1000.0
"""Joint acceleration that no joint exceeds [rad/s²] or [m/s²]."""

RESOLUTION = 0.002
"""Step of the encoder values that is no motion [rad] or [m]; 12 bits are 0.0015 rad."""

REACH = 2
"""Samples on either side that decide whether a sample is an outlier."""

REPAIR_REACH = 4
"""Samples on either side that the value of a repaired sample depends on."""


@kernel
def settled_rows(stamps: Stamps, outliers: Mask, gap: int, reach: int) -> int:
    """Leading rows whose position, repaired or not, no further sample can change.

    Args:
        stamps: (T,) [ns].
        outliers: (T, n) of `gate`.
        gap: samples further apart do not know each other [ns].
        reach: samples after a row that decide whether it is an outlier; 0 without the gate.
    """
    newest = len(stamps) - 1
    row = max(newest + 1 - REPAIR_REACH, 0)
    while row <= newest:
        alone = not contiguous(stamps, row, min(row + REPAIR_REACH, newest), gap)
        doubtful = newest < row + reach
        for k in range(max(row - 1, 0), row + 1):
            for j in range(outliers.shape[1]):
                doubtful = doubtful or outliers[k, j]
        if doubtful and not alone:
            break
        row += 1
    return row


@kernel
def gate(
    stamps: Stamps,
    positions: Array,
    limit: float,
    gap: int,
    repaired: Array,
    outliers: Mask,
    kinks: Mask,
) -> None:
    """Find the outliers of every joint and repair the single ones.

    Args:
        stamps: (T,) strictly increasing [ns].
        positions: (T, n) encoder values [rad] or [m]; NaN or inf count as outliers.
        limit: acceleration that no joint exceeds [rad/s²] or [m/s²]; inf finds non-finite values
            only.
        gap: samples further apart do not know each other [ns].
        repaired: (T, n) is given the samples; single outliers interpolated, several in a row NaN.
        outliers: (T, n) is given the samples that were found to be outliers.
        kinks: (T, n) is given samples at which the joint would exceed its acceleration limit.
    """
    _find_outliers(stamps, positions, limit, gap, outliers)
    _repair(stamps, positions, outliers, gap, repaired)
    _find_kinks(stamps, repaired, limit, gap, kinks)


@kernel
def _find_outliers(stamps: Stamps, q: Array, limit: float, gap: int, outliers: Mask) -> None:
    rows, joints = q.shape
    for k in range(rows):
        for j in range(joints):
            outliers[k, j] = not np.isfinite(q[k, j])
    for k in range(REACH, rows - REACH):
        if not contiguous(stamps, k - REACH, k + REACH, gap):
            continue
        h0 = (stamps[k - 1] - stamps[k - 2]) / NANOSECONDS
        h1 = (stamps[k] - stamps[k - 1]) / NANOSECONDS
        h2 = (stamps[k + 1] - stamps[k]) / NANOSECONDS
        h3 = (stamps[k + 2] - stamps[k + 1]) / NANOSECONDS
        shortest = min(h1, h2)
        for j in range(joints):
            past = q[k - 1, j] + (q[k - 1, j] - q[k - 2, j]) * (h1 / h0)
            future = q[k + 1, j] - (q[k + 2, j] - q[k + 1, j]) * (h2 / h3)
            between = (q[k - 1, j] * h2 + q[k + 1, j] * h1) / (h1 + h2)
            if not np.isfinite(past + future + between):
                continue
            above = q[k, j] - max(past, future, between)
            below = min(past, future, between) - q[k, j]
            if max(above, below) > 0.25 * limit * shortest * shortest + RESOLUTION:
                outliers[k, j] = True


@kernel
def _repair(stamps: Stamps, q: Array, outliers: Mask, gap: int, repaired: Array) -> None:
    rows, joints = q.shape
    for k in range(rows):
        alone = contiguous(stamps, k - 1, k + 1, gap)
        for j in range(joints):
            if not outliers[k, j]:
                repaired[k, j] = q[k, j]
            elif alone and not outliers[k - 1, j] and not outliers[k + 1, j]:
                repaired[k, j] = _interpolated(stamps, q, outliers, gap, k, j)
            else:
                repaired[k, j] = np.nan


@kernel
def _interpolated(stamps: Stamps, q: Array, outliers: Mask, gap: int, k: int, j: int) -> float:
    """Polynomial through the good ones of k-2, k-1, k+1, k+2 at the instant k (Lagrange)."""
    times = np.empty(4)
    values = np.empty(4)
    count = 0
    for row in (k - 2, k - 1, k + 1, k + 2):
        if contiguous(stamps, min(row, k), max(row, k), gap) and not outliers[row, j]:
            times[count] = (stamps[row] - stamps[k]) / NANOSECONDS
            values[count] = q[row, j]
            count += 1
    total = 0.0
    for i in range(count):
        weight = 1.0
        for m in range(count):
            if m != i:
                weight *= times[m] / (times[m] - times[i])
        total += weight * values[i]
    return total


@kernel
def _find_kinks(stamps: Stamps, q: Array, limit: float, gap: int, kinks: Mask) -> None:
    rows, joints = q.shape
    for k in range(rows):
        if not contiguous(stamps, k - 1, k + 1, gap):
            for j in range(joints):
                kinks[k, j] = False
            continue
        h1 = (stamps[k] - stamps[k - 1]) / NANOSECONDS
        h2 = (stamps[k + 1] - stamps[k]) / NANOSECONDS
        for j in range(joints):
            between = (q[k - 1, j] * h2 + q[k + 1, j] * h1) / (h1 + h2)
            kinks[k, j] = abs(q[k, j] - between) > 0.5 * limit * h1 * h2 + RESOLUTION


@kernel
def judge(
    stamps: Stamps,
    value: Array,
    first: Array,
    second: Array,
    exists: Mask,
    outliers: Mask,
    kinks: Mask,
    gap: int,
    width: int,
    half: int,
    recovery: int,
    valid: Mask,
    repaired: Mask,
    faulty: Mask,
) -> bool:
    """Find instants without a trustworthy value: a hole in the stencil, a kink in or before it.

    Args:
        stamps: (T,) [ns].
        value: (T, n); NaN is filled in where a joint is at fault, as in the derivatives.
        first: (T, n) derivative; NaN where a sample of the stencil is missing.
        second: (T, n) likewise.
        exists: (T,) whether the stencil is complete.
        outliers: (T, n) of `gate`.
        kinks: (T, n) of `gate`.
        gap: kinks before a longer time than this do not count [ns].
        width: the stencil reaches to the first samples at least so far away on either side [ns].
        half: samples of the stencil beyond those.
        recovery: instants that a joint stays at fault after a kink.
        valid: (T,) as `exists`; False is filled in where a joint is at fault.
        repaired: (T, n) False; is given values that were repaired.
        faulty: (T, n) False; is given faulty ones.

    Returns:
        Whether there are any of the two.
    """
    rows, joints = first.shape
    any_wrong = False
    for k in range(rows):
        if not exists[k]:
            continue
        last, beyond = k, 0
        while last < rows - 1 and stamps[last + 1] - stamps[last] <= gap:
            if stamps[last] - stamps[k] >= width:
                beyond += 1
                if beyond >= half:
                    break
            last += 1
        start, beyond = k, 0
        while start > 0 and stamps[start] - stamps[start - 1] <= gap:
            if stamps[k] - stamps[start] >= width:
                beyond += 1
                if beyond >= half + recovery:
                    break
            start -= 1
        for j in range(joints):
            wrong = not (np.isfinite(first[k, j]) and np.isfinite(second[k, j]))
            for i in range(start, last + 1):
                wrong = wrong or kinks[i, j]
            any_wrong = any_wrong or wrong or outliers[k, j]
            if wrong:
                faulty[k, j] = True
                valid[k] = False
                value[k, j] = first[k, j] = second[k, j] = np.nan
            else:
                repaired[k, j] = outliers[k, j]
    return any_wrong
