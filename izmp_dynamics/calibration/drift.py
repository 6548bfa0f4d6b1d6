"""How the offsets of the force sensors drift within a recording, from one swing to the next.

The offsets that are estimated are constant. What a sensor reads in each swing beyond them shows
whether they are.
"""

from collections.abc import Sequence

import numpy as np
import scipy.stats

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.instants import RATE
from izmp_dynamics.calibration.linear import Rows
from izmp_dynamics.calibration.noise import vectors
from izmp_dynamics.calibration.selection import SIGNIFICANT

LEAST_SWINGS = 4
"""Fewer swings show no drift."""

LEAST_DRIFT = 0.01
"""Drift of the force over a recording, as part of the weight, from which on it is said [-]."""


def swing_means(part: Rows) -> tuple[Array, Array]:
    """(S,) middle [s] and (S, c) median residual of each swing of a foot in one stretch."""
    ends = np.flatnonzero(np.diff(part.row) > 1) + 1
    swings = np.split(np.arange(len(part.row)), ends)
    times = np.array([part.row[rows].mean() / RATE for rows in swings])
    return times, np.array([np.median(part.values[rows], axis=0) for rows in swings])


def drifts(rows: Sequence[Rows], weight: float) -> list[str]:
    """Sentences about the sensors whose force drifts, for a recording in one stretch.

    Args:
        rows: residuals at the solution.
        weight: of the robot [N].
    """
    said = []
    for part in rows:
        kind, _, foot = part.name.rstrip(']').partition('[')
        if kind != 'swing' or not len(part.row) or np.ptp(part.stretch):
            continue
        times, values = swing_means(part)
        if len(times) < LEAST_SWINGS:
            continue
        force = values[:, vectors(part)[0]]
        t = times - times.mean()
        slope = t @ force / (t @ t)
        left = force - force.mean(axis=0) - t[:, None] * slope
        sigma = np.sqrt((left**2).sum() / (left.shape[1] * (len(t) - 2)) / (t @ t))
        size = float(np.linalg.norm(slope))
        axes, unknown = left.shape[1], left.shape[1] * (len(t) - 2)
        least = axes * scipy.stats.f.ppf(SIGNIFICANT, axes, unknown)
        if size * np.ptp(times) > LEAST_DRIFT * weight and size**2 > least * sigma**2:
            said.append(
                f"The offset of the force sensor of foot '{foot}' drifts by {60.0 * size:.2g} ± "
                f'{60.0 * sigma:.1g} N a minute. What is corrected is its mean: record less at '
                'once, or tare the sensor while the robot runs (service tare).'
            )
    return said
