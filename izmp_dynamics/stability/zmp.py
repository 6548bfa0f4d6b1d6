"""The zero-moment point of a contact wrench on a plane (paper, eqs. 21 and 22).

One function serves MR-AD, IR-MD and the feet's sensors: only the source of the wrench decides
whether the point is called imaginary ZMP (from the motion, Vukobratović et al., 2001) or centre
of pressure (from the feet's forces).
"""

import numpy as np

from izmp_dynamics.conventions import Array, cross
from izmp_dynamics.dynamics.contact_wrench import ContactWrench


def zero_moment_point(
    wrench: ContactWrench, normal: Array, ground_point: Array, minimum_force: float
) -> Array:
    """Find the point of the plane about which the wrench has no moment along the plane.

    z = (n × M + (n·p0) F) / (n·F) for the plane n·(x − p0) = 0.

    Args:
        wrench: about the origin of the frame, (3,) or (T, 3) each.
        normal: (…, 3) unit normal n of the plane in the frame, pointing away from the ground.
        ground_point: (…, 3) a point p0 of the plane in the frame [m].
        minimum_force: normal force below which there is no such point (flight) [N].

    Returns:
        (…, 3) the point in the frame [m]; NaN where the normal force is less than
        `minimum_force` (or not known).
    """
    normal_force = np.sum(normal * wrench.force, axis=-1, keepdims=True)
    height = np.sum(normal * ground_point, axis=-1, keepdims=True)
    carried = np.where(normal_force >= max(minimum_force, 1e-9), normal_force, np.nan)
    point: Array = (cross(normal, wrench.moment) + height * wrench.force) / carried
    return point
