"""Numbers of a report, its signals in few points, and the times in which it knows them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from izmp_dynamics.report.plots import envelope, robust_limits, share_outside
from izmp_dynamics.verdict import formatting
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


WRITTEN = {
    'mm': {0.0123: '12 mm', 0.00123: '1.2 mm', -0.038: '−38 mm', -1e-9: '< 0.001 mm', 0.0: '0 mm',
           3.2e-6: '0.003 mm', 0.00052: '0.52 mm', 2.345: '2.35 m', 0.9999: '1.00 m'},
    'seconds': {0.008: '8.0 ms', 0.05: '50 ms', 0.42: '0.42 s', 3600.0: '3600.0 s', 0.0: '0.00 s'},
    'instant': {3.4051: '3.41 s'},
    'percent': {1.0: '100 %', 0.99999: '> 99.9 %', 0.998: '99.8 %', 0.95: '95.0 %', 0.0: '0 %',
                1e-5: '< 0.1 %'},
    'ratio': {1.0021: '100.2 %'},
    'newtons': {270.66: '270.7 N', 1270.66: '1271 N'},
    'hertz': {0.0: formatting.NOTHING},
    'plain': {0.876: '0.88'},
    'times': {1: 'once', 2: 'twice', 3: '3 times'},
}  # fmt: skip


@pytest.mark.parametrize('name', WRITTEN)
def test_quantities_are_written_with_sensible_digits(name):
    for value, text in WRITTEN[name].items():
        assert getattr(formatting, name)(value) == text


@pytest.mark.parametrize(
    'name', ['mm', 'seconds', 'instant', 'percent', 'ratio', 'newtons', 'hertz', 'plain']
)
def test_no_value_is_a_dash(name):
    for nothing in (None, float('nan'), float('inf'), float('-inf')):
        assert getattr(formatting, name)(nothing) == formatting.NOTHING


masks = st.lists(st.booleans(), min_size=2, max_size=300).map(np.array)


@given(masks)
def test_runs_cover_the_mask_and_nothing_else(mask):
    starts, stops = timeline_of(len(mask)).runs(mask)
    covered = np.zeros(len(mask), dtype=bool)
    for start, stop in zip(starts, stops, strict=True):
        assert stop > start
        assert not covered[start:stop].any()
        covered[start:stop] = True
    assert np.array_equal(covered, mask)
    assert np.all(starts[1:] > stops[:-1])


@given(masks)
def test_a_mask_and_its_opposite_share_the_time(mask):
    timeline = timeline_of(len(mask))
    assert timeline.total(mask) + timeline.total(~mask) == pytest.approx(timeline.duration)
    everything = np.ones(len(mask), dtype=bool)
    shares = timeline.share(mask, everything) + timeline.share(~mask, everything)
    assert shares == pytest.approx(1.0)


def test_a_gap_counts_as_one_step_and_ends_a_run():
    stamps = np.array([0, 10, 20, 5020, 5030], dtype=np.int64) * 1_000_000
    timeline = Timeline.of(stamps)
    everything = np.ones(5, dtype=bool)
    assert timeline.total(everything) == pytest.approx(0.04)
    starts, stops = timeline.runs(everything)
    assert starts.tolist() == [0, 3]
    assert stops.tolist() == [3, 5]


def test_no_instant_and_a_single_instant_have_no_time():
    for count in (0, 1):
        timeline = timeline_of(count)
        assert timeline.duration == 0.0
        mask = np.ones(count, dtype=bool)
        assert timeline.total(mask) == 0.0
        assert timeline.sustained(mask).tolist() == [False] * count
    assert np.isnan(timeline_of(0).share(np.ones(0, dtype=bool), np.ones(0, dtype=bool)))
    one = np.ones(1, dtype=bool)
    assert timeline_of(1).share(one, one) == 1.0
