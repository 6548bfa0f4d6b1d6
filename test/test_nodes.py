"""The graph over real DDS: its numbers are the replay's, whatever process a node runs in.

Sensors are asked for reliable delivery, so that a busy computer does not lose them.
"""

import os
import threading

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")
pytest.importorskip('visualization_msgs', reason='the message packages of ROS are missing')

from .live_signals import evaluate_log
from .node_processes import GRAPH, Listener, Processes, probe, wait_until

TRACKS = {'/mr_ad/izmp': 'mr_ad', '/ir_md/izmp': 'ir_md', '/cop': 'cop'}


@pytest.fixture(scope='module')
def expected(sway, biped31):
    """What the replay makes of the sway."""
    return evaluate_log(sway[1], biped31)[1]


@pytest.mark.parametrize('processes', [('composed',), GRAPH], ids=['composed', 'separate'])
def test_the_played_bag_gives_the_numbers_of_the_replay(
    sway, biped31, expected, processes, tmp_path
):
    from geometry_msgs.msg import PointStamped

    from izmp_dynamics.nodes.bag_player import BagPlayer

    nodes = Processes(tmp_path)
    with nodes, probe(nodes) as node:
        for name in processes:
            nodes.start(name, 'reliable_inputs:=true')
        listener = Listener(node, dict.fromkeys(TRACKS, PointStamped))
        busy = os.getloadavg()[0] > 3 * (os.cpu_count() or 1)
        player = BagPlayer(node, sway[1], biped31, rate=0.3 if busy else 1.0)
        player.wait_for_listeners(threading.Event())
        player.play(threading.Event())
        player.close()
        known = {
            topic: np.isfinite(expected.points[name]).all(axis=1) for topic, name in TRACKS.items()
        }
        wait_until(lambda: all(len(listener.values[t]) >= known[t].sum() for t in TRACKS))
    assert nodes.statuses == dict.fromkeys(processes, 0)
    for topic, name in TRACKS.items():
        points = listener.values[topic]
        np.testing.assert_array_equal(sorted(points), expected.stamps[known[topic]])
        live = np.array([points[stamp] for stamp in sorted(points)])
        np.testing.assert_allclose(live, expected.points[name][known[topic]], rtol=0, atol=1e-9)
        assert len(listener.messages[topic]) == len(points)


def test_live_plays_records_and_the_recording_can_be_replayed(sway, biped31, tmp_path, capsys):
    """In a process of its own, as it owns the ROS context."""
    import subprocess
    import sys

    from izmp_dynamics.bags.messages import pose_batch
    from izmp_dynamics.bags.reader import BagReader
    from izmp_dynamics.replay.run import replay

    from .node_processes import ROBOT, ROOT

    bag = tmp_path / 'live'
    done = subprocess.run(
        [sys.executable, '-m', 'izmp_dynamics.cli.main', 'live', str(sway[1]), '--robot',
         str(ROBOT), '--record', str(bag), '--rate', '2'],
        env=Processes(tmp_path).environment,
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 'outside the support polygon 0.0% of the time' in done.stdout
    with BagReader(bag) as reader:
        points = pose_batch(next(iter(reader.batches(['/mr_ad/izmp'], 1e6)))['/mr_ad/izmp'])
        assert {'/diagnostics', '/markers', '/odom'} <= set(reader.topics)
    again = replay(bag, biped31, tmp_path / 'again')
    with BagReader(again.bag) as reader:
        replayed = pose_batch(next(iter(reader.batches(['/mr_ad/izmp'], 1e6)))['/mr_ad/izmp'])
    order = np.argsort(points.stamps)
    rows = np.isin(replayed.stamps, points.stamps)
    assert rows.mean() > 0.99
    common = np.isin(points.stamps[order], replayed.stamps)
    np.testing.assert_allclose(
        points.positions[order][common], replayed.positions[rows], rtol=0, atol=1e-9
    )
