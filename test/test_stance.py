"""The stance leg as an accelerometer: the motion of the root while a sole rests."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.method import RootAcceleration
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.stance import StanceAcceleration
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import root_state
from izmp_dynamics.stability.sole_motion import sole_motion

from .raising import raising
from .recorded import evaluate_bag

TILT = 0.04  # [rad]


def test_the_root_moves_as_a_sole_at_rest_demands(biped31):
    """A root that moves about a fixed sole: its φ and ω, differenced in the world."""
    model, random = load_model(biped31.urdf_path), np.random.default_rng(3)
    q0, qd, qdd = random.normal(size=(3, 1, model.dof))

    def positions(t):
        return q0 + t * qd + 0.5 * t**2 * qdd

    def in_sole(t):
        R, p = model.frame_pose('l_sole', positions(t)[0])
        return R.T, -R.T @ p

    motion = sole_motion(model, 'l_sole', np.ones((3, 2)), positions)
    phi, omega = motion.root_at_rest(9.81)
    step = 1e-4
    (R0, p0), (R, p), (R1, p1) = (in_sole(t) for t in (-step, 0.0, step))
    acceleration = R.T @ ((p1 - 2.0 * p + p0) / step**2)
    np.testing.assert_allclose(phi[0], acceleration + 9.81 * R.T[:, 2], atol=2e-4)
    turning = Rotation.from_matrix(R0.T @ R1).as_rotvec() / (2.0 * step)
    np.testing.assert_allclose(omega[0], turning, atol=1e-4)


@pytest.fixture(scope='module')
def swaying(biped31, sway):
    """Source → distance of IZMP and CoP [m], with an IMU that is tilted against its frame."""

    def distance(source, tilt):
        robot = dataclasses.replace(
            biped31,
            accelerometers=(),
            position=None,
            imu=dataclasses.replace(biped31.imu, rotation=(tilt, 0.0, 0.0)),
            root_acceleration=RootAcceleration(source),
        )
        points = evaluate_bag(sway[1], robot).points
        gap = np.linalg.norm(points['mr_ad'] - points['cop'], axis=1)
        return float(np.nanmedian(gap))

    return distance


@pytest.mark.parametrize('source', ['kinematic', 'blended'])
def test_the_legs_take_out_a_tilt_of_the_accelerometer(swaying, source):
    assert swaying('imu', TILT) > 0.02
    assert swaying(source, TILT) < 0.002


def test_with_right_sensors_both_agree(swaying):
    assert swaying('kinematic', 0.0) < 0.002


def test_without_feet_there_is_no_stance():
    with raising(RobotFileError, 'no_feet'):
        RobotFile('robot.urdf', root_acceleration=RootAcceleration('blended'))


@pytest.mark.parametrize(('source', 'held'), [('kinematic', 0), ('blended', 50)])
def test_the_difference_of_the_legs_is_not_held_for_ever(monkeypatch, source, held):
    """Nobody stands from 1 s on: 'kinematic' knows nothing then, 'blended' the IMU after 0.5 s."""
    stamps = 10_000_000 * np.arange(200)
    robot = SimpleNamespace(root_acceleration=RootAcceleration(source))
    stage = StanceAcceleration(SimpleNamespace(robot=robot), None, causal=True)
    legs = np.where(stamps[:, None] < 1_000_000_000, 3.0, np.full((200, 3), np.nan))
    monkeypatch.setattr(stage, '_by_legs', lambda joints: legs[: len(joints)])
    zero = np.zeros((200, 3))
    joints = JointKinematics(stamps, zero, zero, zero, np.ones(200, dtype=bool))
    instants = stage.push(joints, root_state(stamps, zero, zero, zero), 0.01) + stage.flush()
    phi = np.concatenate([root.proper_acceleration for _, root in instants])
    assert (phi[50 : 100 + held] > 1.0).all()
    after = phi[101 + held :]
    assert np.isnan(after).all() if source == 'kinematic' else (after == 0.0).all()


def test_where_a_load_is_unknown_the_feet_that_stand_count_alike(biped31):
    """A foot that carries less counts less; with one sensor that hangs, both count 1."""
    from izmp_dynamics.pipeline.rig import make_rig

    rig = make_rig(biped31)
    stamps = 10_000_000 * np.arange(1, 4)
    force = {'l_foot': [200.0, 200.0, 2.0], 'r_foot': [70.0, np.nan, 200.0]}

    def sensor(name):
        reading = np.zeros((3, 6))
        reading[:, 2] = force[name]
        return SimpleNamespace(known=lambda instants, moving: reading)

    sensors = SimpleNamespace(sensors={name: sensor(name) for name in force})
    stage = StanceAcceleration(rig, sensors, causal=True)
    zero = np.zeros((3, rig.model.dof))
    joints = JointKinematics(stamps, zero, zero, zero, np.ones(3, dtype=bool))
    motions = [sole_motion(rig.model, f.sole, f.polygon, lambda t: zero) for f in rig.feet]
    loads = stage._loads(joints, motions)
    np.testing.assert_allclose(loads, [[200.0, 70.0], [1.0, 1.0], [0.0, 200.0]], atol=0.5)
