"""What the player knows of its recording; without anybody who listens."""

import threading
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install 'izmp_dynamics[ros]'")

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.nodes import bag_player
from izmp_dynamics.nodes.bag_player import BagPlayer

FOOT, JOINTS = '/l_foot/wrench', '/joint_states'


@pytest.fixture
def played(sound, biped31, tmp_path, monkeypatch):
    """Make a player of the messages of a recording that a function keeps, and play them."""
    now = [0.0]
    time = SimpleNamespace(
        monotonic=lambda: now[-1], sleep=lambda pause: now.append(now[-1] + pause)
    )
    monkeypatch.setattr(bag_player, 'time', time)

    def play(keeps, pass_time=lambda stamp: None):
        whole, some = sound.write(tmp_path / 'whole'), tmp_path / 'some'
        with BagReader(whole) as reader, BagWriter(some) as writer:
            counts = dict.fromkeys(reader.topics, 0)
            for name, topic in reader.topics.items():
                writer.add_raw_topic(name, topic.msgtype, 'default')
            for message in reader.messages():
                counts[message.topic] += 1
                if keeps(
                    message.topic, counts[message.topic] / reader.topics[message.topic].count
                ):
                    writer.write_raw(message.topic, message.received, bytes(message.raw))
        player = BagPlayer(Mock(), some, biped31)
        player.pass_time = pass_time
        player.play(threading.Event())
        player.close()
        return player

    return play


@pytest.mark.parametrize(('last', 'uneven'), [(1.0, False), (0.99, False), (0.8, True)])
def test_a_topic_that_ends_before_the_others(played, last, uneven):
    player = played(lambda topic, part: topic != FOOT or part <= last)
    assert player.ends_uneven == uneven


@pytest.mark.parametrize(('kept', 'expected'), [(1.0, 1000), (0.25, 250)])
def test_joint_messages_that_come_with_those_of_the_busiest_topic(played, kept, expected):
    player = played(lambda topic, part: topic != JOINTS or part <= kept)
    assert player.joints_in(1000) == pytest.approx(expected, abs=2)
    assert player.joints < player.published


def test_time_goes_on_where_nothing_was_recorded(played):
    """As nodes that take it for paused else would not say that the sensors are silent."""
    times = []
    player = played(lambda topic, part: not 0.2 < part < 0.8, times.append)
    begin, end = player.bag.start, player.bag.end
    within = [stamp for stamp in times if 0.3 < (stamp - begin) / (end - begin) < 0.7]
    assert within
    assert times == sorted(times)
