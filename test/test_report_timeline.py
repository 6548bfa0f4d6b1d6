import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.verdict.timeline import Timeline

masks = st.lists(st.booleans(), min_size=2, max_size=300).map(np.array)


def timeline_of(count, rate=100.0):
    return Timeline.of((np.arange(count) * 1e9 / rate).astype(np.int64))


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
