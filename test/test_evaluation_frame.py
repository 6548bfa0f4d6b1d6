"""The points in the frame that is asked for: the whole graph in this process, without DDS."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install 'izmp_dynamics[ros]'")
pytest.importorskip('visualization_msgs', reason='the message packages of ROS are missing')

import rclpy
from rclpy.parameter import Parameter

from izmp_dynamics.base.errors import MissingDependencyError, RobotFileError
from izmp_dynamics.nodes.messages import vector
from izmp_dynamics.nodes.registry import node_class
from izmp_dynamics.stability.support_polygon import plane_axes

from .node_processes import ROBOT, free_domain
from .played_graph import COMPOSED, GRAPH, PlayedGraph
from .replayed import evaluate_log


@pytest.fixture(scope='module', autouse=True)
def ros():
    """A context, as a process has one."""
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    yield
    rclpy.shutdown()


@pytest.fixture(scope='module')
def log(sound, tmp_path_factory, biped31):
    """Two seconds of the sway, and what the replay makes of them."""
    bag = sound.write(tmp_path_factory.mktemp('sound') / 'bag')
    return bag, evaluate_log(bag, biped31)[0]


def overrides(frame, robot=ROBOT):
    return [Parameter('robot', value=str(robot)), Parameter('evaluation_frame', value=frame)]


def points_in(frame, log, biped31, names):
    """Stamp → IZMP that the graph publishes when it is given the messages one by one."""
    with PlayedGraph(biped31, overrides(frame), names) as graph:
        graph.play(log[0])
        return graph.messages['/mr_ad/izmp']


def expected_in(frame, expected):
    """(K, 3) what it is in the replay."""
    point = expected.points['mr_ad']
    if frame == 'world':
        return np.einsum('kij,kj->ki', expected.world.R, point) + expected.world.p
    if frame == 'nif':
        axes = [np.vstack([plane_axes(normal), normal]) for normal in expected.ground.plane.normal]
        return np.einsum('kij,kj->ki', np.array(axes), point)
    sole = expected.ground.soles[0]
    return np.einsum('kji,kj->ki', sole.R, point - sole.p)


@pytest.mark.parametrize('names', [COMPOSED, GRAPH], ids=['composed', 'separate'])
@pytest.mark.parametrize('frame', ['world', 'nif', 'l_sole'])
def test_every_point_is_given_in_that_frame(frame, log, biped31, names):
    points = points_in(frame, log, biped31, names)
    expected = expected_in(frame, log[1])
    known = np.isfinite(expected).all(axis=1)
    assert known.mean() > 0.9
    np.testing.assert_array_equal(sorted(points), log[1].stamps[known])
    for stamp, point in zip(log[1].stamps[known].tolist(), expected[known], strict=True):
        assert points[stamp].header.frame_id == frame
        np.testing.assert_allclose(vector(points[stamp].point), point, atol=1e-9)


def test_points_of_a_pause_whose_frame_is_known_late_are_published_once(log, biped31):
    """They are evaluated at the pause and, when the messages go on, again."""
    count, late = 0, False

    def pausing(topic, message):
        nonlocal count, late
        count += 1
        if count in (1501, 2998):
            late = True
            graph.pause()
        elif count in (1561, 3058):
            late = False
        return message

    with PlayedGraph(biped31, overrides('l_sole'), COMPOSED) as graph:
        (node,) = graph.nodes
        frame = node.outputs.verdict.frame
        known = frame.pose
        frame.pose = lambda *instant: None if late else known(*instant)
        graph.play(log[0], pausing)
        assert count > 3058
        points = graph.messages['/mr_ad/izmp']
        assert node.health.outputs['/mr_ad/izmp'] == len(points)
    known = np.isfinite(log[1].points['mr_ad']).all(axis=1)
    np.testing.assert_array_equal(sorted(points), log[1].stamps[known])


def test_a_frame_of_tf_needs_tf2_ros():
    try:
        import tf2_ros  # noqa: F401
    except ImportError:
        with pytest.raises(MissingDependencyError, match=r"'ceiling', which is no link.*tf2_ros"):
            node_class('izmp')(overrides=overrides('ceiling'))
    else:
        pytest.skip('tf2_ros is here; test_node_tf.py tests with it')


def test_the_world_needs_a_position(tmp_path):
    text = ''.join(
        line for line in ROBOT.read_text().splitlines(True) if not line.startswith('position:')
    )
    text = text.replace('urdf: ', f'urdf: {ROBOT.parent}/')
    (tmp_path / 'robot.yaml').write_text(text)
    with pytest.raises(RobotFileError, match='evaluation_frame is world, but'):
        node_class('izmp')(overrides=overrides('world', tmp_path / 'robot.yaml'))
