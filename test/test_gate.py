"""The gate of a stream: which samples can be used, by their stamps and by what they repeat."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.faults import Fault, Reason, left_out
from izmp_dynamics.fleet.row import of_health
from izmp_dynamics.signals.gate import Gate

MS = 1_000_000
PERIOD = 0.01
STAMPS = 10 * MS * np.arange(1, 201)
PIECES = [1000, 1, 7]


def admitted(gate, stamps, values, piece=1000):
    """(stamps, samples) that pass when they come in pieces, to the end of the stream."""
    parts = []
    for k in [*range(0, len(stamps), piece), None]:
        new = slice(0) if k is None else slice(k, k + piece)
        rows = gate.room(len(stamps[new]))
        used = np.empty(rows, dtype=np.int64), np.empty((rows, values.shape[1])), 0
        count = gate.flush(used) if k is None else gate.admit(stamps[new], values[new], used)
        parts.append((used[0][:count], used[1][:count]))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def screened(milliseconds, piece=1000, min_spacing=0.0025):
    """Rows that are left out, and why (reason → how many)."""
    stamps, gate = (
        np.round(np.array(milliseconds) * MS).astype(np.int64),
        Gate(1, min_spacing=min_spacing),
    )
    rows = admitted(gate, stamps, np.arange(len(stamps) + 0.0)[:, None], piece)[1].ravel()
    left_out = sorted(set(range(len(stamps))) - set(rows.astype(int)))
    return left_out, {fault.reason: count for fault, count in gate.faults.items()}


@pytest.mark.parametrize(
    ('milliseconds', 'left_out', 'reason'),
    [
        ([], [], None),
        ([10], [], None),
        ([10, 20, 30, 40], [], None),
        ([0, 10, -5, 20, 0], [0, 2, 4], Reason.STAMP_UNSET),
        ([10, 20, 20, 20, 30], [2, 3], Reason.STAMP_TWICE),
        ([10, 20, 30, 40, 15, 50], [4], Reason.STAMP_BACKWARDS),
        ([10, 20, 3_600_000, 40, 50], [2], Reason.STAMP_AHEAD),  # and not the rest of the log
        ([3_600_000, 20, 30, 40], [0], Reason.STAMP_AHEAD),
        ([10, 20, 49.4, 49.7, 50, 60], [2, 3], Reason.STAMP_HELD_UP),  # the last one was on time
    ],
)
@pytest.mark.parametrize('piece', [1, 1000])
def test_stamps_that_cannot_be_used_are_left_out_and_counted(
    milliseconds, left_out, reason, piece
):
    assert screened(milliseconds, piece) == (left_out, {reason: len(left_out)} if reason else {})


milliseconds = st.lists(st.integers(-5, 300), max_size=60).map(lambda times: np.array(times) / 4.0)


@given(milliseconds, st.sampled_from([0.0, 0.001, 0.0025]), st.integers(1, 20))
def test_used_stamps_increase_by_at_least_the_spacing_in_any_pieces(times, min_spacing, piece):
    left_out, faults = screened(times, piece, min_spacing)
    assert screened(times, 1000, min_spacing) == (left_out, faults)
    assert sum(faults.values()) == len(left_out)
    used = np.delete(times, left_out)
    assert np.all(used > 0)
    assert np.all(np.diff(used) >= max(1e-6, 1e3 * min_spacing))


# ---- Samples that repeat the one before ---------------------------------------------------------


def signal():
    """A signal every 10 ms of which no sample is like another."""
    return np.random.default_rng(2).normal(size=(200, 6))


def watching():
    gate = Gate(6, largest=np.full(6, 100.0))
    gate.begin(PERIOD, watches=True, spread=(0.0, 0.0))
    return gate


@pytest.mark.parametrize('piece', PIECES)
def test_a_stuck_signal_has_no_value_there(piece):
    gate, values = watching(), signal()
    values[100:130] = values[99]
    np.testing.assert_array_equal(admitted(gate, STAMPS, values, piece)[0], STAMPS)  # marked only
    for around, first, last in ((False, 100, 130), (True, 99, 131)):
        stuck = gate.spans.stuck_at(STAMPS, around)[:, 0]
        np.testing.assert_array_equal(np.flatnonzero(stuck), np.arange(first, last))
    assert not gate.faults


@pytest.mark.parametrize('piece', PIECES)
def test_a_sensor_that_is_slower_than_its_topic_is_interpolated(piece):
    gate, values = watching(), np.repeat(signal()[:80], [2, 3] * 40, axis=0)
    stamps, found = admitted(gate, STAMPS, values, piece)
    assert not gate.spans.any
    assert gate.faults == {Fault(Reason.REPEATED): 200 - len(stamps)}
    assert (np.diff(found[30:-3], axis=0) != 0.0).any(axis=1).all()
    assert len(found) == pytest.approx(80, abs=20)  # the first ones show that it changes at all


@pytest.mark.parametrize('piece', PIECES)
def test_what_never_changed_or_is_zero_is_meant_so(piece):
    """A constant that stands for an assumption, and a foot in the air whose sensor reads zero."""
    constant, unloaded = np.tile([0.0, 0.0, 9.81, 0.0, 0.0, 0.0], (200, 1)), signal()
    unloaded[50:120] = 0.0
    for values in (constant, unloaded):
        gate = watching()
        assert len(admitted(gate, STAMPS, values, piece)[0]) == 200
        assert not gate.spans.any
        assert not gate.faults


def test_repaired_samples_and_instants_between_samples_are_not_left_out():
    faults = {
        Fault(Reason.REPEATED): 2327,
        Fault(Reason.HANGS): 472,
        Fault(Reason.INTERPOLATED): 2158,
        Fault(Reason.NO_SAMPLE): 1,
        Fault(Reason.STAMP_RESTORED): 32,
        Fault(Reason.JOINT_REPAIRED, 'l_knee'): 3,
        Fault(Reason.STAMP_TWICE): 4,
    }
    assert left_out(faults) == 2327 + 472 + 4
    health = {'topic': '/imu', 'gated': {fault.key: n for fault, n in faults.items()}}
    assert of_health(health)['gated'] == left_out(faults)
