import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.sensing.difference_stage import QUOTIENTS
from izmp_dynamics.sensing.gyro_difference import GyroDifference
from izmp_dynamics.sensing.root_state import RootState

from .raising import raising

MS = 1_000_000
ARM = np.array([0.05, -0.1, 0.2])
FREQUENCY = 2 * np.pi * 1.5
FIELDS = ('stamps', 'angular_velocity', 'angular_acceleration', 'proper_acceleration', 'valid')


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
    state, verdicts = GyroDifference(ARM, 0.002, method=method).batch(stamps, omega, force)
    expected_omega, alpha, phi, _ = motion(state.stamps)
    assert state.valid.all()
    assert not verdicts.any()
    np.testing.assert_array_equal(state.angular_velocity, expected_omega)
    error = np.abs(state.angular_acceleration - alpha).max()
    assert error <= bound * 1.001
    assert np.abs(state.proper_acceleration - phi).max() <= 2 * error * np.abs(ARM).sum()


def test_at_the_root_origin_the_accelerometer_is_phi() -> None:
    stamps = clock()
    omega, _, _, force = motion(stamps)
    state, _ = GyroDifference(np.zeros(3), 0.002).batch(stamps, omega, force)
    np.testing.assert_array_equal(state.proper_acceleration, force[1:-1])


@settings(deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(QUOTIENTS),
    st.integers(0, 60),
)
def test_one_by_one_equals_batch_bit_by_bit(seed, method, rows) -> None:
    rng = np.random.default_rng(seed)
    steps = rng.integers(MS // 4, 4 * MS, rows)
    steps[rng.random(rows) < 0.05] = 200 * MS
    stamps = np.cumsum(steps)
    stamps[rng.random(rows) < 0.05] = 0
    omega, _, _, force = motion(stamps)
    force[rng.random(rows) < 0.1] = np.nan
    stage = GyroDifference(ARM, 0.002, method=method)
    batch, verdicts = stage.batch(stamps, omega, force)
    single = (slice(row, row + 1) for row in range(rows))
    parts = [stage.extend(stamps[one], omega[one], force[one]) for one in single]
    live = RootState.joined([*parts, stage.flush()])
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(live, name), getattr(batch, name))
    assert sum(stage.faults.values()) == np.count_nonzero(verdicts)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(QUOTIENTS), st.integers(0, 399))
def test_a_padded_window_equals_the_whole_bit_by_bit(seed, method, first) -> None:
    rng = np.random.default_rng(seed)
    stamps = np.cumsum(rng.integers(MS // 4, 4 * MS, 400))
    omega, _, _, force = motion(stamps)
    stage = GyroDifference(ARM, 0.002, method=method, max_gap=0.005)
    start, end = stamps[first], stamps[min(first + 40, 399)]
    padding = round(stage.context * 1e9)
    inside = (stamps >= start - padding) & (stamps <= end + padding)
    whole, _ = stage.batch(stamps, omega, force)
    window, _ = stage.batch(stamps[inside], omega[inside], force[inside])
    for name in FIELDS:
        np.testing.assert_array_equal(
            getattr(window, name)[(window.stamps >= start) & (window.stamps <= end)],
            getattr(whole, name)[(whole.stamps >= start) & (whole.stamps <= end)],
        )


@pytest.mark.parametrize('wild', [np.nan, np.inf, -np.inf, 1e300])
def test_samples_that_are_not_usable_are_invalid(wild: float) -> None:
    stamps = clock(20)
    omega, _, _, force = motion(stamps)
    omega[10] = wild
    state, _ = GyroDifference(ARM, 0.002).batch(stamps, omega, force)
    if not np.isfinite(wild):
        assert set(stamps[[9, 10, 11]]) == set(state.stamps[~state.valid])
    assert np.isfinite(state.proper_acceleration[state.valid]).all()


def test_latency_is_what_it_says() -> None:
    stamps = clock(20)
    omega, _, _, force = motion(stamps)
    for method in QUOTIENTS:
        stage = GyroDifference(ARM, 0.002, method=method)
        for row in range(20):
            one = slice(row, row + 1)
            done = stage.extend(stamps[one], omega[one], force[one])
            if len(done):
                assert done.stamps[-1] == stamps[row - stage.latency]


def test_wrong_input_is_refused() -> None:
    with raising(SensingError, 'unknown_method', method='magic', valid=QUOTIENTS):
        GyroDifference(ARM, 0.002, method='magic')
    with raising(ShapeError, 'shape', name='specific_force'):
        GyroDifference(ARM, 0.002).batch(clock(3), np.zeros((3, 3)), np.zeros((3, 2)))
