"""Accelerometers beside an IMU: units, gravity and axes are checked by comparison."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.sensing.sensor_check import TOLERANCE, check_accelerometer

from .raising import raising

UPRIGHT = np.array([0.0, 0.0, GRAVITY])


def readings(*median, noise=0.5, samples=500):
    rng = np.random.default_rng(0)
    return np.array(median) + noise * rng.standard_normal((samples, len(median)))


def test_a_few_wild_samples_do_not_change_the_verdict():
    wild = readings(0.0, 0.0, GRAVITY)
    wild[:100] = 1e300
    wild[100:200] = np.nan
    assert check_accelerometer('a', wild, UPRIGHT) is None


@pytest.mark.parametrize(
    ('found', 'kind'),
    [
        (readings(0.0, 0.0, 1.0, noise=0.05), 'accelerometer_in_g'),
        (readings(0.0, 0.1, 0.0), 'accelerometer_without_gravity'),
        (np.zeros((500, 3)), 'accelerometer_without_gravity'),
        (np.full((500, 3), np.nan), 'accelerometer_not_finite'),
    ],
)
def test_what_falsifies_everything_is_refused(found, kind):
    with raising(SensingError, kind, accelerometer='a'):
        check_accelerometer('a', found, UPRIGHT)


def test_turned_axes_are_remarked_on():
    remark = check_accelerometer('a', readings(GRAVITY, 0.0, 0.0, noise=0.0), UPRIGHT)
    assert remark == (
        "The accelerometer 'a' reads (9.81, 0.00, 0.00) m/s² in the median where the IMU reads "
        '(0.00, 0.00, 9.81) along the same axes.'
    )


def test_an_axis_without_gravity_says_nothing_about_the_unit():
    """A level axis reads zero in g, in m/s² and without gravity."""
    assert check_accelerometer('a', np.zeros((100, 1)), np.zeros(1)) is None


@given(
    st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda axis: np.linalg.norm(axis) > 0.1),
    st.floats(0.0, 0.99),
)
def test_any_direction_within_the_tolerance_passes(direction, share):
    expected = GRAVITY * np.array(direction) / np.linalg.norm(direction)
    off = np.array([share * TOLERANCE * GRAVITY, 0.0, 0.0])
    assert check_accelerometer('a', (expected + off)[None], expected) is None
