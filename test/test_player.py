"""The player: what it knows of its recording, and who must listen before it plays."""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import rclpy
from geometry_msgs.msg import PointStamped
from rclpy.parameter import Parameter

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.model.feet import FootImu
from izmp_dynamics.nodes import player
from izmp_dynamics.nodes.others import Listeners, graph_listeners, said
from izmp_dynamics.nodes.player import BagPlayer
from izmp_dynamics.nodes.registry import node_class

from .node_processes import GRAPH, ROBOT, free_domain, wait_until


@pytest.fixture
def node(monkeypatch):
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rclpy.init(domain_id=free_domain())
    node = rclpy.create_node('player')
    yield node
    node.destroy_node()
    rclpy.try_shutdown()


@contextmanager
def separate(names, robot=ROBOT):
    """Nodes of the graph, each by itself."""
    nodes = [node_class(name)(overrides=[Parameter('robot', value=str(robot))]) for name in names]
    try:
        yield nodes
    finally:
        for node in nodes:
            node.destroy_node()


def test_the_table_is_what_the_nodes_subscribe_to(node, biped31):
    wanted = graph_listeners(biped31)
    for topic in biped31.topics():
        if topic == biped31.position.topic:  # its publisher defines the type
            node.create_publisher(PointStamped, topic, 10)
    with separate(GRAPH) as nodes:

        def subscribed(topic):
            for each in nodes:
                each.look_after(report=False)
            return {info.node_name for info in node.get_subscriptions_info_by_topic(f'/{topic}')}

        for topic in biped31.topics():
            assert wait_until(lambda topic=topic: subscribed(topic) == wanted[topic]), topic
        assert wanted['joint_kinematics'] <= subscribed('joint_kinematics')


def test_imus_in_the_feet_are_waited_for_only_if_they_tell_the_ground(biped31):
    feet = tuple(
        dataclasses.replace(foot, imu=FootImu(f'{foot.name}/imu', None)) for foot in biped31.feet
    )
    robot = dataclasses.replace(biped31, feet=feet)
    assert 'l_foot/imu' not in graph_listeners(robot)
    ground = dataclasses.replace(robot.ground, source='feet_imus')
    told = graph_listeners(dataclasses.replace(robot, ground=ground))
    assert told['l_foot/imu'] == {'izmp'}


def test_without_a_position_nobody_locates(biped31):
    wanted = graph_listeners(dataclasses.replace(biped31, position=None))
    assert not {'localizer', 'ir_md'} & set().union(*wanted.values())


def test_strangers_are_no_listeners(node, biped31):
    played = [biped31.joints.topic, biped31.imu.topic]
    for topic in played:
        node.create_subscription(PointStamped, topic, print, 10)
    listeners = Listeners(node, biped31, played)
    assert wait_until(lambda: listeners.count() == 2)
    assert {name for name, _ in listeners.missing()} == {
        'acd', 'angular_acceleration', 'izmp', 'localizer', 'mr_ad', 'ir_md',
    }  # fmt: skip


def test_nodes_subscribe_on_demand_and_are_waited_for(node, biped31):
    """Whoever asks for IR-MD at the end of the chain wakes all of it."""
    listeners = Listeners(node, biped31, [])
    with separate(['mr_ad', 'ir_md', 'izmp']) as nodes:
        assert wait_until(lambda: not listeners.missing())
        assert not node.count_subscribers('odom')
        node.create_subscription(PointStamped, 'ir_md/izmp', print, 10)
        assert wait_until(listeners.missing)

        def awake():
            for each in nodes:
                each.look_after(report=False)
            return not listeners.missing()

        assert wait_until(awake)
        infos = node.get_subscriptions_info_by_topic('/odom')
        assert {info.node_name for info in infos} == {'izmp', 'ir_md'}
    assert not Listeners(node, dataclasses.replace(biped31, position=None), [])._demands


def test_the_graph_in_one_process_listens_for_all(node, biped31):
    played = [topic for topic in biped31.topics() if topic != biped31.position.topic]
    listeners = Listeners(node, biped31, played)
    with separate(['composed']):
        assert wait_until(lambda: not listeners.missing())
        recorded = Listeners(node, biped31, played, recorder=True)
        assert recorded.missing() == [('recorder', topic) for topic in played]


def test_a_player_that_waits_in_vain_says_for_whom(node, biped31, sound_bag):
    player = BagPlayer(node, sound_bag, biped31)
    names = [name for name in GRAPH if name != 'acd']
    listeners = Listeners(node, biped31, [biped31.accelerometers[0].topic])
    with separate(names):
        assert wait_until(lambda: not listeners.missing())
        with pytest.raises(ReplayError) as raised:
            player.wait_for_listeners(threading.Event(), patience=0.0, recorder=True)
    player.close()
    assert ('acd', 'joint_states') in raised.value.data['missing']
    assert ('recorder', 'imu') in raised.value.data['missing']
    assert 'acd (joint_states, imu, ' in str(raised.value)


def test_a_graph_that_starts_is_waited_for(node, biped31, sound_bag, monkeypatch):
    """Its first start compiles for minutes; the node is there, and does not listen yet."""
    monkeypatch.setattr(player, 'ANNOUNCED_FIRST', 0.05)
    log = Mock()
    monkeypatch.setattr(node, 'get_logger', lambda: log)
    played, stop = BagPlayer(node, sound_bag, biped31), threading.Event()
    starts = node_class('composed')(overrides=[Parameter('autostart', value=False)])
    with ThreadPoolExecutor() as threads:
        waits = threads.submit(played.wait_for_listeners, stop, patience=0.0)
        assert wait_until(lambda: log.info.call_count > 1 or waits.done())
        stop.set()
    assert waits.exception() is None
    (sentence,) = log.info.call_args.args
    assert sentence.startswith('Waiting for izmp_dynamics (joint_states, imu, ')
    assert sentence.endswith('), which start and may be compiling.')
    starts.destroy_node()
    played.close()


def test_one_that_listens_and_is_never_connected_is_not_one_that_starts(
    node, biped31, sound_bag, monkeypatch
):
    listeners = Mock(missing=lambda: [], count=lambda: 1, are_starting=lambda missing: True)
    monkeypatch.setattr(player, 'Listeners', lambda *_: listeners)
    played = BagPlayer(node, sound_bag, biped31)
    with pytest.raises(ReplayError):
        played.wait_for_listeners(threading.Event(), patience=0.0)
    played.close()


def test_a_graph_that_is_not_there_is_named_once(biped31):
    wanted = graph_listeners(biped31)
    missing = [(name, topic) for topic in wanted for name in sorted(wanted[topic])]
    graph = 'the graph (izmp_dynamics, or acd, angular_acceleration, mr_ad, izmp …)'
    assert said(missing) == graph
    assert said([*missing, ('recorder', 'imu')]) == f'{graph}, recorder (imu)'


FOOT, JOINTS = '/l_foot/wrench', '/joint_states'


@pytest.fixture
def played(sound_bag, biped31, tmp_path, monkeypatch):
    """Make a player of the messages of a recording that a function keeps, and play them."""
    now = [0.0]
    time = SimpleNamespace(
        monotonic=lambda: now[-1], sleep=lambda pause: now.append(now[-1] + pause)
    )
    monkeypatch.setattr(player, 'time', time)

    def play(keeps, pass_time=lambda stamp: None):
        some = tmp_path / 'some'
        with BagReader(sound_bag) as reader, BagWriter(some) as writer:
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
