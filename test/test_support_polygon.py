"""Support polygons, their areas and overlaps, and the zero-moment point in their plane."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.report.page import cards
from izmp_dynamics.stability.support_polygon import (
    margin,
    margins,
    plane_axes,
    support_polygon,
)
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summary_of
from izmp_dynamics.verdict.support import overlap_depth

from .raising import raising
from .report_scenarios import standing, walking, with_feet

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


def two_soles(count):
    """Two soles in the plane z = 0, and points in it."""
    flat = [np.column_stack([SQUARE + np.array([0.0, y]), np.zeros(4)]) for y in (0.12, -0.12)]
    places = np.random.default_rng(6).uniform(-0.2, 0.2, (count, 2))
    points = np.column_stack([places, np.zeros(count)])
    return [np.tile(sole, (count, 1, 1)) for sole in flat], points, np.tile(UP, (count, 1))


def test_margins_belong_to_their_points_and_instants():
    soles, points, normal = two_soles(30)
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
    soles, points, normal = two_soles(2)
    soles[0][1] = np.nan
    (result,) = margins((points,), tuple(soles), np.ones((2, 2), dtype=bool), normal)
    assert np.isfinite(result[0])
    assert np.isnan(result[1])


def test_without_feet_there_are_no_margins():
    (result,) = margins(
        (np.zeros((3, 3)),), (), np.zeros((3, 0), bool), np.tile([0, 0, 1.0], (3, 1))
    )
    assert np.isnan(result).all()


# ---- Soles that overlap -------------------------------------------------------------------------


UNIT_SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize('angle', [0.0, 20.0, 77.0])
@pytest.mark.parametrize(
    ('shift', 'depth'), [((0.7, 0.0), 0.3), ((0.9, -0.6), 0.1), ((2.0, 0.0), -1.0)]
)
def test_depth_is_the_shortest_way_out(angle, shift, depth):
    R = Rotation.from_euler('z', angle, degrees=True).as_matrix()[:2, :2]
    twice = np.concatenate([UNIT_SQUARE, UNIT_SQUARE[:1]])  # a corner that is stated twice
    one, other = (np.array([corners @ R.T]) for corners in (UNIT_SQUARE, twice + shift))
    np.testing.assert_allclose(overlap_depth(one, other), depth, atol=1e-12)
    np.testing.assert_allclose(overlap_depth(other, one), depth, atol=1e-12)


def test_depth_at_a_corner():
    """A square that stands on its corner reaches 0.1 m into the side of another."""
    tip = np.array([[0.5, 0.9], [1.5, 1.9], [0.5, 2.9], [-0.5, 1.9]])
    np.testing.assert_allclose(overlap_depth(UNIT_SQUARE[None], tip[None]), 0.1, atol=1e-12)


def enlarged(evaluation, factor):
    """The evaluation with soles that are larger by `factor`, about their middles."""

    def larger(foot):
        middle = foot.sole.mean(axis=1, keepdims=True)
        return middle + factor * (foot.sole - middle)

    return with_feet(evaluation, sole=larger)


@pytest.mark.parametrize('motion', [walking, standing])
def test_soles_side_by_side_do_not_overlap(motion):
    assert Scene(motion(duration=4.0)).sole_overlap is None


def test_soles_far_too_large_cannot_be_judged_by():
    summary = summary_of(enlarged(standing(duration=4.0), 10.0))
    assert (summary.verdict.state, summary.verdict.reason) == ('unclear', 'soles_overlap')
    assert 'overlap by' in summary.verdict.sentence
    assert 'polygon' in summary.verdict.advice
    assert summary.findings[0].key == 'soles_overlap'
    assert 'overlap by' not in ' '.join(summary.remarks)  # the verdict says it
    assert cards(summary.as_dict())[0].tone == ''  # of a margin that nobody knows


def test_soles_somewhat_too_large_are_the_first_remark():
    """They overlap by 6 cm, so that each edge is 3 cm off, at 14 cm of room."""
    evaluation = standing(duration=4.0)
    one, other = (foot.sole[0, :, 1] for foot in evaluation.feet)
    apart = abs(one.mean() - other.mean())
    summary = summary_of(enlarged(evaluation, (apart + 0.06) / np.ptp(one)))
    assert summary.verdict.reason != 'soles_overlap'
    assert summary.findings[0].key == 'soles_overlap'
    assert 'by 60 mm' in summary.findings[0].sentence
    close = standing(
        duration=4.0, offset=lambda time: np.tile([0.0, 0.1], (len(time), 1)), cop_limit=1.0
    )
    judged = summary_of(enlarged(close, (apart + 0.06) / np.ptp(one))).verdict
    assert judged.reason == 'soles_overlap'  # the margin is smaller than that


# ---- The zero-moment point ----------------------------------------------------------------------


numbers = st.floats(-10.0, 10.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
rotations = vectors.map(lambda angles: Rotation.from_rotvec(angles).as_matrix())
UP = np.array([0.0, 0.0, 1.0])


@st.composite
def loads(draw):
    """A wrench that presses on the ground, the ground's normal and a point of it."""
    normal = draw(rotations)[:, 2]
    force = 10.0 * draw(vectors)
    force += normal * (draw(st.floats(100.0, 1000.0)) - normal @ force)
    return ContactWrench(force, 10.0 * draw(vectors)), normal, 0.2 * draw(vectors)


@given(loads())
def test_the_point_lies_on_the_plane_and_takes_no_moment_along_it(load):
    wrench, normal, ground = load
    point = zero_moment_point(wrench, normal, ground, 1.0)
    scale = 1.0 + np.abs(point).max()
    assert abs(normal @ (point - ground)) <= 1e-12 * scale
    moment = wrench.moment - np.cross(point, wrench.force)
    along_plane = moment - normal * (normal @ moment)
    assert np.abs(along_plane).max() <= 1e-11 * (1.0 + np.abs(wrench.force).max()) * scale


@given(loads(), rotations, vectors)
def test_the_frame_and_its_reference_point_do_not_matter(load, R, p):
    wrench, normal, ground = load
    point = zero_moment_point(wrench, normal, ground, 1.0)
    moved = zero_moment_point(wrench.transformed(R, p), R @ normal, R @ ground + p, 1.0)
    assert np.abs(moved - (R @ point + p)).max() <= 1e-11 * (1.0 + np.abs(point).max())


@given(loads(), rotations, vectors)
def test_a_wrench_seen_from_a_frame_is_brought_back_by_its_pose(load, R, p):
    wrench, _, _ = load
    back = wrench.seen_from(R, p).transformed(R, p)
    size = 1.0 + np.abs(wrench.as_array()).max() * (1.0 + np.abs(p).max())
    assert np.abs(back.as_array() - wrench.as_array()).max() <= 1e-13 * size


@pytest.mark.parametrize(
    ('normal_force', 'minimum', 'there'),
    [
        (20.0, 10.0, True),
        (10.0, 10.0, True),  # exactly at the threshold there is a point
        (np.nextafter(10.0, 0.0), 10.0, False),
        (0.0, 10.0, False),
        (0.0, 0.0, False),
        (-50.0, 10.0, False),  # pulled down
        (-50.0, -100.0, False),
        (np.nan, 10.0, False),
    ],
)
def test_below_the_minimum_force_there_is_no_point(normal_force, minimum, there):
    wrench = ContactWrench(np.array([1.0, 2.0, normal_force]), np.array([3.0, 4.0, 5.0]))
    point = zero_moment_point(wrench, UP, np.zeros(3), minimum)
    assert np.isfinite(point).all() if there else np.isnan(point).all()


def test_an_unknown_wrench_or_plane_has_no_point():
    good = ContactWrench(np.array([0.0, 0.0, 9.0]), np.zeros(3))
    unknown = np.full(3, np.nan)
    assert np.isnan(zero_moment_point(good, unknown, np.zeros(3), 1.0)).all()
    assert np.isnan(zero_moment_point(good, UP, unknown, 1.0)).all()
    assert np.isnan(zero_moment_point(ContactWrench(unknown, unknown), UP, np.zeros(3), 1)).all()


def test_a_batch_equals_its_samples():
    rng = np.random.default_rng(1)
    force, moment, ground = rng.normal(size=(3, 50, 3)) * 100.0
    normal = Rotation.random(50, random_state=2).as_matrix()[:, :, 2]
    batch = zero_moment_point(ContactWrench(force, moment), normal, ground, 20.0)
    assert 0 < np.isnan(batch[:, 0]).sum() < 50
    for k in range(50):
        single = zero_moment_point(
            ContactWrench(force[k], moment[k]), normal[k], ground[k], minimum_force=20.0
        )
        np.testing.assert_array_equal(single, batch[k])
    steady = zero_moment_point(ContactWrench(force, moment), normal[0], ground[0], 20.0)
    np.testing.assert_array_equal(steady[0], batch[0])


@pytest.mark.parametrize('name', ['force', 'moment', 'normal', 'ground_point'])
@pytest.mark.parametrize('wrong', [[0.0, 1.0], 1.0, np.zeros((5, 3))])
def test_an_argument_of_the_wrong_shape_is_named(name, wrong):
    rows = dict.fromkeys(('force', 'moment', 'normal', 'ground_point'), np.ones((4, 3)))
    rows = {key: rows[key] for key in rows if key != name} | {name: wrong}
    wrench = ContactWrench(rows['force'], rows['moment'])
    with raising(ShapeError, 'shape') as caught:
        zero_moment_point(wrench, rows['normal'], rows['ground_point'], 1.0)
    rows_differ = np.shape(wrong)[-1:] == (3,)  # named is the first that fits none before it
    expected = (4, 3) if rows_differ and name == 'force' else np.shape(wrong)
    assert caught.value.got == expected
