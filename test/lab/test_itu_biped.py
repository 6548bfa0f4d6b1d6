"""The ITU Biped: its tables, its legs, its URDF, and plans with and without CCG."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import MotionError, ShapeError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.walking import itu_biped as itu
from izmp_lab.walking.biped import LEFT, RIGHT, Biped
from izmp_lab.walking.converging_cog import Convergence, converge_cog
from izmp_lab.walking.dynamics_filter import Task, com_over_zmp, filter_dynamics
from izmp_lab.walking.leg_ik import packed_leg, solve_leg
from izmp_lab.walking.plan import PlannedFoot
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

from ..pinocchio_twin import PinocchioTwin, robot_path
from ..raising import raising
from .walking import SLOPE_10_DEG, biped31, planned, sole_poses

FOLDER = Path(__file__).parents[2] / 'robots/itu_biped'
UPRIGHT = ([-0.7, -0.5, -1.0, 0.05, -1.0, -0.5], [0.7, 0.5, 0.5, 2.0, 0.5, 0.5])


@cache
def biped():
    return Biped.of(load_robot_file(FOLDER / 'robot.yaml'), posture={})


@cache
def walk(step_time, **parameters):
    """The paper's walk: six steps of 0.3 m with the CoG at 0.45 m, the ZMP amid the soles."""
    return plan_walk(
        biped(),
        WalkParameters(
            speed=0.3 / step_time, steps=6, step_time=step_time, step_width=0.13, com_height=0.45,
            swing_height=0.075, zmp_travel=(0.019, 0.019), filter_passes=0, **parameters,
        ),
    )  # fmt: skip


def random_angles(count):
    return np.random.default_rng(4).uniform(*UPRIGHT, (count, 6)) + itu.STRETCHED


def center_of_gravity(theta_left, theta_right):
    """The CoG (…, 3) in the pelvis' axes from its origin O_B [m], by eqs. 18 and 19 and table 2.

    Args:
        theta_left: (…, 6) joint angles of the left leg [rad].
        theta_right: (…, 6) of the right leg.
    """
    moment, mass = itu.TORSO.mass * itu.FRAME_0 @ np.array(itu.TORSO.cog), itu.TORSO.mass
    for side, theta in ((itu.LEFT_SIDE, theta_left), (itu.RIGHT_SIDE, theta_right)):
        frames = itu.hip(side) @ itu.link_frames(theta)
        for number, part in enumerate(itu.leg_parts(side), start=1):
            joint, axes = frames[..., number - 1, :3, 3], frames[..., number, :3, :3]
            moment = moment + part.mass * (joint + axes @ np.array(part.cog))
            mass += part.mass
    return moment / mass


def test_leg_finds_the_angles_themselves_while_the_sole_faces_down():
    theta = random_angles(2000)
    T_60 = np.linalg.inv(itu.link_frames(theta)[:, 6])
    faces_down = T_60[:, 0, 3] + itu.ANKLE_HEIGHT < -0.05
    assert faces_down.sum() > 1500
    assert np.abs(itu.leg_angles(T_60) - theta)[faces_down].max() < 1e-9


def test_masses_of_table_2():
    one_leg = 2.139072 + 0.71518 + 3.804756 + 2.805996 + 0.022225 + 1.584761
    assert biped().model.total_mass == pytest.approx(2.387902 + 2 * one_leg, abs=1e-9)


def test_urdf_and_tables_are_the_same_robot():
    left, right = random_angles(200), random_angles(400)[200:]
    q = np.zeros((200, 12))
    for leg, theta in zip(biped().legs, (left, right), strict=True):
        q[:, list(leg.columns)] = theta - itu.STRETCHED
    assert biped().model.problems == ()
    assert np.abs(biped().model.com(q) - center_of_gravity(left, right)).max() < 1e-12
    for leg, theta, side in zip(
        biped().legs, (left, right), (itu.LEFT_SIDE, itu.RIGHT_SIDE), strict=True
    ):
        frames = itu.hip(side) @ itu.link_frames(theta)[:, 6]
        _, p = biped().model.frame_pose(leg.sole, q)
        assert np.abs(p - frames[:, :3, 3]).max() < 1e-12


POSES = 2000


def random_task(rng):
    """Wanted CoG, soles and pelvis orientations, all reachable, far from each other."""
    yaw = rng.uniform(-0.3, 0.3, POSES)
    R = np.zeros((POSES, 3, 3))
    R[:, 0, 0] = R[:, 1, 1] = np.cos(yaw)
    R[:, 1, 0], R[:, 0, 1], R[:, 2, 2] = np.sin(yaw), -np.sin(yaw), 1.0
    com = rng.uniform([-0.08, -0.08, 0.65], [0.08, 0.08, 0.75], (POSES, 3))
    soles = [
        rng.uniform([-0.15, side * 0.1 - 0.03, 0.0], [0.15, side * 0.1 + 0.03, 0.05], (POSES, 3))
        for side in (1, -1)
    ]
    feet = tuple(
        PlannedFoot(leg.sole, position, R, np.ones(POSES, dtype=bool))
        for leg, position in zip(biped31().legs, soles, strict=True)
    )
    return com, feet, R


@pytest.fixture(scope='module')
def task():
    return random_task(np.random.default_rng(11))


def converge(task, convergence=None, rows=slice(None)):
    com, R = task[0][rows], task[2][rows]
    feet = tuple(foot[rows] for foot in task[1])
    return converge_cog(biped31(), com, feet, R, start=com[0], convergence=convergence)


def walk_task(**parameters):
    walk = planned(**parameters)
    return walk.plan.com, walk.plan.feet, walk.plan.root.rotation


def check_closure(task, poses):
    """The soles are where they were wanted, by forward kinematics."""
    _, feet, R = task
    for foot in (LEFT, RIGHT):
        world_R_sole, p = sole_poses(biped31(), poses.q, poses.root, R, foot)
        assert np.abs(world_R_sole - feet[foot].rotation).max() <= 1e-12
        assert np.abs(p - feet[foot].position).max() <= 1e-12


def cog_error(task, poses):
    com, _, R = task
    cog = poses.root + np.einsum('tij,tj->ti', R, biped31().model.com(poses.q))
    return np.linalg.norm(cog - com, axis=1)


@pytest.mark.parametrize('convergence', [None, Convergence.as_in_paper()], ids=['exact', 'paper'])
def test_closes_on_2000_unrelated_poses(task, convergence):
    poses = converge(task, convergence)
    check_closure(task, poses)
    tolerance = 1e-9 if convergence is None else 1e-3
    error = cog_error(task, poses)
    assert error.max() <= tolerance + 1e-14
    assert np.abs(error - poses.residual).max() < 1e-12


@pytest.mark.parametrize('walk', [{'speed': 0.3}, {'speed': 0.15}, {'slope': SLOPE_10_DEG}])
def test_along_a_walk_both_forms_keep_to_their_iterations(walk):
    task = walk_task(steps=12, **walk)
    paper = converge(task, Convergence.as_in_paper())
    assert cog_error(task, paper).max() <= 1e-3
    assert paper.iterations.mean() <= 3.0
    exact = converge(task)
    assert cog_error(task, exact).max() <= 1e-9 + 1e-14
    assert exact.iterations.mean() <= 3.0
    assert exact.iterations.max() <= 10
    check_closure(task, exact)


def test_only_the_legs_move(task):
    biped, poses = biped31(), converge(task)
    upper = np.setdiff1d(np.arange(biped.model.dof), biped.leg_columns)
    assert (poses.q[:, upper] == biped.posture[upper]).all()


def test_a_leg_that_is_too_short_is_reported_not_hidden():
    com, feet, R = random_task(np.random.default_rng(1))
    com[700:, 2] += 0.4
    poses = converge_cog(biped31(), com, feet, R, start=com[0])
    assert poses.unreachable(biped31())[0] == 700
    assert poses.reach[700].max() > 0.78


def test_impossible_tolerances_are_refused(task):
    with raising(MotionError, 'cog_not_reached', tolerance=1e-6):
        converge(task, Convergence(step=0.01, tolerance=1e-6), slice(3))


def test_lengths_must_fit(task):
    com, feet, R = task
    with raising(ShapeError, 'shape', name='world_R_root'):
        converge_cog(biped31(), com, feet, R[1:], start=com[0])
    with raising(ShapeError, 'shape', name='l_sole'):
        converge_cog(biped31(), com[1:], feet, R[1:], start=com[0])


def test_compiled_leg_stretches_towards_what_it_cannot_reach():
    leg, angles = biped31().legs[LEFT], np.empty(6)
    assert solve_leg(packed_leg(leg), np.eye(3), np.array([0.0, 0.08, -1.5]), angles) == (
        pytest.approx(1.37)
    )
    assert angles == pytest.approx(np.zeros(6))
    assert solve_leg(packed_leg(leg), np.eye(3), np.array([0.0, 0.08, 0.5]), angles) < 0.0


WALKS = [{'speed': 0.3}, {'speed': 0.15}, {'slope': SLOPE_10_DEG}, {'turn_rate': 0.3}]


@pytest.mark.parametrize('walk', WALKS)
def test_every_pass_brings_the_zmp_closer(walk):
    errors = np.array(planned(steps=12, **walk).filter_errors)
    assert len(errors) == 5
    assert (np.diff(errors.sum(axis=1)) < 0.0).all()
    assert errors[0].max() > 0.01
    assert errors[1].max() < 0.015
    assert errors[-1].max() < 0.5e-3


def test_no_pass_leaves_the_point_mass():
    walk = planned(steps=4, filter_passes=0)
    assert len(walk.filter_errors) == 1
    assert np.abs(walk.plan.com[:, 2] - 0.8).max() < 1e-8


def test_its_zmp_is_what_pinocchio_finds():
    walk = planned(steps=4)
    plan, model = walk.plan, biped31().model
    twin, root = PinocchioTwin(robot_path('biped31'), model), plan.root
    motion = (*root.felt(), plan.q, plan.qd, plan.qdd)
    for row in range(0, len(plan), 50):
        state = [signal[row] for signal in motion]
        wrench = ContactWrench.from_array(twin.contact_wrench(*state))
        in_world = wrench.transformed(root.rotation[row], root.position[row])
        about_zmp = in_world.moment - np.cross(plan.zmp[row], in_world.force)
        assert np.abs(about_zmp[:2]).max() < 1e-8


def test_leaving_the_ground_is_refused():
    walk = planned(steps=2)

    def shaken(x):
        """Up and down by 3 cm at 5 Hz: 3 g."""
        return 0.75 + 0.03 * np.cos(10.0 * np.pi * 0.002 * np.arange(len(x)))

    task = Task(
        walk.plan.feet, walk.plan.root.rotation, walk.zmp_reference, shaken, 0.002, rest=0.5
    )
    with raising(MotionError, 'leaves_ground'):
        filter_dynamics(biped31(), task, 1, lambda poses: None)


# The cart-table against its differential equation and known solutions

DT = 0.002


def steps_of_zmp(rows=4000):
    t = DT * np.arange(rows)
    x = np.interp(t, [0.0, 2.0, 2.1, 3.0, 3.1, 9.0], [0.0, 0.0, 0.2, 0.2, 0.5, 0.5])
    return np.column_stack([x, 0.1 * np.sin(3 * x), 0.0 * t])


def test_the_zmp_of_the_motion_is_the_given_one_also_while_the_height_changes():
    """(z − p_z) ẍ = (g + z̈) (x − p_x), with second differences."""
    zmp = steps_of_zmp()
    zmp[:, 2] = 0.1 * zmp[:, 0]
    height = 0.8 + 0.05 * np.sin(2.0 * DT * np.arange(len(zmp)))
    com = com_over_zmp(zmp, height, DT)
    acceleration = np.diff(com, 2, axis=0) / DT**2
    lever = (com - zmp)[1:-1, 2] / (GRAVITY + acceleration[:, 2])
    found = com[1:-1, :2] - lever[:, None] * acceleration[:, :2]
    assert np.abs(found - zmp[1:-1, :2]).max() < 1e-9
    assert np.array_equal(com[:, 2], height)


def test_a_step_of_the_zmp_gives_the_known_exponential():
    """For ẍ = ω² (x − p) with a jump of p at 0 the CoM is half-way then: x = p₁ − ½ e^(−ωt)."""
    t = DT * np.arange(-3000, 3001)
    zmp = np.column_stack([np.where(t < 0, 0.0, 1.0), 0.0 * t, 0.0 * t])
    zmp[3000, 0] = 0.5
    x = com_over_zmp(zmp, np.full(len(t), 0.8), DT)[:, 0]
    omega = np.sqrt(GRAVITY / 0.8)
    expected = np.where(t < 0, 0.5 * np.exp(omega * t), 1.0 - 0.5 * np.exp(-omega * t))
    assert np.abs(x - expected).max() < 1e-5
