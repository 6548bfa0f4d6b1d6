"""A recording with IMUs in the feet: the ground that they tell, also when joints are wrong."""

import copy
import dataclasses
from dataclasses import fields

import numpy as np
import pytest
from izmp_dynamics.live import sample_queue
from izmp_dynamics.live.feet import LiveFeet
from izmp_dynamics.replay.evaluator import Evaluator
from izmp_dynamics.replay.rig import make_rig

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.conventions import GRAVITY
from izmp_dynamics.errors import ReplayError, SensingError
from izmp_dynamics.model.robot_file import FootImu, Ground
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.replay.recording import Recording
from izmp_dynamics.replay.run import evaluated_windows
from izmp_dynamics.sensing.root_state import RootState

from .bag_surgery import IMU
from .live_signals import evaluate_log, evaluate_signals

ANKLES = ('l_ankle_pitch', 'r_ankle_pitch')
ERROR = np.radians(1.0)


@pytest.fixture(scope='module')
def recorded(sound, tmp_path_factory):
    """Two seconds of the sway, in which both feet stand on level ground; with IMUs in them."""
    draft = sound.copy()
    for side, noise in (('l', 0.02), ('r', 0.03)):
        part = copy.deepcopy(draft[IMU])
        part.topic = f'/{side}_foot/imu'
        part.like = part.like | {'header.frame_id': f'{side}_foot'}
        shape = part['linear_acceleration'].shape
        still = np.random.default_rng(ord(side)).normal(0.0, noise, shape)
        part['angular_velocity'] = np.zeros(shape)
        part['linear_acceleration'] = still + np.array([0.0, 0.0, GRAVITY])
        draft.parts.append(part)
    return draft.write(tmp_path_factory.mktemp('feet') / 'bag')


def with_imus(robot, source='feet_imus', **changes):
    """The robot with an IMU in every foot."""
    feet = tuple(
        dataclasses.replace(foot, imu=FootImu(f'{foot.name}/imu', **changes))
        for foot in robot.feet
    )
    return dataclasses.replace(robot, feet=feet, ground=Ground(source=source))


def evaluated(bag, robot, wrong=0.0):
    """All results, when the encoders of the ankles are wrong by so much [rad]."""
    model = load_model(robot.urdf_path, robot.root)
    columns = [model.joint_names.index(name) for name in ANKLES]
    with BagReader(bag) as reader:
        recording = Recording(reader, robot, model)
        evaluator = Evaluator(recording.rig, recording.groups, recording.periods, recording.origin)
        original = recording.spans

        def spans(seconds):
            for signals, received in original(seconds):
                for stream in signals.joints:
                    stream.values[:, columns] += wrong
                yield signals, received

        recording.spans = spans
        results = [result for result, _ in evaluated_windows(recording, evaluator, lambda _: None)]
    return results, recording


def tilt_deg(results):
    """Angle between the normal and the vertical of the world [°]."""
    cosine = np.concatenate([np.sum(r.plane.normal * r.world.R[:, 2, :], axis=1) for r in results])
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


def test_wrong_ankles_tilt_the_sole_but_not_the_ground_of_the_feet_imus(recorded, biped31):
    by_sole, _ = evaluated(recorded, with_imus(biped31, 'sole'), ERROR)
    by_imus, recording = evaluated(recorded, with_imus(biped31), ERROR)
    assert np.nanmedian(tilt_deg(by_sole)) == pytest.approx(1.0, abs=0.1)
    assert np.nanmedian(tilt_deg(by_imus)) < 0.05
    assert not recording.missing
    assert {'foot_imus[l_foot]', 'foot_imus[r_foot]'} <= set(recording.uses)


def test_with_right_joints_the_points_are_those_of_the_sole(recorded, biped31):
    by_sole, _ = evaluated(recorded, with_imus(biped31, 'sole'))
    by_imus, _ = evaluated(recorded, with_imus(biped31))
    for one, other in zip(by_sole, by_imus, strict=True):
        distance = np.linalg.norm(one.points['mr_ad'] - other.points['mr_ad'], axis=1)
        assert np.nanmax(distance) < 2e-3


def test_without_the_topics_it_is_the_sole_and_said(sound, tmp_path, biped31):
    bag = sound.write(tmp_path / 'bag')
    _, recording = evaluated(bag, with_imus(biped31))
    assert recording.robot.ground.source == 'sole'
    assert sum('sole by kinematics' in sentence for sentence in map(str, recording.missing)) == 2


def test_an_imu_that_is_not_on_the_foot_is_a_sentence(biped31):
    with pytest.raises(ReplayError, match="'imu_link' moves against the sole 'l_sole'"):
        make_rig(with_imus(biped31, frame='imu_link'))


def test_without_a_frame_it_is_a_sentence(biped31):
    with pytest.raises(ReplayError, match=r'add .frame: LINK. under the imu of foot .l_foot.'):
        make_rig(with_imus(biped31))


def test_without_orientation_of_the_root_it_is_a_sentence(recorded, biped31):
    from izmp_dynamics.stability.foot_imu_plane import plane_of_foot_imus

    with pytest.raises(SensingError, match='publishes no orientation'):
        plane_of_foot_imus((), (), None)


@pytest.mark.parametrize('silent', [(), ('l_foot',), ('l_foot', 'r_foot')])
def test_a_running_robot_gets_the_numbers_of_the_replay(recorded, biped31, silent, monkeypatch):
    """Ground, point and feet at every instant; an IMU that is silent leaves the sole."""
    clock = [0.0]
    monkeypatch.setattr(sample_queue.time, 'monotonic', lambda: clock[0])
    robot = with_imus(biped31)
    signals, expected, rig = evaluate_log(recorded, robot)
    if silent:
        imus = [
            stream.rows(np.full(len(stream), foot.name not in silent))
            for foot, stream in zip(robot.feet, signals.foot_imus, strict=True)
        ]
        signals = dataclasses.replace(signals, foot_imus=tuple(imus))
        expected = evaluate_signals(recorded, robot, signals)
    feet = LiveFeet(rig)
    placed = []
    for stamp, kind, name, values in feet_messages(signals, expected, robot):
        clock[0] = stamp * 1e-9
        if kind == 'instant':
            placed += feet.add_instant(*values)
        elif kind == 'wrench':
            placed += feet.add_wrench(name, stamp, values)
        elif kind == 'imu':
            placed += feet.add_imu(name, stamp, values)
        else:
            placed += feet.add_orientation(stamp, values)
    placed += feet.flush()
    np.testing.assert_array_equal([joints.stamps[0] for joints, _ in placed], expected.stamps)
    grounds = [ground for _, ground in placed]
    known = np.isfinite(expected.plane.normal).all(axis=1)
    np.testing.assert_array_equal([ground is not None for ground in grounds], known)
    assert known.mean() > 0.95
    for row in np.flatnonzero(known):
        ground, wrench = grounds[row], expected.wrenches['mr_ad'][row]
        np.testing.assert_allclose(ground.normal, expected.plane.normal[row], atol=1e-12)
        np.testing.assert_allclose(ground.zmp(wrench), expected.points['mr_ad'][row], atol=1e-9)


def feet_messages(signals, expected, robot):
    """Instants of the joints and samples of the sensors, in the order of their stamps."""
    found = []
    for k, stamp in enumerate(expected.stamps):
        joints = expected.joints.select(np.array([k]))
        root = RootState(*(getattr(expected.root, f.name)[k : k + 1] for f in fields(RootState)))
        found.append((int(stamp), 'instant', '', (joints, root)))
    streams = [('orientation', '', signals.orientation)]
    for k, foot in enumerate(robot.feet):
        streams += [('wrench', foot.name, signals.wrenches[k])]
        streams += [('imu', foot.name, signals.foot_imus[k])]
    for kind, name, stream in streams:
        samples = zip(stream.stamps, stream.values, strict=True)
        found += [(int(stamp), kind, name, values) for stamp, values in samples]
    return sorted(found, key=lambda message: message[0])


def test_the_mounting_is_taken_from_the_urdf(biped31):
    left = with_imus(biped31, frame='l_foot').feet[0]
    rig = make_rig(dataclasses.replace(biped31, feet=(left,)))
    model = load_model(biped31.urdf_path, biped31.root)
    q = np.zeros(model.dof)
    expected = model.frame_pose('l_sole', q)[0].T @ model.frame_pose('l_foot', q)[0]
    np.testing.assert_allclose(rig.feet[0].sole_R_imu, expected, atol=1e-12)
