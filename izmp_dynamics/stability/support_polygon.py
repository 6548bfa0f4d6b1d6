"""The support polygon and the signed distance of a point from its edge.

The polygon is the convex hull of the soles that carry load, seen along the ground normal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely.geometry

from izmp_dynamics.conventions import Array


def plane_axes(normal: Array) -> Array:
    """Return x and y axes of the ground plane, x in the frame's x-z plane and so forward.

    With the root frame these are the axes of the frame nif: "the x-axis [...] pointing always
    parallel to the sagittal plane" (paper, sect. 4.2).

    Args:
        normal: (…, 3) unit normal.

    Returns:
        (…, 2, 3) unit vectors in the plane; with the normal they make a right-handed frame.
    """
    x = np.cross([0.0, 1.0, 0.0], normal)
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    ahead = np.array([1.0, 0.0, 0.0])  # for a normal along y: a robot that lies on its side
    x = np.where(length > 1e-6, x / np.maximum(length, 1e-6), ahead - normal * normal[..., :1])
    return np.stack([x, np.cross(normal, x)], axis=-2)


def support_polygon(corners: Array) -> shapely.geometry.Polygon | None:
    """Return the convex hull of the corners (N, 2) [m]; None if it has no area or one is NaN."""
    if len(corners) < 3 or not np.isfinite(corners).all():
        return None
    hull = shapely.geometry.LineString(corners).convex_hull  # quicker to make than a MultiPoint
    return hull if isinstance(hull, shapely.geometry.Polygon) else None


def margin(polygon: shapely.geometry.Polygon, point: Array) -> float:
    """Return the distance of a point (2,) from the edge [m], negative if it is outside."""
    position = shapely.geometry.Point(point)
    distance = float(polygon.exterior.distance(position))
    return distance if polygon.covers(position) else -distance


@dataclass(frozen=True)
class Outline:
    """The support polygon at one instant.

    Attributes:
        corners: (C, 3) in the frame of the soles [m].
        axes: (2, 3) of the ground plane.
        hull: in these axes.
    """

    corners: Array
    axes: Array
    hull: shapely.geometry.Polygon

    @classmethod
    def of(cls, soles: Sequence[Array], normal: Array, point: Array) -> 'Outline | None':
        """Outline the loaded soles, seen along the normal; None if there is no polygon.

        Args:
            soles: (V, 3) corners of each sole that carries load [m].
            normal: (3,) unit normal of the ground.
            point: (3,) a point of the ground [m].
        """
        if not soles:
            return None
        axes = plane_axes(normal)
        hull = support_polygon(np.concatenate(soles) @ axes.T)
        if hull is None:
            return None
        height = float(normal @ point)
        return cls(np.array(hull.exterior.coords)[:-1] @ axes + height * normal, axes, hull)

    def margin(self, point: Array) -> float:
        """Signed distance of a point (3,) from the edge [m], negative outside."""
        return margin(self.hull, self.axes @ point)


def margins(
    points: tuple[Array, ...],
    soles: tuple[Array, ...],
    loaded: npt.NDArray[np.bool_],
    normal: Array,
) -> tuple[Array, ...]:
    """Compute the stability margins of several points over time.

    Args:
        points: arrays (T, 3) of points on the ground [m]; NaN where there is none.
        soles: for each of F feet (T, V, 3) corners of the sole [m], in the same frame.
        loaded: (T, F) which feet carry load.
        normal: (T, 3) ground normal.

    Returns:
        For each array of points (T,) margins [m], negative outside; NaN without point or polygon.
    """
    count = len(normal)
    results = tuple(np.full(count, np.nan) for _ in points)
    axes = plane_axes(normal)
    flat_points = [np.einsum('tij,tj->ti', axes, point) for point in points]
    flat_soles = [np.einsum('tij,tvj->tvi', axes, sole) for sole in soles]
    for t in np.flatnonzero(loaded.any(axis=1)):
        corners = [sole[t] for sole, carries in zip(flat_soles, loaded[t], strict=True) if carries]
        polygon = support_polygon(np.concatenate(corners))
        if polygon is None:
            continue
        for result, point in zip(results, flat_points, strict=True):
            if np.isfinite(point[t]).all():
                result[t] = margin(polygon, point[t])
    return results
