import numpy as np
import pytest
from scipy.signal import butter, lfilter, sosfiltfilt

from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.sensing.acd import ActuatorDifferentiator
from izmp_dynamics.signals.low_pass import (
    CausalLowPass,
    ZeroPhaseLowPass,
    settle_time,
)

from .raising import raising

MS = 1_000_000
PERIOD = 0.01


def clock(rows: int) -> np.ndarray:
    return (160_000 + np.arange(rows)) * 10 * MS


def wave(stamps: np.ndarray, frequency: float) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * (stamps - clock(1)[0]) * 1e-9)[:, None]


def gain(stamps: np.ndarray, output: np.ndarray, frequency: float) -> complex:
    """Complex amplitude of the output's middle part at a frequency."""
    t = (stamps - clock(1)[0]) * 1e-9
    basis = np.column_stack([np.sin(2 * np.pi * frequency * t), np.cos(2 * np.pi * frequency * t)])
    part = slice(len(t) // 4, -len(t) // 4)
    a, b = np.linalg.lstsq(basis[part], output[part, 0], rcond=None)[0]
    return complex(a, b)


def magnitude(frequency: float, cutoff: float, order: int) -> float:
    """One pass of a digital Butterworth filter (bilinear transform)."""
    warped = np.tan(np.pi * frequency * PERIOD) / np.tan(np.pi * cutoff * PERIOD)
    return float(1.0 / np.sqrt(1.0 + warped ** (2 * order)))


@pytest.mark.parametrize('frequency', [0.5, 2.0, 4.0, 8.0])
@pytest.mark.parametrize('order', [1, 2, 4])
def test_zero_phase_attenuates_twice_and_delays_nothing(frequency: float, order: int) -> None:
    stamps = clock(2000)
    filtered = ZeroPhaseLowPass(4.0, PERIOD, order).batch(stamps, wave(stamps, frequency))
    got = gain(stamps, filtered, frequency)
    assert got.real == pytest.approx(magnitude(frequency, 4.0, order) ** 2, abs=1e-5)
    assert abs(got.imag) <= 1e-5


def test_on_even_stamps_it_is_scipys_filter() -> None:
    stamps = clock(800)
    x = np.random.default_rng(0).normal(size=(800, 3))
    filtered = ZeroPhaseLowPass(4.0, PERIOD).batch(stamps, x)
    expected = sosfiltfilt(butter(2, 4.0, fs=100.0, output='sos'), x, axis=0)
    np.testing.assert_allclose(filtered[200:-200], expected[200:-200], atol=1e-7)


def test_a_constant_stays_what_it_is() -> None:
    stamps = clock(500)
    x = np.full((500, 2), 3.25)
    np.testing.assert_allclose(ZeroPhaseLowPass(4.0, PERIOD).batch(stamps, x), x, atol=1e-9)
    np.testing.assert_allclose(CausalLowPass(4.0, PERIOD).extend(stamps, x), x, atol=1e-12)


@pytest.mark.parametrize('offset', [0, 1, 3, 9])
@pytest.mark.parametrize('cutoff', [4.0, 30.0])
def test_a_straight_line_stays_what_it_is_to_its_very_ends(cutoff: float, offset: int) -> None:
    """Also where the stamps lie between the ticks of the grid: no kink where a log ends."""
    stamps = clock(300) + offset * MS
    x = 2.0 * (stamps - stamps[0])[:, None] * 1e-9
    filtered = ZeroPhaseLowPass(cutoff, PERIOD).batch(stamps, x)
    np.testing.assert_allclose(filtered, x, atol=1e-4)


def test_jittering_stamps_do_not_reach_the_derivatives() -> None:
    """A slow joint, stamped late by up to 9 ms of 10: q̈ of the filtered signal stays near."""
    rng = np.random.default_rng(1)
    true = clock(3000)
    stamps = true + rng.integers(0, 9 * MS, 3000)
    exact = ZeroPhaseLowPass(4.0, PERIOD).batch(true, wave(true, 0.7))
    filtered = ZeroPhaseLowPass(4.0, PERIOD).batch(stamps, wave(stamps, 0.7))
    inner = slice(500, -500)
    error = filtered - wave(stamps, 0.7) * magnitude(0.7, 4.0, 2) ** 2
    # Straight lines over 19 ms at most: h² / 8 times the second derivative.
    assert np.abs(error[inner]).max() <= 0.019**2 / 8 * (2 * np.pi * 0.7) ** 2
    differentiator = ActuatorDifferentiator(['j'], PERIOD, acceleration_limit=None)
    smooth, _ = differentiator.batch(stamps, filtered)
    reference, _ = differentiator.batch(true, exact)
    rough, _ = differentiator.batch(stamps, wave(true, 0.7))
    peak = np.abs(reference.accelerations[inner]).max()
    assert np.abs(smooth.accelerations[inner]).max() <= 1.1 * peak
    assert np.abs(rough.accelerations[inner]).max() > 10 * peak


def test_causal_is_the_textbook_filter_after_its_start() -> None:
    stamps = clock(600)
    x = np.random.default_rng(0).normal(size=(600, 1))
    b, a = butter(2, 4.0, fs=100.0)
    expected = lfilter(b, a, x, axis=0)
    rows = round(settle_time(4.0, PERIOD) / PERIOD)
    filtered = CausalLowPass(4.0, PERIOD).extend(stamps, x)
    np.testing.assert_allclose(filtered[rows:], expected[rows:], rtol=0, atol=1e-8)


@pytest.mark.parametrize(('cutoff', 'order'), [(4.0, 1), (4.0, 2), (4.0, 4), (4.0, 8), (20.0, 2)])
def test_settle_time_bounds_the_memory(cutoff: float, order: int) -> None:
    rows = round(settle_time(cutoff, PERIOD, order) / PERIOD)
    impulse = np.zeros((3 * rows + 2, 1))
    impulse[1] = 1.0
    response = CausalLowPass(cutoff, PERIOD, order).extend(clock(len(impulse)), impulse)
    assert np.abs(response[rows + 1 :]).max() <= 1e-9


def test_gaps_and_missing_values() -> None:
    stamps = clock(400)
    stamps[200:] += 500 * MS
    x = np.where(np.arange(400) < 200, 1.0, 5.0)[:, None]
    x[100] = np.nan
    for filtered in (
        ZeroPhaseLowPass(4.0, PERIOD).batch(stamps, x),
        CausalLowPass(4.0, PERIOD).extend(stamps, x),
    ):
        np.testing.assert_allclose(filtered, x, atol=1e-9)


@pytest.mark.parametrize('rows', [0, 1, 2, 3, 5])
def test_short_logs(rows: int) -> None:
    filtered = ZeroPhaseLowPass(4.0, PERIOD).batch(clock(rows), np.ones((rows, 2)))
    np.testing.assert_allclose(filtered, np.ones((rows, 2)), atol=1e-12)


@pytest.mark.parametrize('stage', [ZeroPhaseLowPass, CausalLowPass])
@pytest.mark.parametrize('cutoff', [50.0, 80.0, 0.0, -1.0, np.nan])
def test_a_cut_off_that_is_not_below_half_the_rate_is_refused(stage, cutoff) -> None:
    with raising(SensingError, 'cutoff_above_nyquist', rate=100.0):
        stage(cutoff, PERIOD)
