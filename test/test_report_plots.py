"""Long signals in few points, limits, and the order in which lines are drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from izmp_dynamics.report.plots import envelope, robust_limits, share_outside
from izmp_dynamics.verdict.timeline import Timeline

values = st.one_of(st.floats(-1e6, 1e6), st.just(float('nan')))
signals = arrays(np.float64, st.integers(1, 400), elements=values)


def timeline_of(count, rate=100.0):
    return Timeline.of((np.arange(count) * 1e9 / rate).astype(np.int64))


@given(signals, st.integers(2, 50))
def test_envelope_keeps_the_extremes_and_stays_short(signal, bins):
    time, drawn = envelope(timeline_of(len(signal)), signal, bins)
    assert len(time) == len(drawn) <= max(4 * bins, len(signal) if len(signal) <= 4 * bins else 0)
    if np.isfinite(signal).any():
        assert np.nanmin(drawn) == np.nanmin(signal)
        assert np.nanmax(drawn) == np.nanmax(signal)
    else:
        assert not np.isfinite(drawn).any()


@pytest.mark.parametrize('count', [200, 20_000])
def test_lines_break_where_the_recording_has_a_gap(count):
    stamps = np.arange(count, dtype=np.int64) * 10_000_000
    stamps[count // 2 :] += stamps[-1] // 2
    time, drawn = envelope(Timeline.of(stamps), np.ones(count), 100)
    begin, end = stamps[count // 2 - 1] / 1e9, stamps[count // 2] / 1e9
    inside = (time > begin + 0.3 * (end - begin)) & (time < end - 0.3 * (end - begin))
    assert not np.isfinite(drawn[inside]).any()
    assert np.isnan(drawn).any()


@given(st.lists(signals, min_size=0, max_size=3))
def test_limits_are_finite_and_apart(several):
    low, high = robust_limits(several)
    assert np.isfinite([low, high]).all()
    assert low < high


@given(st.floats(-100, 100), st.floats(0.1, 50))
def test_limits_show_a_calm_signal_whole_and_ignore_a_few_wild_samples(middle, extent):
    calm = middle + extent * np.sin(np.linspace(0, 20, 1000))
    low, high = robust_limits([calm])
    assert low < calm.min()
    assert high > calm.max()
    spiky = calm.copy()
    spiky[[3, 500]] = [1e9, -1e9]
    low, high = robust_limits([spiky])
    assert high - low < 6 * extent
    assert share_outside(spiky, (low, high)) == pytest.approx(2 / 1000)


def test_limits_stay_within_their_bounds():
    wild = np.linspace(-50, 50, 1000)
    low, high = robust_limits([wild], bounds=(-1.0, 2.0))
    assert low == pytest.approx(-1.0, abs=0.5)
    assert high == pytest.approx(2.0, abs=0.5)
    assert robust_limits([wild + 1000], bounds=(-1.0, 2.0)) == (-1.0, 2.0)
