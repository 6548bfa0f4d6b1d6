"""Joints of several publishers on one topic become one joint kinematics."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.joints import JointStage, group_joints
from izmp_dynamics.sensing.acd import ActuatorDifferentiator
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.samples import Samples

from .small_robot import extended

THREE_JOINTS = extended("""
  <link name="head"><inertial><mass value="0.5"/></inertial></link>
  <link name="eye"><inertial><mass value="0.1"/></inertial></link>
  <joint name="neck" type="continuous">
    <parent link="base"/><child link="head"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="gaze" type="continuous">
    <parent link="head"/><child link="eye"/><axis xyz="0 0 1"/>
  </joint>
""")
START = 1_700_000_000_000_000_000
MS = 1_000_000
RATES = np.array([3.0, 2.0, 1.0])
ROBOT = RobotFile(urdf='')
NO_SAMPLE = Fault(Reason.NO_SAMPLE)


def recorded(*publishers):
    """Messages in the order of their stamps; a publisher: its times [ms] and its joints."""
    rows = sorted((t, joints) for times, joints in publishers for t in times)
    stamps = START + np.array([t for t, _ in rows], np.int64) * MS
    present = np.array([[k in joints for k in range(3)] for _, joints in rows])
    positions = np.sin((stamps - START)[:, None] * 1e-9 * RATES)
    return Samples(stamps, np.where(present, positions, np.nan))


def stage_of(messages=None, robot=ROBOT, **options):
    """A stage that knows the groups of some messages; without those it learns them."""
    groups = None
    if messages is not None:
        groups = group_joints(~np.isnan(messages.values), messages.stamps)
    model = load_model(THREE_JOINTS)
    return JointStage(model, robot, groups=groups, patience=0.5, **options)


def evaluate(stage, messages, pieces=1):
    """All instants for messages in so many pieces."""
    parts = [
        stage.push(messages.select(rows))
        for rows in np.array_split(np.arange(len(messages)), pieces)
    ]
    return JointKinematics.joined([*parts, stage.flush()])


def check_truth(joints, atol):
    angle = (joints.stamps - START)[joints.valid, None] * 1e-9 * RATES
    for found, truth in (
        (joints.positions, np.sin(angle)),
        (joints.velocities, RATES * np.cos(angle)),
        (joints.accelerations, -(RATES**2) * np.sin(angle)),
    ):
        np.testing.assert_allclose(found[joints.valid], truth, atol=atol)


def assert_equal(one, other):
    for name in ('stamps', 'positions', 'velocities', 'accelerations', 'valid'):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_joints_published_together_are_those_of_acd():
    messages = recorded((range(0, 2000, 10), (0, 1, 2)))
    stage = stage_of(messages)
    joints = evaluate(stage, messages)
    assert [group.columns for group in stage.groups] == [(0, 1, 2)]
    assert joints.valid.all()
    assert not stage.faults
    check_truth(joints, 1e-3)
    acd = ActuatorDifferentiator(stage.model.joint_names, 0.01)
    assert_equal(joints, acd.batch(messages.stamps, messages.values))


def test_a_slower_publisher_is_interpolated_at_its_own_pace():
    """Though its messages are further apart than pairing.max_gap."""
    messages = recorded((range(0, 4000, 10), (0, 1)), (range(0, 4000, 100), (2,)))
    stage = stage_of(messages)
    joints = evaluate(stage, messages)
    assert [len(group.columns) for group in stage.groups] == [2, 1]
    inside = (joints.stamps >= START + 100 * MS) & (joints.stamps <= START + 3800 * MS)
    assert joints.valid[inside].all()
    assert stage.faults[NO_SAMPLE] == np.count_nonzero(~joints.valid)
    check_truth(joints, 0.04)


def test_no_value_where_a_publisher_is_silent_and_that_is_counted():
    silent = [*range(0, 1000, 10), *range(1500, 2000, 10)]
    messages = recorded((range(5, 2000, 10), (0, 1)), (silent, (2,)))
    stage = stage_of(messages)
    joints = evaluate(stage, messages)
    pause = (joints.stamps > START + 1000 * MS) & (joints.stamps < START + 1500 * MS)
    assert not joints.valid[pause].any()
    assert stage.faults[NO_SAMPLE] >= pause.sum()
    check_truth(joints, 1e-3)


def test_a_publisher_that_repeats_one_joint_of_another_does_no_harm():
    messages = recorded((range(0, 2000, 10), (0, 1, 2)), (range(5, 2000, 10), (2,)))
    stage = stage_of(messages)
    joints = evaluate(stage, messages)
    assert [group.columns for group in stage.groups] == [(0, 1, 2)]
    assert_equal(joints, evaluate(stage_of(messages), recorded((range(0, 2000, 10), (0, 1, 2)))))


def test_a_message_that_lacks_a_joint_leaves_the_others():
    messages = recorded((range(0, 1000, 10), (0, 1, 2)))
    messages.values[50, 1] = np.nan
    stage = stage_of(messages)
    joints = evaluate(stage, messages)
    assert joints.valid.all()
    assert stage.faults == {Fault(Reason.JOINT_REPAIRED, 'neck'): 1}
    check_truth(joints, 1e-3)


def test_a_joint_without_messages_is_at_zero_and_named():
    messages = recorded((range(0, 1000, 10), (0, 1)))
    stage = stage_of(messages)
    joints = evaluate(stage, messages)
    assert stage.absent == ('gaze',)
    assert joints.valid.all()
    assert not joints.positions[:, 2].any()


@pytest.mark.parametrize(
    'publishers',
    [
        [(range(0, 4000, 10), (0, 1)), (range(0, 4000, 100), (2,))],
        [(range(0, 4000, 4), (0, 1)), (range(1, 4000, 40), (2,))],
        [(range(0, 4000, 10), (0, 1, 2)), (range(5, 4000, 10), (2,))],
        [([*range(0, 2000, 10), *range(2500, 4000, 10)], (0, 1)), (range(0, 4000, 10), (2,))],
        [(range(0, 4000, 10), (0, 1)), ([*range(0, 2000, 10), *range(2400, 4000, 10)], (2,))],
    ],
    ids=['a slow one', 'a slow one beside a fast bus', 'repeats a joint', 'gap', 'silent'],
)
def test_learned_groups_and_single_messages_give_the_numbers_of_the_whole(publishers):
    messages = recorded(*publishers)
    whole, learned = stage_of(messages), stage_of()
    expected = evaluate(whole, messages)
    assert len(expected) > 200
    assert_equal(evaluate(learned, messages, len(messages)), expected)
    assert [group.columns for group in learned.groups] == [g.columns for g in whole.groups]
    assert learned.faults == whole.faults


@pytest.mark.parametrize('pieces', [1, 400])
def test_a_spike_is_repaired_before_a_filter_can_smear_it(pieces):
    """One wrong encoder value of a slow joint must not leave accelerations behind."""
    robot = dataclasses.replace(ROBOT, filter=Filter(half_width=0.03))
    messages = recorded((range(0, 4000, 10), (0, 1, 2)))
    plain = evaluate(stage_of(messages, robot), messages)
    messages.values[200, 0] += 0.5
    stage = stage_of(messages, robot)
    joints = evaluate(stage, messages, pieces)
    assert stage.faults == {Fault(Reason.JOINT_REPAIRED, 'hip'): 1}
    both = joints.valid & plain.valid
    assert both.mean() > 0.95
    difference = joints.accelerations[both] - plain.accelerations[both]
    assert np.abs(difference).max() < 0.1


def test_a_joint_that_comes_late_is_at_zero_and_counted_or_learned():
    messages = recorded((range(0, 2000, 10), (0, 1)), (range(1005, 2000, 10), (2,)))
    early = recorded((range(0, 2000, 10), (0, 1)))
    held, learning = stage_of(early), stage_of(relearn=True)
    joints = evaluate(held, messages)
    assert not joints.positions[:, 2].any()
    assert held.faults == {Fault(Reason.JOINT_APPEARED, 'gaze'): 100}
    joints = evaluate(learning, messages, len(messages))
    assert learning.faults[Fault(Reason.JOINT_APPEARED, 'gaze')] == 2
    assert joints.positions[joints.stamps > START + 1100 * MS, 2].all()
    assert len(joints) > 190  # those of the joints that were there go on


@pytest.mark.parametrize(('step', 'known'), [(1000, False), (200, True)])
def test_a_slow_joint_of_a_running_system_holds_up_nothing(step, known):
    """Slower than instants wait, it is at zero and counted; else it becomes a group."""
    messages = recorded((range(0, 10_000, 10), (0, 1)), (range(305, 10_000, step), (2,)))
    stage = stage_of(relearn=True)
    joints = evaluate(stage, messages, len(messages))
    assert len(joints) > 990
    late = joints.stamps > START + 3000 * MS
    assert joints.valid[late].mean() > 0.85
    assert bool(joints.positions[late & joints.valid, 2].any()) is known
    count = stage.faults[Fault(Reason.JOINT_APPEARED, 'gaze')]
    assert count == (2 if known else 10)


def test_a_new_rate_of_a_running_system_is_learned():
    messages = recorded(((*range(0, 2000, 20), *range(2000, 6000, 5)), (0, 1, 2)))
    stage = stage_of(relearn=True)
    joints = evaluate(stage, messages, len(messages))
    assert np.count_nonzero(joints.stamps > START + 3000 * MS) > 550
    assert stage.groups[0].period == pytest.approx(0.005)


def test_a_pause_while_the_groups_are_learned_teaches_no_wrong_rate():
    stage = stage_of(relearn=True)
    for piece in np.split(np.arange(2), 2):
        stage.push(recorded(((0, 800), (0, 1, 2))).select(piece))
    assert not len(stage.flush(final=False))
    messages = recorded((range(2000, 6000, 10), (0, 1, 2)))
    joints = evaluate(stage, messages, len(messages))
    assert len(joints) > 350
    assert stage.groups[0].period == pytest.approx(0.01)


@pytest.mark.parametrize('begin', [1, 7, 30, 333])
def test_a_stage_that_starts_later_has_the_same_instants_on_the_bus(begin):
    """As a node that is restarted, or that learned another period from other messages."""
    rng = np.random.default_rng(begin)
    messages = recorded((np.arange(0, 4000, 2), [0, 1, 2]))
    messages.stamps[:] += rng.integers(-900_000, 900_000, len(messages))

    def on_bus(known, messages):
        stage = stage_of(known)
        joints = evaluate(stage, messages)
        return joints.stamps[stage.on_bus(joints.stamps)]

    whole = on_bus(messages, messages)
    part = messages.select(slice(begin, None))
    later = on_bus(None, part)
    assert len(later) > 100
    np.testing.assert_array_equal(later, whole[-len(later) :])
    assert later[0] - part.stamps[0] <= 14 * MS
