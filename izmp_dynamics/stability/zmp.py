"""The zero-moment point of a contact wrench on a plane (paper, eqs. 21 and 22).

One function serves MR-AD, IR-MD and the feet's sensors: only the source of the wrench decides
whether the point is called imaginary ZMP (from the motion, Vukobratović et al., 2001) or centre
of pressure (from the feet's forces).
"""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array, cross
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.errors import ShapeError


def zero_moment_point(
    wrench: ContactWrench,
    normal: npt.ArrayLike,
    ground_point: npt.ArrayLike,
    minimum_force: float,
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

    Raises:
        ShapeError: if an argument does not hold vectors of three numbers, or their numbers differ.
    """
    force, moment, n, p0 = vectors = (
        np.asarray(wrench.force), np.asarray(wrench.moment),
        np.asarray(normal), np.asarray(ground_point),
    )  # fmt: skip
    if not force.shape == moment.shape == n.shape == p0.shape or force.shape[-1:] != (3,):
        _check_shapes(vectors)
    normal_force = np.sum(n * force, axis=-1, keepdims=True)
    height = np.sum(n * p0, axis=-1, keepdims=True)
    carried = np.where(normal_force >= max(minimum_force, 1e-9), normal_force, np.nan)
    point: Array = (cross(n, moment) + height * force) / carried
    return point


def _check_shapes(vectors: tuple[Array, ...]) -> None:
    """Refuse what is no vectors (…, 3) or cannot be broadcast: (3,) fits all, T rows only T."""
    shape: tuple[int, ...] = (3,)
    names = ('force', 'moment', 'normal', 'ground_point')
    for name, array in zip(names, vectors, strict=True):
        if array.shape[-1:] != (3,):
            raise ShapeError(name, '(…, 3)', array.shape)
        try:
            shape = np.broadcast_shapes(shape, array.shape)
        except ValueError:
            raise ShapeError(name, f'(3,) or {shape}', array.shape) from None
