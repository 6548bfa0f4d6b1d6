"""Joints of several publishers while the system runs: the numbers of the replay."""

import dataclasses

import numpy as np
import pytest
from izmp_dynamics.live.joints import LiveJoints
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.joints import JointStage, group_joints, split_joints

from izmp_dynamics.model.robot_file import LowPass, RobotFile
from izmp_dynamics.model.robot_model import load_model

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
ROBOT = RobotFile(urdf='')


def recorded(*publishers):
    """(T, 3) positions and presence, (T,) stamps; a publisher: its times [ms] and joints."""
    rows = sorted((t, joints) for times, joints in publishers for t in times)
    stamps = START + np.array([t for t, _ in rows], np.int64) * MS
    present = np.array([[k in joints for k in range(3)] for _, joints in rows])
    t = (stamps - START)[:, None] * 1e-9
    positions = np.sin(t * [3.0, 2.0, 1.0])
    return np.where(present, positions, np.nan), present, stamps


def live(positions, present, stamps, robot=ROBOT):
    """All instants of a `LiveJoints` that is given the messages one by one."""
    stage = LiveJoints(load_model(THREE_JOINTS), robot)
    instants = []
    for row in zip(stamps.tolist(), positions, present, strict=True):
        instants += stage.update(*row)
    return instants + stage.flush(), stage


def replayed(positions, present, stamps, robot=ROBOT):
    """What the replay makes of them."""
    groups = group_joints(present, stamps)
    conditioning = Conditioning(robot, {'joints': groups[0].period})
    stage = JointStage(load_model(THREE_JOINTS), robot, groups, conditioning, int(stamps[0]))
    streams = split_joints(positions, present, stamps, groups)
    joints = stage.evaluate(streams, Counts(0, 2**62))
    return joints.select(stage.on_bus(joints.stamps))


@pytest.mark.parametrize(
    'publishers',
    [
        [(range(0, 4000, 10), (0, 1)), (range(0, 4000, 100), (2,))],
        [(range(0, 4000, 4), (0, 1)), (range(1, 4000, 40), (2,))],
        [(range(0, 4000, 10), (0, 1, 2)), (range(5, 4000, 10), (2,))],
        [([*range(0, 2000, 10), *range(2500, 4000, 10)], (0, 1)), (range(0, 4000, 10), (2,))],
        [(range(0, 4000, 10), (0, 1)), ([*range(0, 2000, 10), *range(2600, 4000, 10)], (2,))],
    ],
    ids=['a slow one', 'a slow one beside a fast bus', 'repeats a joint', 'gap', 'silent'],
)
def test_several_publishers_are_merged_as_in_the_replay(publishers):
    messages = recorded(*publishers)
    expected = replayed(*messages)
    instants, stage = live(*messages)
    assert len(instants) > 200
    np.testing.assert_array_equal([i.stamp for i in instants], expected.stamps)
    np.testing.assert_array_equal([i.valid for i in instants], expected.valid)
    for name, part in (('q', 'positions'), ('qd', 'velocities'), ('qdd', 'accelerations')):
        found = np.array([getattr(i, name) for i in instants])[expected.valid]
        np.testing.assert_allclose(found, getattr(expected, part)[expected.valid], atol=1e-12)
    assert sum(len(group.columns) for group in stage.groups) == 3


def test_a_low_pass_goes_on_from_sample_to_sample_of_a_slow_publisher():
    """Its samples are further apart than pairing.max_gap; starting anew would filter nothing."""
    robot = dataclasses.replace(ROBOT, low_pass=LowPass(cutoff=1.0))
    fast, slow = (range(0, 8000, 10), (0, 1)), (range(0, 8000, 100), (2,))
    positions, present, stamps = recorded(fast, slow)
    wild = np.where(np.arange(len(stamps)) % 22 < 11, 0.3, -0.3)  # 5 Hz at its 10 Hz
    positions[:, 2] = np.where(present[:, 2], wild, np.nan)
    for result in (
        np.array([i.q[2] for i in live(positions, present, stamps, robot)[0] if i.valid]),
        replayed(positions, present, stamps, robot).positions[100:-100, 2],
    ):
        assert np.abs(result[len(result) // 2 :]).max() < 0.05
