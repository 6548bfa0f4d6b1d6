import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import savgol_filter

from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.signals.differences import (
    backward_quotient,
    central_quotient,
    local_polynomial,
)

from .raising import raising

MS = 1_000_000


def uniform(rows: int, period_ms: int = 2) -> np.ndarray:
    return (1_600_000_000_000 + np.arange(rows) * period_ms) * MS


def signal(stamps: np.ndarray) -> np.ndarray:
    t = (stamps - stamps[0]) * 1e-9
    return np.column_stack([np.sin(9.0 * t), np.cos(5.0 * t) + t, np.exp(-t)])


@st.composite
def jittering_polynomials(draw, degree: int):
    """Stamps with uneven spacing and, exactly, a polynomial with its derivatives there."""
    steps = draw(st.lists(st.integers(1 * MS, 27 * MS), min_size=8, max_size=40))
    stamps = 1_602_256_052_650_439_936 + np.cumsum(steps)
    coefficients = draw(
        st.lists(st.floats(-5.0, 5.0, width=32), min_size=degree + 1, max_size=degree + 1)
    )
    polynomial = np.polynomial.Polynomial(coefficients)
    t = (stamps - stamps[0]) * 1e-9
    derivatives = [polynomial.deriv(order)(t)[:, None] for order in (1, 2)]
    return stamps, polynomial(t)[:, None], derivatives


def rounding(stamps: np.ndarray, x: np.ndarray, order: int) -> float:
    """Bound of what rounding the samples to 53 bits does to a derivative of the given order."""
    shortest = np.diff(stamps).min() * 1e-9
    return 200 * np.finfo(float).eps * max(1.0, np.abs(x).max()) / shortest**order


def test_backward_is_the_papers_quotient() -> None:
    stamps = uniform(50)
    x = signal(stamps)
    first, valid = backward_quotient(stamps, x)
    np.testing.assert_allclose(first[1:], (x[1:] - x[:-1]) / 0.002, rtol=1e-14)
    assert not valid[0]
    assert np.isnan(first[0]).all()
    assert valid[1:].all()


@pytest.mark.parametrize(('window', 'degree'), [(5, 2), (7, 3), (11, 4), (31, 2), (51, 4)])
def test_polynomial_on_even_stamps_is_savitzky_golay(window: int, degree: int) -> None:
    stamps = uniform(120)
    x = signal(stamps)
    fit = local_polynomial(stamps, x, window, degree)
    inner = slice(window // 2, -(window // 2))
    for order, got in enumerate(fit[:3]):
        expected = savgol_filter(x, window, degree, deriv=order, delta=0.002, axis=0)
        scale = 1e-13 / 0.002**order
        np.testing.assert_allclose(got[inner], expected[inner], rtol=1e-10, atol=scale)
    assert list(np.flatnonzero(fit.valid)) == list(range(120)[inner])


@given(jittering_polynomials(degree=2))
def test_central_is_exact_on_parabolas(case) -> None:
    stamps, x, (velocity, acceleration) = case
    value, first, second, valid = central_quotient(stamps, x)
    assert np.flatnonzero(~valid).tolist() == [0, len(x) - 1]
    np.testing.assert_array_equal(value[valid], x[valid])
    np.testing.assert_allclose(first[valid], velocity[valid], rtol=0, atol=rounding(stamps, x, 1))
    np.testing.assert_allclose(
        second[valid], acceleration[valid], rtol=0, atol=rounding(stamps, x, 2)
    )


@pytest.mark.parametrize('degree', [2, 3, 4])
@settings(max_examples=40)
@given(data=st.data())
def test_polynomial_fit_is_exact_on_its_degree(degree: int, data) -> None:
    stamps, x, (velocity, acceleration) = data.draw(jittering_polynomials(degree=degree))
    value, first, second, valid = local_polynomial(stamps, x, 7, degree)
    for got, expected, order in ((value, x, 0), (first, velocity, 1), (second, acceleration, 2)):
        np.testing.assert_allclose(
            got[valid], expected[valid], rtol=0, atol=10 * rounding(stamps, x, order)
        )


@pytest.mark.parametrize('max_gap', [0.01, None])
def test_no_value_across_a_gap(max_gap: float | None) -> None:
    stamps = uniform(40)
    stamps[20:] += 170 * MS
    x = signal(stamps)
    lost = {
        'backward': ~backward_quotient(stamps, x, max_gap)[1],
        'central': ~central_quotient(stamps, x, max_gap).valid,
        'fit': ~local_polynomial(stamps, x, 5, 2, max_gap).valid,
    }
    around = {'backward': {20}, 'central': {19, 20}, 'fit': {18, 19, 20, 21}}
    for name, mask in lost.items():
        expected = around[name] if max_gap else set()
        assert set(np.flatnonzero(mask[2:-2]) + 2) == expected, name


def test_stamps_that_do_not_increase_are_refused() -> None:
    with raising(SensingError, 'stamps_not_increasing', sample=2):
        central_quotient(np.array([1, 2, 2, 3]), np.zeros((4, 1)))


def test_shape_error_names_the_shape() -> None:
    with raising(ShapeError, 'shape', expected='(4, m)', got=(3, 2)):
        backward_quotient(np.arange(1, 5), np.zeros((3, 2)))


@pytest.mark.parametrize(
    ('window', 'degree', 'kind'),
    [(6, 2, 'window'), (3, 3, 'window'), (7, 5, 'degree'), (7, 1, 'degree'), (1, 2, 'window')],
)
def test_impossible_windows_are_refused(window: int, degree: int, kind: str) -> None:
    with raising(SensingError, kind, degree=degree):
        local_polynomial(uniform(20), np.zeros((20, 1)), window, degree)


@pytest.mark.parametrize('rows', [0, 1, 2])
def test_too_few_samples_have_no_value(rows: int) -> None:
    stamps, x = uniform(rows), np.zeros((rows, 2))
    assert not central_quotient(stamps, x).valid.any()
    assert not local_polynomial(stamps, x, 5, 2).valid.any()
