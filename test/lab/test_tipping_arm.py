"""The arm of the tipping moment, by the definition of the ZMP."""

import numpy as np

from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_lab.studies.tipping_arm import arm_of_wrench, tipping_arm

UP = np.array([[0.0, 0.0, 1.0]])


def test_it_is_the_distance_to_where_a_vertical_force_acts():
    place, force = np.array([[0.1, -0.2, 0.0]]), np.array([[0.0, 0.0, 50.0]])
    contact = np.concatenate([force, np.cross(place, force)], axis=1)
    assert tipping_arm(contact, place, UP) < 1e-15
    aside = place + np.array([[0.03, 0.04, 0.0]])
    np.testing.assert_allclose(tipping_arm(contact, aside, UP), 0.05)


def test_a_moment_about_the_normal_tips_nothing():
    contact = np.array([[3.0, 4.0, 50.0, 0.0, 0.0, 7.0]])
    assert tipping_arm(contact, np.zeros((1, 3)), UP) == 0.0


def test_of_its_own_wrench_it_is_zero_on_any_plane():
    rng = np.random.default_rng(0)
    wrench = rng.normal(size=(20, 6))
    wrench[:, 2] += 100.0
    normal = rng.normal(size=(20, 3)) * 0.2 + UP
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    place = rng.normal(size=(20, 3))
    arm = arm_of_wrench(ContactWrench.from_array(wrench), wrench, normal, place, 1.0)
    assert arm.max() < 1e-12


def test_without_a_force_there_is_none():
    wrench = ContactWrench.from_array(np.zeros((1, 6)))
    contact = np.array([[0.0, 0.0, 50.0, 0.0, 0.0, 0.0]])
    assert np.isnan(arm_of_wrench(wrench, contact, UP, np.zeros((1, 3)), 20.0)).all()
