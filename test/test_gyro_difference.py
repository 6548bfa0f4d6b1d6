import numpy as np
import pytest

from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.sensing.difference_stage import QUOTIENTS
from izmp_dynamics.sensing.gyro_difference import GyroDifference
from izmp_dynamics.sensing.localizer import Localizer

from .raising import raising

MS = 1_000_000
ARM = np.array([0.05, -0.1, 0.2])
FREQUENCY = 2 * np.pi * 1.5


def motion(stamps):
    """ω, ω̇ and φ of the root, and what an IMU at ARM reads."""
    angle = FREQUENCY * (stamps * 1e-9)[:, None] + np.array([0.0, 1.0, 2.0])
    omega, alpha = np.sin(angle), FREQUENCY * np.cos(angle)
    phi = 9.81 + 0.5 * np.cos(angle)
    force = phi + np.cross(alpha, ARM) + np.cross(omega, np.cross(omega, ARM))
    return omega, alpha, phi, force


def clock(rows=200):
    return (1 + np.arange(rows)) * 2 * MS


@pytest.mark.parametrize(
    ('method', 'bound'),
    [
        ('central', FREQUENCY**3 * 0.002**2 / 6),
        ('paper', FREQUENCY**2 * 0.002 / 2),
    ],
)
def test_truncation_error_and_transfer_to_the_root(method: str, bound: float) -> None:
    stamps = clock()
    omega, _, _, force = motion(stamps)
    stage = GyroDifference(ARM, 0.002, method=method)
    state = stage.batch(stamps, omega, force)
    expected_omega, alpha, phi, _ = motion(state.stamps)
    assert state.valid.all()
    assert not stage.faults
    np.testing.assert_array_equal(state.angular_velocity, expected_omega)
    error = np.abs(state.angular_acceleration - alpha).max()
    assert error <= bound * 1.001
    assert np.abs(state.proper_acceleration - phi).max() <= 2 * error * np.abs(ARM).sum()


@pytest.mark.parametrize('wild', [np.nan, np.inf, -np.inf, 1e300])
def test_samples_that_are_not_usable_are_invalid(wild: float) -> None:
    stamps = clock(20)
    omega, _, _, force = motion(stamps)
    omega[10] = wild
    state = GyroDifference(ARM, 0.002).batch(stamps, omega, force)
    if not np.isfinite(wild):
        assert set(stamps[[9, 10, 11]]) == set(state.stamps[~state.valid])
    assert np.isfinite(state.proper_acceleration[state.valid]).all()


def test_wrong_input_is_refused() -> None:
    with raising(SensingError, 'unknown_method', method='magic', valid=QUOTIENTS):
        GyroDifference(ARM, 0.002, method='magic')
    with raising(ShapeError, 'shape', name='specific_force'):
        GyroDifference(ARM, 0.002).batch(clock(3), np.zeros((3, 3)), np.zeros((3, 2)))
    with raising(SensingError, 'period', period=0.0):
        Localizer(ARM, 0.0)
    with raising(ShapeError, 'shape', name='world_R_root'):
        Localizer(ARM, 0.002).batch(clock(3), np.zeros((3, 3)), np.zeros((3, 4)))
    with raising(ShapeError, 'shape', name='world_p_gps'):
        Localizer(ARM, 0.002).batch(clock(3), np.zeros((4, 3)), np.zeros((3, 3, 3)))
