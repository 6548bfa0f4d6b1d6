"""The model against Pinocchio and against itself from another root."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import ShapeError, UnknownNameError
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.link_transforms import LinkTransforms
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.stability.sole_motion import sole_motion
from izmp_lab.simulation.mujoco.spec import mass_moments

from .conftest import REPOSITORY
from .pinocchio_twin import ROBOTS, PinocchioTwin, pin, random_state, robot_path
from .raising import raising
from .small_robot import ODD_ROBOT


@pytest.mark.parametrize('name', [*ROBOTS, 'biped31', 'odd'])
def test_masses_frames_and_dynamics_are_those_of_pinocchio(name, tmp_path):
    path = tmp_path / 'odd.urdf'
    path.write_text(ODD_ROBOT)
    path = path if name == 'odd' else robot_path(name)
    model = load_model(path)
    twin, rng = PinocchioTwin(path, model), np.random.default_rng(3)
    assert model.total_mass == pytest.approx(pin.computeTotalMass(twin.model), rel=1e-12)
    for _ in range(10):
        state = random_state(rng, model.dof)
        wrench, com = MrAd(model).update(*state)
        np.testing.assert_allclose(wrench.as_array(), twin.contact_wrench(*state), rtol=1e-9)
        np.testing.assert_allclose(
            [com, model.com(state[3])], [twin.com(state[3])] * 2, atol=1e-12
        )
        pin.framesForwardKinematics(twin.model, twin.data, twin.state(*state)[0])
        for frame in model.frame_names:
            R, p = model.frame_pose(frame, state[3])
            pose = twin.data.oMf[twin.model.getFrameId(frame, pin.FrameType.BODY)]
            np.testing.assert_allclose(R, pose.rotation, atol=1e-12)
            np.testing.assert_allclose(p, pose.translation, atol=1e-12)


def test_names_limits_and_mounts():
    model = load_model(ODD_ROBOT)
    assert model.joint_names == ('slide', 'roll')
    assert model.root == 'base'
    np.testing.assert_array_equal(model.position_lower, [-1.0, -np.inf])
    np.testing.assert_array_equal(model.velocity_limit, [2.0, np.inf])
    assert model.mounted_on_root('base')
    assert not model.mounted_on_root('sensor')
    assert load_model(ODD_ROBOT, root='sensor').mounted_on_root('tip')


def test_a_model_and_its_parts_and_errors_reach_another_process():
    model = load_model(robot_path('biped31'), 'trunk')
    for whole in (model, model.part('l_foot')):
        other = pickle.loads(pickle.dumps(whole))
        for name in ('joints', 'bodies', 'position_lower', 'effort_limit'):
            np.testing.assert_array_equal(getattr(other, name), getattr(whole, name))
        assert not other.bodies.flags.writeable
        for name in ('root', 'sha256', 'problems', 'joint_names', 'frame_names'):
            assert getattr(other, name) == getattr(whole, name)
        q = np.linspace(-0.3, 0.3, model.dof)
        poses = (each.frame_pose('l_foot', q) for each in (other, whole))
        for one, two in zip(*poses, strict=True):
            np.testing.assert_array_equal(one, two)
        assert other.links_carried('l_foot') == whole.links_carried('l_foot')
    with raising(UnknownNameError, 'unknown_name') as caught:
        model.mount('tail')
    error = pickle.loads(pickle.dumps(caught.value))
    assert (str(error), vars(error)) == (str(caught.value), vars(caught.value))
    assert type(error) is UnknownNameError


def test_unknown_names_and_wrong_shapes_are_refused():
    model = load_model(ODD_ROBOT)
    with raising(UnknownNameError, 'unknown_name') as unknown:
        model.frame_pose('left_foot', np.zeros(model.dof))
    assert (unknown.value.denotes, unknown.value.name) == ('frame', 'left_foot')
    assert unknown.value.valid == model.frame_names
    with raising(UnknownNameError, 'unknown_name') as unknown:
        load_model(ODD_ROBOT, root='torso')
    assert (unknown.value.denotes, unknown.value.name) == ('link', 'torso')
    with raising(ShapeError, 'shape') as shape:
        model.com(np.zeros(5))
    assert (shape.value.name, shape.value.got) == ('q', (5,))


def test_poses_and_moments_of_bodies_are_those_of_their_frames():
    model = load_model(ODD_ROBOT)
    q = np.random.default_rng(6).normal(size=model.dof)
    R, p = model.body_poses(q)
    for link in model.frame_names:
        mount = model.mount(link)
        frame_R, frame_p = model.frame_pose(link, q)
        np.testing.assert_allclose(R[mount.body] @ mount.body_R_frame, frame_R, atol=1e-14)
        origin = p[mount.body] + R[mount.body] @ mount.p_frame_in_body
        np.testing.assert_allclose(origin, frame_p, atol=1e-14)
        chain = model.chain(link)
        assert chain == sorted(chain)
        assert chain[-1:] == ([mount.body] if mount.body else [])
    moments = [mass_moments(model, body) for body in range(len(model.bodies))]
    assert sum(body.mass for body in moments) == pytest.approx(model.total_mass)
    weighted = [body.mass * p[k] + R[k] @ body.first_moment for k, body in enumerate(moments)]
    np.testing.assert_allclose(sum(weighted) / model.total_mass, model.com(q), atol=1e-14)
    with raising(ShapeError, 'shape'):
        model.body_poses(np.zeros((2, model.dof)))


def test_a_part_depends_on_the_joints_between_it_and_the_root():
    model = load_model(robot_path('biped31'))
    names = np.array(model.joint_names)
    assert model.joints_that_move_mass().all()
    legs = names[model.part('l_foot').joints_that_move_mass()]
    assert sorted(legs) == sorted(
        name for name in names if name.startswith(('l_hip', 'l_knee', 'l_ankle'))
    )
    odd = load_model(ODD_ROBOT)
    assert odd.part('tip').joints_that_move_mass().tolist() == [True, True]  # slide, and its mimic
    assert odd.part('wheel').joints_that_move_mass().tolist() == [False, True]


def test_an_unknown_joint_position_makes_its_pose_unknown_alone():
    model = load_model(robot_path('biped31'))
    q = np.zeros((1, model.dof))
    transforms = LinkTransforms(model)
    expected = transforms.poses(q)[0]
    q[0, 0] = np.nan
    poses = transforms.poses(q)[0]
    unknown = np.isnan(poses).any(axis=1)
    assert unknown.sum() == 1
    assert np.isnan(poses[unknown, 3:]).all()
    np.testing.assert_array_equal(poses[~unknown], expected[~unknown])


def test_the_link_that_the_messages_name_may_be_the_right_one(biped31):
    robot = dataclasses.replace(biped31, imu=dataclasses.replace(biped31.imu, frame='xsens'))
    for frame_id, known in (('/imu_link', True), ('camera', False), (None, False)):
        with raising(UnknownNameError, 'unknown_name', name='xsens') as refusal:
            make_rig(robot, frame_ids={robot.imu.topic: frame_id})
        assert ("messages name 'imu_link'" in str(refusal.value)) == known


@pytest.mark.parametrize(
    ('root', 'choices'),
    [
        ('xyz', 'none of the'),
        ('pelvi', "did you mean 'pelvis'"),
        ('l_foot_link', "did you mean 'l_foot'?"),
    ],
)
def test_a_root_that_is_no_link_is_answered_with_the_urdfs_own(root, choices):
    with raising(UnknownNameError, 'unknown_name', name=root) as refusal:
        load_model(REPOSITORY / 'robots' / 'biped31' / 'biped31.urdf', root)
    assert choices in str(refusal.value)
    assert "own root is 'pelvis'" in str(refusal.value)


# ---- The root while a sole rests ----------------------------------------------------------------


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
