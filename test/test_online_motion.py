"""The node motion with the parameter online: commands in, trajectories without a jump out."""

import itertools
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")
pytest.importorskip('qpsolvers', reason='quadratic programmes are a matter of the extra `walk`')

import rclpy
from geometry_msgs.msg import Vector3
from rclpy.parameter import Parameter
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.nodes.messages import stamp_of
from izmp_dynamics.nodes.motion import Motion

from .node_processes import ROBOT, free_domain


@pytest.fixture(scope='module')
def trajectories():
    """What the node publishes in three seconds, in which it is told to walk forward."""
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    overrides = [Parameter('robot', value=str(ROBOT)), Parameter('online', value=True)]
    node = Motion(overrides=overrides)
    heard = []
    node.create_subscription(JointTrajectory, 'joint_trajectory', heard.append, 100)
    commands = node.create_publisher(Vector3, 'walk_command', 10)
    end, told = time.monotonic() + 3.0, False
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.02)
        if len(heard) > 5 and not told:
            commands.publish(Vector3(x=5.0, y=0.0, z=0.0))  # refused
            commands.publish(Vector3(x=0.2, y=0.0, z=0.0))
            told = True
    node.destroy_node()
    rclpy.shutdown()
    return heard


def test_every_trajectory_begins_where_and_when_the_one_before_ends(trajectories):
    assert len(trajectories) >= 10
    for before, after in itertools.pairwise(trajectories):
        assert stamp_of(after) - stamp_of(before) == pytest.approx(1e8, abs=2)
        assert before.points[-1].time_from_start.nanosec == 100_000_000
        assert np.allclose(before.points[-1].positions, after.points[0].positions, atol=1e-6)
        assert np.allclose(before.points[-1].velocities, after.points[0].velocities, atol=1e-3)


def test_the_robot_stands_and_then_walks(trajectories):
    column = list(trajectories[0].joint_names).index('r_knee')
    knee = np.array([point.positions[column] for each in trajectories for point in each.points])
    assert np.ptp(knee[:50]) < 1e-3
    assert np.ptp(knee) > 0.1
