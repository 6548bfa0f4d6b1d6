import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.errors import SensingError
from izmp_dynamics.sensing.bus_grid import BusGrid

from .raising import raising

MS = 1_000_000


def test_every_fourth_of_500_hz_at_125_hz() -> None:
    stamps = (7 + 2 * np.arange(20)) * MS
    selected = BusGrid(125.0, 0.002).select(stamps, origin=7 * MS)
    assert list(np.flatnonzero(selected)) == [0, 4, 8, 12, 16]


def test_a_rate_that_does_not_divide() -> None:
    stamps = 2 * np.arange(25) * MS
    selected = BusGrid(200.0, 0.002).select(stamps, origin=0)
    # ticks at 0, 5, 10 ... ms; a sample counts from 1 ms before its tick
    assert list(stamps[selected] // MS) == [0, 4, 10, 14, 20, 24, 30, 34, 40, 44]


def test_jitter_below_half_a_sample_does_not_change_the_pattern() -> None:
    rng = np.random.default_rng(0)
    regular = 2 * np.arange(400) * MS
    jittering = regular + rng.integers(-900_000, 900_000, 400)
    grid = BusGrid(125.0, 0.002)
    expected = grid.select(regular, origin=0)
    np.testing.assert_array_equal(grid.select(jittering, origin=0), expected)


def test_a_lost_sample_shifts_only_its_own_tick() -> None:
    stamps = np.delete(2 * np.arange(20), 8) * MS
    selected = BusGrid(125.0, 0.002).select(stamps, origin=0)
    assert list(stamps[selected] // MS) == [0, 8, 18, 24, 32]


def test_without_a_rate_everything_is_selected() -> None:
    assert BusGrid(None, 0.002).select(np.arange(5), origin=0).all()
    assert BusGrid(None, 0.002).tick == 0.0


@given(
    steps=st.lists(st.integers(1, 9), min_size=2, max_size=50),
    rate=st.sampled_from([50.0, 100.0, 125.0, 333.0]),
    cut=st.integers(1, 49),
)
def test_the_choice_does_not_depend_on_where_a_window_begins(steps, rate, cut) -> None:
    stamps = np.cumsum(steps) * MS
    cut = min(cut, len(stamps) - 1)
    grid = BusGrid(rate, 0.002)
    whole = grid.select(stamps, origin=0)
    part = grid.select(stamps[cut:], origin=0, before=int(stamps[cut - 1]))
    np.testing.assert_array_equal(part, whole[cut:])


@pytest.mark.parametrize('rate', [0.0, -5.0, np.nan, np.inf])
def test_impossible_rates(rate: float) -> None:
    with raising(SensingError, 'bus_rate'):
        BusGrid(rate, 0.002)
