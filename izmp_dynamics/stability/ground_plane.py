"""Where the ground is, in the root frame, and which feet stand on it.

The ground plane comes from the sole of the foot that carries most ('sole'), from gravity at the
height of that sole ('gravity'), or from the x-y plane of a named link ('frame'). Orientation
enters the whole method only here, as the normal of the plane.
"""

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array, Indices, frozen
from izmp_dynamics.errors import SensingError
from izmp_dynamics.kernel import kernel

SAME_HEIGHT = 0.01
"""Feet without force sensors stand if their soles are this close above the lowest one [m]."""


@dataclass(frozen=True)
class Sole:
    """A foot's sole over time, in the root frame.

    Attributes:
        R: (T, 3, 3) root_R_sole.
        p: (T, 3) origin of the sole frame [m].
        corners: (T, V, 3) corners of the sole [m].
        normal_force: (T,) force on the sole along its z axis, on a foot that touches the ground
            with a point the size of the force [N]; None without a sensor.
    """

    R: Array
    p: Array
    corners: Array
    normal_force: Array | None

    @classmethod
    def from_polygon(
        cls, R: Array, p: Array, polygon: Array, normal_force: Array | None
    ) -> 'Sole':
        """Place a polygon (V, 2) [m], given in the sole frame."""
        corners = p[:, None] + np.einsum('tij,vj->tvi', R[:, :, :2], polygon)
        return cls(R, p, corners, normal_force)


@dataclass(frozen=True)
class GroundPlane:
    """The ground plane n·(x − p0) = 0 over time, in the root frame.

    Attributes:
        normal: (T, 3) unit normal n.
        point: (T, 3) p0 [m].
    """

    normal: Array
    point: Array


def loaded_feet(soles: tuple[Sole, ...], up: Array, contact_force: float) -> npt.NDArray[np.bool_]:
    """Determine which feet carry load.

    Args:
        soles: the F feet.
        up: (T, 3) a vector pointing up in the root frame, for feet without sensors.
        contact_force: normal force from which on a foot is loaded [N].

    Returns:
        (T, F). Where the force of every foot is known, by force; else by height above the lowest
        sole. None is loaded where that is not known either.
    """
    return standing(soles, up, contact_force)[0]


def supporting_foot(soles: tuple[Sole, ...], up: Array) -> npt.NDArray[np.intp]:
    """Return (T,) the index of the foot that carries most; the lowest where forces are unknown.

    Raises:
        SensingError: if there are no feet.
    """
    if not soles:
        raise SensingError(
            'The robot file lists no feet, so the ground is not known; add feet, or name a link '
            'in the plane of the ground with ground.source: frame.',
            kind='no_feet',
        )
    return standing(soles, up, 0.0)[1]


def plane_of_soles(soles: tuple[Sole, ...], up: Array) -> GroundPlane:
    """Take the plane of the sole that carries most."""
    return plane_under(soles, supporting_foot(soles, up))


def plane_under(soles: tuple[Sole, ...], foot: npt.NDArray[np.intp]) -> GroundPlane:
    """Take the plane of the sole of a foot, (T,) index into `soles`."""
    if len(foot) == 1:
        sole = soles[int(foot[0])]
        return GroundPlane(sole.R[:, :, 2].copy(), sole.p.copy())
    instants = np.arange(len(foot))
    normal = np.array([sole.R[:, :, 2] for sole in soles])[foot, instants]
    point = np.array([sole.p for sole in soles])[foot, instants]
    return GroundPlane(normal, point)


def level_plane(soles: tuple[Sole, ...], up: Array, world_R_root: Array | None) -> GroundPlane:
    """Take the level plane through the lowest corner of the sole that carries most.

    Args:
        soles: the feet.
        up: (T, 3) a vector pointing up in the root frame.
        world_R_root: (T, 3, 3) orientation of the root; its world's z axis points up.

    Raises:
        SensingError: without orientation.
    """
    if world_R_root is None:
        raise SensingError(
            'ground.source is gravity, which needs the orientation of the root, but the IMU '
            'publishes none (orientation_covariance[0] is −1); use ground.source: sole, or give '
            'a pose topic under position.',
            kind='no_orientation', source='gravity',
        )  # fmt: skip
    normal = world_R_root[:, 2, :]
    foot = supporting_foot(soles, up)
    instants = np.arange(len(up))
    corners = np.stack(
        [sole.corners[instants, np.argmin(_along(sole.corners, normal), axis=1)] for sole in soles]
    )
    return GroundPlane(normal, corners[foot, instants])


def standing(
    soles: tuple[Sole, ...], up: Array, contact_force: float
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Determine `loaded_feet` (T, F) and, 0 without feet, the `supporting_foot` (T,)."""
    forces = np.full((len(up), len(soles)), np.nan)
    for k, sole in enumerate(soles):
        if sole.normal_force is not None:
            forces[:, k] = sole.normal_force
    corners, foot = joined_corners(tuple(sole.corners for sole in soles))
    upwards = np.array(up, dtype=np.float64)
    loaded = np.empty(forces.shape, dtype=np.bool_)
    most = np.empty(len(up), dtype=np.intp)
    _judge(forces, corners, foot, upwards, float(contact_force), loaded, most)
    return loaded, most


def joined_corners(corners: tuple[Array, ...]) -> tuple[Array, Indices]:
    """Join the corners (T, V, 3) of soles: (T, C, 3), and (C,) the foot that each belongs to."""
    joined = np.concatenate(corners, axis=1) if corners else np.empty((0, 0, 3))
    return joined, _owners(tuple(part.shape[1] for part in corners))


@functools.cache
def _owners(counts: tuple[int, ...]) -> Indices:
    """Foot of each corner, given the number of corners of each foot."""
    return frozen(np.repeat(np.arange(len(counts)), counts), np.int64)


@kernel
def _judge(
    forces: Array,
    corners: Array,
    foot: Indices,
    up: Array,
    contact_force: float,
    loaded: npt.NDArray[np.bool_],
    most: npt.NDArray[np.intp],
) -> None:
    """Write what `standing` returns."""
    rows, feet = forces.shape
    most[:] = 0
    heights = np.empty(feet)
    for t in range(rows):
        carried = forces[t]
        if np.isfinite(carried).all():
            for f in range(feet):
                loaded[t, f] = carried[f] >= contact_force
        else:
            _lowest(corners[t], foot, up[t], heights)
            carried, lowest = -heights, np.inf
            for f in range(feet):
                if heights[f] < lowest or np.isnan(heights[f]):
                    lowest = heights[f]
            for f in range(feet):
                loaded[t, f] = heights[f] <= lowest + SAME_HEIGHT
        for f in range(1, feet):
            known = not np.isnan(carried[most[t]])  # else the ground is not known either
            if known and not carried[f] <= carried[most[t]]:
                most[t] = f


@kernel
def _lowest(corners: Array, foot: Indices, up: Array, heights: Array) -> None:
    """Write the heights (F,) of the lowest corners above the root; NaN where `up` is unknown."""
    length = np.sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2])
    if not length > 0.0:
        length = np.nan
    heights[:] = np.inf
    for c in range(len(corners)):
        height = 0.0
        for k in range(3):
            height += corners[c, k] * (up[k] / length)
        if height < heights[foot[c]] or np.isnan(height):
            heights[foot[c]] = height


def _along(points: Array, direction: Array) -> Array:
    projected: Array = np.einsum('tvj,tj->tv', points, direction)
    return projected
