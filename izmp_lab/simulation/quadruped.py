"""Quadrupeds on ball feet: they stand, crawl or trot in MuJoCo, from a robot's name to a bag.

The robot files that are shipped state no force sensors. Here every ball has one, which measures
what the ground does to it: all six axes, the normal force, or whether it carries load. The file
that names them is written beside the bag's messages.

The whole body is controlled: feet on the ground do not accelerate, those in the air follow their
swing. So the accelerations of the legs are those of the trunk times a matrix, plus a constant, and
the six rows of the floating base give the trunk's from the contact forces. These are the unknowns
of one quadratic programme: the accelerations of the centre of mass and of the trunk's rotation
shall be the wanted ones, the forces within friction cones (after Bellicoso et al., 2017, with
forces for accelerations). On two feet the robot cannot do both; it keeps its trunk level and tips
about the line between the feet, so those in the air land where the capture point goes (Pratt et
al., 2006). The controller is given the true state of the simulation, not what sensors measure.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import yaml
from numpy.polynomial import Polynomial
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.model.body_layout import DRIVER
from izmp_dynamics.model.feet import LOADED_PART, FootContact, FootForce, FootWrench
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file, robot_file_path
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.signals import RECEIVED
from izmp_lab.simulation.mujoco.model import MujocoRobot, build_mujoco
from izmp_lab.simulation.mujoco.plant import simulate
from izmp_lab.simulation.mujoco.spec import mujoco
from izmp_lab.simulation.noisy_signals import SensorErrors, with_errors
from izmp_lab.simulation.physics import Physics, Servo, Shove
from izmp_lab.simulation.recording import NUMBERS, check_recordable, record
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.walking.plan import MotionPlan, RootMotion
from izmp_lab.walking.quadratic_programme import solve_qp
from izmp_lab.walking.quadruped_gait import Gait, Swing, plan_quadruped

_RISE = [Polynomial([0, 0, 0, 0, 35, -84, 70, -20]).deriv(k) for k in range(3)]
_BUMP = [(64 * Polynomial([0, 1, -1]) ** 3).deriv(k) for k in range(3)]
"""Of the way and of the height of a swing over its phase, with two derivatives each."""

_UP = np.array([0.0, 0.0, 1.0])

_COM, _TURN, _FOOT = (60.0, 15.0), (200.0, 28.0), (900.0, 60.0)
"""Stiffness [1/s²] and damping [1/s] of the centre of mass, of the rotation of the trunk, and of a
foot in the air."""

_WEIGHTS = (1.0, 10.0, 1.0)
"""Of the accelerations of the centre of mass along the ground and upwards, and of the rotation."""

_FRICTION = 0.6
"""Part of the friction of the ground that may be used [-]."""

_SWING_HEIGHT = 0.2
"""[m] per metre of the height of the centre of mass."""

_DRIFT = 0.3
"""Time constant with which the way of a trot follows the robot that was pushed [s]."""


class WholeBodyControl:
    """Computes the set points of servos with kp = 1 and kv = 0: position plus torque.

    Args:
        gait: what to do.
        plant: the robot, on the ground z = 0; its feet are balls.
        height: of the centre of mass [m].
        up: (3,) against gravity; another than the z axis on a slope.
    """

    def __init__(self, gait: Gait, plant: MujocoRobot, height: float, up: Array) -> None:
        self.gait, self.plant, self.height, self.up = gait, plant, height, up
        model = plant.model
        self.weight = plant.robot.total_mass * plant.physics.mass_scale * plant.file.gravity
        self.friction = _FRICTION * plant.physics.friction / np.sqrt(2.0)
        self.feet = []
        for foot in plant.file.feet:
            chain = plant.robot.chain(foot.sole_frame)
            columns = plant.v_columns[plant.robot.joints[chain, DRIVER]]
            if len(columns) != 3 or foot.radius is None:
                raise SimulationError(
                    f"The foot '{foot.name}' of '{plant.robot.name}' is not a ball on a leg of "
                    'three joints, for which whole-body control is made.',
                    kind='not_a_quadruped', robot=plant.robot.name, foot=foot.name,
                )  # fmt: skip
            site = model.site(foot.sole_frame)
            self.feet.append((int(site.id), int(site.bodyid[0]), columns, foot.radius))
        self.shift = np.zeros(2)
        self.lifted: dict[int, Array] = {}

    def __call__(self, time: float, data: Any) -> Array:
        """Return the set points (n,) of the servos at a time [s]."""
        model, plant = self.plant.model, self.plant
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_subtreeVel(model, data)
        M = np.empty((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        h = data.qfrc_bias - data.qfrc_passive
        com, ahead = self._com_wanted(time, data)
        swing = self.gait.swing_at(time)
        # q̈ = A a + b with the accelerations a (6,) of the floating base
        A, b = np.zeros((model.nv, 6)), np.zeros(model.nv)
        A[:6] = np.eye(6)
        standing, jacobians = [], []
        for foot, (site, body, columns, radius) in enumerate(self.feet):
            wanted = np.zeros(3)
            swings = swing is not None and foot in swing.feet
            J, bias = self._jacobian(data, site, body, 0.0 if swings else radius)
            if swing is not None and swings:
                wanted = self._swing(swing, foot, time, data, ahead, J @ data.qvel)
            else:
                self.lifted[foot] = data.site_xpos[site].copy()
                standing.append(foot)
                jacobians.append(J)
            inverse = np.linalg.inv(J[:, columns])
            A[columns] = -inverse @ J[:, :6]
            b[columns] = inverse @ (wanted - bias)
        forces = np.concatenate(jacobians)
        base = np.linalg.inv(M[:6] @ A)
        turns = (base @ forces[:, :6].T)[3:]
        rest = (base @ (h[:6] + M[:6] @ b))[3:]
        shares = np.maximum(self.gait.shares(time)[standing], 1e-3)
        found = self._forces(com, turns, self._turn_wanted(data) + rest, shares)
        a = base @ (forces[:, :6].T @ found - h[:6] - M[:6] @ b)
        torques = M @ (A @ a + b) + h - forces.T @ found
        set_points: Array = data.qpos[plant.q_columns] + torques[plant.v_columns]
        return set_points

    def _jacobian(self, data: Any, site: int, body: int, radius: float) -> tuple[Array, Array]:
        """(3, nv) of the lowest point of a ball, and J̇ q̇ of it while the ball rolls."""
        nv, place = self.plant.model.nv, data.site_xpos[site]
        (J, turn), (J_dot, turn_dot) = np.empty((2, 2, 3, nv))
        mujoco.mj_jac(self.plant.model, data, J, turn, place, body)
        mujoco.mj_jacDot(self.plant.model, data, J_dot, turn_dot, place, body)
        arm = np.array([[0.0, -radius, 0.0], [radius, 0.0, 0.0], [0.0, 0.0, 0.0]])
        return J + arm @ turn, (J_dot + arm @ turn_dot) @ data.qvel

    def _com_wanted(self, time: float, data: Any) -> tuple[Array, Array]:
        """Acceleration (3,) that is wanted, and how far the capture point is off its way (2,)."""
        gait, (stiffness, damping) = self.gait, _COM
        row = min(max(round(time / gait.time_step), 0), len(gait.com) - 1)
        off, slip = np.zeros((2, 3))
        above = gait.com[row] + self.height * self.up[:2] / self.up[2]
        off[:2] = data.subtree_com[1][:2] - above - self.shift
        off[2] = data.subtree_com[1][2] - self.height
        slip[:] = data.subtree_linvel[1]
        slip[:2] -= gait.com_velocity[row]
        wanted = -stiffness * off - damping * slip
        wanted[:2] += gait.com_acceleration[row]
        ahead = off[:2] + slip[:2] * np.sqrt(self.height / self.plant.file.gravity)
        if gait.follows and gait.swings[0].start <= time < gait.swings[-1].end:
            self.shift = self.shift + off[:2] * gait.time_step / _DRIFT
        return wanted, ahead

    def _turn_wanted(self, data: Any) -> Array:
        """(3,) acceleration of the rotation of the trunk, in its axes [rad/s²]."""
        stiffness, damping = _TURN
        w, *axis = data.qpos[3:7]
        turned = 2.0 * np.copysign(stiffness, w) * np.array(axis)
        acceleration: Array = -turned - damping * data.qvel[3:6]
        return acceleration

    def _swing(
        self, swing: Swing, foot: int, time: float, data: Any, ahead: Array, velocity: Array
    ) -> Array:
        """(3,) acceleration of the lowest point of a foot in the air that is wanted."""
        stiffness, damping = _FOOT
        radius = self.feet[foot][3]
        length = swing.end - swing.start
        phase = (time - swing.start) / length
        start, end = self.lifted[foot], np.empty(3)
        end[:2], end[2] = swing.places[swing.feet.index(foot)], radius
        if self.gait.follows:
            end[:2] += self.shift + ahead
        bump = _SWING_HEIGHT * self.height * _UP
        p, v, a = (
            (rise(phase) * (end - start) + high(phase) * bump) / length**k
            for k, (rise, high) in enumerate(zip(_RISE, _BUMP, strict=True))
        )
        off = start + p - data.site_xpos[self.feet[foot][0]]
        wanted: Array = a + stiffness * off + damping * (v - velocity)
        return wanted

    def _forces(self, com: Array, turns: Array, turn: Array, shares: Array) -> Array:
        """Contact forces (3 S,) of the S feet on the ground [N].

        Args:
            com: (3,) wanted acceleration of the centre of mass [m/s²].
            turns: (3, 3 S) acceleration of the rotation by the forces.
            turn: (3,) what they shall give.
            shares: (S,) of the usual load that each may carry.
        """
        count, weight = len(shares), self.weight
        mass = weight / self.plant.file.gravity
        wanted = com + self.plant.file.gravity * self.up
        usual = np.kron(weight * shares / shares.sum(), _UP)
        along, upwards, turning = _WEIGHTS
        W = np.repeat([along, upwards, turning], [2, 1, 3])
        rows = np.concatenate([np.tile(np.eye(3), count) / mass, turns])
        goal = np.concatenate([wanted, turn])
        least = 1e-5 * np.eye(3 * count) * (16.0 / mass) ** 2
        P = rows.T @ (W[:, None] * rows) + least
        q = -rows.T @ (W * goal) - least @ usual
        mu = self.friction
        cone = np.array(
            [[1, 0, -mu], [-1, 0, -mu], [0, 1, -mu], [0, -1, -mu], [0, 0, 1], [0, 0, -1]]
        )
        limits = np.zeros((count, 6))
        limits[:, 4] = 2.0 * weight * shares
        found = solve_qp(P, q, np.kron(np.eye(count), cone), limits.ravel())
        return usual if found is None else found


@dataclass(frozen=True)
class SimulatedQuadruped:
    """What a quadruped did.

    Attributes:
        file: the robot file, with the force sensors.
        text: of that file, as it lies in the bag's folder.
        gait: what it was to do.
        run: what it did, with the errors of the sensors that were asked for.
    """

    file: RobotFile
    text: str
    gait: Gait
    run: SimulatedRun


SENSORS = {'wrench': FootWrench, 'force': FootForce, 'contact': FootContact}
"""Key of a foot → what its sensor measures."""


def with_force_sensors(name: str, measured: str = 'wrench') -> tuple[RobotFile, str]:
    """Return the robot file of a shipped quadruped with a force sensor in each ball, and its text.

    Args:
        name: of the robot.
        measured: a key of `SENSORS`.

    Raises:
        UnknownNameError: if no such robot is shipped.
    """
    file = load_robot_file(name, with_urdf=True)
    given = yaml.safe_load(robot_file_path(name).read_text())
    feet = []
    weight = load_model(file.read_urdf(), file.root).total_mass * file.gravity
    for k, (foot, text) in enumerate(zip(file.feet, given['feet'], strict=True)):
        link = foot.sole if isinstance(foot.sole, str) else foot.sole.link
        stated: dict[str, Any] = {'topic': f'{foot.name}/wrench', 'frame': link}
        if measured != 'wrench':
            stated = {
                'topic': 'foot_forces', 'type': NUMBERS, 'field': f'data[{k}]', 'clock': RECEIVED
            }  # fmt: skip
        if measured == 'contact':
            stated['loaded_above'] = round(LOADED_PART * weight, 1)
        feet.append(dataclasses.replace(foot, **{measured: SENSORS[measured](**stated)}))
        text[measured] = stated
    text = f'# {name} with a force sensor in each ball, as it was simulated.\n'
    text += yaml.safe_dump(given, sort_keys=False, default_flow_style=None, width=99)
    return dataclasses.replace(file, feet=tuple(feet)), text


def simulate_quadruped(
    name: str,
    gait: str,
    bag: str | PathLike[str] | None = None,
    *,
    duration: float = 10.0,
    speed: float | None = None,
    slope: float = 0.0,
    pushes: Sequence[str] = (),
    measured: str = 'wrench',
    errors: SensorErrors | None = None,
    seed: int = 0,
    storage: str = 'mcap',
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> SimulatedQuadruped:
    """Let a shipped quadruped stand, crawl or trot on level ground or up a slope.

    Args:
        name: a key of POSTURES.
        gait: 'stand', 'crawl' or 'trot'.
        bag: folder to record to, with the robot file; nothing is recorded if None.
        duration: of the recording [s].
        speed: [m/s]; the usual one of the gait if None.
        slope: of the ground [rad]; negative: downhill.
        pushes: on the root, as `Shove.parse` reads them.
        measured: by the feet, a key of `SENSORS`.
        errors: of the sensors; ideal sensors if None.
        seed: of their noise.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.
        progress: is called now and then with the part that is simulated, 0 … 1.

    Returns:
        The run. If the robot fell, the bag is kept, its metadata say so, and so does `run.fall`.

    Raises:
        BagError: if the bag exists or cannot be written.
        IzmpError: if the robot cannot be simulated or the gait not be planned.
    """
    posture, planned = plan_quadruped(name, gait, duration, speed, Physics().time_step)
    file, text = with_force_sensors(name, measured)
    if bag is not None:
        check_recordable(file, bag, storage, overwrite)
    torque = dict.fromkeys(
        load_model(file.read_urdf(), file.root).joint_names,
        Servo(kp=1.0, kv=0.0, armature=0.0, damping=0.0),
    )
    plant = build_mujoco(file, servos=torque)
    joints = plant.robot.joint_names
    plan = _at_rest(gait, joints, posture.q, posture.root_height, planned)
    # the ground stays z = 0, in whose axes the robot is controlled, and gravity is turned
    world_R_ground = Rotation.from_euler('y', -slope).as_matrix()
    plant.model.opt.gravity[:] = -file.gravity * world_R_ground[2]
    run = simulate(
        plan, plant, progress=progress,
        pushes=[Shove.parse(push, plant.robot.root).push(plan) for push in pushes],
        control=WholeBodyControl(planned, plant, posture.com_height, world_R_ground[2]),
    )  # fmt: skip
    if slope:
        run = _turned(run, world_R_ground)
    if errors is not None:
        run = with_errors(run, file, errors, seed)
    if bag is not None:
        files = {'robot.yaml': text}
        record(run, file, bag, files=files, storage=storage, overwrite=overwrite)
    return SimulatedQuadruped(file, text, planned, run)


def _turned(run: SimulatedRun, R: Array) -> SimulatedRun:
    """A run in a world whose axes are turned, world_R_ground (3, 3)."""
    truth, root = run.truth, run.truth.root
    root = dataclasses.replace(
        root, position=root.position @ R.T, rotation=R @ root.rotation,
        velocity=root.velocity @ R.T, acceleration=root.acceleration @ R.T,
    )  # fmt: skip
    truth = dataclasses.replace(
        truth, root=root, com=truth.com @ R.T, cop=truth.cop @ R.T,
        ground_normal=truth.ground_normal @ R.T,
        feet={name: dataclasses.replace(foot, corners=foot.corners @ R.T)
              for name, foot in truth.feet.items()},
    )  # fmt: skip
    turn = Rotation.from_matrix(R) * Rotation.from_quat(run.imu.orientation_xyzw)
    imu = dataclasses.replace(run.imu, orientation_xyzw=turn.as_quat())
    return dataclasses.replace(run, imu=imu, truth=truth)


def _at_rest(
    name: str, joints: tuple[str, ...], q: Array, height: float, gait: Gait
) -> MotionPlan:
    """The posture at first, for as long as the gait takes: the controller does the rest."""
    count = len(gait.com)
    position, rest = np.tile([0.0, 0.0, height], (count, 1)), np.zeros((count, 3))
    root = RootMotion(position, np.tile(np.eye(3), (count, 1, 1)), rest, rest, rest, rest)
    still = np.zeros((count, len(q)))
    return MotionPlan(name, joints, gait.time_step, still + q, still, still, root)
