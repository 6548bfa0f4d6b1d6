"""Metrics: the paper's as printed, and those that bear zero crossings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.compare.metrics import deviation, paper_delta

from .raising import raising

numbers = st.floats(-1.0, 1.0, allow_nan=False).map(lambda x: round(x, 6))
signals = st.integers(2, 30).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=numbers), arrays(float, n, elements=numbers))
)


def test_paper_delta_by_hand():
    # |1.1 - 1| / 1 + |2 - 2| / 2 + |3 - 4| / 4 = 0.35; three samples, so n = 2
    assert paper_delta(np.array([1.1, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])) == pytest.approx(17.5)


def test_all_measures_by_hand():
    found = deviation(np.array([1.0, -1.0, 3.0, np.nan]), np.array([1.0, 1.0, 2.0, 5.0]))
    assert found.count == 3
    assert found.relative == pytest.approx(100 * 3 / 4)
    assert found.mean == pytest.approx(1.0)
    assert found.rms == pytest.approx(math.sqrt(5 / 3))
    assert found.largest == 2.0
    assert found.bias == pytest.approx(-1 / 3)


def test_a_zero_crossing_decides_the_papers_metric_and_not_the_other():
    times = 0.008 * np.arange(125)  # 125 Hz
    found = []
    for phase in (0.0, 0.0019):  # the wave crosses zero at 0.25 s = 31 · 0.008 s + 0.002 s
        reference = 0.08 * np.cos(2 * np.pi * (times + phase))
        found.append(deviation(reference + 1e-3, reference))
    assert found[0].relative == pytest.approx(found[1].relative, rel=0.01)
    assert found[1].paper > 2.0 * found[0].paper


@given(signals, st.floats(0.1, 10.0))
def test_relative_measures_do_not_depend_on_the_unit(pair, scale):
    values, reference = pair
    one, other = deviation(values, reference), deviation(scale * values, scale * reference)
    assert other.relative == pytest.approx(one.relative, rel=1e-9)
    assert other.paper == pytest.approx(one.paper, rel=1e-9)
    assert other.rms == pytest.approx(scale * one.rms, rel=1e-9, abs=1e-15)


def test_a_reference_of_zero_is_infinitely_far_in_relative_measures():
    found = deviation(np.ones(3), np.zeros(3))
    assert found.paper == found.relative == math.inf
    assert found.mean == 1.0


def test_shapes_must_agree():
    with raising(ShapeError, 'shape', name='values'):
        deviation(np.zeros(3), np.zeros(4))
