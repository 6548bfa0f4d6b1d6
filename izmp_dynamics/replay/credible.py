"""Samples that cannot be true whatever the robot does: their stamp or their size gives them away.

Nothing here judges motion: a gate that knew how fast a robot may move would hide what the report
is to show. Only what no clock and no sensor of the kind can say is taken out.
"""

from collections import Counter

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import NANOSECONDS, Array, Stamps

Rows = npt.NDArray[np.bool_]

UNSET = 'stamp is zero or negative'

FAR = 10.0
"""A stamp so far from those of its neighbours is wrong [s]; a clock that was set is not."""

NEIGHBOURS = 5
"""Messages on either side of which the median stamp is taken."""

LARGEST_JOINT_POSITION = 1e4
"""[rad] or [m]; 1600 turns of a wheel."""

LARGEST_RATE = 100.0
"""[rad/s]; the fastest gyroscopes end at 4000 °/s = 70 rad/s."""

LARGEST_ACCELERATION = 2000.0
"""[m/s²]; 200 g."""

LARGEST_POSITION = 1e8
"""[m]; ECEF coordinates reach 6.4e6."""

LARGEST_POSE = np.repeat([LARGEST_POSITION, np.inf], [3, 4])
"""Position [m] and quaternion (7,)."""

LARGEST_LOAD = 100.0
"""Force and moment of a foot as a multiple of the robot's weight in N and N·m."""


def stamp_faults(stamps: Stamps) -> dict[str, Rows]:
    """Find stamps that cannot be true.

    Args:
        stamps: (T,) in the order of arrival [ns].

    Returns:
        Reason → (T,) which stamps it applies to.
    """
    unset = stamps <= 0
    far = np.zeros(len(stamps), dtype=np.bool_)
    far[~unset] = _far(stamps[~unset])
    return {
        UNSET: unset,
        'stamp is far from those of its neighbours': far,
    }


def credible_stamps(stamps: Stamps) -> Rows:
    """(T,) which stamps [ns] may be true."""
    faults = stamp_faults(stamps)
    return ~np.asarray(np.stack(list(faults.values())).any(axis=0))


def too_large(values: Array, largest: Array | float) -> Rows:
    """(T,) which samples (T, m) hold a finite number larger than `largest`, one or (m,)."""
    numbers = np.isfinite(values) & (np.abs(values) > largest)
    return np.asarray(numbers.any(axis=1))


def count_faults(faults: dict[str, Rows]) -> Counter[str]:
    """Reason → number, of the reasons that occur."""
    return Counter({why: int(rows.sum()) for why, rows in faults.items() if rows.any()})


def _far(stamps: Stamps) -> Rows:
    """Compare with the median of the neighbours: a step passes, a stray message does not."""
    limit = round(FAR * NANOSECONDS)
    if len(stamps) < 3 or np.ptp(stamps) <= limit:
        return np.zeros(len(stamps), dtype=np.bool_)
    padded = np.pad(stamps, NEIGHBOURS, mode='reflect')
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * NEIGHBOURS + 1)
    middle = np.partition(around, NEIGHBOURS, axis=1)[:, NEIGHBOURS]
    step = np.median(np.abs(np.diff(stamps)))
    return np.asarray(np.abs(stamps - middle) > max(limit, 10.0 * step))
