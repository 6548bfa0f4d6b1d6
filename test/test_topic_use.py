"""The rhythm of messages: one publisher or two, in order or set back."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.diagnosis.signals import outages
from izmp_dynamics.recording.joint_watch import JointPresence
from izmp_dynamics.recording.topic_use import (
    IMU,
    WRENCH,
    TopicUse,
    credible_stamps,
    steps_alternate,
    values_alternate,
)

from .sample_bags import imu_raws, write_bag

START = 1_700_000_000_000_000_000
PERIOD = 2_000_000  # [ns]


def interleaved(shift):
    """Stamps of two publishers at one rate, the second one later by a share of the period."""
    first = START + PERIOD * np.arange(500)
    return np.stack([first, first + round(shift * PERIOD)], axis=1).ravel()


@given(st.one_of(st.floats(0.0, 0.28), st.floats(0.72, 1.0)))
def test_two_publishers_are_noticed_by_their_steps(shift):
    assert steps_alternate(interleaved(shift))


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.9]),
    st.sampled_from([1, 1_000_000]),
)
def test_one_publisher_is_not_taken_for_two(seed, jitter, tick):
    """With jitter, and with stamps that a coarse clock rounds: 2, 3, 2, 3 ms."""
    rng = np.random.default_rng(seed)
    stamps = START + 2_500_000 * np.arange(500)
    stamps = stamps + np.round(jitter * 2_500_000 * rng.uniform(-0.5, 0.5, 500)).astype(np.int64)
    assert not steps_alternate(stamps // tick * tick)


def test_two_publishers_are_noticed_by_their_values():
    t = np.linspace(0.0, 2.0, 1000)[:, None]
    smooth = np.hstack([np.sin(t), np.cos(3.0 * t)])
    assert not values_alternate(smooth)
    smooth[::2, 1] += 0.1
    assert values_alternate(smooth)


@given(st.integers(0, 2**32 - 1), st.floats(1e-9, 10.0))
def test_noise_is_not_taken_for_two_publishers(seed, scale):
    noise = scale * np.random.default_rng(seed).standard_normal((500, 6))
    assert not values_alternate(noise)


def test_two_publishers_of_which_messages_are_lost_are_noticed():
    values = np.where(np.arange(200) % 2, 0.1, 0.0)[:, None]
    assert values_alternate(values[np.arange(200) % 19 > 0])


@given(st.integers(0, 2**32 - 1), st.integers(20, 100))
def test_encoders_that_flicker_by_their_resolution_are_not_taken_for_two(seed, count):
    flickering = np.random.default_rng(seed).integers(0, 2, (count, 25))
    assert not values_alternate(0.0015 * flickering)


@pytest.mark.filterwarnings('error')
def test_rubbish_is_observed_without_a_warning():
    values = (
        np.tile([[np.nan, np.inf, 1e300, -np.inf, -1e300]], (50, 1))
        * np.sign(np.arange(50) % 2 - 0.5)[:, None]
    )
    use = TopicUse('imu', '/imu', IMU)
    use.observe(START + PERIOD * np.arange(50), values)
    assert use.changes
    use = TopicUse('feet[left]', '/left/wrench', WRENCH)
    use.observe(START + PERIOD * np.arange(50), np.full((50, 6), np.nan))
    assert not use.changes


def test_silences_and_steps_back_across_spans(tmp_path):
    """Half a second without messages, then a clock that is set back by five seconds."""
    stamps, moved = imu_raws(1000)
    received = [stamp + (600_000_000 if k >= 300 else 0) for k, stamp in enumerate(stamps)]
    moved[300:] = imu_raws(1000, start=stamps[0] + 600_000_000)[1][300:]
    moved[800:] = imu_raws(1000, start=stamps[0] - 5_000_000_000)[1][800:]
    bag = write_bag(tmp_path / 'bag', [('/imu', IMU, received, moved)])
    use = TopicUse('imu', '/imu', IMU)
    with BagReader(bag) as reader:
        for batch in reader.batches(['/imu'], 0.4):
            use.read(batch, ())
    assert use.count == 1000
    assert use.rate == pytest.approx(500.0)
    assert use.longest_gap == pytest.approx(0.602)
    assert use.gap_at == stamps[299]
    assert use.steps_back == 200
    assert use.farthest_back == pytest.approx(5.6, abs=0.01)
    assert use.first == stamps[0] - 5_000_000_000 + 800 * PERIOD
    assert use.newest == stamps[0] + 600_000_000 + 799 * PERIOD


def test_one_wrong_stamp_does_not_change_the_rate(tmp_path):
    stamps, raws = imu_raws(800)
    raws[0] = imu_raws(1, start=stamps[0] + 2**32)[1][0]
    bag = write_bag(tmp_path / 'bag', [('/imu', IMU, stamps, raws)])
    use = TopicUse('imu', '/imu', IMU)
    with BagReader(bag) as reader:
        for batch in reader.batches(['/imu'], 1.0):
            use.read(batch, ())
    assert use.rate == pytest.approx(500.0)


# ---- Stamps seen from both sides ----------------------------------------------------------------

FAR = 10 * 10**9
jumps = st.one_of(st.integers(FAR + 1, 8 * 10**17), st.integers(-(8 * 10**17), -FAR - 1))


def regular(count):
    return START + PERIOD * np.arange(count)


@given(st.lists(st.integers(1, FAR // 3), min_size=0, max_size=50))
def test_stamps_that_only_increase_are_credible(steps):
    """However unsteadily, as long as no gap is so long that the clock may have been set."""
    assert credible_stamps(START + np.cumsum([0, *steps])).all()


@given(st.integers(6, 400), st.integers(6, 400), jumps)
def test_a_clock_that_is_set_is_credible(before, after, jump):
    """The time before and the time after cannot both be judged by each other."""
    stamps = regular(before + after)
    stamps[before:] += jump
    assert credible_stamps(stamps).all()


@given(st.sets(st.integers(0, 19), min_size=1, max_size=6), jumps)
def test_single_stray_stamps_are_found(places, jump):
    """At least a dozen messages apart; also at either end of a span."""
    stamps = regular(240)
    strays = np.array(sorted(places)) * 12 + 5
    stamps[strays] += 2 * jump
    expected = np.zeros(len(stamps), dtype=bool)
    expected[strays] = True
    np.testing.assert_array_equal(~credible_stamps(stamps), expected)


def test_unset_stamps_are_not_credible_and_few_are_not_judged_by_each_other():
    stamps = regular(10)
    stamps[[2, 5, 7]] = [0, 0, -1]
    assert np.flatnonzero(~credible_stamps(stamps)).tolist() == [2, 5, 7]
    assert credible_stamps(np.array([START, START + 10**17])).all()
    assert credible_stamps(np.zeros(0, dtype=np.int64)).shape == (0,)


# ---- Times in which signals were not there ------------------------------------------------------


SECOND = 10**9


def use(signal, first, last):
    """A topic of 100 Hz with messages from `first` to `last` [s]."""
    known = {'steps': [0.01], 'first': round(first * SECOND), 'newest': round(last * SECOND)}
    return TopicUse(signal, f'/{signal}', '', **known)


def test_a_signal_that_starts_late_or_ends_early_is_not_there_meanwhile():
    signals = [
        use('joints', 1.0, 61.0),
        use('imu', 0.5, 62.0),
        use('dies', 1.0, 21.0),
        use('late', 4.0, 60.95),
        TopicUse('never', '/never', ''),
    ]
    recording = SimpleNamespace(
        uses={signal.signal: signal for signal in signals},
        origin=SECOND,
        restored={},
        joint_presence=JointPresence((), ()),
    )
    found = outages(recording, SimpleNamespace(stages=SimpleNamespace(stuck_times={})))
    assert [(o.topic, o.begin, o.end, o.reason) for o in found] == [
        ('/late', 1 * SECOND, 4 * SECOND, 'stops'),
        ('/dies', 21 * SECOND, 61 * SECOND, 'stops'),
    ]
