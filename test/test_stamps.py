import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.signals.stamps import (
    StampGate,
    StampVerdict,
    count_verdicts,
    screen_stamps,
)

MS = 1_000_000


def verdicts_of(*milliseconds: float, min_spacing: float = 0.0025) -> list[StampVerdict]:
    stamps = np.array([round(value * MS) for value in milliseconds])
    return [StampVerdict(verdict) for verdict in screen_stamps(stamps, min_spacing)]


def gated(*milliseconds: float) -> dict[int, StampVerdict]:
    return {row: verdict for row, verdict in enumerate(verdicts_of(*milliseconds)) if verdict}


def test_regular_stamps_are_all_used() -> None:
    assert gated(10, 20, 30, 40) == {}


def test_zero_and_negative_stamps() -> None:
    assert gated(0, 10, -5, 20, 0) == {
        0: StampVerdict.ZERO,
        2: StampVerdict.ZERO,
        4: StampVerdict.ZERO,
    }


def test_duplicate_stamps() -> None:
    assert gated(10, 20, 20, 20, 30) == {2: StampVerdict.DUPLICATE, 3: StampVerdict.DUPLICATE}


def test_late_arrival_of_an_old_sample() -> None:
    assert gated(10, 20, 30, 40, 15, 50) == {4: StampVerdict.BACKWARDS}


def test_one_stamp_far_in_the_future_does_not_gate_the_rest_of_the_log() -> None:
    assert gated(10, 20, 3_600_000, 40, 50) == {2: StampVerdict.AHEAD}


def test_wild_first_stamp() -> None:
    assert gated(3_600_000, 20, 30, 40) == {0: StampVerdict.AHEAD}


def test_a_held_up_queue_leaves_the_last_sample_which_was_on_time() -> None:
    assert gated(10, 20, 49.4, 49.7, 50, 60) == {2: StampVerdict.HELD_UP, 3: StampVerdict.HELD_UP}


def test_empty_and_single() -> None:
    assert verdicts_of() == []
    assert verdicts_of(10) == [StampVerdict.ADMITTED]


stamp_lists = st.lists(st.integers(-5, 300), max_size=60).map(
    lambda values: np.array(values, dtype=np.int64) * (MS // 4)
)


@given(stamp_lists, st.sampled_from([0.0, 0.001, 0.0025]))
def test_used_stamps_increase_by_at_least_the_spacing(stamps, min_spacing) -> None:
    used = stamps[screen_stamps(stamps, min_spacing) == 0]
    assert np.all(used > 0)
    assert np.all(np.diff(used) >= max(1, min_spacing * 1e9))


@given(stamp_lists, st.sampled_from([0.0, 0.001, 0.0025]), st.integers(1, 20))
def test_a_stream_in_pieces_equals_batch(stamps, min_spacing, piece) -> None:
    gate = StampGate(1, min_spacing)
    rows = np.arange(len(stamps), dtype=np.float64)[:, None]
    parts = [
        gate.push(stamps[k : k + piece], rows[k : k + piece]) for k in range(0, len(stamps), piece)
    ]
    admitted = np.concatenate([part[1] for part in [*parts, gate.flush()]]).ravel()
    verdicts = screen_stamps(stamps, min_spacing)
    assert list(admitted) == list(np.flatnonzero(verdicts == 0))
    assert gate.faults == count_verdicts(verdicts)


@given(stamp_lists, st.sampled_from([0.0, 0.001, 0.0025]), st.integers(1, 20))
def test_samples_that_follow_each_other_are_taken_as_by_push(stamps, min_spacing, piece) -> None:
    gate, rows, parts = StampGate(1, min_spacing), np.arange(len(stamps) + 0.0)[:, None], []
    for k in range(0, len(stamps), piece):
        some, values = stamps[k : k + piece], rows[k : k + piece]
        used = np.empty(len(some), dtype=np.int64), np.empty((len(some), 1))
        taken = gate.follow_all(some, values, *used)
        parts.append(used if taken else gate.push(some, values))
    parts.append(gate.flush())
    verdicts = screen_stamps(stamps, min_spacing)
    assert [int(stamp) for part in parts for stamp in part[0]] == list(stamps[verdicts == 0])
    assert [int(row) for part in parts for row in part[1].ravel()] == list(
        np.flatnonzero(verdicts == 0)
    )
    assert gate.faults == count_verdicts(verdicts)


def test_a_sample_that_came_before_an_older_one_is_kept_as_overtaken() -> None:
    gate = StampGate(1)
    gate.push(np.array([10, 20, 40]) * MS, np.array([[1.0], [2.0], [4.0]]))
    gate.push(np.array([30 * MS]), np.array([[3.0]]))
    assert {stamp: list(row) for stamp, row in gate.overtaken.items()} == {40 * MS: [4.0]}
    assert gate.pending == 30 * MS
