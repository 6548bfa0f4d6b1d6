"""The ITU Biped: its tables, its legs, its URDF, and plans with and without CCG."""

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.simulation.itu_experiment import literal_plan
from izmp_lab.walking import itu_biped as itu
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.converging_cog import Convergence, converge_cog
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

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


def test_leg_closes_on_2000_random_poses():
    frames = itu.link_frames(random_angles(2000))[:, 6]
    found = itu.link_frames(itu.leg_angles(np.linalg.inv(frames)))[:, 6]
    assert np.abs(found - frames).max() <= 1e-12


def test_leg_finds_the_angles_themselves_while_the_sole_faces_down():
    theta = random_angles(2000)
    T_60 = np.linalg.inv(itu.link_frames(theta)[:, 6])
    faces_down = T_60[:, 0, 3] + itu.ANKLE_HEIGHT < -0.05
    assert faces_down.sum() > 1500
    assert np.abs(itu.leg_angles(T_60) - theta)[faces_down].max() < 1e-9


def test_masses_of_table_2():
    one_leg = 2.139072 + 0.71518 + 3.804756 + 2.805996 + 0.022225 + 1.584761
    assert biped().model.total_mass == pytest.approx(2.387902 + 2 * one_leg, abs=1e-9)


def test_cog_is_below_the_hips_and_reaches_0_45_m():
    """The paper's main claim needs it, and the corrected reading of eq. 18."""
    plan = walk(1.0).plan
    hips = plan.root.position[:, 2] - itu.HIP_BELOW
    assert (plan.com[:, 2] < hips).all()
    assert np.abs(plan.com[:, 2] - 0.45).max() < 1e-8


def test_urdf_is_what_its_script_writes():
    spec = importlib.util.spec_from_file_location('make_itu_urdf', FOLDER / 'make_urdf.py')
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert (FOLDER / 'itu_biped.urdf').read_text(encoding='utf-8') == script.urdf()


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


@pytest.mark.parametrize('step_time', [1.0, 1.4])
def test_converging_cog_in_the_papers_form(step_time):
    plan = walk(step_time).plan
    poses = converge_cog(
        biped(), plan.com, plan.feet, plan.root.rotation, start=plan.com[0],
        convergence=Convergence.as_in_paper(),
    )  # fmt: skip
    theta = [poses.q[:, list(leg.columns)] + itu.STRETCHED for leg in biped().legs]
    cog = poses.root + center_of_gravity(*theta)
    assert np.linalg.norm(cog - plan.com, axis=1).max() <= 1e-3
    assert poses.iterations.mean() <= 3.0


@pytest.mark.parametrize('step_time', [1.0, 1.4])
def test_a_constant_vector_loses_the_cog_by_centimetres(step_time):
    constant = walk(step_time, cog_tracking='constant')
    error = np.linalg.norm(constant.plan.com - constant.com_reference, axis=1)
    assert error[0] < 1e-8
    assert error.max() > 0.03
    assert np.abs(walk(step_time).plan.com - walk(step_time).com_reference).max() < 1e-8


def test_the_printed_form_rests_and_jumps():
    """Why inverse dynamics refuses it: second differences of the CoG beyond g."""
    planned = walk(1.4)
    plan = literal_plan(biped(), planned)
    assert plan.feed_forward is None
    assert not plan.qd.any()
    com = plan.root.position + biped().model.com(plan.q)
    points = com[::5, :2]
    assert np.abs(points[2:] - 2.0 * points[1:-1] + points[:-2]).max() / 0.01**2 > 5.0
