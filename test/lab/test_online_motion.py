"""The node motion with the parameter online: commands in, trajectories without a jump out."""

import itertools

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import Vector3
from rclpy.parameter import Parameter

from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.nodes.messages import stamp_of
from izmp_lab.nodes.motion import Motion

from ..node_processes import ROBOT, wait_until
from ..raising import raising

INTERVAL = 100_000_000
"""[ns]."""


class Driven:
    """The node without its timer, by a clock of the test; what it publishes and when."""

    def __init__(self, node):
        self.online, self.now = node._online, 1_000_000_000
        self.published, self.at = [], []
        self.online._timer.cancel()
        self.online._now = lambda: self.now
        self.online._publisher = self

    def publish(self, message):
        self.published.append(message)
        self.at.append(self.now)

    def tick(self, late=0, passed=INTERVAL):
        self.now += passed + late
        self.online._advance()
        self.now -= late

    @property
    def leads(self):
        return np.array([stamp_of(m) for m in self.published]) - self.at


def make_node(**others):
    named = {'robot': str(ROBOT), 'online': True, **others}
    return Motion(overrides=[Parameter(name, value=value) for name, value in named.items()])


@pytest.fixture
def driven(ros):
    node = make_node(step_time=0.7, com_height=0.74, scheme='E3')
    yield Driven(node)
    node.destroy_node()


@pytest.fixture(scope='module')
def trajectories(ros):
    """What the node publishes in its first intervals; after five it is commanded to walk."""
    node = make_node()
    driven = Driven(node)
    commands = node.create_publisher(Vector3, 'walk_command', 10)

    def commanded():
        commands.publish(Vector3(x=5.0, y=0.0, z=0.0))  # refused
        commands.publish(Vector3(x=0.2, y=0.0, z=0.0))
        rclpy.spin_once(node, timeout_sec=0.02)
        return driven.online._walk.command

    for _ in range(5):
        driven.tick()
    assert wait_until(commanded)
    for _ in range(25):
        driven.tick()
    node.destroy_node()
    return driven.published


def test_every_trajectory_begins_where_and_when_the_one_before_ends(trajectories):
    assert len(trajectories) >= 10
    for before, after in itertools.pairwise(trajectories):
        assert stamp_of(after) - stamp_of(before) == INTERVAL
        assert before.points[-1].time_from_start.nanosec == INTERVAL
        assert np.allclose(before.points[-1].positions, after.points[0].positions, atol=1e-6)
        assert np.allclose(before.points[-1].velocities, after.points[0].velocities, atol=1e-3)


def test_a_trajectory_is_published_a_whole_interval_before_it_begins(driven):
    for late in (0, 40, 0, 90, 20, -30, 99, 0):
        driven.tick(late * 1_000_000)
    assert driven.leads.min() >= INTERVAL
    assert set(np.diff([stamp_of(each) for each in driven.published])) == {INTERVAL}


@pytest.mark.parametrize('passed', [INTERVAL * 8, -INTERVAL * 8])
def test_after_a_stall_or_a_jump_of_the_clock_it_goes_on_later_from_where_it_was(driven, passed):
    driven.online._command(Vector3(x=0.2))
    for _ in range(12):
        driven.tick()
    count = len(driven.published)
    driven.tick(passed=passed)
    driven.tick()
    assert len(driven.published) == count + 2
    assert driven.leads[count:].min() >= INTERVAL
    before, after = driven.published[count - 1 : count + 1]
    assert np.allclose(before.points[-1].positions, after.points[0].positions, atol=1e-6)


def test_silence_and_what_is_not_finite_stop(driven):
    for x in (float('nan'), float('inf')):
        driven.online._command(Vector3(x=0.1))
        assert driven.online._walk.command
        driven.online._command(Vector3(x=x))
        assert driven.online._walk.command is None
    driven.online._command(Vector3(x=0.1))
    driven.tick(passed=4_900_000_000)
    assert driven.online._walk.command
    driven.tick(passed=200_000_000)
    assert driven.online._walk.command is None


@pytest.mark.parametrize(
    ('wrong', 'kind', 'data'),
    [
        ({'com_height': 0.95}, 'com_height', {'com_height': 0.95}),
        ({'time_step': 0.015}, 'time_step_divides_not', {'time_step': 0.015}),
        ({'step_time': 1.6}, 'step_time_too_long', {'longest': 1.5}),
        ({'scheme': 'E9'}, 'unknown_choice', {'parameter': 'scheme', 'value': 'E9'}),
    ],
)
def test_parameters_that_do_not_fit_are_refused(ros, wrong, kind, data):
    with raising(MotionError, kind, **data):
        make_node(**wrong)


def test_the_robot_stands_and_then_walks(trajectories):
    column = list(trajectories[0].joint_names).index('r_knee')
    knee = np.array([point.positions[column] for each in trajectories for point in each.points])
    assert np.ptp(knee[:50]) < 1e-3
    assert np.ptp(knee) > 0.1
