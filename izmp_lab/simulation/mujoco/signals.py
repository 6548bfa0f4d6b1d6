"""From raw samples to sensor signals and truth in the conventions of this package."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.feet import Foot, FootWrench
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.mujoco.model import MujocoRobot
from izmp_lab.simulation.mujoco.spec import FORCE, GYRO, ORIENTATION, TORQUE, mujoco
from izmp_lab.simulation.simulated_run import FootTruth, ImuSignals, SimulatedRun, Truth
from izmp_lab.simulation.terrain import plane_under
from izmp_lab.walking.plan import RootMotion, continuous


@dataclass
class StepSamples:
    """Arrays with one row per sample, of which the first `count` are filled.

    Attributes:
        qpos: (T, nq) generalized positions.
        qvel: (T, nv) generalized velocities.
        qacc: (T, nv) generalized accelerations.
        effort: (T, n) forces of the servos, in the robot's order of joints [N·m] or [N].
        sensors: (T, nsensordata) sensors, see `MujocoRobot.sensor`.
        com: (T, 3) centre of mass in the world [m].
        pushed: (T, 6) pushes as a force and a moment about the world's origin [N], [N·m].
        ground: (T, F, 6) what the ground exerts on each foot: force and moment about the world's
            origin, in world axes [N], [N·m].
        count: rows that are filled.
    """

    qpos: Array
    qvel: Array
    qacc: Array
    effort: Array
    sensors: Array
    com: Array
    pushed: Array
    ground: Array
    count: int = 0

    @classmethod
    def empty(cls, plant: MujocoRobot, rows: int) -> 'StepSamples':
        """Make room for `rows` samples."""
        model = plant.model
        return cls(
            qpos=np.empty((rows, model.nq)),
            qvel=np.empty((rows, model.nv)),
            qacc=np.empty((rows, model.nv)),
            effort=np.empty((rows, model.nu)),
            sensors=np.empty((rows, model.nsensordata)),
            com=np.empty((rows, 3)),
            pushed=np.zeros((rows, 6)),
            ground=np.zeros((rows, len(plant.file.feet), 6)),
        )

    def filled(self) -> 'StepSamples':
        """Return the rows that are filled."""
        arrays = {item.name: getattr(self, item.name) for item in fields(self)}
        count = arrays.pop('count')
        return StepSamples(**{name: rows[:count] for name, rows in arrays.items()}, count=count)

    @classmethod
    def joined(cls, parts: Sequence['StepSamples']) -> 'StepSamples':
        """Return filled samples, one after the other."""
        names = [item.name for item in fields(cls) if item.name != 'count']
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(**arrays, count=sum(part.count for part in parts))

    def take(self, plant: MujocoRobot, data: Any) -> None:
        """Make one step of `data` and keep what belongs to the instant at which it started."""
        row = self.count
        self.qpos[row], self.qvel[row] = data.qpos, data.qvel
        mujoco.mj_step(plant.model, data)
        self.qacc[row] = data.qacc
        self.effort[row] = data.actuator_force[plant.ctrl_columns]
        self.sensors[row] = data.sensordata
        self.com[row] = data.subtree_com[1]
        take_contacts(plant, data, self.ground[row])
        if data.xfrc_applied.any():
            self._take_pushes(data, row)
        self.count += 1

    def _take_pushes(self, data: Any, row: int) -> None:
        force = data.xfrc_applied[:, :3]
        self.pushed[row, :3] = force.sum(axis=0)
        self.pushed[row, 3:] = np.cross(data.xipos, force).sum(axis=0)


def take_contacts(plant: MujocoRobot, data: Any, ground: Array) -> None:
    """Add the forces of the contacts to what the ground exerts on each foot.

    Args:
        plant: the robot.
        data: after a step; its contacts belong to the instant at which that began.
        ground: (F, 6) sums of force [N] and moment about the world's origin [N·m], added to.
    """
    contacts = data.contact
    geoms, addresses = np.array(contacts.geom), np.array(contacts.efc_address)
    frames, points = np.array(contacts.frame), np.array(contacts.pos)
    _add_contacts(geoms, addresses, frames, points, data.efc_force, plant.feet_of_geoms, ground)


@kernel
def _add_contacts(
    geoms: Array, addresses: Array, frames: Array, points: Array,
    forces: Array, feet_of_geoms: Array, ground: Array,
) -> None:  # fmt: skip
    """Of an elliptic cone `forces` have the components along the axes of its contact in a row."""
    for k in range(len(geoms)):
        address = addresses[k]
        sign, foot = 1.0, feet_of_geoms[geoms[k, 1]]
        if foot < 0:  # the force of a contact acts on its second geom
            sign, foot = -1.0, feet_of_geoms[geoms[k, 0]]
        if foot < 0 or address < 0:  # near, but without a force
            continue
        fx, fy, fz = 0.0, 0.0, 0.0
        for axis in range(3):
            part = sign * forces[address + axis]
            fx += part * frames[k, 3 * axis]
            fy += part * frames[k, 3 * axis + 1]
            fz += part * frames[k, 3 * axis + 2]
        x, y, z = points[k, 0], points[k, 1], points[k, 2]
        ground[foot] += np.array([fx, fy, fz, y * fz - z * fy, z * fx - x * fz, x * fy - y * fx])


def simulated_run(
    samples: StepSamples, plant: MujocoRobot, motion: str, stamps: Stamps, fall: str
) -> SimulatedRun:
    """Translate raw samples.

    Args:
        samples: as MuJoCo gave them.
        plant: the robot.
        motion: name of the plan that was executed.
        stamps: (T,) instants [ns].
        fall: how the robot fell; empty if it stands.
    """
    file = plant.file

    def read(name: str) -> Array:
        values: Array = samples.sensors[:, plant.sensor(name)].copy()
        return values

    imu = file.imu.topic
    board = plant.board
    ground = None if board is None else _motion(samples, board.q_column, board.v_column)
    truth = _truth(plant, samples, ground)
    return SimulatedRun(
        motion=motion,
        robot=plant.robot.name,
        root=plant.robot.root,
        joint_names=plant.robot.joint_names,
        stamps=stamps,
        q=samples.qpos[:, plant.q_columns],
        effort=samples.effort,
        imu=ImuSignals(
            read(imu + GYRO),
            read(imu + FORCE),
            continuous(np.roll(read(imu + ORIENTATION), -1, axis=1)),
        ),
        accelerometers={sensor.topic: read(sensor.topic) for sensor in file.all_accelerometers},
        segments={
            unit.topic: np.hstack([read(unit.topic + GYRO), read(unit.topic + FORCE)])
            for unit in file.segments
        },
        position=read(file.position.topic) if file.position else None,
        wrenches={
            # MuJoCo measures what the robot above the sensor exerts on the foot below it.
            foot.wrench.topic: -foot.wrench.sign
            * np.hstack([read(foot.wrench.topic + FORCE), read(foot.wrench.topic + TORQUE)])
            if foot.radius is None
            else _felt_by_ball(plant, foot, foot.wrench, truth.feet[foot.name].wrench)
            for foot in file.feet
            if foot.wrench
        },
        truth=truth,
        fall=fall,
        ground=ground,
    )


def _felt_by_ball(plant: MujocoRobot, foot: Foot, sensor: FootWrench, wrench: Array) -> Array:
    """What the sensor in the skin of a ball reads (T, 6), with nothing below it."""
    sole = plant.robot.mount(foot.sole_frame)
    frame = plant.robot.mount(sensor.frame or foot.sole_frame)
    R = sole.body_R_frame.T
    place = R @ (frame.p_frame_in_body - sole.p_frame_in_body)
    felt = ContactWrench.from_array(wrench).seen_from(R @ frame.body_R_frame, place)
    return sensor.sign * felt.as_array()


def _motion(samples: StepSamples, q: int, v: int) -> RootMotion:
    return RootMotion(
        position=samples.qpos[:, q : q + 3],
        rotation=Rotation.from_quat(
            np.roll(samples.qpos[:, q + 3 : q + 7], -1, axis=1)
        ).as_matrix(),
        velocity=samples.qvel[:, v : v + 3],
        angular_velocity=samples.qvel[:, v + 3 : v + 6],
        acceleration=samples.qacc[:, v : v + 3],
        angular_acceleration=samples.qacc[:, v + 3 : v + 6],
    )


def _truth(plant: MujocoRobot, samples: StepSamples, ground: RootMotion | None) -> Truth:
    root = _motion(samples, 0, 0)
    q = samples.qpos[:, plant.q_columns]
    minimum, loaded = plant.file.ground.forces(plant.robot.total_mass * plant.file.gravity)
    soles = [_sole(plant, foot, root, q, ground) for foot in plant.file.feet]
    by_foot = [ContactWrench.from_array(wrench) for wrench in np.swapaxes(samples.ground, 0, 1)]
    contact = ContactWrench.from_array(samples.ground.sum(axis=1))
    pushed = ContactWrench.from_array(samples.pushed)
    normal, point = _ground_under_load(soles, by_foot, len(q), minimum)
    return Truth(
        qd=samples.qvel[:, plant.v_columns],
        qdd=samples.qacc[:, plant.v_columns],
        root=root,
        com=samples.com,
        ground_wrench=contact.seen_from(root.rotation, root.position).as_array(),
        applied_wrench=pushed.seen_from(root.rotation, root.position).as_array(),
        cop=zero_moment_point(contact, normal, point, minimum),
        ground_normal=normal,
        feet={
            foot.name: _foot_truth(sole, wrench, loaded)
            for foot, sole, wrench in zip(plant.file.feet, soles, by_foot, strict=True)
        },
    )


@dataclass(frozen=True)
class _Sole:
    """A sole in the world over time, and the plane of the ground under it."""

    rotation: Array
    position: Array
    corners: Array
    normal: Array
    below: Array


def _sole(
    plant: MujocoRobot, foot: Foot, root: RootMotion, q: Array, ground: RootMotion | None
) -> _Sole:
    root_R_sole, p_in_root = plant.robot.frame_pose(foot.sole_frame, q)
    rotation = root.rotation @ root_R_sole
    position = root.position + np.einsum('tij,tj->ti', root.rotation, p_in_root)
    polygon = np.array([[x, y, 0.0] for x, y in foot.corners])
    corners = position[:, None] + np.einsum('tij,vj->tvi', rotation, polygon)
    normal, below = _plane(plant, ground, corners)
    if foot.radius is not None:
        corners = corners - foot.radius * normal[:, None]
    return _Sole(rotation, position, corners, normal, below)


def _plane(plant: MujocoRobot, ground: RootMotion | None, corners: Array) -> tuple[Array, Array]:
    """Normal (T, 3) and a point (T, 3) of the ground under a sole."""
    if ground is None or plant.board is None:
        return plane_under(plant.terrain, corners)
    normal = ground.rotation[:, :, 2]
    return normal, ground.position + plant.board.height * normal


def _ground_under_load(
    soles: list[_Sole], by_foot: list[ContactWrench], instants: int, minimum: float
) -> tuple[Array, Array]:
    """Normal (T, 3) and a point (T, 3) of the ground that carries the robot.

    With the load f of each foot along its normal n and its own centre of pressure c, the normal
    has the direction of Σ f n, and the point is Σ f c / Σ f, where f c = n × M + (n·p) F.
    """
    normal, point, load = np.zeros((3, instants, 3))
    for sole, wrench in zip(soles, by_foot, strict=True):
        carried = _along(sole.normal, wrench.force)
        height = _along(sole.normal, sole.below)
        normal += carried * sole.normal
        point += np.cross(sole.normal, wrench.moment) + height * wrench.force
        load += carried
    load = np.where(load >= max(minimum, 1e-9), load, np.nan)
    mean = normal / load
    return mean / np.linalg.norm(mean, axis=1, keepdims=True), point / load


def _foot_truth(sole: _Sole, reaction: ContactWrench, loaded: float) -> FootTruth:
    normal_force = _along(sole.normal, reaction.force)[:, 0]
    return FootTruth(
        corners=sole.corners,
        normal_force=normal_force,
        wrench=reaction.seen_from(sole.rotation, sole.position).as_array(),
        loaded=normal_force >= loaded,
    )


def _along(normal: Array, vectors: Array) -> Array:
    """Components (T, 1) of vectors (T, 3) along unit normals (T, 3)."""
    components: Array = np.einsum('ti,ti->t', normal, vectors)[:, None]
    return components
