"""Samples of one topic at the instants of another.

A sample with exactly the wanted stamp is used as it is. Where a topic has none, its two
neighbours are interpolated, if they are no further apart than `max_gap`; otherwise there is no
value. What was interpolated is counted, so that a log whose topics share no clock is noticed.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import NANOSECONDS, Array, Stamps


@dataclass(frozen=True)
class Paired:
    """Values of a stream at K wanted instants.

    Attributes:
        values: (K, m); NaN where there is no value.
        valid: (K,) whether there is one.
        interpolated: (K,) whether it was interpolated.
    """

    values: Array
    valid: npt.NDArray[np.bool_]
    interpolated: npt.NDArray[np.bool_]


def pair(instants: Stamps, stamps: Stamps, values: Array, max_gap: float) -> Paired:
    """Give a stream's values at the wanted instants.

    Args:
        instants: (K,) wanted [ns].
        stamps: (T,) of the stream, strictly increasing [ns].
        values: (T, m) of the stream.
        max_gap: longest time between neighbours that is interpolated across [s].
    """
    if not len(stamps):
        none = np.zeros(len(instants), dtype=np.bool_)
        return Paired(np.full((len(instants), values.shape[1]), np.nan), none, none)
    after = np.clip(np.searchsorted(stamps, instants), 0, len(stamps) - 1)
    before = np.maximum(after - 1, 0)
    exact = stamps[after] == instants
    span = stamps[after] - stamps[before]
    enclosed = (stamps[before] < instants) & (instants < stamps[after])
    interpolated = enclosed & (span <= round(max_gap * NANOSECONDS))
    fraction = (instants - stamps[before]) / np.maximum(span, 1)
    between = values[before] + fraction[:, None] * (values[after] - values[before])
    paired = np.where(exact[:, None], values[after], between)
    valid = (exact | interpolated) & np.isfinite(paired).all(axis=1)
    paired[~valid] = np.nan
    return Paired(paired, valid, interpolated & valid)


def pair_rotations(
    instants: Stamps, stamps: Stamps, quaternions_xyzw: Array, max_gap: float
) -> Paired:
    """As `pair`, for unit quaternions (T, 4): neighbours are brought to the same sign."""
    paired = pair(instants, stamps, same_sign(quaternions_xyzw), max_gap)
    length = np.linalg.norm(paired.values, axis=1, keepdims=True)
    return Paired(paired.values / length, paired.valid, paired.interpolated)


def same_sign(quaternions: Array) -> Array:
    """Turn the signs of quaternions (T, 4) so that none jumps to the other half of the sphere."""
    continuous: Array = quaternions.copy()
    if len(continuous) > 1:
        flips = np.sum(continuous[1:] * continuous[:-1], axis=1) < 0
        continuous[1:][np.logical_xor.accumulate(flips)] *= -1.0
    return continuous
