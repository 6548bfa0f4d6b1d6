"""Raw samples of a simulation, as MuJoCo gives them.

During a call of `mj_step` everything that depends on accelerations (qacc, sensors, contacts,
poses of bodies) is computed for the instant k at which the step starts, while qpos and qvel are
advanced to k + 1. So qpos and qvel are taken before the call and all the rest after it: every row
of the result belongs to one instant. The Euler integrator makes q̇(k+1) − q̇(k) = q̈(k) Δt exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_lab.simulation.mujoco.engine import mujoco
from izmp_lab.simulation.mujoco.model import MujocoRobot


@dataclass
class Samples:
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
    def empty(cls, plant: MujocoRobot, rows: int) -> 'Samples':
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

    def filled(self) -> 'Samples':
        """Return the rows that are filled."""
        arrays = {item.name: getattr(self, item.name) for item in fields(self)}
        count = arrays.pop('count')
        return Samples(**{name: rows[:count] for name, rows in arrays.items()}, count=count)

    @classmethod
    def joined(cls, parts: Sequence['Samples']) -> 'Samples':
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
        """Sum the pushes to a force and a moment about the world's origin, in world axes."""
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
    wrench = np.empty(6)
    contacts = data.contact
    geoms, frames, points = contacts.geom, contacts.frame, contacts.pos
    for index in range(data.ncon):
        sign, foot = 1.0, plant.soles.get(int(geoms[index, 1]))
        if foot is None:  # the force of a contact acts on its second geom
            sign, foot = -1.0, plant.soles.get(int(geoms[index, 0]))
        if foot is None:
            continue
        mujoco.mj_contactForce(plant.model, data, index, wrench)
        force = sign * wrench[:3] @ frames[index].reshape(3, 3)
        ground[foot, :3] += force
        (x, y, z), (fx, fy, fz) = points[index].tolist(), force.tolist()
        ground[foot, 3:] += (y * fz - z * fy, z * fx - x * fz, x * fy - y * fx)
