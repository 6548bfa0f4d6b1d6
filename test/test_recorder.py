"""The node recorder: what was published is in the bag."""

import errno
import os
import subprocess
import time
from array import array
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock, patch

import pytest
import rclpy
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64, Float64MultiArray

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.recorder import Recorder

from .node_processes import PATIENCE, Processes, free_domain, probe, wait_until


@pytest.fixture
def recorder(tmp_path):
    rclpy.init(domain_id=free_domain())
    yield Recorder(overrides=[Parameter('output', value=str(tmp_path / 'bag'))])
    rclpy.try_shutdown()


class Numbers:
    """A node that publishes numbers, which the recorder has found."""

    def __init__(self, recorder):
        self.recorder, self.count = recorder, 0
        self.node = rclpy.create_node('robot')
        self.publisher = self.node.create_publisher(Float64, 'numbers', RESULT)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(recorder)
        assert wait_until(self.is_found)

    def is_found(self):
        self.executor.spin_once(0.1)
        return self.publisher.get_subscription_count() > 0

    def publish(self, count):
        """Publish some; they wait where the recorder takes them from."""
        for _ in range(count):
            self.publisher.publish(Float64(data=float(self.count)))
            self.count += 1
        assert self.publisher.wait_for_all_acked(Duration(seconds=PATIENCE))

    def record(self, count):
        """Publish some, and wait until they are recorded."""
        self.publish(count)
        assert wait_until(
            lambda: self.executor.spin_once(0.1) or self.recorder.count == self.count
        )


@pytest.fixture
def said(recorder, monkeypatch):
    """What the recorder logs from now on."""
    log = Mock()
    monkeypatch.setattr(recorder, 'get_logger', lambda: log)

    def sentences(level):
        return [call.args[0] for call in getattr(log, level).call_args_list]

    return sentences


def recorded(path):
    """The numbers in a bag."""
    with BagReader(path) as bag:
        messages = [bytes(message.raw) for message in bag.messages(['/numbers'])]
    return [deserialize_message(raw, Float64).data for raw in messages]


def test_what_waits_at_the_end_is_recorded_and_the_end_says_so(recorder, said, tmp_path):
    """Also where a loss is noticed: how many publishers there are can't be asked any more then."""
    numbers = Numbers(recorder)
    numbers.record(100)
    numbers.publish(400)
    (reception,) = (r for r in recorder._receiver._receptions if r.topic == '/numbers')
    reception._following -= 3  # as if that many had been missing
    rclpy.shutdown()
    recorder.destroy_node()
    assert recorded(tmp_path / 'bag') == list(range(500))
    (sentence,) = said('info')
    assert sentence.startswith('Recorded 500 messages of 1 topic in ')
    assert sentence.endswith(f" s to '{tmp_path / 'bag'}'.")


def test_a_topic_of_an_unknown_type_is_left_out_and_the_others_are_recorded(
    recorder, said, tmp_path
):
    publishers = [SimpleNamespace(qos_profile=QoSProfile(depth=1))]
    with patch.object(recorder, 'get_publishers_info_by_topic', lambda topic: publishers):
        recorder._work(partial(recorder._record, '/own', 'own_msgs/msg/Own'))
    (sentence,) = said('warning')
    assert sentence == (
        "/own is not recorded: The type own_msgs/msg/Own of topic '/own' is not a standard one."
    )
    numbers = Numbers(recorder)
    numbers.record(100)
    rclpy.shutdown()
    recorder.destroy_node()
    assert not recorder.failed
    assert recorded(tmp_path / 'bag') == list(range(100))


def test_an_error_at_the_end_leaves_what_was_recorded(recorder, monkeypatch, tmp_path):
    numbers = Numbers(recorder)
    numbers.record(100)
    recorder._flush()

    def fail():
        raise RuntimeError('of the middleware')

    monkeypatch.setattr(recorder._receiver, 'take_all', fail)
    with pytest.raises(RuntimeError, match='of the middleware'):
        recorder.destroy_node()
    (kept,) = tmp_path.glob('bag-recovered-*')
    assert recorded(kept) == list(range(100))


def test_messages_have_the_time_at_which_they_were_received(recorder, tmp_path):
    """And not the one at which the recorder took them together."""
    numbers, between = Numbers(recorder), []
    for _ in range(3):
        between.append(time.time_ns())
        numbers.publish(1)
    between.append(time.time_ns())
    assert wait_until(lambda: numbers.executor.spin_once(0.1) or recorder.count == 3)
    recorder.destroy_node()
    with BagReader(tmp_path / 'bag') as bag:
        times = [message.received for message in bag.messages(['/numbers'])]
    assert all(a <= t <= b for a, t, b in zip(between[:-1], times, between[1:], strict=True))


def test_messages_that_were_lost_are_stated_once(recorder, said):
    for number in (3, 4):
        recorder._lose('/imu', Reason.LOST, number)
    recorder._lose('/joint_states', Reason.LOST, 1)
    recorder._flush()
    recorder.destroy_node()
    (sentence,) = said('warning')
    assert '7 on /imu, 1 on /joint_states' in sentence


@pytest.mark.parametrize('at_the_end', [False, True])
def test_a_full_disk_ends_the_recording_and_keeps_it(
    recorder, said, tmp_path, monkeypatch, at_the_end
):
    numbers = Numbers(recorder)
    numbers.record(100)
    recorder._flush()

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr('izmp_dynamics.bags.writer.write_messages', fail)
    monkeypatch.setattr(BagWriter, '_write_rows', fail)
    numbers.publish(5)
    if not at_the_end:
        assert wait_until(lambda: numbers.executor.spin_once(0.1) or not rclpy.ok())
    recorder.destroy_node()
    assert recorder.failed
    (sentence,) = said('error')
    (kept,) = tmp_path.iterdir()
    assert 'No space left on device' in sentence
    assert f"kept as '{kept}', which izmp can read" in sentence
    assert recorded(kept) == list(range(100))
    assert not said('info')


@contextmanager
def small_disk(folder):
    """A disk of 4 MB; skips where that must not be made."""
    folder.mkdir()
    command = ['mount', '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip('no file system can be mounted here')
    try:
        yield
    finally:
        subprocess.run(['umount', str(folder)], check=True)


def test_a_process_that_fills_the_disk_ends_with_a_sentence(tmp_path):
    place = tmp_path / 'small' / 'bag'
    with small_disk(place.parent), Processes(tmp_path) as processes, probe(processes) as node:
        processes.start('recorder', f'output:={place}')
        publisher = node.create_publisher(Float64MultiArray, 'numbers', RESULT)
        assert wait_until(lambda: publisher.get_subscription_count() > 0)
        assert f"Recording all topics to '{place}'." in processes.log('recorder')

        numbers = Float64MultiArray(data=array('d', os.urandom(80_000)))

        def is_over():
            publisher.publish(numbers)
            return processes.running['recorder'].poll() is not None

        assert wait_until(is_over)
        assert processes.running.pop('recorder').returncode == 1
        (kept,) = place.parent.iterdir()
        with BagReader(kept) as bag:  # how much depends on the computer
            assert all(message.topic in bag.topics for message in bag.messages())
    log = processes.log('recorder')
    assert log.count(f"kept as '{kept}'") == 1
    assert 'Traceback' not in log


def test_an_existing_folder_is_refused_with_the_parameter_that_replaces_it(tmp_path):
    place = tmp_path / 'bag'
    place.mkdir()
    with Processes(tmp_path) as processes:
        processes.start('recorder', f'output:={place}')
        assert processes.running['recorder'].wait(PATIENCE) == 2
        processes.running.clear()
    refused = f"'{place}' exists; choose another place or set overwrite:=true."
    assert refused in processes.log('recorder')
