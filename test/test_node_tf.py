"""TF with the real tf2_ros: what the graph broadcasts, and a frame that only TF knows."""

import numpy as np
import pytest
from geometry_msgs.msg import PointStamped
from rclpy.duration import Duration
from rclpy.time import Time
from scipy.spatial.transform import Rotation
from tf2_ros import Buffer, StaticTransformBroadcaster, TransformListener

from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.nodes.messages import quaternion, stamp_of, transform_stamped, vector

from .node_processes import PATIENCE, Listener, Processes, StandingRobot, probe, wait_until

WORLD_R_CEILING = Rotation.from_euler('z', 0.5).as_matrix()
P_CEILING = np.array([0.3, -0.2, 2.5])


@pytest.fixture(scope='module')
def seen(biped31, tmp_path_factory):
    """IZMP in the frame 'ceiling', and a buffer of TF, beside a robot that stands."""
    nodes = Processes(tmp_path_factory.mktemp('tf'))
    with nodes, probe(nodes) as node:
        nodes.start('composed', 'evaluation_frame:=ceiling')
        buffer = Buffer(Duration(seconds=PATIENCE))
        TransformListener(buffer, node)
        StaticTransformBroadcaster(node).sendTransform(
            transform_stamped(0, 'world', 'ceiling', WORLD_R_CEILING, P_CEILING)
        )
        listener = Listener(node, {'/mr_ad/izmp': PointStamped})
        with StandingRobot(node, biped31):
            assert wait_until(lambda: len(listener.messages['/mr_ad/izmp']) > 50)
            message = listener.messages['/mr_ad/izmp'][-1]
            when = Time(nanoseconds=stamp_of(message))
            assert wait_until(lambda: buffer.can_transform('world', 'nif', when))
            yield message, buffer, when


def test_the_points_are_in_the_frame_that_tf_knows(seen, biped31):
    message, buffer, when = seen
    assert message.header.frame_id == 'ceiling'
    model = load_model(biped31.urdf_path, biped31.root)
    q = np.zeros(model.dof)
    in_root = np.array([*model.com(q)[:2], model.frame_pose('l_sole', q)[1][2]])
    in_world = in_root + vector(
        buffer.lookup_transform('world', model.root, when).transform.translation
    )
    expected = WORLD_R_CEILING.T @ (in_world - P_CEILING)
    np.testing.assert_allclose(vector(message.point), expected, atol=1e-3)


def test_the_root_is_where_the_gps_says(seen, biped31):
    _, buffer, when = seen
    model = load_model(biped31.urdf_path, biped31.root)
    found = buffer.lookup_transform('world', model.root, when).transform
    _, p_gps = model.frame_pose(biped31.position.frame, np.zeros(model.dof))
    np.testing.assert_allclose(vector(found.translation), [0.0, 0.0, 1.0] - p_gps, atol=1e-9)
    np.testing.assert_allclose(quaternion(found.rotation), [0.0, 0.0, 0.0, 1.0], atol=1e-9)


def test_the_frame_nif_stands_on_level_ground(seen):
    _, buffer, when = seen
    found = buffer.lookup_transform('pelvis', 'nif', when).transform
    np.testing.assert_allclose(vector(found.translation), np.zeros(3), atol=1e-12)
    np.testing.assert_allclose(quaternion(found.rotation)[3], 1.0, atol=1e-9)
