"""Plant and controller of the seesaw as nodes: in lockstep they are the loop without nodes."""

import contextlib
from unittest.mock import Mock

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PointStamped, PoseStamped, Quaternion
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import ModelError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.nodes.messages import stamp_of
from izmp_lab.seesaw import robot_files
from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.closed_loop import balance_on_seesaw
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw
from izmp_lab.seesaw.nodes import (
    STATE_TOPICS,
    Balance,
    state_messages,
    state_of,
    torques_message,
    torques_of,
)
from izmp_lab.seesaw.nodes import Seesaw as SeesawNode
from izmp_lab.simulation.physics import Shove

from ..node_processes import Listener, wait_until

DURATION = 0.3
PUSH = '100:lateral:0.1:0.01'


@pytest.fixture(scope='module')
def loop():
    """The loop without nodes: what happened, and the state at its end."""
    robot = load_balancing_robot('biped31')
    plant = MujocoSeesaw(robot, Seesaw())
    controller = MomentumController.named(robot, 'mixed')
    run = balance_on_seesaw(plant, controller, DURATION, [Shove.parse(PUSH)])
    return run, plant.state


def parameters(**values):
    return [Parameter(name, value=value) for name, value in values.items()]


def statuses(listener):
    """Node → what it said last on /diagnostics."""
    messages = listener.messages['/diagnostics']
    return {status.name: status.message for m in messages for status in m.status}


def counts(listener):
    """How many samples of joints and board there are."""
    return [len(listener.messages[topic]) for topic in ('joint_states', 'board/pose')]


def test_nodes_in_lockstep_are_the_loop_without_nodes(ros, loop):
    run, last = loop
    plant = SeesawNode(
        overrides=parameters(robot='biped31', push=PUSH, duration=DURATION, rate=100.0)
    )
    controller = Balance(overrides=parameters(robot='biped31'))
    ears, samples = rclpy.create_node('listener'), 5 * len(run.times)
    topics = {
        'joint_states': JointState,
        'board/pose': PoseStamped,
        '/diagnostics': DiagnosticArray,
    }
    listener = Listener(ears, topics | {'ground_truth/cop_in_ground': PointStamped})
    executor = SingleThreadedExecutor()
    nodes = (plant, controller, ears)
    for node in nodes:
        executor.add_node(node)

    def is_complete():
        for _ in range(50):
            executor.spin_once(timeout_sec=0.01)
        return (
            len(statuses(listener)) == 2
            and plant.is_over
            and counts(listener) == [samples, samples]
        )

    assert wait_until(is_complete)
    final = plant.plant.state
    with contextlib.suppress(Exception):
        executor.shutdown()
    for node in nodes:
        node.destroy_node()
    assert plant.is_over
    assert statuses(listener).keys() == {'/seesaw', '/balance'}
    assert plant.fall == ''
    assert controller.controller.unsolved == 0
    assert abs(run.angle[-1]) > np.radians(0.1)
    assert final.angle == pytest.approx(last.angle, abs=1e-9)
    np.testing.assert_allclose(final.q, last.q, atol=1e-9)
    stamps = [stamp_of(message) for message in listener.messages['joint_states']]
    assert stamps == [NANOSECONDS + 2_000_000 * k for k in range(samples)]
    assert counts(listener) == [samples, samples]
    cops = listener.messages['ground_truth/cop_in_ground']
    assert {message.header.frame_id for message in cops} == {'board'}


def test_joints_may_come_in_another_order_but_none_may_be_missing(ros):
    names = ('a', 'b', 'c')
    message = torques_message(np.array([1.0, 2.0, 3.0]), 7, names)
    np.testing.assert_array_equal(torques_of(message, ('c', 'a', 'b')), [3.0, 1.0, 2.0])
    assert torques_of(message, ('a', 'd')) == "the message lacks the joint 'd'"
    message.effort[1] = float('nan')
    assert torques_of(message, names) == 'effort must hold 3 finite numbers'


def test_bodies_that_are_nowhere_or_have_no_rotation_are_reported(ros, loop):
    names, state = load_balancing_robot('biped31').model.joint_names, loop[1]
    for part, field, reason in (
        (1, 'position', 'velocity of the root must be finite numbers'),
        (2, 'position', 'velocity of the board must be finite numbers'),
        (1, 'orientation', 'the pose and the velocity of the root must be finite numbers'),
    ):
        parts = list(state_messages(state, 7, names, 'base'))
        getattr(parts[part].pose.pose, field).x = float('nan')
        assert reason in state_of(*parts, names, 0.0)
    parts[1].pose.pose.orientation = Quaternion(x=0.0, y=0.0, z=0.0, w=0.0)
    assert state_of(*parts, names, 0.0) == f'the root: {Reason.NO_ROTATION.text}'


def test_a_state_that_cannot_be_used_gets_the_last_torques(ros, loop, monkeypatch):
    refuse = Mock(side_effect=ModelError('It is unstable.'))
    monkeypatch.setattr('izmp_lab.seesaw.nodes.require_stable', refuse)
    node = Balance(overrides=parameters(robot='biped31'))
    names, state = node.controller.robot.model.joint_names, loop[1]
    node._torques, node._diagnostics = Mock(), Mock()
    holding = node.controller.last.torques
    for stamp, corrupted in ((2, True), (3, False), (3, False), (4, True), (1, True)):
        parts = state_messages(state, stamp * NANOSECONDS, names, 'base')
        if corrupted:
            parts[1].pose.pose.position.x = float('inf')
        for topic, message in zip(STATE_TOPICS, parts, strict=True):
            node._take(topic, message)
    node._report()
    node.destroy_node()
    answers = [call.args[0] for call in node._torques.publish.call_args_list]
    assert [stamp_of(message) // NANOSECONDS for message in answers] == [2, 3, 3, 4, 1]
    first, solved, again, held, restarted = (torques_of(message, names) for message in answers)
    np.testing.assert_array_equal(first, holding)
    np.testing.assert_array_equal(again, solved)  # the plant has asked again
    np.testing.assert_array_equal(held, solved)
    np.testing.assert_array_equal(restarted, holding)  # the plant has been started again
    assert np.abs(solved - holding).max() > 0.0
    assert sum(node.counts.values()) == 3
    (status,) = node._diagnostics.publish.call_args.args[0].status
    assert status.level == DiagnosticStatus.WARN
    assert status.message == '1 ticks answered, 0 without a solution. It is unstable.'


def test_a_state_that_lacks_a_part_is_counted_and_the_next_one_answered(ros, loop, monkeypatch):
    monkeypatch.setattr('izmp_lab.seesaw.nodes.require_stable', Mock())
    node = Balance(overrides=parameters(robot='biped31'))
    node._torques = Mock()
    for stamp, topics in ((2, STATE_TOPICS[:2]), (3, STATE_TOPICS[::-1])):
        parts = state_messages(loop[1], stamp, node.controller.robot.model.joint_names, 'base')
        for topic in topics:
            node._take(topic, parts[STATE_TOPICS.index(topic)])
    node.destroy_node()
    (answer,) = node._torques.publish.call_args_list
    assert stamp_of(answer.args[0]) == 3
    assert node.counts == {f'state/board.{Fault(Reason.NO_SAMPLE).key}': 1}


def test_the_robot_file_for_the_graph_is_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(robot_files, 'interruptible', contextlib.nullcontext)
    assert robot_files.main('biped31', str(tmp_path)) == 0
    robot = load_robot_file(next(tmp_path.glob('*.yaml')))
    assert robot.ground.moves
    assert robot.urdf_path.is_file()
    assert robot_files.main('biped32', str(tmp_path)) == 2
    assert 'biped31' in capsys.readouterr().err
