"""Sums along short axes are those of numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from izmp_dynamics.base.conventions import finite_rows, mean_of_corners

NUMBERS = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([np.nan, np.inf, -np.inf]))


@given(
    arrays(float, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6), elements=NUMBERS)
)
def test_finite_rows(values):
    np.testing.assert_array_equal(finite_rows(values), np.isfinite(values).all(axis=1))


@pytest.mark.parametrize('corners', [1, 4, 5])
def test_mean_of_corners(corners):
    values = np.random.default_rng(0).normal(size=(20, corners, 3))
    values[3, 0, 1] = np.nan
    before = values.copy()
    np.testing.assert_array_equal(mean_of_corners(values), values.mean(axis=1))
    np.testing.assert_array_equal(values, before)
