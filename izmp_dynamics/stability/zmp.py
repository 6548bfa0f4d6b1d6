"""The zero-moment point of a contact wrench on a plane (paper, eqs. 21 and 22).

One function serves MR-AD, IR-MD and the feet's sensors: only the source of the wrench decides
whether the point is called imaginary ZMP (from the motion, Vukobratović et al., 2001) or centre
of pressure (from the feet's forces).
"""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import add, cross, dot, scale, vector
from izmp_dynamics.dynamics.contact_wrench import ContactWrench


def zero_moment_point(
    wrench: ContactWrench,
    normal: npt.ArrayLike,
    ground_point: npt.ArrayLike,
    minimum_force: float,
) -> Array:
    """Find the point of the plane about which the wrench has no moment along the plane.

    z = (n × M + (n·p0) F) / (n·F) for the plane n·(x − p0) = 0 (paper, eqs. 21 and 22).

    Args:
        wrench: force [N] and moment [N·m] about the origin of the frame, (3,) or (T, 3) each.
        normal: (…, 3) unit normal n of the plane in the frame, pointing away from the ground.
        ground_point: (…, 3) a point p0 of the plane in the frame [m].
        minimum_force: normal force below which there is no such point (flight) [N].

    Returns:
        (…, 3) the point in the frame [m]; NaN where the normal force is less than
        `minimum_force` (or not known).

    Raises:
        ShapeError: if an argument does not hold vectors of three numbers, or their numbers differ.
    """
    vectors = [
        np.asarray(part, dtype=np.float64)
        for part in (wrench.force, wrench.moment, normal, ground_point)
    ]
    shape = vectors[0].shape
    if shape[-1:] != (3,) or any(part.shape != shape for part in vectors):
        shape = _common_shape(vectors)
        vectors = [*np.broadcast_arrays(*vectors)]
    force, moment, normals, places = (part.reshape(-1, 3) for part in vectors)
    wrenches = np.concatenate([force, moment], axis=1)
    return zero_moment_points(wrenches, normals, places, minimum_force).reshape(shape)


def zero_moment_points(
    wrenches: Array, normals: Array, ground_points: Array, minimum_force: float
) -> Array:
    """Do as `zero_moment_point` for wrenches (T, 6), given normals and points (T, 3)."""
    points = np.empty(normals.shape)
    write_points(
        np.array(wrenches), np.array(normals), np.array(ground_points),
        least_force(minimum_force), points,
    )  # fmt: skip
    return points


def least_force(minimum_force: float) -> float:
    """The normal force below which there is no point, which is no division by zero [N]."""
    return max(float(minimum_force), 1e-9)


@kernel
def write_points(
    wrenches: Array, normals: Array, ground_points: Array, minimum_force: float, points: Array
) -> None:
    """Write the points (T, 3)."""
    points[:] = np.nan
    for t in range(len(wrenches)):
        force, moment = vector(wrenches[t], 0), vector(wrenches[t], 3)
        n, p0 = vector(normals[t], 0), vector(ground_points[t], 0)
        normal_force = dot(n, force)
        if normal_force >= minimum_force:
            tilting = add(cross(n, moment), scale(dot(n, p0), force))
            for k in range(3):
                points[t, k] = tilting[k] / normal_force


def _common_shape(vectors: list[Array]) -> tuple[int, ...]:
    """Shape of the result; refuse what is no vectors (…, 3) or cannot be broadcast.

    (3,) fits all, T rows only T.
    """
    shape: tuple[int, ...] = (3,)
    names = ('force', 'moment', 'normal', 'ground_point')
    for name, array in zip(names, vectors, strict=True):
        if array.shape[-1:] != (3,):
            raise ShapeError(name, '(…, 3)', array.shape)
        try:
            shape = np.broadcast_shapes(shape, array.shape)
        except ValueError:
            raise ShapeError(name, f'(3,) or {shape}', array.shape) from None
    return shape
