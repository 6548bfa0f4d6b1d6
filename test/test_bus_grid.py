from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.signals.bus_grid import BusGrid

MS = 1_000_000
TODAY = 1_763_769_600 * 1000 * MS
"""A whole second [ns]."""


def test_a_rate_that_does_not_divide() -> None:
    stamps = 2 * np.arange(25) * MS
    selected = BusGrid(200.0, 0.002).select(stamps)
    # ticks at 0, 5, 10 ... ms; a sample counts from 5/6 ms before its tick
    assert list(stamps[selected] // MS) == [6, 10, 16, 20, 26, 30, 36, 40, 46]


def test_a_lost_sample_shifts_only_its_own_tick() -> None:
    stamps = np.delete(2 * np.arange(20), 8) * MS
    selected = BusGrid(125.0, 0.002).select(stamps, before=-2 * MS)
    assert list(stamps[selected] // MS) == [0, 8, 18, 24, 32]


@pytest.mark.parametrize('rate', [50.0, 100.0 / 3.0, 125.0])
def test_the_next_instant_is_the_first_one_from_then_on(rate) -> None:
    grid = BusGrid(rate, 0.002)
    before = TODAY + 3 * MS
    first = grid.next_after(before)
    assert grid.select(np.array([first]), before).all()
    assert not grid.select(np.array([first - 1]), before).any()


@pytest.mark.parametrize('rate', [90.0, 100.0, 125.0, 500.0])
def test_of_a_stream_that_is_hardly_faster_everything_is_selected(rate) -> None:
    """Two samples may fall on one tick and none on the next."""
    rng = np.random.default_rng(0)
    stamps = TODAY + 10 * np.arange(200) * MS + rng.integers(-4 * MS, 4 * MS, 200)
    assert BusGrid(rate, 0.01).select(stamps).all()


@given(
    steps=st.lists(st.integers(1, 9), min_size=2, max_size=50),
    rate=st.sampled_from([50.0, 100.0 / 3.0, 125.0, 333.0]),
    period=st.sampled_from([0.002, 0.00203]),
    begin=st.integers(1, TODAY),
    cut=st.integers(1, 49),
)
def test_the_choice_does_not_depend_on_where_a_stream_begins(
    steps, rate, period, begin, cut
) -> None:
    """Nor on its period, which a live system learns from other samples; nor on the pieces."""
    stamps = begin + np.cumsum(steps) * MS
    cut = min(cut, len(stamps) - 1)
    whole = BusGrid(rate, 0.002).select(stamps, before=begin)
    later = BusGrid(rate, period).select(stamps[cut:])
    np.testing.assert_array_equal(later[1:], whole[cut + 1 :])
    assert not later[0]
    grid, before = BusGrid(rate, period), begin
    for stamp, expected in zip(stamps, whole, strict=True):
        assert grid.select(np.array([stamp]), before) == [expected]
        before = int(stamp)


@pytest.mark.parametrize('rate', [10.0, 33.3, 100.0 / 3.0, 125.0, 499.999])
def test_the_ticks_are_exact_after_half_a_century(rate) -> None:
    """Where rounding would show: a nanosecond before the half sample in front of a tick."""
    exact = Fraction(rate).limit_denominator(1000)
    tick = int(TODAY * exact) // 10**9 + 1
    grid = BusGrid(rate, 0.1 / rate)
    first = -((-tick * 10**9) // exact) - round(10**9 / (20.0 * rate))
    stamps = np.array([first - 1, first, first + 1], dtype=np.int64)
    np.testing.assert_array_equal(grid.select(stamps), [False, True, False])
