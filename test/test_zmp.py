"""The zero-moment point: the laws of its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.stability.zmp import zero_moment_point

from .raising import raising

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


def test_a_force_through_a_point_of_the_ground_has_its_point_there():
    contact, force = np.array([0.3, -0.2, -0.9]), np.array([10.0, -20.0, 300.0])
    wrench = ContactWrench(force, np.cross(contact, force) + np.array([0.0, 0.0, 7.0]))
    point = zero_moment_point(wrench, UP, np.array([5.0, 5.0, -0.9]), 1.0)
    np.testing.assert_allclose(point, contact, atol=1e-14)


def test_paper_equations_21_and_22_on_level_ground_through_the_reference_point():
    F, M = np.array([12.0, -7.0, 270.0]), np.array([30.0, -11.0, 4.0])
    point = zero_moment_point(ContactWrench(F, M), UP, np.zeros(3), 1.0)
    np.testing.assert_allclose(point, [-M[1] / F[2], M[0] / F[2], 0.0], rtol=1e-15)


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
