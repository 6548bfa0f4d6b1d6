import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.sensing.difference_stage import QUOTIENTS
from izmp_dynamics.sensing.localizer import Localizer

from .raising import raising

MS = 1_000_000
ARM = np.array([0.05, -0.1, 0.3])
SWAY = 2 * np.pi * 0.8


def motion(stamps):
    """Position and velocity of a swaying, turning root, its orientation and its GPS."""
    t = (stamps * 1e-9)[:, None]
    phase = SWAY * t + np.array([0.0, 1.0, 2.0])
    position = np.array([3.0, -1.0, 0.9]) + 0.1 * np.sin(phase) + t * [0.3, 0.0, 0.0]
    velocity = 0.1 * SWAY * np.cos(phase) + [0.3, 0.0, 0.0]
    R = Rotation.from_rotvec(np.hstack([0.2 * np.sin(3 * t), 0.0 * t, t])).as_matrix()
    return position, velocity, R, position + R @ ARM


def clock(rows=300):
    return (1 + np.arange(rows)) * 2 * MS


@pytest.mark.parametrize('method', QUOTIENTS)
def test_pose_and_velocity_of_the_root_not_of_the_gps(method: str) -> None:
    stamps = clock()
    position, velocity, R, gps = motion(stamps)
    pose = Localizer(ARM, 0.002, method=method).batch(stamps, gps, R)
    rows = np.searchsorted(stamps, pose.stamps)
    np.testing.assert_allclose(pose.world_p_root, position[rows], atol=1e-14)
    np.testing.assert_array_equal(pose.world_R_root, R[rows])
    h = 0.002
    bound = {'paper': SWAY**2 * h / 2, 'central': SWAY**3 * h**2 / 6}[method]
    assert np.abs(pose.linear_velocity - velocity[rows]).max() <= 0.1 * bound * 1.001
    assert np.isfinite(pose.linear_velocity).all()


def test_papers_quotient_is_stamped_with_the_newer_sample() -> None:
    stamps = clock(10)
    position, _, R, gps = motion(stamps)
    pose = Localizer(ARM, 0.002, method='paper').batch(stamps, gps, R)
    np.testing.assert_array_equal(pose.stamps, stamps[1:])
    np.testing.assert_allclose(pose.linear_velocity, np.diff(position, axis=0) / 0.002, atol=1e-11)


def test_missing_values_are_invalid() -> None:
    stamps = clock(20)
    _, _, R, gps = motion(stamps)
    gps[5], R[12, 1, 1] = np.inf, np.nan
    pose = Localizer(ARM, 0.002).batch(stamps, gps, R)
    known = np.isfinite(np.hstack([pose.world_p_root, pose.linear_velocity])).all(axis=1)
    assert set(stamps[[4, 5, 6, 11, 12, 13]]) == set(pose.stamps[~known])


def test_wrong_input_is_refused() -> None:
    with raising(ShapeError, 'shape', name='world_R_root'):
        Localizer(ARM, 0.002).batch(clock(3), np.zeros((3, 3)), np.zeros((3, 4)))
    with raising(ShapeError, 'shape', name='world_p_gps'):
        Localizer(ARM, 0.002).batch(clock(3), np.zeros((4, 3)), np.zeros((3, 3, 3)))
    with raising(SensingError, 'period', period=0.0):
        Localizer(ARM, 0.0)
    with raising(SensingError, 'unknown_method', method='x'):
        Localizer(ARM, 0.002, method='x')
