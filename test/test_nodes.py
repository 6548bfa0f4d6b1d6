"""The graph over real DDS: its numbers are the replay's, in a process of its own.

Sensors are asked for reliable delivery, so that a busy computer does not lose them.
"""

import math
import re
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter

from .node_processes import PATIENCE, ROBOT, ROOT, Listener, Processes, probe, wait_until
from .recorded import evaluate_log
from .requiring import need

need('rclpy')
need('visualization_msgs')
need('mujoco')

TRACKS = {'/mr_ad/izmp': 'mr_ad', '/ir_md/izmp': 'ir_md', '/cop': 'cop'}

SAMPLES_PER_INSTANT = 4
"""Joint messages from one instant of the bus to the next: 500 Hz and 125 Hz."""


@pytest.fixture(scope='module')
def walk(biped31, tmp_path_factory):
    """A walk at 0.3 m/s, every sensor at 500 Hz."""
    from izmp_lab.simulation.scenarios import simulate_walk
    from izmp_lab.walking.walk_parameters import WalkParameters

    bag = tmp_path_factory.mktemp('walk') / 'walk'
    simulate_walk(biped31, bag, parameters=WalkParameters(speed=0.3, steps=2, stand=0.6))
    return bag


@pytest.fixture(scope='module')
def expected(walk, biped31):
    """What the replay makes of the walk, and the robot made ready."""
    return evaluate_log(walk, biped31, fuses=True)


def test_the_played_walk_gives_the_numbers_of_the_replay(walk, biped31, expected, tmp_path):
    """At the speed at which it was recorded, or slower: every instant, with its stamp.

    On a busy computer the player waits for the results, before more messages than the queues of
    the nodes hold are on their way.
    """
    from geometry_msgs.msg import PointStamped, Vector3Stamped, WrenchStamped
    from std_msgs.msg import Bool, Float64

    from izmp_dynamics.nodes.player import BagPlayer
    from izmp_dynamics.nodes.qos import DEPTH
    from izmp_dynamics.results.topics import external_of

    expected, rig = expected
    results = {topic: expected.points[name] for topic, name in TRACKS.items()}
    results['/gap'] = expected.points['mr_ad'] - expected.points['cop']
    results['/external_wrench'] = external_of(expected, rig)
    results['/fusion/izmp'] = expected.points['fusion']
    results['/fusion/contact_wrench'] = expected.fused.contact
    results['/fusion/external_wrench'] = expected.fused.external
    wrenches = ['/external_wrench', '/fusion/contact_wrench', '/fusion/external_wrench']
    known = {topic: np.isfinite(values).all(axis=1) for topic, values in results.items()}
    margins = expected.margins['mr_ad'][np.isfinite(expected.margins['mr_ad'])]
    fall = expected.fall.probability[np.isfinite(expected.fall.probability)]
    counts = {topic: here.sum() for topic, here in known.items()} | {'/margin': len(margins)}
    nodes = Processes(tmp_path)
    with nodes, probe(nodes) as node:
        nodes.start('composed', 'reliable_inputs:=true')
        topics = {'/gap': Vector3Stamped, '/margin': Float64} | dict.fromkeys(
            wrenches, WrenchStamped
        )
        topics |= {'/fall_probability': Float64, '/fall_alarm': Bool}
        points = [topic for topic in results if topic in TRACKS or topic == '/fusion/izmp']
        listener = Listener(node, dict.fromkeys(points, PointStamped) | topics)
        player = BagPlayer(node, walk, biped31)
        player.wait_for_listeners(threading.Event(), PATIENCE)

        heard = []  # when the first results of all nodes came

        def is_behind():
            """Whether half a queue of joint messages was played whose instants are not known."""
            instants = min(len(listener.values[topic]) for topic in TRACKS)
            if instants and not heard:
                heard.append(time.time())
            return player.joints - SAMPLES_PER_INSTANT * instants > DEPTH // 2

        given_up = threading.Event()
        timer = threading.Timer(PATIENCE, given_up.set)  # a result that never comes
        timer.start()
        try:
            player.play(given_up, is_behind)
        finally:
            timer.cancel()
        played = time.time()

        def is_complete():
            """Whether the last results are there: what is lost on its way comes seconds later."""
            falls = listener.messages['/fall_probability']
            return (
                all(len(listener.messages[topic]) >= count for topic, count in counts.items())
                and falls
                and math.isclose(falls[-1].data, fall[-1], rel_tol=1e-3)
            )

        wait_until(is_complete)
        player.close()
    assert nodes.statuses == {'composed': 0}
    assert not doubts(nodes.log('composed'), *heard, played)
    for topic, values in results.items():
        assert_same(listener, topic, expected.stamps[known[topic]], values[known[topic]])
    live = [message.data for message in listener.messages['/margin']]
    np.testing.assert_allclose(live, margins, rtol=0, atol=1e-9)
    live = [message.data for message in listener.messages['/fall_probability']]
    assert len(fall) - len(live) < 70  # from when it is known that somebody subscribes
    np.testing.assert_allclose(live, fall[-len(live) :], rtol=0, atol=1e-9)
    assert not any(message.data for message in listener.messages['/fall_alarm'])


def doubts(log, first, until):
    """Warnings and errors of a log until then [s], but for silence where the player waited.

    It waits until all nodes are there, which may take long: until the `first` results [s]. Later
    it waits for results of a busy computer; then all topics are silent and named together.
    """
    lines = re.findall(r'^\[(?:WARN|ERROR)\] \[([0-9.]+)\] (.*)', log, re.MULTILINE)
    said = [(float(at), text) for at, text in lines if float(at) < until]
    silent = [re.search(r'No message on (/\S+, |.* for [0-9]+ s)?', text) for _, text in said]
    return [
        text
        for (at, text), found in zip(said, silent, strict=True)
        if not found or not (found[1] or at < first)
    ]


def assert_same(listener, topic, stamps, values):
    """Every message of a topic, once, in its order of time."""
    messages = listener.values[topic]
    np.testing.assert_array_equal(sorted(messages), stamps)
    live = np.array([messages[stamp] for stamp in sorted(messages)])
    np.testing.assert_allclose(live, values, rtol=0, atol=1e-9)
    assert len(listener.messages[topic]) == len(messages)


LIVE = [sys.executable, '-m', 'izmp_dynamics.cli.main', 'live', '--robot', str(ROBOT)]


def live(folder, *options, **limits):
    """Run `izmp live` in a process of its own, as it owns the ROS context."""
    return subprocess.run(
        [*LIVE, *map(str, options)], env=Processes(folder).environment, cwd=ROOT,
        capture_output=True, text=True, timeout=600, **limits,
    )  # fmt: skip


def test_live_plays_records_and_the_recording_can_be_replayed(short_bag, biped31, tmp_path):
    from izmp_dynamics.bags.messages import pose_batch
    from izmp_dynamics.evaluate import replay

    bag = tmp_path / 'live'
    done = live(tmp_path, short_bag, '--record', bag, '--rate', '2')
    assert done.returncode == 0, done.stderr
    assert 'outside the support polygon 0.0% of the time' in done.stdout
    with BagReader(bag) as reader:
        points = pose_batch(next(iter(reader.batches(['/mr_ad/izmp'], 1e6)))['/mr_ad/izmp'])
        assert {'/diagnostics', '/markers', '/odom'} <= set(reader.topics)
    again = replay(bag, biped31, tmp_path / 'again')
    with BagReader(again.bag) as reader:
        replayed = pose_batch(next(iter(reader.batches(['/mr_ad/izmp'], 1e6)))['/mr_ad/izmp'])
    order = np.argsort(points.stamps)
    np.testing.assert_array_equal(points.stamps[order], replayed.stamps)
    np.testing.assert_allclose(points.positions[order], replayed.positions, rtol=0, atol=1e-9)


def test_a_playback_that_is_interrupted_ends_with_summary_and_recording(walk, tmp_path):
    """It is a background job of a shell script, which ignores SIGINT until it handles it."""
    from geometry_msgs.msg import PointStamped

    bag = tmp_path / 'bag'
    with Processes(tmp_path) as processes, probe(processes) as node:
        listener = Listener(node, {'/mr_ad/izmp': PointStamped})
        process = subprocess.Popen(
            [*LIVE, str(walk), '--record', str(bag), '--rate', '0.1'],
            env=processes.environment, cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        )  # fmt: skip
        try:
            assert wait_until(lambda: len(listener.messages['/mr_ad/izmp']) > 50)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=PATIENCE)[0]
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert 'Interrupted.\nPoints: ' in said
    assert 'Traceback' not in said
    with BagReader(bag) as reader:
        assert not reader.damage
        assert reader.topics['/mr_ad/izmp'].count > 0


def test_a_recording_of_which_nothing_comes_out_is_an_error(short_bag, tmp_path):
    """Its joints are missing."""
    bag = tmp_path / 'without_joints'
    with BagReader(short_bag) as reader, BagWriter(bag) as writer:
        topics = [name for name in reader.topics if name != '/joint_states']
        for name in topics:
            writer.add_raw_topic(name, reader.topics[name].msgtype, 'default')
        for message in reader.messages(topics):
            writer.write_raw(message.topic, message.received, bytes(message.raw))
    done = live(tmp_path, bag, '--quiet', '--rate', '5')
    assert done.returncode == 1
    assert 'No results. No messages on /joint_states.' in done.stderr
    assert 'Traceback' not in done.stderr


def test_live_goes_on_when_the_disk_is_full(walk, tmp_path):
    """And ends with a status that says so, and with the place of what was recorded."""
    bag = tmp_path / 'live' / 'bag'
    limit = (1_000_000, 1_000_000)
    done = live(
        tmp_path, walk, '--record', bag, '--rate', '5', '--quiet',
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )  # fmt: skip
    assert done.returncode == 1
    assert 'IZMP (MR-AD)' in done.stdout
    assert f'Bag: {bag}' not in done.stdout
    assert 'Traceback' not in done.stderr
    assert 'The recording has ended' in done.stderr
    (kept,) = bag.parent.iterdir()
    assert f"What was recorded until then is kept as '{kept}'" in done.stderr
    with BagReader(kept) as reader:
        assert len(list(reader.messages(['/joint_states']))) > 100


def test_live_says_what_it_waits_for_and_ends_in_good_order(tmp_path):
    """Nobody publishes anything; a service manager ends it, or Ctrl-C."""
    log = tmp_path / 'said'
    with log.open('w') as said:
        process = subprocess.Popen(
            LIVE, env=Processes(tmp_path).environment, cwd=ROOT, stdout=said, stderr=said
        )
    try:
        waiting = 'Waiting for /joint_states, /imu'
        wait_until(lambda: waiting in log.read_text() or process.poll() is not None)
        assert waiting in log.read_text(), log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
    assert 'No results. No messages on /joint_states, /imu,' in log.read_text()
    assert 'Traceback' not in log.read_text()
