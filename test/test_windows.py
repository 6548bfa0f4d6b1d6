"""Windows of a log: every instant in exactly one, whatever the clock and the topics do."""

import json
from pathlib import Path

import numpy as np
import pytest
from izmp_dynamics.replay.signals import Signals, Stream
from izmp_dynamics.replay.windows import Windows

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.model.robot_file import Imu, RobotFile, load_robot_file
from izmp_dynamics.replay.run import replay

from .small_robot import SMALL_ROBOT

SECOND = NANOSECONDS
START = 1_700_000_000 * SECOND
YEARS = 53 * 365 * 86400 * SECOND


def times(begin, end, rate=20):
    """Stamps of a topic from `begin` to `end` [s] after START."""
    return START + (np.arange(round(begin * rate), round(end * rate)) * (SECOND // rate))


def stream(stamps, width):
    return Stream(np.asarray(stamps, np.int64), np.zeros((len(stamps), width)))


def spans(joints, imu, received=None, span=5):
    """Signals in spans of receive time, which is the time of the stamps if not given."""
    received = {'joints': joints, 'imu': imu} if received is None else received
    first = min(r[0] for r in received.values())
    last = max(r[-1] for r in received.values())
    for begin in range(int(first), int(last) + 1, span * SECOND):
        part = {
            name: stamps[(received[name] >= begin) & (received[name] < begin + span * SECOND)]
            for name, stamps in (('joints', joints), ('imu', imu))
        }
        yield (
            Signals(
                joints=(stream(part['joints'], 1),), imu=stream(part['imu'], 6),
                orientation=Stream.empty(4), accelerometers=(), position=Stream.empty(3),
                pose=Stream.empty(4), wrenches=(),
            ),
            begin + span * SECOND,
        )  # fmt: skip


def windows_of(start, log):
    """All windows of a log, the instants in them, and the most that was pending."""
    windows = Windows(start, 10 * SECOND, SECOND // 2, SECOND)
    found, most = [], 0
    for signals, received in log:
        found += windows.take(signals, received)
        most = max(most, len(windows.pending.imu))
    found += windows.close()
    instants = [
        stamps[counts.inside(stamps)]
        for signals, counts in found
        for stamps in [signals.joints[0].stamps]
    ]
    return found, np.concatenate(instants), most


def test_a_steady_log_is_cut_without_rest_and_padded_by_the_context():
    stamps = times(0, 65)
    found, instants, _ = windows_of(START, spans(stamps, stamps))
    np.testing.assert_array_equal(instants, stamps)
    assert [(c.start - START) // SECOND for _, c in found] == [0, 10, 20, 30, 40, 50, 60]
    for signals, counts in found[1:-1]:
        assert signals.imu.stamps[0] == counts.start - SECOND // 2
        assert signals.imu.stamps[-1] >= counts.stop + SECOND // 2 - SECOND // 20


@pytest.mark.parametrize('pause', [30, 3000, 100_000_000])
def test_a_pause_is_passed_over(pause):
    stamps = np.concatenate([times(0, 25), times(25 + pause, 50 + pause)])
    received = np.concatenate([times(0, 25), times(30, 55)])  # a recorder that was paused
    log = spans(stamps, stamps, {'joints': received, 'imu': received})
    found, instants, _ = windows_of(START, log)
    np.testing.assert_array_equal(instants, stamps)
    assert len(found) <= 8


def test_a_clock_that_was_set_to_the_present():
    received = times(0, 50)
    stamps = np.where(received < START + 22 * SECOND, received - YEARS, received)
    log = spans(stamps, stamps, {'joints': received, 'imu': received})
    found, instants, _ = windows_of(int(stamps[0]), log)
    np.testing.assert_array_equal(instants, stamps)
    assert len(found) <= 8


def test_one_stamp_of_long_ago():
    received = times(0, 30)
    stamps = received.copy()
    stamps[0] -= YEARS
    log = spans(stamps, stamps, {'joints': received, 'imu': received})
    found, instants, _ = windows_of(int(stamps[0]), log)
    np.testing.assert_array_equal(instants, stamps)
    assert len(found) <= 5


def test_a_clock_that_was_put_back_within_a_window_loses_nothing():
    received = times(0, 4)
    stamps = np.where(received < START + 2 * SECOND, received, received - 1800 * SECOND)
    log = spans(stamps, stamps, {'joints': received, 'imu': received})
    _, instants, _ = windows_of(int(stamps.min()), log)
    np.testing.assert_array_equal(np.sort(instants), np.sort(stamps))


def test_what_comes_when_its_time_is_over_is_left_out():
    received = times(0, 60)
    stamps = np.where(received < START + 40 * SECOND, received, received - 1800 * SECOND)
    log = spans(stamps, stamps, {'joints': received, 'imu': received})
    _, instants, most = windows_of(START, log)
    np.testing.assert_array_equal(instants, times(0, 40))
    assert most < 30 * 20


def test_joints_that_fall_silent_do_not_fill_the_memory():
    imu = times(0, 1000)
    joints = np.concatenate([times(0, 33), times(900, 960)])
    _, instants, most = windows_of(START, spans(joints, imu))
    np.testing.assert_array_equal(instants, joints)
    assert most < 50 * 20


def test_two_wrong_stamps_ahead_do_not_push_the_time():
    stamps = times(0, 40)
    wrong = stamps.copy()
    wrong[[300, 301]] += 3000 * SECOND
    received = {'joints': stamps, 'imu': stamps}
    _, instants, _ = windows_of(START, spans(wrong, stamps, received))
    np.testing.assert_array_equal(np.sort(instants), np.delete(stamps, [300, 301]))


def standing_robot(folder: Path) -> RobotFile:
    (folder / 'small.urdf').write_text(SMALL_ROBOT)
    (folder / 'small.yaml').write_text(
        'urdf: small.urdf\nimu: {frame: base}\n'
        'feet: [{name: foot, sole: sole, polygon: [[0.1, 0.1], [0.1, -0.1], [-0.1, 0]]}]\n'
    )
    robot = load_robot_file(folder / 'small.yaml')
    assert robot.imu == Imu(frame='base')
    return robot


def test_a_recording_with_a_long_pause_is_replayed(tmp_path):
    """Here the window between the two parts has no instant at all."""
    robot = standing_robot(tmp_path)
    stamps = np.concatenate([times(0, 3, 100), times(60, 63, 100)])
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState', {'name': ('hip',)})
        bag.write_batch(
            '/joint_states', stamps, {'position': np.zeros((len(stamps), 1))},
            {'name': ('hip',), 'position': np.zeros(1)},
        )  # fmt: skip
        bag.add_topic('/imu', 'sensor_msgs/msg/Imu', {'linear_acceleration.z': 9.81})
        bag.write_batch('/imu', stamps, {})
    result = replay(tmp_path / 'bag', robot, tmp_path / 'out')
    report = json.loads(result.json.read_text())
    assert report['instants'] == len(stamps) - 4  # the ends of both parts have no q̈
