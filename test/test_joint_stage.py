"""Joints of several publishers on one topic become one joint kinematics."""

import numpy as np
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.counts import NO_SAMPLE, Counts
from izmp_dynamics.replay.joints import JointStage, group_joints, split_joints

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.replay import survey
from izmp_dynamics.replay.recording import Recording

from .small_robot import extended

TWO_JOINTS = extended("""
  <link name="head"><inertial><mass value="0.5"/></inertial></link>
  <joint name="neck" type="continuous">
    <parent link="base"/><child link="head"/><axis xyz="0 0 1"/>
  </joint>
""")
START = 1_700_000_000_000_000_000
MS = 1_000_000


def recorded(hip_ms, neck_ms, both_ms=()):
    """Messages in the order of their stamps: (T, 2) positions and presence, (T,) stamps."""
    rows = [(t, (True, False)) for t in hip_ms] + [(t, (False, True)) for t in neck_ms]
    rows = sorted(rows + [(t, (True, True)) for t in both_ms])
    stamps = START + np.array([t for t, _ in rows], np.int64) * MS
    present = np.array([has for _, has in rows])
    t = (stamps - START) * 1e-9
    positions = np.column_stack([np.sin(3.0 * t), np.cos(2.0 * t)])
    return np.where(present, positions, np.nan), present, stamps


def test_a_joint_that_comes_after_the_survey_is_told(tmp_path, monkeypatch):
    """It is held at zero, which is wrong as soon as it moves."""
    monkeypatch.setattr(survey, 'SURVEY_SECONDS', 0.5)
    (tmp_path / 'robot.urdf').write_text(TWO_JOINTS)
    (tmp_path / 'robot.yaml').write_text('urdf: robot.urdf\nimu: {frame: base}\n')
    robot = load_robot_file(tmp_path / 'robot.yaml')
    stamps = START + np.arange(0, 4000, 10, dtype=np.int64) * MS
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add_topic('/imu', 'sensor_msgs/msg/Imu', {'linear_acceleration.z': 9.81})
        bag.write_batch('/imu', stamps, {})
        bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState', {})
        for name, rows in (('hip', stamps), ('neck', stamps[300:])):
            like = {'name': (name,), 'position': np.zeros(1)}
            bag.write_batch('/joint_states', rows, {'position': np.ones((len(rows), 1))}, like)
    with BagReader(tmp_path / 'bag') as reader:
        recording = Recording(reader, robot, load_model(TWO_JOINTS))
        for _ in recording.spans(1.0):
            pass
        gated = recording.uses['joints'].gated
    assert gated['neck: not there at the beginning, taken to be at zero throughout'] == 100


def evaluate(positions, present, stamps):
    groups = group_joints(present, stamps)
    streams = split_joints(positions, present, stamps, groups)
    robot = RobotFile(urdf='')
    period = float(np.median(np.diff(stamps))) * 1e-9
    stage = JointStage(
        load_model(TWO_JOINTS), robot, groups, Conditioning(robot, {'joints': period}), START
    )
    counts = Counts(0, 2**62)
    return stage.evaluate(streams, counts), counts, groups


def check_truth(joints, atol):
    t = (joints.stamps - START)[joints.valid] * 1e-9
    for found, hip, neck in (
        (joints.positions, np.sin(3 * t), np.cos(2 * t)),
        (joints.velocities, 3 * np.cos(3 * t), -2 * np.sin(2 * t)),
        (joints.accelerations, -9 * np.sin(3 * t), -4 * np.cos(2 * t)),
    ):
        np.testing.assert_allclose(found[joints.valid], np.column_stack([hip, neck]), atol=atol)


def test_joints_published_together():
    joints, counts, groups = evaluate(*recorded((), (), range(0, 2000, 10)))
    assert [group.columns for group in groups] == [(0, 1)]
    assert joints.valid.all()
    assert not counts.by_signal['joints']
    check_truth(joints, 1e-3)


def test_a_slower_publisher_is_interpolated_at_its_own_pace():
    """Though its messages are further apart than pairing.max_gap."""
    joints, counts, groups = evaluate(*recorded(range(0, 4000, 10), range(0, 4000, 100)))
    assert [len(group.columns) for group in groups] == [1, 1]
    inside = (joints.stamps >= START + 100 * MS) & (joints.stamps <= START + 3800 * MS)
    assert joints.valid[inside].all()
    assert counts.by_signal['joints'][NO_SAMPLE] == np.count_nonzero(~joints.valid)
    check_truth(joints, 0.04)


def test_no_value_where_a_publisher_is_silent_and_that_is_counted():
    neck = [*range(0, 1000, 10), *range(1500, 2000, 10)]
    joints, counts, _ = evaluate(*recorded(range(5, 2000, 10), neck))
    pause = (joints.stamps > START + 1000 * MS) & (joints.stamps < START + 1500 * MS)
    assert not joints.valid[pause].any()
    assert counts.by_signal['joints'][NO_SAMPLE] >= pause.sum()
    check_truth(joints, 1e-3)


def test_a_publisher_that_repeats_one_joint_of_another_does_no_harm():
    stamps = START + np.arange(400, dtype=np.int64) * 5 * MS
    present = np.ones((400, 3), dtype=bool)
    present[1::2, :2] = False  # every second message repeats the third joint only
    positions = np.where(present, np.sin((stamps - START) * 1e-9)[:, None], np.nan)
    groups = group_joints(present, stamps)
    (stream,) = split_joints(positions, present, stamps, groups)
    np.testing.assert_array_equal(stream.stamps, stamps[::2])
    assert np.isfinite(stream.values).all()


def test_a_message_that_lacks_a_joint_leaves_the_others():
    stamps = START + np.arange(100, dtype=np.int64) * 10 * MS
    present = np.ones((100, 3), dtype=bool)
    present[50, 1] = False
    groups = group_joints(present, stamps)
    (stream,) = split_joints(np.where(present, 1.0, np.nan), present, stamps, groups)
    assert len(stream) == 100
    assert np.isnan(stream.values[50]).tolist() == [False, True, False]
