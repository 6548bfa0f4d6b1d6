"""The MuJoCo model against Pinocchio."""

import copy
import dataclasses

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.sensors import Imu, SegmentUnit
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.physics import DIRECTIONS, Physics, Servo, Shove

from ..raising import raising
from ..small_robot import ODD_ROBOT
from .walking import FILE, planned

MIMIC = '<mimic joint="roll" multiplier="-0.5" offset="0.2"/>'
ODD_URDF = ODD_ROBOT.replace(MIMIC, '')


def odd_file(folder, text=ODD_URDF, frame='sensor'):
    (folder / 'odd.urdf').write_text(text)
    return RobotFile(urdf=str(folder / 'odd.urdf'), imu=Imu(frame=frame))


@pytest.fixture(scope='module', params=['biped31', 'odd'])
def plant(request, tmp_path_factory):
    if request.param == 'biped31':
        return build_mujoco(FILE)
    return build_mujoco(odd_file(tmp_path_factory.mktemp('odd')))


def random_positions(plant, seed):
    rng = np.random.default_rng(seed)
    robot = plant.robot
    lower, upper = robot.position_lower, robot.position_upper
    return rng.uniform(
        np.where(np.isfinite(lower), lower, -3), np.where(np.isfinite(upper), upper, 3)
    )


def random_state(plant, seed):
    """MuJoCo data at a random pose, velocity and acceleration, with everything computed."""
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(plant.model)
    data.qpos[:3] = rng.uniform(-1, 1, 3)
    data.qpos[3:7] = np.roll(Rotation.random(random_state=seed).as_quat(), 1)
    data.qpos[plant.q_columns] = random_positions(plant, seed)
    data.qvel[:] = rng.uniform(-2, 2, plant.model.nv)
    data.qacc[:] = rng.uniform(-5, 5, plant.model.nv)
    return data


def pinocchio_of(plant, data):
    """Pinocchio's model and the state of `data` in its conventions."""
    model = pin.buildModelFromXML(plant.urdf.text, pin.JointModelFreeFlyer())
    model.gravity.linear = np.array([0.0, 0.0, -plant.file.gravity])
    R = Rotation.from_quat(np.roll(data.qpos[3:7], -1)).as_matrix()
    q, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    q[:3], q[3:7] = data.qpos[:3], np.roll(data.qpos[3:7], -1)
    omega = data.qvel[3:6]
    v[:3], v[3:6] = R.T @ data.qvel[:3], omega
    a[:3], a[3:6] = R.T @ data.qacc[:3] - np.cross(omega, v[:3]), data.qacc[3:6]
    for i, name in enumerate(plant.robot.joint_names):
        joint = model.joints[model.getJointId(name)]
        position = data.qpos[plant.q_columns[i]]
        # Pinocchio keeps cosine and sine of an unlimited joint.
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            position if joint.nq == 1 else [np.cos(position), np.sin(position)]
        )
        v[joint.idx_v] = data.qvel[plant.v_columns[i]]
        a[joint.idx_v] = data.qacc[plant.v_columns[i]]
    return model, model.createData(), q, v, a


@pytest.mark.parametrize('seed', range(10))
def test_frames_equal_pinocchio(plant, seed):
    data = random_state(plant, seed)
    mujoco.mj_kinematics(plant.model, data)
    model, pin_data, q, _, _ = pinocchio_of(plant, data)
    pin.framesForwardKinematics(model, pin_data, q)
    for link in plant.robot.frame_names:
        placement = pin_data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
        site = data.site(link)
        assert np.abs(site.xpos - placement.translation).max() < 1e-12
        assert np.abs(site.xmat.reshape(3, 3) - placement.rotation).max() < 1e-12


@pytest.mark.parametrize('seed', range(10))
def test_inverse_dynamics_equal_pinocchio_apart_from_rotor_and_friction(plant, seed):
    data = random_state(plant, seed)
    unconstrained = copy.copy(plant.model)
    unconstrained.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_inverse(unconstrained, data)
    model, pin_data, q, v, a = pinocchio_of(plant, data)
    tau = pin.rnea(model, pin_data, q, v, a)
    R = Rotation.from_quat(np.roll(data.qpos[3:7], -1)).as_matrix()
    assert np.allclose(data.qfrc_inverse[:3], R @ tau[:3], atol=1e-9)
    assert np.allclose(data.qfrc_inverse[3:6], tau[3:6], atol=1e-9)
    for name, column, servo in zip(
        plant.robot.joint_names, plant.v_columns, plant.servos, strict=True
    ):
        extra = servo.armature * data.qacc[column] + servo.damping * data.qvel[column]
        expected = tau[model.joints[model.getJointId(name)].idx_v] + extra
        assert data.qfrc_inverse[column] == pytest.approx(expected, abs=1e-9)


def test_servos_pull_towards_their_set_point(plant):
    data = mujoco.MjData(plant.model)
    rng = np.random.default_rng(1)
    data.qpos[plant.q_columns] = 0.3 * random_positions(plant, 1)
    data.qvel[:] = rng.uniform(-0.01, 0.01, plant.model.nv)
    ctrl = data.qpos[plant.q_columns] + rng.uniform(-1e-4, 1e-4, plant.robot.dof)
    data.ctrl[plant.ctrl_columns] = ctrl
    mujoco.mj_forward(plant.model, data)
    expected = 4000 * (ctrl - data.qpos[plant.q_columns]) - 28 * data.qvel[plant.v_columns]
    assert np.allclose(data.actuator_force[plant.ctrl_columns], expected, atol=1e-9)


@pytest.fixture(scope='module')
def biped31():
    return build_mujoco(FILE)


def test_efforts_are_limited_by_the_urdf(biped31):
    plant = biped31
    data = mujoco.MjData(plant.model)
    data.ctrl[:] = 10.0
    mujoco.mj_forward(plant.model, data)
    forces = data.actuator_force[plant.ctrl_columns]
    assert np.array_equal(forces, plant.robot.effort_limit)


def test_feet_touch_the_ground_but_not_each_other(biped31):
    plant = biped31
    data = mujoco.MjData(plant.model)
    data.qpos[2] = 0.9099
    data.qpos[plant.q_columns[plant.robot.joint_names.index('l_hip_roll')]] = -0.12
    mujoco.mj_forward(plant.model, data)
    floor = plant.model.geom('floor').id
    assert data.ncon > 0
    assert all(floor in contact.geom for contact in data.contact)


def test_masses_can_be_scaled(biped31):
    heavier, normal = build_mujoco(biped31.file, Physics(mass_scale=1.02)).model, biped31.model
    assert np.allclose(heavier.body_mass, 1.02 * normal.body_mass, rtol=1e-14)
    assert np.allclose(heavier.body_inertia, 1.02 * normal.body_inertia, rtol=1e-14)


def test_servos_can_be_chosen_by_joint():
    soft = Servo(kp=500.0, kv=10.0, armature=0.05, damping=0.0)
    plant = build_mujoco(FILE, servos={'l_elbow': soft})
    row = plant.robot.joint_names.index('l_elbow')
    assert plant.servos[row] == soft
    assert plant.servos[0] == Servo()
    assert plant.model.actuator('l_elbow').gainprm[0] == 500.0
    assert plant.model.joint('l_elbow').armature[0] == 0.05
    with raising(UnknownNameError, 'unknown_name', name='l_elbo'):
        build_mujoco(FILE, servos={'l_elbo': soft})


def test_a_robot_that_cannot_be_simulated_is_refused_in_a_sentence(tmp_path):
    with raising(SimulationError, 'mimic_joints'):
        build_mujoco(odd_file(tmp_path, ODD_ROBOT))
    massless = ODD_URDF.replace(
        '</robot>',
        """
      <joint name="flap" type="continuous"><parent link="base"/><child link="foil"/>
        <axis xyz="1 0 0"/></joint><link name="foil"/></robot>""",
    )
    with raising(SimulationError, 'massless_link', link='foil'):
        build_mujoco(odd_file(tmp_path, massless))
    with raising(SimulationError, 'sensor_without_frame', topic='imu#gyro'):
        build_mujoco(odd_file(tmp_path, frame=None))
    with raising(UnknownNameError, 'unknown_name', name='imo'):
        build_mujoco(odd_file(tmp_path, frame='imo'))
    file = dataclasses.replace(odd_file(tmp_path), imu=Imu(frame='sensor', gravity_removed=True))
    with raising(SimulationError, 'gravity_removed', sensor='imu'):
        build_mujoco(file)
    late = SegmentUnit('foil', 'unit', delay=0.01)
    file = dataclasses.replace(odd_file(tmp_path), segments=(late,))
    with raising(SimulationError, 'unit_not_at_frame', link='foil'):
        build_mujoco(file)


numbers = st.floats(0.001, 1000.0).map(lambda number: float(f'{number:.6g}'))


@given(numbers, st.sampled_from(sorted(DIRECTIONS)), numbers, st.none() | numbers)
def test_what_is_written_is_read(force, direction, start, duration):
    text = f'{force!r}:{direction}:{start!r}' + (f':{duration!r}' if duration else '')
    read = Shove.parse(text, 'head')
    assert read == Shove(force, direction, start, duration or 0.1, 'head')


@pytest.mark.parametrize(
    ('text', 'kind'),
    [*((text, 'push_format') for text in ('', '40', '40:left', '40:left:1:2:3', 'x:left:1',
                                          '40:left:', 'left:40:1', ':::')),
     ('-5:left:1', 'push_size'), ('nan:left:1', 'push_size'), ('5:left:-1', 'push_start'),
     ('5:left:inf', 'push_start'), ('5:left:1:0', 'push_size'), ('inf:left:1', 'push_size')],
)  # fmt: skip
def test_other_texts_and_impossible_pushes_are_refused(text, kind):
    with raising(SimulationError, kind):
        Shove.parse(text)


def test_directions_turn_with_the_robot():
    plan = planned(steps=10, speed=0.2, turn_rate=0.3).plan
    for time in (0.0, 3.0, 5.5):
        facing = plan.root.rotation[round(time / plan.time_step)]
        for name, along in (('forward', facing[:, 0]), ('back', -facing[:, 0]),
                            ('left', facing[:, 1]), ('right', -facing[:, 1]),
                            ('lateral', facing[:, 1]), ('up', [0, 0, 1]),
                            ('down', [0, 0, -1])):  # fmt: skip
            push = Shove(40.0, name, time).push(plan)
            assert push.force == pytest.approx(40.0 * np.array(along), abs=1e-9)
            assert (push.start, push.duration, push.link) == (time, 0.1, 'trunk')


def test_a_push_must_fall_into_the_motion():
    plan = planned(steps=10, speed=0.2, turn_rate=0.3).plan
    Shove(40.0, 'left', plan.duration - 0.1).push(plan)
    with raising(SimulationError, 'push_outside_motion', plan=plan.name):
        Shove(40.0, 'left', plan.duration - 0.05).push(plan)
