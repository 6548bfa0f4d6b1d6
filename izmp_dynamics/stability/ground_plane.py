"""Where the ground is, in the root frame, and which feet stand on it.

The ground plane comes from the sole of the foot that carries most ('sole'), from gravity at the
height of that sole ('gravity'), from IMUs in the feet ('feet_imus'), or from the x-y plane of a
named frame ('frame'). Orientation enters the whole method only here, as the normal of the plane.

A foot that touches the ground with a ball has no plane of its own: that of 'sole' is here the one
through the balls that carry load, three or more; through two it is as level as their line allows.
"""

import functools
import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Indices, frozen
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import dot, vector
from izmp_dynamics.model.body_layout import POSE, POSITION

SAME_HEIGHT = 0.01
"""Feet without force sensors stand if their soles are this close above the lowest one [m]."""

SLENDER = 0.05
"""Points whose spread across is less than this share of that along are on a line [-]."""


LARGEST_CORRECTION = 90.0
"""Angle between the verticals of foot and root up to which the sole is corrected [deg].

Beyond, the foot's IMU contradicts the joints: it is mounted otherwise than stated, or an encoder
lost its zero.
"""


@dataclass(frozen=True)
class Sole:
    """A foot's sole over time, in the root frame.

    Attributes:
        R: (T, 3, 3) root_R_sole; of a ball the axes of the ground plane, see `plane_axes`.
        p: (T, 3) origin of the sole frame [m]; of a ball the point that touches the ground.
        corners: (T, V, 3) corners of the sole [m]; of a ball that point.
        normal_force: (T,) force on the sole along its z axis, on a foot that touches the ground
            with a point along the ground's normal [N]; None without a sensor.
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
class Soles(Record):
    """The soles of F feet over time, in the root frame, side by side as kernels take them.

    Attributes:
        poses: (T, F, 12) root_R_sole, row-major, and the origin of the sole frame [m].
        corners: (T, C, 3) corners of the soles, foot by foot [m].
        forces: (T, F) as `Sole.normal_force`; NaN where it is not known.
        counts: (F,) how many corners are those of each foot.
        sensed: (F,) which feet have a sensor.
    """

    poses: Array
    corners: Array
    forces: Array
    counts: tuple[int, ...]
    sensed: tuple[bool, ...]

    @property
    def foot(self) -> Indices:
        """(C,) which foot each corner belongs to."""
        return _owners(self.counts)

    @classmethod
    def of(cls, soles: tuple[Sole, ...], count: int) -> 'Soles':
        """Join soles, at `count` instants."""
        poses, forces = np.empty((count, len(soles), POSE)), np.full((count, len(soles)), np.nan)
        for k, sole in enumerate(soles):
            poses[:, k, :POSITION] = sole.R.reshape(count, POSITION)
            poses[:, k, POSITION:] = sole.p
            if sole.normal_force is not None:
                forces[:, k] = sole.normal_force
        corners, foot = joined_corners(tuple(sole.corners for sole in soles))
        counts = tuple(sole.corners.shape[1] for sole in soles)
        sensed = tuple(sole.normal_force is not None for sole in soles)
        return cls(poses, corners.reshape(count, len(foot), 3), forces, counts, sensed)

    @cached_property
    def each(self) -> tuple[Sole, ...]:
        """One per foot."""
        R = self.poses[:, :, :POSITION].reshape(*self.poses.shape[:2], 3, 3)
        ends = [0, *itertools.accumulate(self.counts)]
        return tuple(
            Sole(
                R[:, k],
                self.poses[:, k, POSITION:],
                self.corners[:, ends[k] : ends[k + 1]],
                self.forces[:, k] if sensed else None,
            )
            for k, sensed in enumerate(self.sensed)
        )


@dataclass(frozen=True)
class GroundPlane(Record):
    """The ground plane n·(x − p0) = 0 over time, in the root frame.

    Attributes:
        normal: (T, 3) unit normal n.
        point: (T, 3) p0 [m].
    """

    normal: Array
    point: Array


@dataclass(frozen=True)
class GroundFrame(Record):
    """Pose of a ground's own frame at T instants, in the root frame; NaN where it is not known.

    A board that rolls or a deck that heaves accelerates, and so does a robot that stands on it.
    The contact wrench of MR-AD needs no inertial frame, so the ground enters as a plane only, and
    that may move arbitrarily.

    Attributes:
        R: (T, 3, 3) root_R_ground.
        p: (T, 3) origin of the frame [m].
    """

    R: Array
    p: Array

    @classmethod
    def from_world(
        cls, world_R_ground: Array, world_p_ground: Array, world_R_root: Array, world_p_root: Array
    ) -> 'GroundFrame':
        """Convert poses given in the world; shapes as those of the attributes."""
        root_R_world = np.swapaxes(world_R_root, 1, 2)
        p = np.einsum('tij,tj->ti', root_R_world, world_p_ground - world_p_root)
        return cls(root_R_world @ world_R_ground, p)

    @classmethod
    def from_link(
        cls, link_R_ground: Array, link_p_ground: Array, root_R_link: Array, root_p_link: Array
    ) -> 'GroundFrame':
        """Convert a pose given in a link; shapes as those of the attributes."""
        p = root_p_link + np.einsum('tij,tj->ti', root_R_link, link_p_ground)
        return cls(root_R_link @ link_R_ground, p)

    def plane(self, height: float = 0.0) -> GroundPlane:
        """The plane z = height [m] of the frame, in the root frame."""
        normal = self.R[:, :, 2]
        return GroundPlane(normal, self.p + height * normal)

    def points(self, points: Array) -> Array:
        """Express points (T, 3) [m] of the root frame in this frame."""
        return np.asarray(np.einsum('tji,tj->ti', self.R, points - self.p))


def plane_under(soles: Soles, foot: Indices) -> GroundPlane:
    """Take the plane of the sole of a foot, (T,) index into the feet."""
    poses = soles.poses[np.arange(len(foot)), foot]
    return GroundPlane(np.ascontiguousarray(poses[:, 2:POSITION:3]), poses[:, POSITION:])


def level_plane(soles: tuple[Sole, ...], foot: Indices, up: Array) -> GroundPlane:
    """Take the level plane through the lowest corner of the sole of a foot.

    Args:
        soles: the feet.
        foot: (T,) index into them.
        up: (T, 3) unit vector against gravity in the root frame.
    """
    instants = np.arange(len(up))
    corners = np.stack(
        [sole.corners[instants, np.argmin(_along(sole.corners, up), axis=1)] for sole in soles]
    )
    return GroundPlane(up, corners[foot, instants])


def plane_of_foot_imus(
    soles: tuple[Sole, ...], foot: Indices, ups: tuple[Array, ...], up_in_root: Array
) -> GroundPlane:
    """Take the plane under a foot, inclined as its IMU measures.

    The sole of a standing foot lies on the ground, so its z axis is the ground's normal. Root and
    foot see the same vertical: the orientation of the sole by kinematics is corrected by the
    smallest rotation that brings the vertical of the foot to that of the root. So errors of the
    joints (elasticity, backlash) and the rocking of the foot do not tilt the ground. That rotation
    has no definite axis where both are opposite, and is no such correction long before.

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


def joined_corners(corners: tuple[Array, ...]) -> tuple[Array, Indices]:
    """Join the corners (T, V, 3) of soles: (T, C, 3), and (C,) the foot that each belongs to."""
    joined = np.concatenate(corners, axis=1) if corners else np.empty((0, 0, 3))
    return joined, _owners(tuple(part.shape[1] for part in corners))


@functools.cache
def _owners(counts: tuple[int, ...]) -> Indices:
    """Foot of each corner, given the number of corners of each foot."""
    return frozen(np.repeat(np.arange(len(counts)), counts), np.int64)


@kernel
def stand(
    forces: Array,
    corners: Array,
    foot: Indices,
    up: Array,
    contact_force: float,
    loaded: npt.NDArray[np.bool_],
) -> int:
    """Write which feet (F,) carry load at an instant.

    Those whose normal force is large enough; where one is not known, those whose soles are about
    as low as the lowest.

    Args:
        forces: (F,) normal forces [N]; NaN where one is not known.
        corners: (C, 3) of all soles [m].
        foot: (C,) which foot each belongs to.
        up: (3,) a vector pointing up.
        contact_force: from which on a foot is loaded [N].
        loaded: (F,) out.

    Returns:
        The foot that carries most; 0 without feet.
    """
    feet, most, carried = len(forces), 0, forces
    if np.isfinite(forces).all():
        for f in range(feet):
            loaded[f] = forces[f] >= contact_force
    else:
        heights = np.empty(feet)
        _lowest(corners, foot, up, heights)
        carried, lowest = -heights, np.inf
        for f in range(feet):
            if heights[f] < lowest or np.isnan(heights[f]):
                lowest = heights[f]
        for f in range(feet):
            loaded[f] = heights[f] <= lowest + SAME_HEIGHT
    for f in range(1, feet):
        known = not np.isnan(carried[most])  # else the ground is not known either
        if known and not carried[f] <= carried[most]:
            most = f
    return most


@kernel
def level_normal(
    points: Array, counts: npt.NDArray[np.bool_], up: Array, axes: Array, normal: Array
) -> int:
    """Write the normal (3,) of the plane through points, as level as these allow.

    Least squares of the heights along `up`; of all planes that are as close, the one that slopes
    least (the minimum-norm solution): through two points its steepest line is theirs, through one
    it is level.

    Args:
        points: (F, 3) [m].
        counts: (F,) which of them are on the plane.
        up: (3,) unit vector pointing up.
        axes: (2, 3) unit vectors across it.
        normal: (3,) out, unit vector.

    Returns:
        How many directions of the slope are determined by the points: 0, 1 or 2.
    """
    n, mean = 0, np.zeros(3)
    for f in range(len(points)):
        if counts[f]:
            n += 1
            mean += points[f]
    mean /= max(n, 1)
    xx = xy = yy = xz = yz = 0.0
    for f in range(len(points)):
        if counts[f]:
            off = vector(points[f] - mean, 0)
            x, y = dot(vector(axes[0], 0), off), dot(vector(axes[1], 0), off)
            z = dot(vector(up, 0), off)
            xx, xy, yy, xz, yz = xx + x * x, xy + x * y, yy + y * y, xz + x * z, yz + y * z
    size, area = xx + yy, xx * yy - xy * xy
    known, a, b = 0, 0.0, 0.0
    if area > SLENDER**2 * size * size:
        known, a, b = 2, (yy * xz - xy * yz) / area, (xx * yz - xy * xz) / area
    elif size > 0.0:
        known, a, b = 1, (xx * xz + xy * yz) / size**2, (xy * xz + yy * yz) / size**2
    length = np.sqrt(1.0 + a * a + b * b)
    for k in range(3):
        normal[k] = (up[k] - a * axes[0, k] - b * axes[1, k]) / length
    return known


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
    return np.asarray(np.einsum('tvj,tj->tv', points, direction))
