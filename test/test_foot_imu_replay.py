"""A recording with IMUs in the feet: the ground that they tell, also when joints are wrong."""

import copy
import dataclasses

import numpy as np
import pytest

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.conventions import GRAVITY
from izmp_dynamics.errors import ReplayError, RobotFileError, SensingError
from izmp_dynamics.live.ground import LiveGround
from izmp_dynamics.model.robot_file import FootImu, Ground
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.replay.evaluator import Evaluator
from izmp_dynamics.replay.recording import Recording
from izmp_dynamics.replay.rig import make_rig
from izmp_dynamics.replay.run import evaluated_windows

from .bag_surgery import IMU

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


def test_a_running_robot_refuses_it(biped31):
    left = with_imus(biped31, frame='l_foot').feet[0]
    ground = Ground(source='feet_imus')
    rig = make_rig(dataclasses.replace(biped31, feet=(left,), ground=ground))
    with pytest.raises(RobotFileError, match='from recordings only'):
        LiveGround(rig)


def test_the_mounting_is_taken_from_the_urdf(biped31):
    left = with_imus(biped31, frame='l_foot').feet[0]
    rig = make_rig(dataclasses.replace(biped31, feet=(left,)))
    model = load_model(biped31.urdf_path, biped31.root)
    q = np.zeros(model.dof)
    expected = model.frame_pose('l_sole', q)[0].T @ model.frame_pose('l_foot', q)[0]
    np.testing.assert_allclose(rig.feet[0].sole_R_imu, expected, atol=1e-12)
