"""Sine and cosine of the kernels: errors, limits, and the same bits in a loop as alone."""

import numpy as np
import pytest

from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import FAR, near_sin_cos, sin_cos


@kernel
def of_each(x, out):
    for k in range(len(x)):
        out[k, 0], out[k, 1] = sin_cos(x[k])


@kernel
def of_many(x, out):
    for k in range(len(x)):
        out[k, 0], out[k, 1] = near_sin_cos(x[k])


def evaluated(function, x):
    out = np.empty((len(x), 2))
    function(np.asarray(x, dtype=np.float64), out)
    return out


def angles(size):
    """Random ones, multiples of π/4 and their neighbours."""
    rng = np.random.default_rng(5)
    some = rng.uniform(-size, size, 20_000)
    multiples = np.arange(-200, 201) * (np.pi / 4) * max(1.0, size // 200)
    return np.concatenate([some, multiples, np.nextafter(multiples, np.inf), [0.0, -0.0, 5e-324]])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason='no wider numbers to compare with')
@pytest.mark.parametrize('size', [1.0, 10.0, 1000.0, FAR])
def test_errors_are_as_small_as_stated(size):
    x = angles(size)
    exact = np.stack([np.sin(x.astype(np.longdouble)), np.cos(x.astype(np.longdouble))], axis=1)
    error = np.abs(evaluated(of_each, x) - exact).astype(float)
    assert error.max() < 1.7e-16
    small = np.abs(exact) < 1e-3
    assert (error[small] <= 1e-15 * np.abs(exact[small])).all()


def test_the_bits_in_a_loop_are_those_alone():
    x = angles(FAR)
    many, each = (evaluated(f, x).view(np.int64) for f in (of_many, of_each))
    assert np.array_equal(many, each)


def test_far_angles_and_what_is_no_number():
    far = [1e7, -3e15, 1.7e308]
    np.testing.assert_allclose(evaluated(of_each, far), np.stack([np.sin(far), np.cos(far)], 1))
    assert np.isnan(evaluated(of_each, [np.nan, np.inf, -np.inf])).all()
