"""The seesaw in MuJoCo: it rolls, friction holds the feet, its truth is consistent; its IZMP."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.bags.messages import pose_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import seconds
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw, SeesawRecorder, record_seesaw
from izmp_lab.seesaw.study.izmp import ASSUMPTIONS, points_on_board, seen_from
from izmp_lab.walking.plan import RootMotion

from ..command_line import izmp
from ..raising import raising

TICK = 0.001
PUSH = (0.5, 0.51)  # [s]
FORCE = np.array([0.0, 100.0, 0.0])


@pytest.fixture(scope='module')
def shaken():
    """biped31 is shaken for a second: springs hold its legs, its arms swing, it is pushed.

    Robot and board at the end, sensors and truth at 500 Hz, and the states at every tick.
    """
    robot, recorder = load_balancing_robot('biped31'), SeesawRecorder()
    plant = MujocoSeesaw(robot, Seesaw(), observer=recorder)
    states = [plant.state]
    for step in range(round(1.0 / TICK)):
        time = step * TICK
        push = FORCE if PUSH[0] <= time < PUSH[1] else None
        states.append(plant.step(_torques(robot, time, states), TICK, push))
    run = recorder.run(plant, 'shaken')
    return SimpleNamespace(plant=plant, run=run, states=states)


def _torques(robot, time, states):
    """Torques of springs, stiff in legs and trunk, loose in the arms, which swing."""
    rest, state = states[0].q, states[-1]
    legs = ('hip', 'knee', 'ankle', 'waist', 'torso')
    stiff = np.array([any(part in name for part in legs) for name in robot.model.joint_names])
    swing = np.where(stiff, 0.0, 0.3 * np.sin(6.0 * time) * np.sin(np.arange(len(rest))))
    stiffness, damping = np.where(stiff, 1500.0, 30.0), np.where(stiff, 3.0, 0.0)
    return stiffness * (rest + swing - state.q) - damping * state.qd


def pushed(run):
    """(T,) whether somebody pushes."""
    time = seconds(run.stamps)
    return (time >= PUSH[0] - 1e-9) & (time < PUSH[1] - 1e-9)


def test_the_board_rolls_and_the_feet_stay(shaken):
    seesaw, robot = shaken.plant.seesaw, shaken.plant.robot
    angles = np.array([state.angle for state in shaken.states])
    assert np.abs(angles).max() > np.radians(0.3)
    for state in shaken.states[::20]:
        contact = seesaw.contact_point(state.board)
        assert contact[1] == pytest.approx(-seesaw.radius * state.angle, abs=2e-4)
        assert -3e-4 < contact[2] < 1e-5
        for side, sole in zip((1, -1), robot.soles, strict=True):
            _, p = robot.model.frame_pose(sole, state.q)
            place = state.root.position + state.root.rotation @ p
            on_board = state.board.rotation.T @ (place - state.board.position)
            np.testing.assert_allclose(on_board, seesaw.sole_in_board(side), atol=2e-3)


def points(shaken, run):
    plant = shaken.plant
    gravity = plant.sensed.file.gravity
    return points_on_board(run, plant.robot.model, plant.seesaw.top, gravity)


def test_only_who_knows_that_the_board_moves_finds_the_centre_of_pressure(shaken):
    run = shaken.run
    found = points(shaken, run)
    assert found.keys() == ASSUMPTIONS.keys()
    calm = ~pushed(run)
    error = {
        name: np.linalg.norm(place - run.cop_in_ground(), axis=1)[calm]
        for name, place in found.items()
    }
    assert np.isfinite(error['moving']).mean() > 0.98  # the feet touch down in the first ms
    assert np.nanmax(error['moving']) < 1e-9
    assert all(np.nanmax(error[name]) > 1e-3 for name in ('level', 'board_still', 'gravity'))


def test_on_a_board_that_stays_level_all_who_count_the_motion_agree(shaken):
    run = shaken.run
    count, zero = len(run), np.zeros((len(run), 3))
    still = RootMotion(
        np.tile([0.0, 0.0, shaken.plant.seesaw.com_height], (count, 1)),
        np.tile(np.eye(3), (count, 1, 1)),
        zero, zero, zero, zero,
    )  # fmt: skip
    found = points(shaken, dataclasses.replace(run, ground=still))
    for name in ('level', 'level_seen', 'board_still'):
        np.testing.assert_allclose(found[name], found['moving'], atol=1e-9)


def test_a_ground_that_does_not_move_is_refused(shaken):
    with raising(SimulationError, 'ground_at_rest'):
        points(shaken, dataclasses.replace(shaken.run, ground=None))


def test_the_plant_tells_the_cop_and_wrenches_of_its_last_step(shaken):
    plant = shaken.plant
    wrenches = plant.foot_wrenches
    R, p = plant.state.board.rotation, plant.state.board.position
    total = wrenches[:, :3].sum(axis=0)
    moment = np.zeros(3)
    for wrench, sole in zip(wrenches, plant.robot.soles, strict=True):
        moment += wrench[3:] + np.cross(plant.data.site(sole).xpos - p, wrench[:3])
    force, moment = R.T @ total, R.T @ moment
    top = plant.seesaw.top
    expected = [-moment[1] + top * force[0], moment[0] + top * force[1]] / force[2]
    np.testing.assert_allclose(plant.cop[:2], expected, atol=1e-4)
    assert plant.cop[2] == pytest.approx(top)


def test_a_state_can_be_taken_up_again(shaken):
    state = shaken.states[400]
    plant = MujocoSeesaw(shaken.plant.robot, shaken.plant.seesaw)
    plant.reset(state)
    again = plant.state
    assert again.time == state.time
    assert again.angle_rate == pytest.approx(state.angle_rate, abs=1e-12)
    for name in ('root', 'board'):
        for part in ('position', 'rotation', 'velocity', 'angular_velocity'):
            one, other = (getattr(getattr(s, name), part) for s in (again, state))
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_a_duration_between_two_steps_is_refused(shaken):
    with raising(SimulationError, 'duration_not_whole_steps', duration=0.0007):
        shaken.plant.step(np.zeros(shaken.plant.robot.model.dof), 0.0007)


@pytest.mark.parametrize('part', ['qpos', 'qvel', 'xfrc_applied'])
def test_what_is_not_finite_has_diverged(part):
    """MuJoCo would reset, and the robot stand."""
    plant = MujocoSeesaw(load_balancing_robot('biped31'), Seesaw())
    getattr(plant.data, part)[-1] = np.nan
    with raising(SimulationError, 'diverged', time=0.0):
        plant.step(np.zeros(plant.robot.model.dof), 0.01)


# ---- the recording ----


@pytest.fixture(scope='module')
def bag(shaken, tmp_path_factory):
    path = tmp_path_factory.mktemp('seesaw') / 'bag'
    record_seesaw(shaken.run, shaken.plant, path)
    return path


def read(path, topic):
    with BagReader(path) as reader:
        (batch,) = reader.batches([topic], 1e9)
        return pose_batch(batch[topic])


def test_the_bag_holds_all_that_a_replay_needs(shaken, bag, tmp_path):
    outcome = izmp('replay', bag, '--robot', bag / 'robot.yaml', '-o', tmp_path / 'out')
    assert outcome.status == 0, outcome
    points = read(tmp_path / 'out' / 'bag', '/mr_ad/izmp_in_ground')
    assert set(points.frame_ids) == {'board'}
    np.testing.assert_allclose(points.positions[:, 2], shaken.plant.seesaw.top, atol=1e-9)
    cop = read(tmp_path / 'out' / 'bag', '/cop_in_ground')
    truth = read(bag, '/ground_truth/cop_in_ground')
    rows = np.isin(truth.stamps, cop.stamps)
    assert rows.sum() > 100
    both = np.isin(cop.stamps, truth.stamps[rows])
    distance = np.linalg.norm(cop.positions[both] - truth.positions[rows], axis=1)
    assert np.median(distance) < 1e-3
    board = read(bag, '/board/pose')
    np.testing.assert_allclose(board.positions, shaken.run.ground.position)


def test_the_robot_file_in_the_bag_is_that_of_the_simulation(shaken, bag):
    written = load_robot_file(bag / 'robot.yaml')
    expected = shaken.plant.sensed.file
    same = {'urdf': '', 'path': None}
    assert dataclasses.replace(written, **same) == dataclasses.replace(expected, **same)


def test_icub_gets_the_sensors_that_its_urdf_lacks():
    robot = load_balancing_robot('icub')
    plant = MujocoSeesaw(robot, Seesaw())
    file, model = plant.sensed.file, plant.plant.robot
    assert model.joint_names == plant.robot.model.joint_names
    assert model.total_mass == pytest.approx(plant.robot.model.total_mass, abs=1e-12)
    arms = np.array([model.mount(sensor.frame).p_frame_in_body for sensor in file.accelerometers])
    np.testing.assert_allclose(arms - model.mount(file.imu.frame).p_frame_in_body, 0.1 * np.eye(3))
    assert [foot.wrench.below for foot in file.feet] == ['l_ankle_2', 'r_ankle_2']


STEP = 0.001


def wandering(seed):
    """A body that moves smoothly for a second, from rest to rest."""
    rng = np.random.default_rng(seed)
    time = np.arange(0.0, 1.0 + STEP, STEP)
    bump = (np.sin(np.pi * time) ** 4)[:, None]
    turns, places = rng.normal(size=(2, 3))
    rotation = Rotation.from_rotvec(bump * turns) * Rotation.from_rotvec(rng.normal(size=3))
    return RootMotion.from_poses(bump * places + rng.normal(size=3), rotation.as_matrix(), STEP)


def test_motion_against_a_moving_ground_is_the_derivative_of_the_pose_against_it():
    ground, root = wandering(1), wandering(2)
    relative = seen_from(ground, root)
    into = np.swapaxes(ground.rotation, 1, 2)
    place = np.einsum('tij,tj->ti', into, root.position - ground.position)
    expected = RootMotion.from_poses(place, into @ root.rotation, STEP)
    for field in dataclasses.fields(RootMotion):
        one, other = (getattr(motion, field.name) for motion in (relative, expected))
        np.testing.assert_allclose(one, other, atol=2e-3)
