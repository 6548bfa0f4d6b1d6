import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.sensing.noise import XSENS_ACCELEROMETER
from izmp_lab.simulation.white_noise import XSENS_GYROSCOPE, WhiteNoise

from ..raising import raising


def test_the_density_of_the_data_sheet() -> None:
    assert pytest.approx(1.7453e-4, rel=1e-4) == XSENS_GYROSCOPE


@pytest.mark.parametrize('rate', [125.0, 500.0])
def test_statistics(rate: float) -> None:
    count = 100_000
    noise = WhiteNoise(1, 'imu', XSENS_ACCELEROMETER, rate).batch(count)
    sigma = XSENS_ACCELEROMETER * math.sqrt(rate)
    assert noise.shape == (count, 3)
    assert np.abs(noise.mean(axis=0)).max() <= 5 * sigma / math.sqrt(count)
    np.testing.assert_allclose(noise.std(axis=0), sigma, rtol=5 / math.sqrt(2 * count))
    neighbours = np.mean(noise[1:] * noise[:-1]) / sigma**2
    assert abs(neighbours) <= 5 / math.sqrt(3 * count)


@given(st.integers(0, 20_000), st.integers(0, 9_000))
def test_a_window_gives_the_same_bits_as_the_whole(first: int, count: int) -> None:
    noise = WhiteNoise(3, 'gyro', 1.0, 1.0)
    whole = WhiteNoise(3, 'gyro', 1.0, 1.0).batch(30_000)
    np.testing.assert_array_equal(noise.batch(count, first), whole[first : first + count])


def test_signals_and_seeds_are_independent() -> None:
    first = WhiteNoise(1, 'a', 1.0, 1.0).batch(10_000)
    for other in (WhiteNoise(1, 'b', 1.0, 1.0), WhiteNoise(2, 'a', 1.0, 1.0)):
        correlation = np.corrcoef(first[:, 0], other.batch(10_000)[:, 0])[0, 1]
        assert abs(correlation) <= 5 / math.sqrt(10_000)
    np.testing.assert_array_equal(WhiteNoise(1, 'a', 1.0, 1.0).batch(10_000), first)


def test_zero_density_gives_no_noise() -> None:
    assert not WhiteNoise(1, 'a', 0.0, 500.0).batch(100).any()


def test_a_negative_seed_is_refused() -> None:
    with raising(SensingError, 'seed', seed=-1):
        WhiteNoise(-1, 'a', 1.0, 1.0)
