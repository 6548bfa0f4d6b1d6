"""Area of a convex hull; Shapely, which knows it as well, takes 0.04 s to load."""

from collections.abc import Iterable, Sequence

Point = tuple[float, float]


def hull_area(points: Iterable[Point]) -> float:
    """Area of the convex hull of points in any order, by the monotone chain (Andrew, 1979)."""
    ordered = sorted(points)
    hull = _below(ordered) + _below(ordered[::-1])
    return 0.5 * sum(
        a[0] * b[1] - b[0] * a[1] for a, b in zip(hull, hull[1:] + hull[:1], strict=True)
    )


def _below(ordered: Sequence[Point]) -> list[Point]:
    """Corners of the hull below points that are sorted by x, without the last one."""
    corners: list[Point] = []
    for point in ordered:
        while len(corners) > 1 and _turn(corners[-2], corners[-1], point) <= 0.0:
            corners.pop()
        corners.append(point)
    return corners[:-1]


def _turn(a: Point, b: Point, c: Point) -> float:
    """Twice the area of the triangle abc, positive counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
