"""What the player knows of its recording; without anybody who listens."""

import threading
from unittest.mock import Mock

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install 'izmp_dynamics[ros]'")

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.nodes.bag_player import BagPlayer

FOOT, JOINTS = '/l_foot/wrench', '/joint_states'


@pytest.fixture
def played(sound, biped31, tmp_path):
    """Make a player of the messages of a recording that a function keeps, and play them."""

    def play(keeps):
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
        player = BagPlayer(Mock(), some, biped31, rate=100.0)
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
