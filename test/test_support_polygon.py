"""The support polygon and the margin, against half-planes and distances to segments."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from izmp_dynamics.stability.support_polygon import (
    margin,
    margins,
    plane_axes,
    support_polygon,
)

SQUARE = np.array([[0.1, 0.05], [-0.1, 0.05], [-0.1, -0.05], [0.1, -0.05]])
lengths = st.integers(-1000, 1000).map(lambda millimetres: millimetres / 1000.0)
places = st.tuples(lengths, lengths).map(np.array)


def independent_margin(corners, point):
    """From Qhull's half-planes inside, from the distance to the edges outside."""
    hull = ConvexHull(corners)
    depth = -(hull.equations[:, :2] @ point + hull.equations[:, 2]).max()
    if depth >= 0:
        return depth
    edges = corners[hull.simplices]
    start, along = edges[:, 0], edges[:, 1] - edges[:, 0]
    share = np.einsum('ei,ei->e', point - start, along) / np.einsum('ei,ei->e', along, along)
    nearest = start + np.clip(share, 0.0, 1.0)[:, None] * along
    return -np.linalg.norm(nearest - point, axis=1).min()


@st.composite
def feet(draw):
    """Corners of two rectangular soles, turned and shifted."""
    soles = []
    for _ in range(2):
        turn = Rotation.from_euler('z', draw(st.floats(-3.0, 3.0))).as_matrix()[:2, :2]
        soles.append(SQUARE @ turn.T + draw(places))
    return np.concatenate(soles)


@given(st.lists(places, min_size=3, max_size=9).map(np.array), places)
def test_margin_of_any_corners_agrees_with_half_planes(corners, point):
    try:
        expected = independent_margin(corners, point)
    except QhullError:
        assume(False)
    assume(ConvexHull(corners).volume > 1e-6)
    assert margin(support_polygon(corners), point) == pytest.approx(expected, abs=1e-12)


@given(feet(), st.floats(0.0, 1.0), st.integers(0, 7))
def test_corners_and_edges_have_no_margin(corners, share, index):
    hull = ConvexHull(corners)
    start, end = corners[
        hull.vertices[[index % len(hull.vertices), index % len(hull.vertices) - 1]]
    ]
    assume(np.linalg.norm(end - start) > 1e-3)
    polygon = support_polygon(corners)
    assert margin(polygon, start) == 0.0
    assert abs(margin(polygon, start + share * (end - start))) <= 1e-14
    outward = np.array([end[1] - start[1], start[0] - end[0]]) / np.linalg.norm(end - start)
    middle = 0.5 * (start + end)
    sign = np.sign((middle - corners.mean(axis=0)) @ outward)
    assert margin(polygon, middle + 0.01 * sign * outward) == pytest.approx(-0.01, abs=1e-12)
    assert margin(polygon, middle - 1e-6 * sign * outward) == pytest.approx(1e-6, abs=1e-12)


@given(feet())
def test_the_polygon_is_that_of_qhull_counter_clockwise(corners):
    polygon = support_polygon(corners)
    expected = ConvexHull(corners)
    edges = np.roll(polygon, -1, axis=0) - polygon
    turns = edges[:, 0] * np.roll(edges, -1, axis=0)[:, 1]
    turns -= edges[:, 1] * np.roll(edges, -1, axis=0)[:, 0]
    assert (turns > 0).all()
    assert ConvexHull(polygon).volume == pytest.approx(expected.volume, abs=1e-14)
    assert {tuple(corner) for corner in polygon} <= {tuple(corner) for corner in corners}


def test_the_hull_closes_the_gap_between_the_feet():
    corners = np.concatenate([SQUARE + np.array([0.0, 0.15]), SQUARE - np.array([0.0, 0.15])])
    polygon = support_polygon(corners)
    assert ConvexHull(polygon).volume == pytest.approx(0.2 * 0.4)
    assert len(polygon) == 4
    assert margin(polygon, np.zeros(2)) == pytest.approx(0.1)
    assert margin(polygon, np.array([0.0, 0.25])) == pytest.approx(-0.05)
    assert margin(polygon, np.array([0.13, 0.24])) == pytest.approx(-0.05)  # beyond a corner


@pytest.mark.parametrize(
    'corners',
    [
        np.zeros((0, 2)),
        np.zeros((1, 2)),
        np.zeros((4, 2)),
        np.array([[0.0, 0.0], [1.0, 1.0]]),
        np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.5, 0.5]]),
        np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [np.nan, np.nan]]),
        np.array([[0.0, 0.0], [1.0, 0.0], [0.0, np.inf]]),
    ],
    ids=['none', 'point', 'one point four times', 'segment', 'line', 'unknown', 'infinite'],
)
def test_without_area_or_knowledge_there_is_no_polygon(corners):
    assert support_polygon(corners) is None


@given(st.tuples(*[st.floats(-1.0, 1.0)] * 3).map(np.array))
def test_axes_of_the_plane_are_a_right_handed_frame(direction):
    assume(np.linalg.norm(direction) > 1e-3)
    normal = direction / np.linalg.norm(direction)
    frame = np.vstack([plane_axes(normal), normal])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-9)
    assert np.linalg.det(frame) == pytest.approx(1.0)


@pytest.mark.parametrize('axis', [*np.eye(3), *-np.eye(3)], ids=['x', 'y', 'z', '-x', '-y', '-z'])
@pytest.mark.parametrize('tilt', [0.0, 1e-12, 1e-7, 1e-5, 0.1])
def test_axes_near_the_coordinate_axes(axis, tilt):
    normal = Rotation.from_rotvec([0.6 * tilt, 0.8 * tilt, -tilt]).apply(axis)
    frame = np.vstack([plane_axes(normal), normal])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-9)
    assert np.linalg.det(frame) == pytest.approx(1.0)
    if normal[2] > 0.5:
        assert frame[0, 0] > 0.5  # x ahead


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(-3.0, 3.0))
def test_the_x_axis_is_parallel_to_the_sagittal_plane(roll, pitch, yaw):
    """Also of a robot that leans to the side (paper, sect. 4.2)."""
    world_R_root = Rotation.from_euler('ZYX', [yaw, pitch, roll]).as_matrix()
    x, _ = plane_axes(world_R_root[2])
    assert x[1] == 0.0
    assert x[0] > 0.0


def standing(count, R=None, offset=0.0):
    """Two soles in the plane z = 0 of a frame turned by R, and points in it."""
    rng = np.random.default_rng(6)
    R = np.eye(3) if R is None else R
    soles = []
    for y in (0.12, -0.12):
        flat = np.column_stack([SQUARE + np.array([0.0, y]), np.full(4, offset)])
        soles.append(np.repeat((flat @ R.T)[None], count, axis=0))
    points = np.column_stack([rng.uniform(-0.2, 0.2, (count, 2)), np.full(count, offset)])
    return soles, points @ R.T, np.repeat(R[:, 2][None], count, axis=0)


@pytest.mark.parametrize('seed', range(6))
def test_margins_do_not_depend_on_the_frame(seed):
    R = Rotation.random(random_state=seed).as_matrix() if seed else np.eye(3)[:, [1, 2, 0]]
    loaded = np.random.default_rng(7).random((40, 2)) < 0.7
    soles, points, normal = standing(40)
    (level,) = margins((points,), tuple(soles), loaded, normal)
    soles, points, normal = standing(40, R, offset=-0.8)
    (turned,) = margins((points,), tuple(soles), loaded, normal)
    np.testing.assert_allclose(turned, level, atol=1e-12, equal_nan=True)
    np.testing.assert_array_equal(np.isnan(level), ~loaded.any(axis=1))


def test_margins_belong_to_their_points_and_instants():
    soles, points, normal = standing(30)
    loaded = np.random.default_rng(8).random((30, 2)) < 0.6
    others = points + np.array([0.05, 0.0, 0.0])
    others[3] = np.nan
    first, second = margins((points, others), tuple(soles), loaded, normal)
    for t in range(30):
        corners = [
            sole[t, :, :2] for sole, carries in zip(soles, loaded[t], strict=True) if carries
        ]
        if not corners:
            assert np.isnan([first[t], second[t]]).all()
            continue
        corners = np.concatenate(corners)
        assert first[t] == pytest.approx(independent_margin(corners, points[t, :2]), abs=1e-12)
        if t != 3:
            assert second[t] == pytest.approx(
                independent_margin(corners, others[t, :2]), abs=1e-12
            )
    assert np.isnan(second[3])


def test_a_loaded_foot_of_unknown_place_leaves_the_margin_unknown():
    soles, points, normal = standing(2)
    soles[0][1] = np.nan
    (result,) = margins((points,), tuple(soles), np.ones((2, 2), dtype=bool), normal)
    assert np.isfinite(result[0])
    assert np.isnan(result[1])


def test_without_feet_there_are_no_margins():
    (result,) = margins(
        (np.zeros((3, 3)),), (), np.zeros((3, 0), bool), np.tile([0, 0, 1.0], (3, 1))
    )
    assert np.isnan(result).all()
