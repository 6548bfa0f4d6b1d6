"""The ground plane from IMUs in the feet, beside the sources of `ground_plane`.

The sole of a standing foot lies on the ground, so its z axis is the ground's normal. Root and foot
see the same vertical: the orientation of the sole by kinematics is corrected by the smallest
rotation that brings the vertical of the foot to that of the root. So errors of the joints
(elasticity, backlash) and the rocking of the foot do not tilt the ground.

That rotation has no definite axis where the two verticals are opposite, and is no correction of
such errors long before: beyond `LARGEST_CORRECTION` the foot's IMU contradicts the joints (it is
mounted otherwise than stated, or an encoder lost its zero), and the plane is not known.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.stability.ground_plane import GroundPlane, Sole

LARGEST_CORRECTION = 90.0
"""Angle between the verticals of foot and root up to which the sole is corrected [deg]."""


def plane_of_foot_imus(
    soles: tuple[Sole, ...], foot: Indices, ups: tuple[Array, ...], up_in_root: Array
) -> GroundPlane:
    """Take the plane under a foot, inclined as its IMU measures.

    Where the IMU knows no vertical (the foot has just landed), it is the plane of the sole by
    kinematics.

    Args:
        soles: the feet.
        foot: (T,) index into them.
        ups: (T, 3) of each foot the vertical in its sole by its IMU; NaN where it is not known.
        up_in_root: (T, 3) a vector against gravity in root axes, from the orientation of the
            root; NaN where it is not known.

    Returns:
        The plane; its normal is NaN where `up_in_root` is not known and where the IMU contradicts
        the joints by more than `LARGEST_CORRECTION`.
    """
    instants = np.arange(len(up_in_root))
    R = np.stack([sole.R for sole in soles])[foot, instants]
    point = np.stack([sole.p for sole in soles])[foot, instants]
    seen = np.einsum('tij,tj->ti', R, np.stack(ups)[foot, instants])
    wanted = up_in_root / np.linalg.norm(up_in_root, axis=1, keepdims=True)
    seen = np.where(np.isfinite(seen), seen, wanted)
    return GroundPlane(_turned(R[:, :, 2], seen, wanted), point)


def _turned(vectors: Array, source: Array, target: Array) -> Array:
    """Apply the smallest rotation that takes the unit vectors `source` to `target`.

    Returns:
        The vectors (T, 3); NaN where the angle is larger than `LARGEST_CORRECTION`.
    """
    axis = np.cross(source, target)
    cosine = np.sum(source * target, axis=1, keepdims=True)
    cross = np.cross(axis, vectors)
    known = cosine >= np.cos(np.deg2rad(LARGEST_CORRECTION))
    return vectors + cross + np.cross(axis, cross) / np.where(known, 1.0 + cosine, np.nan)
