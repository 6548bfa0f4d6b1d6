import math

import pytest

from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.sensing.noise import XSENS_ACCELEROMETER, degrees, micro_g, standard_deviation

from .raising import raising


def test_units_of_data_sheets() -> None:
    assert micro_g(1e6) == pytest.approx(9.80665)
    assert degrees(180.0) == pytest.approx(math.pi)
    assert pytest.approx(5.884e-4, rel=1e-4) == XSENS_ACCELEROMETER


def test_sigma_is_density_times_root_of_rate() -> None:
    assert standard_deviation(2.0, 100.0) == 20.0


@pytest.mark.parametrize(
    ('density', 'rate'), [(-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0), (1.0, 0.0), (1.0, -1.0)]
)
def test_impossible_noise_is_refused(density: float, rate: float) -> None:
    with raising(SensingError, 'noise', rate=rate):
        standard_deviation(density, rate)
