"""Where the ground is and who stands on it: with and without sensors, in flight."""

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.stability.ground_plane import (
    SAME_HEIGHT,
    Sole,
    Soles,
    stand,
)

SQUARE = np.array([[0.1, 0.05], [-0.1, 0.05], [-0.1, -0.05], [0.1, -0.05]])
UP = np.array([[0.0, 0.0, 9.81]])
NAN = np.nan


def sole(heights, forces=None, R=None, y=0.0):
    """A sole at the given heights over time."""
    count = len(heights)
    p = np.column_stack([np.zeros(count), np.full(count, y), heights])
    R = np.broadcast_to(np.eye(3) if R is None else R, (count, 3, 3))
    return Sole.from_polygon(R, p, SQUARE, None if forces is None else np.array(forces, float))


def feet(left, right, left_force=None, right_force=None):
    return sole(left, left_force, y=0.1), sole(right, right_force, y=-0.1)


def up(count):
    return np.repeat(UP, count, axis=0)


def standing(soles, upwards, contact_force):
    """(T, F) which feet carry load, and (T,) which carries most."""
    joined = Soles.of(soles, len(upwards))
    loaded = np.empty(joined.forces.shape, dtype=np.bool_)
    rows = zip(joined.forces, joined.corners, upwards, loaded, strict=True)
    most = [stand(force, at, joined.foot, up, contact_force, on) for force, at, up, on in rows]
    return loaded, np.array(most)


def test_feet_with_sensors_are_loaded_from_the_contact_force_on():
    soles = feet([-0.8] * 3, [-0.8] * 3, [100.0, 14.0, 13.9], [0.0, -50.0, 200.0])
    expected = [[True, False], [True, False], [False, True]]
    np.testing.assert_array_equal(standing(soles, up(3), 14.0)[0], expected)
    np.testing.assert_array_equal(standing(soles, up(3), 14.0)[1], [0, 0, 1])


def test_feet_without_sensors_are_loaded_by_height():
    above = SAME_HEIGHT + 1e-6
    soles = feet([-0.8, -0.8, -0.8 + above], [-0.8, -0.8 + above, -0.8])
    expected = [[True, True], [True, False], [False, True]]
    np.testing.assert_array_equal(standing(soles, up(3), 14.0)[0], expected)
    np.testing.assert_array_equal(standing(soles, up(3), 14.0)[1], [0, 0, 1])


def test_height_is_measured_along_up_whatever_its_length():
    tilt = Rotation.from_euler('x', 90, degrees=True).as_matrix()
    soles = feet([0.0], [0.0])  # side by side at y = ±0.1
    sideways = tilt @ [0.0, 0.0, 1.0]  # −y is up: the left foot, at y = 0.1, is lower
    for length in (1.0, 9.81, 1e-3):
        np.testing.assert_array_equal(
            standing(soles, length * sideways[None], 14.0)[0], [[True, False]]
        )


def test_one_sensor_among_two_feet_leaves_the_decision_to_the_heights():
    soles = feet([-0.7], [-0.8], left_force=[300.0])
    np.testing.assert_array_equal(standing(soles, up(1), 14.0)[0], [[False, True]])
    assert standing(soles, up(1), 14.0)[1][0] == 1


def test_where_a_force_is_not_known_the_heights_decide():
    """A gap in one sensor must not make its foot look unloaded."""
    soles = feet([-0.8, -0.8], [-0.8, -0.6], [NAN, NAN], [150.0, 0.0])
    np.testing.assert_array_equal(standing(soles, up(2), 14.0)[0], [[True, True], [True, False]])
    np.testing.assert_array_equal(standing(soles, up(2), 14.0)[1], [0, 0])


def test_in_flight_no_foot_is_loaded():
    soles = feet([-0.8], [-0.8], [3.0], [-20.0])
    assert not standing(soles, up(1), 14.0)[0].any()
    assert standing(soles, up(1), 14.0)[1][0] == 0  # a plane there is all the same


def test_in_free_fall_nothing_points_up_and_no_foot_is_known_to_be_loaded():
    soles = feet([-0.8, -0.8], [-0.8, -0.8])
    nothing = np.array([[0.0, 0.0, 0.0], [NAN, NAN, NAN]])
    assert not standing(soles, nothing, 14.0)[0].any()
