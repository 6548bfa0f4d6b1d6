"""Where the ground is, in the root frame, and which feet stand on it.

The ground plane comes from the sole of the foot that carries most ('sole'), from gravity at the
height of that sole ('gravity'), or from the x-y plane of a named link ('frame'). Orientation
enters the whole method only here, as the normal of the plane.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array
from izmp_dynamics.errors import SensingError

SAME_HEIGHT = 0.01
"""Feet without force sensors stand if their soles are this close above the lowest one [m]."""


@dataclass(frozen=True)
class Sole:
    """A foot's sole over time, in the root frame.

    Attributes:
        R: (T, 3, 3) root_R_sole.
        p: (T, 3) origin of the sole frame [m].
        corners: (T, V, 3) corners of the sole [m].
        normal_force: (T,) force on the sole along its z axis [N]; None without a sensor.
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
    forces, known = _forces(soles, len(up))
    if known.all():
        return forces >= contact_force
    heights = _heights(soles, up)
    with np.errstate(invalid='ignore'):
        by_force = forces >= contact_force
        by_height = heights <= heights.min(axis=1, initial=np.inf, keepdims=True) + SAME_HEIGHT
    loaded: npt.NDArray[np.bool_] = np.where(known[:, None], by_force, by_height)
    return loaded


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
    forces, known = _forces(soles, len(up))
    if not known.all():
        forces = np.where(known[:, None], forces, -_heights(soles, up))
    foot: npt.NDArray[np.intp] = forces.argmax(axis=1)
    return foot


def plane_of_soles(soles: tuple[Sole, ...], up: Array) -> GroundPlane:
    """Take the plane of the sole that carries most."""
    instants = np.arange(len(up))
    foot = supporting_foot(soles, up)
    normal = np.stack([sole.R[:, :, 2] for sole in soles])[foot, instants]
    point = np.stack([sole.p for sole in soles])[foot, instants]
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


def _forces(soles: tuple[Sole, ...], count: int) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return (T, F) normal forces, NaN without a sensor, and (T,) where all are known."""
    forces = np.full((count, len(soles)), np.nan)
    for k, sole in enumerate(soles):
        if sole.normal_force is not None:
            forces[:, k] = sole.normal_force
    return forces, np.asarray(np.isfinite(forces).all(axis=1))


def _heights(soles: tuple[Sole, ...], up: Array) -> Array:
    """Return (T, F) heights of the lowest corners above the root; NaN where `up` is not known."""
    length = np.linalg.norm(up, axis=1)
    direction = up / np.where(length > 0, length, np.nan)[:, None]
    heights = np.empty((len(up), len(soles)))
    for k, sole in enumerate(soles):
        heights[:, k] = _along(sole.corners, direction).min(axis=1)
    return heights


def _along(points: Array, direction: Array) -> Array:
    projected: Array = np.einsum('tvj,tj->tv', points, direction)
    return projected
