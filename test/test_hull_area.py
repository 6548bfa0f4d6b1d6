"""The area of a convex hull, and that nothing large is loaded for it."""

import numpy as np
import pytest
import shapely

from izmp_dynamics.model.feet import hull_area


@pytest.mark.parametrize('count', [3, 4, 7, 40])
def test_the_area_is_that_of_shapely(count):
    points = np.random.default_rng(count).uniform(-2.0, 2.0, (count, 2))
    area = shapely.MultiPoint(points).convex_hull.area
    assert hull_area(map(tuple, points.tolist())) == pytest.approx(area, rel=1e-12)


@pytest.mark.parametrize('points', [[], [(1, 2)], [(0, 0), (1, 2), (2, 4)], [(1, 2)] * 4])
def test_what_spans_nothing_has_no_area(points):
    assert hull_area(points) == 0.0
