"""The external wrench: the contact wrench of the motion (MR-AD) less the measured one.

MR-AD gives the sum of all contacts, the feet's sensors those with the ground. The difference is a
push, a wall, a hand, or an error of model and sensors, which is always present.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.robust import median
from izmp_dynamics.dynamics.contact_wrench import ContactWrench

LEAST_PART = 0.02
"""Part of the weight below which a force cannot be distinguished from model errors [-]."""

ABOVE_MEDIAN = 8.0
"""Factor over its median above which a force counts as an event [-]."""

SHORTEST = 0.02
"""Shortest duration of an event, without its pauses; shorter ones may be outliers [s]."""

APART = 0.1
"""Forces with less time between them are parts of one, which noise cuts into pieces [s]."""

WEAK = 0.5
"""What is weaker than this part of it, before and after, does not belong to a force [-]."""


@dataclass(frozen=True)
class ExternalForce:
    """A force from outside that lasted for a while.

    Attributes:
        start: first instant at which it acted [ns].
        end: first instant at which it no longer did [ns].
        force: (3,) its mean, in the axes of the wrenches [N].
    """

    start: int
    end: int
    force: Array

    @property
    def duration(self) -> float:
        """How long it acted [s]."""
        return (self.end - self.start) / NANOSECONDS

    @property
    def size(self) -> float:
        """Magnitude of the mean force [N]."""
        return float(np.linalg.norm(self.force))


def external_wrench(moved: ContactWrench, measured: ContactWrench) -> ContactWrench:
    """Return the external wrench.

    Args:
        moved: (T,) contact wrench that the motion needs, by MR-AD.
        measured: (T,) that of all feet, with the mass below their sensors accounted for; about
            the same point in the same axes.
    """
    return ContactWrench(moved.force - measured.force, moved.moment - measured.moment)


def find_forces(stamps: Stamps, force: Array, weight: float) -> tuple[ExternalForce, ...]:
    """Find the external forces that lasted.

    Args:
        stamps: (T,) instants [ns].
        force: (T, 3) external force [N], in axes that do not turn much meanwhile; NaN where it is
            not known.
        weight: of the robot [N].

    Returns:
        The forces that rose above LEAST_PART of the weight and above ABOVE_MEDIAN times the
        median size, in the order of time. Those less than APART from each other are one, from the
        first to the last that is not WEAK, and likewise of its instants. It must have been above
        for at least SHORTEST in sum; a single sample that lasted less is an outlier and counts
        for nothing.
    """
    size = np.linalg.norm(force, axis=1)
    typical = median(size)
    if not np.isfinite(typical):
        return ()
    large = np.nan_to_num(size) > max(LEAST_PART * weight, ABOVE_MEDIAN * typical)
    starts, ends = np.flatnonzero(np.diff(large, prepend=False, append=False)).reshape(-1, 2).T
    begin, after = stamps[starts], stamps[np.minimum(ends, len(stamps) - 1)]
    lasted, shortest = after - begin, SHORTEST * NANOSECONDS
    kept = np.flatnonzero((ends - starts > 1) | (lasted >= shortest))
    apart = np.flatnonzero(begin[kept[1:]] - after[kept[:-1]] >= APART * NANOSECONDS) + 1
    found = []
    for pieces in np.split(kept, apart):
        if lasted[pieces].sum() < shortest:
            continue
        strength = np.array([size[starts[k] : ends[k]].mean() for k in pieces])
        weak = WEAK * strength.max()
        one, other = pieces[strength >= weak][[0, -1]]
        strong = np.flatnonzero(size[starts[one] : ends[other]] >= weak)
        first, stop = starts[one] + strong[[0, -1]] + (0, 1)
        end = stamps[min(stop, len(stamps) - 1)]
        if end - stamps[first] < shortest:  # an outlier in it
            first, stop, end = starts[one], ends[other], after[other]
        mean = np.nanmean(force[first:stop], axis=0)
        found.append(ExternalForce(int(stamps[first]), int(end), mean))
    return tuple(found)
