"""Which foot rests on the ground and which is in the air.

Height decides first: while a robot sways, a foot may be without load on the ground.
"""

import numpy as np
import numpy.typing as npt
import scipy.ndimage

from izmp_dynamics.base.conventions import Array, cross
from izmp_dynamics.stability.clearance import CLEARANCE_WITH_FORCES, clearances
from izmp_dynamics.stability.sole_motion import SoleMotion

MARGIN = 0.04
"""Time about lift-off and touch-down that counts as neither [s]."""

UNLOADED = 0.1
"""A foot in the air reads what it reads in the air, within this part of the weight [-]."""

LOADED = 0.5
"""A foot that stands alone carries at least this part of the weight [-]."""

STILL = (0.05, 0.01)
"""Two soles that rest do not turn [rad/s] or move [m/s] faster against each other."""

Flags = npt.NDArray[np.bool_]


def contacts(
    soles: tuple[SoleMotion, ...], loads: tuple[Array | None, ...], weight: float, rate: float
) -> tuple[Flags, Flags]:
    """Decide on the feet.

    Args:
        soles: of F feet.
        loads: (K,) normal force of each [N]; None without a sensor.
        weight: of the robot [N].
        rate: of the instants [Hz].

    Returns:
        (K, F) at rest on the ground, (K, F) in the air.
    """
    count, feet = len(soles[0].p), len(soles)
    rest, air = np.zeros((2, count, feet), dtype=np.bool_)
    if feet == 1:
        load = loads[0]
        rest[:, 0] = True if load is None else load > LOADED * weight
        return rest, air
    heights = clearances(soles)
    for k in range(feet):
        air[:, k] = heights[:, k] > CLEARANCE_WITH_FORCES
        load = loads[k]
        if load is not None and air[:, k].any():
            in_air = float(np.median(load[air[:, k]]))
            air[:, k] &= np.abs(load - in_air) < UNLOADED * weight
        air[:, k] = _eroded(air[:, k], rate)
    for k in range(feet):
        others = [other for other in range(feet) if other != k]
        alone = air[:, others].all(axis=1)
        together = np.ones(count, dtype=np.bool_)
        for other in others:
            together &= _still(soles[k], soles[other]) & (
                np.abs(heights[:, other]) < CLEARANCE_WITH_FORCES
            )
        load = loads[k]
        if load is not None:
            alone &= load > LOADED * weight
        rest[:, k] = _eroded(alone & ~air[:, k], rate) | _eroded(together, rate)
    return rest, air


def _still(one: SoleMotion, other: SoleMotion) -> Flags:
    turning = np.linalg.norm(one.w - other.w, axis=1)
    # what the second sole does in the first one's frame
    moving = np.linalg.norm(other.v - one.v - cross(one.w, other.p - one.p), axis=1)
    still: Flags = (turning < STILL[0]) & (moving < STILL[1])
    return still


def _eroded(flags: Flags, rate: float) -> Flags:
    width = 2 * max(1, round(MARGIN * rate)) + 1
    eroded: Flags = scipy.ndimage.binary_erosion(flags, np.ones(width), border_value=1)
    return eroded
