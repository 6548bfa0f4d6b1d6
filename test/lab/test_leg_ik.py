"""The closed-form leg IK against forward kinematics."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from izmp_dynamics.base.errors import MotionError, ShapeError, UnknownNameError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.ir_md import IrMd
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.walking.body_states import BodyMotion
from izmp_lab.walking.course import Course
from izmp_lab.walking.footsteps import Gait, Ramp, StepTiming, plan_footsteps
from izmp_lab.walking.inverse_dynamics import Drive, joint_torques, shared_reaction
from izmp_lab.walking.leg_ik import Leg

from ..pinocchio_twin import PinocchioTwin, pin, random_state, robot_path
from ..raising import raising
from .walking import biped31, planned

URDF = Path(__file__).parents[2] / 'robots/biped31/biped31.urdf'
SOLES = ('l_sole', 'r_sole')


def random_legs(model, leg, count):
    """Joint positions within the limits, the knee bent and the sole facing the ground."""
    columns = list(leg.columns)
    rng = np.random.default_rng(7)
    q = np.zeros((count, model.dof))
    lower, upper = model.position_lower[columns], model.position_upper[columns]
    q[:, columns] = rng.uniform(lower, upper, (count, 6))
    return q


@pytest.mark.parametrize('sole', SOLES)
def test_closes_on_2000_random_poses(model, sole):
    leg = Leg.of(model, sole)
    q = random_legs(model, leg, 3000)
    root_R_sole, p_sole = model.frame_pose(sole, q)
    p_ankle = p_sole - np.einsum('tij,j->ti', root_R_sole, leg.p_sole_in_foot)
    faces_down = np.einsum('tji,tj->ti', root_R_sole, leg.p_hip_in_root - p_ankle)[:, 2] > 1e-3
    q, root_R_sole, p_sole = q[faces_down], root_R_sole[faces_down], p_sole[faces_down]
    assert len(q) >= 2000

    found = q.copy()
    found[:, list(leg.columns)] = leg.solve(root_R_sole, p_sole)
    R, p = model.frame_pose(sole, found)
    assert np.abs(R - root_R_sole).max() < 1e-12
    assert np.abs(p - p_sole).max() < 1e-12


@pytest.mark.parametrize('sole', SOLES)
def test_finds_the_joint_positions_themselves_in_the_upright_branch(model, sole):
    leg = Leg.of(model, sole)
    columns = list(leg.columns)
    q = np.zeros((500, model.dof))
    rng = np.random.default_rng(3)
    q[:, columns] = rng.uniform(
        [-1, -0.4, -1, 0.05, -1, -0.5], [1, 0.4, 0.5, 2, 0.5, 0.5], (500, 6)
    )
    R, p = model.frame_pose(sole, q)
    assert np.allclose(leg.solve(R, p), q[:, columns], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ('pose', 'kind'),
    [
        ([0.0, 0.08, -1.5], 'leg_too_short'),
        ([0.0, 0.08, -0.13], 'leg_too_long'),
        ([np.nan, 0.08, -0.8], 'not_finite'),
        ([0.0, 0.08, 0.5], 'sole_upwards'),
    ],
)
def test_an_unreachable_pose_is_refused_in_a_sentence(model, pose, kind):
    with raising(MotionError, kind, sole='l_sole'):
        Leg.of(model, 'l_sole').solve(np.eye(3), np.array(pose))


def test_the_sample_that_is_out_of_reach_is_named(model):
    p = np.tile([0.0, 0.08, -0.85], (10, 1))
    p[6, 2] = -1.2
    with raising(MotionError, 'leg_too_short', row=6):
        Leg.of(model, 'l_sole').solve(np.tile(np.eye(3), (10, 1, 1)), p)


def test_other_chains_are_refused_with_the_reason(model):
    with raising(MotionError, 'joint_count', sole='trunk', joints=3):
        Leg.of(model, 'trunk')
    with pytest.raises(UnknownNameError):
        Leg.of(model, 'l_soul')


@pytest.mark.parametrize(
    ('old', 'new', 'kind', 'data'),
    [
        ('xyz="0 0 -0.39"', 'xyz="0.01 0 -0.39"', 'leg_geometry', {'sole': 'l_sole'}),
        ('<axis xyz="0 1 0" />', '<axis xyz="0 -1 0" />', 'joint_axis', {'joint': 'hip pitch'}),
        ('xyz="0 0.08 -0.05"', 'xyz="0 0.08 -0.05" rpy="0.1 0 0"', 'joint_axis',
         {'joint': 'hip yaw'}),
    ],
)  # fmt: skip
def test_a_leg_of_another_build_is_refused_with_the_reason(old, new, kind, data):
    text = URDF.read_text()
    assert old in text
    text = text.replace(f'{old} rpy="0 0 0"', new if 'rpy' in new else f'{new} rpy="0 0 0"')
    other = load_model(text.replace(old, new) if 'axis' in old else text)
    with raising(MotionError, kind, **data):
        Leg.of(other, 'l_sole')


FOLDER = Path(__file__).parents[2] / 'robots/biped31'


@pytest.fixture(scope='module')
def xml():
    return ElementTree.parse(FOLDER / 'biped31.urdf').getroot()


@pytest.mark.parametrize('robot', ['biped31', 'itu_biped'])
def test_the_urdf_is_what_its_script_writes(robot):
    folder = FOLDER.parent / robot
    spec = importlib.util.spec_from_file_location(f'make_{robot}', folder / 'make_urdf.py')
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert (folder / f'{robot}.urdf').read_text(encoding='utf-8') == script.urdf()


def test_the_sole_polygon_is_the_outline_of_the_collision_shape(xml):
    file = load_robot_file(FOLDER / 'robot.yaml')
    for foot in file.feet:
        (collision,) = xml.findall(f"link[@name='{foot.wrench.below}']/collision")
        x, y, z = (float(value) for value in collision.find('origin').get('xyz').split())
        size = [float(value) for value in collision.find('geometry/box').get('size').split()]
        polygon = np.array(foot.polygon)
        assert np.allclose(polygon.max(axis=0), [x + size[0] / 2, y + size[1] / 2])
        assert np.allclose(polygon.min(axis=0), [x - size[0] / 2, y - size[1] / 2])
        assert z - size[2] / 2 == pytest.approx(-0.08)


TIMES = 1.5 + 0.1 * np.arange(1.0, 17.0)


def com(times):
    """A smooth motion that is not in step with the feet."""
    return np.column_stack(
        [0.02 + 0.25 * (times - 1.5), 0.03 * np.sin(4 * times), np.full(len(times), 0.74)]
    )


@pytest.fixture(scope='module', params=[0.0, 0.2], ids=['straight', 'turning'])
def course(request):
    footsteps = plan_footsteps(biped31(), Gait(4, 0.2, request.param, 0.17), Ramp(0.0, 0.0))
    return Course(biped31(), footsteps, StepTiming(4, 0.8, 0.25, 1.5, 0.01), 0.04, (0.0, 0.04))


@pytest.fixture(scope='module')
def body():
    return BodyMotion(biped31())


def angular_momentum(states):
    """L (K, 3) about the centre of mass in world axes, from velocities only."""
    model, root = biped31().model, states.root
    ir_md = IrMd(model, 9.81)
    v = np.einsum('kij,kj->ki', root.rotation, root.velocity_in_root())
    of = (root.rotation, root.position, v, root.angular_velocity, states.q, states.qd)
    momentum = ir_md.momentum(*of)
    return momentum.angular - np.cross(momentum.com, momentum.linear)


def test_velocities_and_accelerations_are_those_of_the_positions(body, course):
    step = 1e-3
    before, at, after = (body.states(course, com, TIMES + shift) for shift in (-step, 0.0, step))
    assert at.qd == pytest.approx((after.q - before.q) / (2 * step), abs=2e-3)
    assert at.qdd == pytest.approx((after.qd - before.qd) / (2 * step), abs=0.5)


def test_the_momentum_rate_is_the_derivative_of_the_angular_momentum(body, course):
    """Contact moment about the centre of mass by MR-AD, against momentum by its own kernel."""
    step = 2e-3
    rate = body.momentum_rate(body.states(course, com, TIMES))
    before, after = (
        angular_momentum(body.states(course, com, TIMES + shift)) for shift in (-step, step)
    )
    assert np.abs(rate).max() > 5.0
    assert rate == pytest.approx((after - before) / (2 * step), abs=0.15)


def test_the_centre_of_mass_is_where_it_is_wanted(body, course):
    poses = body.poses(course, com, TIMES)
    assert poses.residual.max() < 1e-8
    states = body.states(course, com, TIMES)
    com_in_root = biped31().model.com(states.q)
    at = states.root.position + np.einsum('kij,kj->ki', states.root.rotation, com_in_root)
    assert at == pytest.approx(com(TIMES), abs=1e-8)


def random_states(model, count=20):
    rng = np.random.default_rng(2)
    states = [random_state(rng, model.dof) for _ in range(count)]
    return states, [np.array(rows) for rows in zip(*states, strict=True)]


@pytest.mark.parametrize('robot', ['biped31', 'talos', 'romeo', 'solo12'])
def test_equals_pinocchio(robot):
    model = load_model(robot_path(robot))
    twin = PinocchioTwin(robot_path(robot), model)
    states, rows = random_states(model)
    for state, torques in zip(states, joint_torques(model, *rows), strict=True):
        generalized = pin.rnea(twin.model, twin.data, *twin.state(*state))
        expected = np.zeros(model.dof)
        for segment in model.tree.segments:
            if segment.kind != 'fixed':
                index = twin.model.idx_vs[twin.model.getJointId(segment.joint)]
                driver = model.joint_names.index(segment.driver)
                expected[driver] += segment.multiplier * generalized[index]
        assert np.abs(torques - expected).max() < 1e-9


def test_forces_from_outside_enter_by_their_power():
    """Virtual work: τ changes by −Jᵀ F, with J from difference quotients of the sole's place."""
    model = biped31().model
    _, (phi, w, wd, q, qd, qdd) = random_states(model, 3)
    force = np.array([[10.0, -20.0, 300.0], [0.0, 5.0, 100.0], [-30.0, 0.0, 200.0]])
    _, p = model.frame_pose('l_sole', q)
    applied = {'l_sole': ContactWrench(force, np.cross(p, force))}
    free = joint_torques(model, phi, w, wd, q, qd, qdd)
    change = joint_torques(model, phi, w, wd, q, qd, qdd, applied=applied) - free
    for column in range(model.dof):
        step = np.zeros(model.dof)
        step[column] = 1e-6
        ahead, behind = (model.frame_pose('l_sole', q + sign * step)[1] for sign in (1, -1))
        power = np.sum((ahead - behind) / 2e-6 * force, axis=1)
        assert change[:, column] == pytest.approx(-power, abs=1e-5)


def test_servos_add_their_own_inertia_and_friction():
    model = biped31().model
    _, rows = random_states(model, 4)
    added = joint_torques(model, *rows, drive=Drive(0.2, 0.3)) - joint_torques(model, *rows)
    assert np.allclose(added, 0.2 * rows[5] + 0.3 * rows[4], atol=1e-9)


def test_shapes_and_names_are_checked():
    model = biped31().model
    _, rows = random_states(model, 2)
    with raising(ShapeError, 'shape', name='qdd'):
        joint_torques(model, *rows[:5], rows[5][:, 1:])
    wrench = ContactWrench(np.zeros((2, 3)), np.zeros((2, 3)))
    with raising(UnknownNameError, 'unknown_name', name='l_soul'):
        joint_torques(model, *rows, applied={'l_soul': wrench})


def test_legs_of_a_planned_walk_carry_the_robot_without_help_of_the_root():
    """With the planned reaction nothing is left for the root: the plan is consistent."""
    walk = planned(steps=6)
    plan = walk.plan
    root = plan.root
    wrench, _ = MrAd(biped31().model).batch(*root.felt(), plan.q, plan.qd, plan.qdd)
    in_world = wrench.transformed(root.rotation, root.position)
    contact = np.stack([foot.contact for foot in plan.feet], axis=1)
    feet = shared_reaction(in_world, plan.zmp, walk.zmp_reference.loads, contact)
    total = feet[0].as_array() + feet[1].as_array()
    assert np.abs(total - in_world.as_array()).max() < 1e-9
    for foot, share in zip(plan.feet, feet, strict=True):
        assert np.abs(share.as_array()[~foot.contact]).max() == 0.0
        assert share.force[:, 2].min() > -1e-9
