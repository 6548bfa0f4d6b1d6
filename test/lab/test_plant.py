"""The plant: laws that connect its sensor signals, its truth and two independent engines."""

import dataclasses

import numpy as np
import pytest
from matplotlib.image import imread
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import IzmpError, ShapeError, SimulationError, UnknownNameError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import Execution, Sampling, simulate, with_feed_forward
from izmp_lab.simulation.mujoco.spec import mujoco
from izmp_lab.simulation.physics import Physics, Push
from izmp_lab.simulation.pictures import body_origins, save_strip
from izmp_lab.walking.sway import plan_sway

from ..command_line import loaded_by
from ..pinocchio_twin import PinocchioTwin, pin
from ..raising import raising
from .walking import FILE, exact_wrench


@pytest.fixture(scope='module')
def plant():
    return build_mujoco(FILE)


@pytest.fixture(scope='module')
def plan(plant):
    return with_feed_forward(plan_sway(plant.robot), plant)


@pytest.fixture(scope='module')
def run(plan, plant):
    return simulate(plan, plant)


def izmp_in_root(run, wrench):
    """The ZMP of contact wrenches on the ground z = 0 of the world, in the root frame."""
    up_in_root = run.truth.root.rotation[:, 2, :]
    ground_in_root = -np.einsum('tji,tj->ti', run.truth.root.rotation, run.truth.root.position)
    return zero_moment_point(wrench, up_in_root, ground_in_root, 1.0)


# The law that everything else rests on


def test_momentum_balance_equals_the_ground_reaction_and_the_izmp_the_cop(run, plant):
    wrench, com = exact_wrench(run, plant.robot)
    assert np.abs(wrench.as_array() - run.truth.ground_wrench).max() < 1e-6
    gap = izmp_in_root(run, wrench) - run.truth.cop_in_root()
    assert np.abs(gap).max() < 1e-5  # 0.01 mm
    com_in_world = run.truth.root.position + np.einsum('tij,tj->ti', run.truth.root.rotation, com)
    assert np.abs(com_in_world - run.truth.com).max() < 1e-12


def test_velocities_and_accelerations_belong_to_their_instants(run):
    """Semi-implicit Euler: q̇(k+1) − q̇(k) = q̈(k) Δt and q(k+1) − q(k) = q̇(k+1) Δt."""
    dt, truth = 0.002, run.truth
    assert np.abs(np.diff(truth.qd, axis=0) - dt * truth.qdd[:-1]).max() < 1e-12
    assert np.abs(np.diff(run.q, axis=0) - dt * truth.qd[1:]).max() < 1e-12
    root = truth.root
    assert np.abs(np.diff(root.velocity, axis=0) - dt * root.acceleration[:-1]).max() < 1e-12
    assert np.abs(np.diff(root.position, axis=0) - dt * root.velocity[1:]).max() < 1e-12
    change = np.diff(root.angular_velocity, axis=0)
    assert np.abs(change - dt * root.angular_acceleration[:-1]).max() < 1e-12


# Sensors against the truth


def test_gyro_gps_and_orientation(run, plant):
    root = run.truth.root
    imu_R = plant.robot.mount(FILE.imu.frame).body_R_frame
    assert np.abs(run.imu.angular_velocity - root.angular_velocity @ imu_R).max() < 1e-12
    orientation = Rotation.from_quat(run.imu.orientation_xyzw).as_matrix()
    assert np.abs(orientation - root.rotation @ imu_R).max() < 1e-12
    arm = plant.robot.mount(FILE.position.frame).p_frame_in_body
    assert np.abs(run.position - root.position - root.rotation @ arm).max() < 1e-12


def test_foot_sensors_feel_the_ground_less_the_foot_below_them(run, plant):
    """Newton and Euler for the foot, by Pinocchio: what it does not need itself it passes on."""
    twin = PinocchioTwin(FILE.urdf_path, plant.robot)
    instants = range(0, len(run), 25)
    motion = *run.truth.root.felt(FILE.gravity), run.q, run.truth.qd, run.truth.qdd
    states = [signal[::25] for signal in motion]
    for foot in FILE.feet:
        sole, sensor = (twin.model.getFrameId(name) for name in (foot.sole, foot.wrench.frame))
        joint = twin.model.frames[sole].parentJoint
        inertia = twin.model.inertias[joint]
        for t, state in zip(instants, zip(*states, strict=True), strict=True):
            pin.forwardKinematics(twin.model, twin.data, *twin.state(*state))
            velocity, acceleration = twin.data.v[joint], twin.data.a[joint]
            needed = inertia * acceleration + velocity.cross(inertia * velocity)
            ground = pin.Force(run.truth.feet[foot.name].wrench[t])
            passed_on = twin.model.frames[sole].placement.act(ground) - needed
            expected = twin.model.frames[sensor].placement.actInv(passed_on).vector
            measured = run.wrenches[foot.wrench.topic][t]
            assert np.abs(measured - expected).max() < 1e-6
            assert measured[2] > 0.0


# The ground reaction


def test_the_feet_together_carry_the_contact_wrench(run, plant):
    truth = run.truth
    total = np.zeros_like(truth.ground_wrench)
    for foot in FILE.feet:
        R, p = plant.robot.frame_pose(foot.sole, run.q)
        in_sole = ContactWrench.from_array(truth.feet[foot.name].wrench)
        total += in_sole.transformed(R, p).as_array()
    assert np.abs(total - truth.ground_wrench).max() < 1e-9
    loads = sum(truth.feet[foot.name].normal_force for foot in FILE.feet)
    vertical = np.einsum('ti,ti->t', truth.root.rotation[:, 2], truth.ground_wrench[:, :3])
    assert np.abs(loads - vertical).max() < 1e-9


def test_feed_forward_makes_the_servos_follow(plan, plant, run):
    """Without the torques the servos sag under the weight."""
    without = dataclasses.replace(plan, feed_forward=None)
    sagging = simulate(without, plant)
    assert np.abs(run.q - plan.q).max() < 0.25 * np.abs(sagging.q - plan.q).max()


# Sampling, determinism, disturbances


def test_a_simulation_in_pieces_is_the_one_in_one_piece(plan, plant, run):
    execution = Execution(plan, plant)
    pieces = [execution.advance(steps) for steps in (1, 4, 500, 7)]
    while not execution.is_over:
        pieces.append(execution.advance(1000))
    for whole, *parts in zip(arrays(run), *map(arrays, pieces), strict=True):
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def arrays(value):
    """All arrays in nested dataclasses and mappings."""
    if isinstance(value, np.ndarray):
        yield value
    elif dataclasses.is_dataclass(value):
        for item in dataclasses.fields(value):
            yield from arrays(getattr(value, item.name))
    elif hasattr(value, 'values'):
        for entry in value.values():
            yield from arrays(entry)


def test_a_lower_rate_takes_every_nth_sample(plan, plant, run):
    slow = simulate(plan, plant, sampling=Sampling.at_rate(125.0, plant.physics))
    for all_rows, some in zip(arrays(run), arrays(slow), strict=True):
        assert np.array_equal(all_rows[::4], some, equal_nan=True)
    assert (np.diff(slow.stamps) == 8_000_000).all()
    assert slow.stamps[0] > 0


def test_a_rate_that_does_not_divide_is_refused():
    with raising(SimulationError, 'rate_divides_not', rate=200.0, physics_rate=500.0):
        Sampling.at_rate(200.0, Physics())
    for rate in (0.0, -1.0, 501.0, np.nan, np.inf):
        with raising(SimulationError, 'rate_divides_not'):
            Sampling.at_rate(rate, Physics())
    assert Sampling.at_rate(200.0, Physics(time_step=0.001)).divisor == 5
    with raising(SimulationError, 'sampling', divisor=0):
        Sampling(divisor=0)


def test_a_push_shows_as_the_difference_between_motion_and_ground_reaction(plan, plant):
    push = Push('trunk', [0.0, 30.0, 0.0], start=1.0, duration=0.1)
    run = simulate(plan, plant, pushes=[push])
    wrench, _ = exact_wrench(run, plant.robot)
    external = wrench.as_array() - run.truth.ground_wrench
    assert np.abs(external - run.truth.applied_wrench).max() < 1e-5
    assert np.abs(wrench.as_array() - run.truth.contact_wrench).max() < 1e-5
    pushed = run.truth.applied_wrench.any(axis=1)
    times = (run.stamps - run.stamps[0]) * 1e-9
    assert np.array_equal(pushed, (times >= 1.0 - 1e-9) & (times < 1.1 - 1e-9))
    in_world = np.einsum('tij,tj->ti', run.truth.root.rotation, external[:, :3])
    assert np.abs(in_world[pushed] - [0.0, 30.0, 0.0]).max() < 1e-5


def test_in_flight_there_is_no_cop(plan, plant):
    run = simulate(plan, plant, pushes=[Push('trunk', [0.0, 0.0, 600.0], 1.0, 0.3)])
    force = run.truth.ground_wrench[:, 2]
    assert (force == 0.0).any()
    assert np.isnan(run.truth.cop[force == 0.0]).all()


def test_what_does_not_fit_is_refused(plan, plant):
    other = dataclasses.replace(plan, joint_names=tuple(reversed(plan.joint_names)))
    with raising(SimulationError, 'other_joints', plan=plan.name):
        simulate(other, plant)
    with raising(UnknownNameError, 'unknown_name', name='trunkk'):
        simulate(plan, plant, pushes=[Push('trunkk', [1.0, 0.0, 0.0], 0.0, 0.1)])
    with raising(ShapeError, 'shape', name='force'):
        Push('trunk', [1.0, 2.0], 0.0, 0.1)


def test_torques_need_feet_on_the_ground(plan, plant):
    in_the_air = tuple(
        dataclasses.replace(foot, contact=np.zeros_like(foot.contact)) for foot in plan.feet
    )
    with raising(SimulationError, 'carrying_feet', feet=0, time=0.0):
        with_feed_forward(dataclasses.replace(plan, feet=in_the_air), plant)


def test_a_plan_that_jumps_is_refused(plan, plant):
    root = dataclasses.replace(plan.root, acceleration=plan.root.acceleration - [0.0, 0.0, 20.0])
    with raising(SimulationError, 'leaves_ground', time=0.0):
        with_feed_forward(dataclasses.replace(plan, root=root), plant)


# A picture of a run: stick figures; MuJoCo is loaded without a library for windows


def test_a_strip_is_written_or_refused_in_a_sentence(run, plant, tmp_path):
    path = tmp_path / 'folder' / 'strip.png'
    save_strip(run, plant.robot, path)
    height, width, _ = imread(path).shape
    assert width > 3 * height
    assert imread(path).std() > 0.01
    with raising(IzmpError, 'not_written', path=tmp_path / 'strip.bmp3'):
        save_strip(run, plant.robot, tmp_path / 'strip.bmp3')


def test_sticks_join_the_bodies_of_the_simulation(run, plant):
    rows = [0, len(run) // 2]
    origins = body_origins(run, plant.robot, rows)
    data = mujoco.MjData(plant.model)
    for row, places in zip(rows, origins, strict=True):
        data.qpos[:3] = run.truth.root.position[row]
        mujoco.mju_mat2Quat(data.qpos[3:7], run.truth.root.rotation[row].ravel())
        data.qpos[plant.q_columns] = run.q[row]
        mujoco.mj_kinematics(plant.model, data)
        assert np.abs(places - data.xpos[1:]).max() < 1e-12


def test_mujoco_is_loaded_without_a_library_for_windows():
    (loaded,) = loaded_by(
        'import os; os.environ.pop("MUJOCO_GL", None); import izmp_lab.simulation.mujoco.spec; '
        'assert "MUJOCO_GL" not in os.environ'
    )
    assert 'mujoco' in loaded
    assert 'glfw' not in loaded
