from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.signals import outlier_gate
from izmp_dynamics.signals.outlier_gate import ACCELERATION_LIMIT, RESOLUTION

MS = 1_000_000
COUNT_12_BIT = 2 * np.pi / 4096
RATES = [100, 500, 1000]


class GatedPositions(NamedTuple):
    positions: np.ndarray
    outliers: np.ndarray
    kinks: np.ndarray


def gate(stamps, positions, limit=ACCELERATION_LIMIT) -> GatedPositions:
    gated = GatedPositions(
        np.empty(positions.shape), *np.empty((2, *positions.shape), dtype=np.bool_)
    )
    outlier_gate.gate(stamps, positions, float(limit), 50 * MS, *gated)
    return gated


def clock(rate: float, rows: int = 60) -> np.ndarray:
    return np.round((1 + np.arange(rows)) / rate * 1e9).astype(np.int64)


def swing(stamps, amplitude=0.4, frequency=2.5, phase=0.0) -> np.ndarray:
    return amplitude * np.sin(2 * np.pi * frequency * stamps[:, None] * 1e-9 + phase)


def is_untouched(gated: GatedPositions) -> bool:
    return not gated.outliers.any() and not gated.kinks.any()


@given(
    rate=st.sampled_from(RATES),
    frequency=st.floats(0.1, 8.0),
    phase=st.floats(0.0, 6.0),
    share=st.floats(0.0, 0.9),
)
def test_motion_of_a_12_bit_encoder_passes_untouched(rate, frequency, phase, share) -> None:
    stamps = clock(rate)
    amplitude = min(share * ACCELERATION_LIMIT / (2 * np.pi * frequency) ** 2, 2.0)
    counts = np.round(swing(stamps, amplitude, frequency, phase) / COUNT_12_BIT)
    gated = gate(stamps, counts * COUNT_12_BIT)
    assert is_untouched(gated)
    np.testing.assert_array_equal(gated.positions, counts * COUNT_12_BIT)


@pytest.mark.parametrize('rate', RATES)
@given(phase=st.floats(0.0, 1.0), before=st.floats(-2.5, 2.5), share=st.floats(-0.99, 0.99))
def test_an_impact_passes_untouched(rate, phase, before, share) -> None:
    """A speed may jump by what the acceleration limit and the resolution allow in one sample."""
    stamps = clock(rate)
    after = before + share * (ACCELERATION_LIMIT / rate + 2 * RESOLUTION * rate)
    since = stamps[:, None] * 1e-9 - (30 + phase) / rate
    positions = np.where(since < 0, before * since, after * since)
    assert is_untouched(gate(stamps, positions))


@pytest.mark.parametrize('rate', RATES)
@given(row=st.integers(2, 57), excess=st.floats(0.0, 1e6), sign=st.sampled_from([-1.0, 1.0]))
def test_a_spike_is_found_and_replaced_by_its_neighbours(rate, row, excess, sign) -> None:
    # What the joint cannot do, and what its own acceleration can hide in the predictions.
    hidden = 1.1 * 0.4 * (2 * np.pi * 2.5) ** 2 / rate**2
    height = 0.25 * ACCELERATION_LIMIT / rate**2 + RESOLUTION + hidden + excess
    stamps = clock(rate)
    clean = swing(stamps)
    dirty = clean.copy()
    dirty[row] += sign * height
    gated = gate(stamps, dirty)
    assert np.argwhere(gated.outliers).tolist() == [[row, 0]]
    assert not gated.kinks.any()
    # Error of the cubic through the neighbours: h⁴ / 6 times the fourth derivative.
    bound = 0.4 * (2 * np.pi * 2.5 / rate) ** 4 / 6
    assert abs(gated.positions[row, 0] - clean[row, 0]) <= bound * 1.01
    np.testing.assert_array_equal(np.delete(gated.positions, row), np.delete(clean, row))


def test_jitter_counts_with_the_actual_stamps() -> None:
    rng = np.random.default_rng(1)
    stamps = np.cumsum(rng.integers(5 * MS, 27 * MS, 300))
    assert is_untouched(gate(stamps, swing(stamps)))


def test_the_end_of_a_log_is_not_extrapolated() -> None:
    stamps = clock(500)
    dirty = swing(stamps)
    dirty[[0, -1]] = np.nan
    assert np.isnan(gate(stamps, dirty).positions[[0, -1]]).all()
