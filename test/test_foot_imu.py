"""IMUs in the feet: the vertical while a foot stands, and the ground plane from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.sensing.foot_imu import foot_tilt
from izmp_dynamics.stability.ground_plane import Sole, Soles, plane_of_foot_imus, plane_under

angles = st.floats(-0.3, 0.3)
UP = np.array([0.0, 0.0, 1.0])
FIRST = np.array([0])
SQUARE = np.array([[0.1, 0.05], [-0.1, 0.05], [-0.1, -0.05], [0.1, -0.05]])


def standing(up, count=50):
    """Signals of a foot at rest."""
    return np.zeros((count, 3)), np.tile(GRAVITY * up, (count, 1))


def rotation(*angles):
    return Rotation.from_euler('xyz', angles).as_matrix()


@given(angles, angles)
def test_a_foot_at_rest_feels_the_vertical(roll, pitch):
    up = rotation(roll, pitch, 0.0).T @ UP
    found = foot_tilt(*standing(up), 20, GRAVITY)
    np.testing.assert_allclose(found, np.tile(up, (50, 1)), atol=1e-12)


def test_a_foot_that_moves_knows_nothing():
    omega, force = standing(UP)
    omega[10:15, 1], force[15:20] = 2.0, 2.0 * GRAVITY * UP
    up = foot_tilt(omega, force, 20, GRAVITY)
    assert np.isnan(up).any(axis=1).tolist() == [10 <= k < 20 for k in range(50)]


def test_only_the_latest_rest_counts():
    first, second = rotation(0.0, 0.1, 0.0).T @ UP, rotation(0.0, -0.2, 0.0).T @ UP
    omega, force = standing(first)
    force[25:], omega[20:25] = GRAVITY * second, 1.0
    up = foot_tilt(omega, force, 40, GRAVITY)
    np.testing.assert_allclose(up[:20], np.tile(first, (20, 1)), atol=1e-12)
    np.testing.assert_allclose(up[25:], np.tile(second, (25, 1)), atol=1e-12)


def sole(R, force=100.0):
    return Sole.from_polygon(R[None], np.array([[0.0, 0.1, -0.8]]), SQUARE, np.array([force]))


def known(up):
    return up[None]


@given(angles, angles, angles, angles, angles)
def test_with_right_joints_it_is_the_plane_of_the_sole(a, b, c, slope, lean):
    """Whatever the pose of the robot, the slope, and the lean of the root."""
    world_R_root, world_R_sole = rotation(lean, a, b), rotation(slope, c, b)
    root_R_sole = world_R_root.T @ world_R_sole
    soles, up = (sole(root_R_sole),), (world_R_root.T @ UP)[None]
    plane = plane_of_foot_imus(soles, FIRST, (known(world_R_sole.T @ UP),), up)
    expected = plane_under(Soles.of(soles, 1), FIRST)
    np.testing.assert_allclose(plane.normal, expected.normal, atol=1e-9)
    np.testing.assert_array_equal(plane.point, expected.point)


def test_the_foot_that_is_named_decides():
    soles = (sole(rotation(0.0, 0.1, 0.0), 10.0), sole(rotation(0.0, -0.1, 0.0), 90.0))
    tilts = tuple(known(rotation(0.0, pitch, 0.0).T @ UP) for pitch in (0.1, -0.1))
    plane = plane_of_foot_imus(soles, np.array([1]), tilts, UP[None])
    np.testing.assert_allclose(plane.normal[0], rotation(0.0, -0.1, 0.0)[:, 2], atol=1e-12)


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('short_of_180', [0.0, 1e-16, 1e-12, 1e-8, 1e-3, 0.1, 1.0, 60.0, 89.0])
def test_an_imu_that_contradicts_the_joints_leaves_the_plane_unknown(short_of_180):
    """Up to an inverted foot, for which the correction would have no definite axis."""
    up_in_sole = rotation(np.pi - np.deg2rad(short_of_180), 0.0, 0.0) @ UP
    soles = (sole(np.eye(3)),)
    plane = plane_of_foot_imus(soles, FIRST, (known(up_in_sole),), UP[None])
    assert np.isnan(plane.normal).all()
    np.testing.assert_array_equal(plane.point, plane_under(Soles.of(soles, 1), FIRST).point)


def test_an_exactly_opposite_vertical_leaves_the_other_instants_alone():
    soles = (Sole.from_polygon(np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)), SQUARE, None),)
    normal = plane_of_foot_imus(
        soles, np.zeros(2, int), (np.stack([-UP, UP]),), np.stack([UP, UP])
    ).normal
    assert np.isnan(normal[0]).all()
    np.testing.assert_array_equal(normal[1], UP)


@given(st.floats(-89.0, 89.0), angles, angles)
def test_below_that_errors_of_the_joints_do_not_tilt_level_ground(error, pitch, heading):
    """The foot's IMU alone decides, however wrong the joints are up to the limit."""
    root_R_sole = rotation(np.deg2rad(error), pitch, heading)
    plane = plane_of_foot_imus((sole(root_R_sole),), FIRST, (known(UP),), UP[None])
    np.testing.assert_allclose(plane.normal[0], UP, atol=1e-12)
