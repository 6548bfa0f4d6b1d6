"""The support polygon and the signed distance of a point from its edge.

The polygon is the convex hull of the soles that carry load, seen along the ground normal. Of feet
that touch the ground with points, two span a line only, one nothing: no point is inside these.
"""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.kernel import inlined, kernel
from izmp_dynamics.base.vectors import Vector, cross, store, vector
from izmp_dynamics.stability.ground_plane import joined_corners


def plane_axes(normal: Array) -> Array:
    """Return x and y axes of the ground plane, x in the frame's x-z plane and so forward.

    With the root frame these are the axes of the frame nif: "the x-axis [...] pointing always
    parallel to the sagittal plane" (paper, sect. 4.2).

    Args:
        normal: (…, 3) unit normal.

    Returns:
        (…, 2, 3) unit vectors in the plane; with the normal they make a right-handed frame.
    """
    normals = np.ascontiguousarray(normal, dtype=np.float64)
    return _plane_axes(normals.reshape(-1, 3)).reshape(*normals.shape[:-1], 2, 3)


@kernel
def _plane_axes(normals: Array) -> Array:
    """(T, 2, 3) for normals (T, 3)."""
    axes = np.empty((len(normals), 2, 3))
    for t in range(len(normals)):
        level_axes(vector(normals[t], 0), axes[t])
    return axes


@inlined
def level_axes(normal: Vector, axes: Array) -> None:
    """Write what `plane_axes` returns for one normal: x along y_root × n, or ahead without it."""
    a, b, c = normal
    length = np.sqrt(a * a + c * c)
    if length > 1e-6:
        x, y, z = c / length, 0.0, -a / length
    else:  # a normal along y: a robot that lies on its side
        x, y, z = 1.0 - a * a, -b * a, -c * a
    axes[0, 0], axes[0, 1], axes[0, 2] = x, y, z
    store(axes[1], 0, cross(normal, (x, y, z)))


def support_polygon(corners: Array) -> Array | None:
    """Find the convex hull of the corners of the loaded soles.

    Args:
        corners: (N, 2) in the plane of the ground [m].

    Returns:
        (V, 2) counter-clockwise [m]; None with fewer than three corners that are not collinear, or
        if a corner is not finite.
    """
    hull = _hull(np.ascontiguousarray(corners, dtype=np.float64))
    return hull if len(hull) > 2 else None


def margin(polygon: Array, point: Array) -> float:
    """Return the distance of a point from the edge of a polygon, negative outside [m].

    Args:
        polygon: (N, 2) corners, counter-clockwise, as `support_polygon` gives them [m].
        point: (2,) in the same plane [m].
    """
    return _signed_distance(polygon, np.ascontiguousarray(point, dtype=np.float64))


def from_edge(polygon: Array, point: Array) -> Array:
    """Return the way to a point (d,) from the nearest one on the edge with corners (N, d) [m]."""
    side = np.roll(polygon, -1, axis=0) - polygon
    along = np.sum((point - polygon) * side, axis=1) / np.maximum(np.sum(side**2, axis=1), 1e-12)
    ways = point - polygon - np.clip(along, 0.0, 1.0)[:, None] * side
    return np.asarray(ways[np.argmin(np.linalg.norm(ways, axis=1))])


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
        normal: (T, 3) unit normal of the ground, in the same frame.

    Returns:
        For each array of points (T,) margins [m], negative outside; NaN without point or polygon.
    """
    if not soles or not points:
        return tuple(np.full(len(normal), np.nan) for _ in points)
    corners, foot = joined_corners(soles)
    normals = np.array(normal, dtype=np.float64)
    distances = np.empty((len(points), len(normals)))
    write_margins(np.array(points), corners, foot, np.array(loaded), normals, 3, distances)
    return tuple(distances)


def outlines(
    soles: tuple[Array, ...], loaded: npt.NDArray[np.bool_], normal: Array, point: Array
) -> tuple[Array, Indices]:
    """Outline the loaded soles over time, seen along the normal.

    Args:
        soles: for each of F feet (T, V, 3) corners of the sole [m].
        loaded: (T, F) which feet carry load.
        normal: (T, 3) ground normal.
        point: (T, 3) a point of the ground [m].

    Returns:
        (T, C, 3) corners on the ground, counter-clockwise [m], and (T,) how many of them there
        are; 0 where there is no polygon.
    """
    corners, foot = joined_corners(soles)
    normals, points = (np.array(vectors, dtype=np.float64) for vectors in (normal, point))
    found, counts = _outlines(corners, foot, np.array(loaded), normals, points)
    counts[~np.isfinite(normals + points).all(axis=1)] = 0  # a ground that is not known
    return found, counts


@kernel
def _loaded_hull(
    axes: Array, corners: Array, foot: Indices, loaded: npt.NDArray[np.bool_], carried: Array
) -> Array:
    """Hull (V, 2) of the corners (C, 3) of feet that carry, along axes (2, 3) [m]."""
    count = 0
    for c in range(len(foot)):
        if loaded[foot[c]]:
            _project(axes, corners[c], carried[count])
            count += 1
    return _hull(carried[:count])


@kernel
def _outlines(
    corners: Array, foot: Indices, loaded: npt.NDArray[np.bool_], normals: Array, points: Array
) -> tuple[Array, Indices]:
    axes = _plane_axes(normals)
    found = np.empty_like(corners)
    counts = np.zeros(len(normals), np.int64)
    carried = np.empty((corners.shape[1], 2))
    for t in range(len(normals)):
        hull = _loaded_hull(axes[t], corners[t], foot, loaded[t], carried)
        counts[t] = len(hull) if len(hull) > 2 else 0
        height = 0.0
        for i in range(3):
            height += normals[t, i] * points[t, i]
        for v in range(counts[t]):
            for i in range(3):
                x, y = hull[v, 0] * axes[t, 0, i], hull[v, 1] * axes[t, 1, i]
                found[t, v, i] = x + y + height * normals[t, i]
    return found, counts


@kernel
def write_margins(
    points: Array,
    corners: Array,
    foot: Indices,
    loaded: npt.NDArray[np.bool_],
    normals: Array,
    least: int,
    margins: Array,
) -> None:
    """Write margins (P, T) of points (P, T, 3) in hulls of the corners (T, C, 3) that carry.

    A hull of fewer than `least` vertices gives none; of a line or a single point it is the
    distance from there, negative.
    """
    margins[:] = np.nan
    axes = _plane_axes(normals)
    carried, point = np.empty((corners.shape[1], 2)), np.empty(2)
    for t in range(points.shape[1]):
        hull = _loaded_hull(axes[t], corners[t], foot, loaded[t], carried)
        if len(hull) < max(least, 1):
            continue
        for p in range(points.shape[0]):
            _project(axes[t], points[p, t], point)
            if np.isfinite(point[0] + point[1]):
                margins[p, t] = _signed_distance(hull, point)


@inlined
def _project(axes: Array, point: Array, out: Array) -> None:
    """Write the coordinates of a point (3,) along axes (2, 3)."""
    for k in range(2):
        out[k] = axes[k, 0] * point[0] + axes[k, 1] * point[1] + axes[k, 2] * point[2]


@kernel
def _hull(corners: Array) -> Array:
    """(V, 2) convex hull, counter-clockwise, by the monotone chain (Andrew, 1979).

    The two ends of corners on a line, a single corner; (0, 2) if one is not finite.
    """
    count = len(corners)
    hull = np.empty((2 * count + 1, 2))
    known = count >= 1
    for k in range(count):
        known = known and np.isfinite(corners[k, 0]) and np.isfinite(corners[k, 1])
    if not known:
        return hull[:0]
    points = _in_order(corners)
    size, least = 0, 2
    for step in range(2 * count - 1):  # to the right below, and back to the left above
        point = points[min(step, 2 * count - 2 - step)]
        if step == count:
            least = size + 1
        while size >= least and _turn(hull[size - 2], hull[size - 1], point) <= 0.0:
            size -= 1
        hull[size, 0], hull[size, 1] = point[0], point[1]
        size += 1
    return hull[: max(size - 1, 1)]  # the last point is the first one again


@kernel
def _in_order(corners: Array) -> Array:
    """Sort points (N, 2) by x, then by y; insertion sort, as they are few."""
    points = np.empty((len(corners), 2))
    for k in range(len(points)):
        x, y = corners[k, 0], corners[k, 1]
        row = k
        while row > 0 and (
            points[row - 1, 0] > x or (points[row - 1, 0] == x and points[row - 1, 1] > y)
        ):
            points[row, 0], points[row, 1] = points[row - 1, 0], points[row - 1, 1]
            row -= 1
        points[row, 0], points[row, 1] = x, y
    return points


@kernel
def _turn(a: Array, b: Array, c: Array) -> float:
    """Twice the area of the triangle abc, positive counter-clockwise [m²]."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


@kernel
def _signed_distance(polygon: Array, point: Array) -> float:
    """Distance of a point (2,) from the nearest edge [m], negative outside, as off a line."""
    nearest, inside = np.inf, True
    for k in range(len(polygon)):
        start, end = polygon[k - 1], polygon[k]
        along_x, along_y = end[0] - start[0], end[1] - start[1]
        x, y = point[0] - start[0], point[1] - start[1]
        length, share = along_x * along_x + along_y * along_y, 0.0
        if length > 0.0:
            share = min(max((x * along_x + y * along_y) / length, 0.0), 1.0)
        x, y = x - share * along_x, y - share * along_y
        nearest = min(nearest, np.sqrt(x * x + y * y))
        inside = inside and _turn(start, end, point) >= 0.0
    inside = inside and len(polygon) > 2
    return float(nearest if inside else -nearest)
