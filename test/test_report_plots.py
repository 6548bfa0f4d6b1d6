"""Long signals in few points, limits, and the order in which lines are drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from izmp_dynamics.pages import styles
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


def test_envelope_of_a_long_signal_keeps_every_peak_in_its_place():
    signal = np.zeros(100_000)
    peaks = np.array([12_345, 54_321, 99_998])
    signal[peaks] = [5.0, -3.0, 7.0]
    timeline = timeline_of(len(signal))
    time, drawn = envelope(timeline, signal, 500)
    assert len(drawn) == 1000
    width = timeline.duration / 500
    for peak in peaks:
        nearest = time[drawn == signal[peak]]
        assert np.abs(nearest - timeline.time[peak]).min() <= width


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


def test_share_outside_ignores_nan():
    assert share_outside(np.array([0.0, np.nan, 5.0, 1.0]), (-1.0, 2.0)) == pytest.approx(1 / 3)
    assert share_outside(np.array([np.nan]), (0.0, 1.0)) == 0.0


def test_calm_lines_are_layered_wide_to_thin_and_wild_ones_are_faint_behind():
    calm = styles.back_to_front({'mr_ad': 0.001, 'ir_md': 0.002, 'cop': 0.0})
    assert [name for name, _ in calm] == ['cop', 'ir_md', 'mr_ad']
    widths = [style.width for _, style in calm]
    assert widths == sorted(widths, reverse=True)
    wild = styles.back_to_front({'mr_ad': 0.1, 'ir_md': 2.0, 'cop': 0.0})
    assert [name for name, _ in wild] == ['ir_md', 'mr_ad', 'cop']
    assert wild[0][1].width < styles.STYLES['ir_md'].width
    assert wild[0][1].colour == 'ir-md'


def test_restlessness_is_scale_free_and_ignores_gaps():
    saw = np.tile([0.0, 1.0], 50)
    assert styles.restlessness(saw, 10.0) == pytest.approx(0.1)
    assert styles.restlessness(7 * saw, 70.0) == pytest.approx(0.1)
    assert styles.restlessness(np.full(5, np.nan), 1.0) == 0.0
    assert styles.restlessness(np.empty((0, 2)), 1.0) == 0.0
    assert styles.restlessness(np.stack([saw, 0 * saw], 1), 10.0) == pytest.approx(0.1)


def test_a_few_values_are_no_wild_line():
    assert styles.restlessness(np.array([0.0, 1.0, 0.0]), 1.0) == 0.0
