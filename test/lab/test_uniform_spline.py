"""Uniform B-splines as matrices."""

import numpy as np
import pytest

from izmp_lab.walking.com_programme import UniformSpline

CUBIC, POLYGON = UniformSpline(3, 0.1, 16), UniformSpline(1, 0.1, 16)
TIMES = np.linspace(0.0, 1.6, 97)


def test_the_window_of_the_poster_has_its_numbers_of_control_points():
    assert CUBIC.count == 19
    assert POLYGON.count == 17
    assert CUBIC.duration == pytest.approx(1.6)


@pytest.mark.parametrize('spline', [CUBIC, POLYGON], ids=['cubic', 'polygon'])
def test_the_basis_adds_up_to_one_everywhere(spline):
    assert spline.basis(TIMES).sum(axis=1) == pytest.approx(np.ones(len(TIMES)), abs=1e-12)


def test_a_polygon_passes_through_its_control_points():
    assert POLYGON.basis(0.1 * np.arange(17.0)) == pytest.approx(np.eye(17), abs=1e-12)


def test_derivatives_are_those_of_the_values():
    step = 1e-4
    inside = TIMES[2:-2] + 0.01
    for order in (0, 1):
        slope = CUBIC.basis(inside + step, order) - CUBIC.basis(inside - step, order)
        assert slope / (2 * step) == pytest.approx(CUBIC.basis(inside, order + 1), abs=1e-2)


def test_a_window_that_is_shifted_is_the_same_curve():
    control = np.random.default_rng(1).normal(size=19)
    later = TIMES[TIMES <= 1.5]
    shifted = np.append(control[1:], 7.0)
    assert CUBIC.basis(later + 0.1) @ control == pytest.approx(CUBIC.basis(later) @ shifted)
