"""What no clock and no sensor can say is told apart from what a robot may do."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from izmp_dynamics.replay.credible import (
    FAR,
    NEIGHBOURS,
    UNSET,
    count_faults,
    credible_stamps,
    stamp_faults,
    too_large,
)

START = 1_700_000_000_000_000_000
SECOND = 10**9
FAR_NS = round(FAR * SECOND)

jumps = st.one_of(st.integers(FAR_NS + 1, 8 * 10**17), st.integers(-(8 * 10**17), -FAR_NS - 1))


def regular(count, step=2_000_000):
    return START + step * np.arange(count)


@given(st.lists(st.integers(1, FAR_NS // 3), min_size=0, max_size=50))
def test_stamps_that_only_increase_are_credible(steps):
    """However unsteadily, as long as no silence is so long that one clock cannot be told."""
    assert credible_stamps(START + np.cumsum([0, *steps])).all()


@given(st.integers(NEIGHBOURS + 1, 400), st.integers(NEIGHBOURS + 1, 400), jumps)
def test_a_clock_that_is_set_is_credible(before, after, jump):
    """Whoever has the time before and the time after cannot say which is wrong."""
    stamps = regular(before + after)
    stamps[before:] += jump
    assert credible_stamps(stamps).all()


@given(
    st.sets(st.integers(0, 19), min_size=1, max_size=6),
    jumps,
)
def test_single_stray_stamps_are_found(places, jump):
    """At least a dozen messages apart; also at either end of a span."""
    stamps = regular(240)
    strays = np.array(sorted(places)) * 12 + 5
    stamps[strays] += 2 * jump
    expected = np.zeros(len(stamps), dtype=bool)
    expected[strays] = True
    np.testing.assert_array_equal(~credible_stamps(stamps), expected)


def test_a_stray_stamp_at_the_very_ends_is_found():
    for place in (0, -1):
        stamps = regular(100)
        stamps[place] += 600 * SECOND
        assert np.flatnonzero(~credible_stamps(stamps)).tolist() == [place % 100]


def test_stamps_that_nobody_set_are_counted():
    stamps = regular(10)
    stamps[[2, 5]] = 0
    stamps[7] = -1
    assert count_faults(stamp_faults(stamps)) == {UNSET: 3}


def test_few_stamps_are_not_judged_by_each_other():
    assert credible_stamps(np.array([START, START + 10**17])).all()
    assert credible_stamps(np.zeros(0, dtype=np.int64)).shape == (0,)


def test_sizes_are_judged_per_column_and_nan_is_left_to_others():
    values = np.array([[1.0, 50.0], [11.0, 0.0], [np.nan, -200.0], [np.inf, 0.0]])
    assert too_large(values, np.array([10.0, 100.0])).tolist() == [False, True, True, False]
    assert too_large(values, 100.0).tolist() == [False, False, True, False]
