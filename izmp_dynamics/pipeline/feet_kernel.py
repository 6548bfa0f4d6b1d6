"""Soles, wrenches and loads of all feet at once: the kernel, and the arrays that it takes."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Indices, frozen
from izmp_dynamics.base.kernel import inlined, kernel
from izmp_dynamics.base.vectors import add, cross, rotate, store, vector
from izmp_dynamics.dynamics.kernels import ROOT, WORK, mr_ad
from izmp_dynamics.model.body_layout import BODY, MASS, PARENT, POSE, POSITION
from izmp_dynamics.model.kinematics import body_poses, compose, z_axis
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.stability.clearance import is_point
from izmp_dynamics.stability.ground_plane import stand

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PackedFeet:
    """The F feet of a robot, as arrays.

    Attributes:
        joints: (B, 3) of the robot, see `body_layout`.
        bodies: (B, 24) of the robot.
        carriers: (F, 2) the bodies that carry the sole and the sensor.
        mounts: (F, 2, 12) poses of both on them.
        senses: (F,) which feet have a sensor.
        lengths: (F,) bodies from the root to the mass below each sensor; 0: there is none.
        chains: (C, 3) the joints of these bodies, foot by foot, as if there were no others.
        below: (C, 24) these bodies with the mass below the sensor only.
        corners: (C, 2) of all soles in their frames [m].
        foot: (C,) which foot each corner belongs to.
        points: (F,) which touch the ground with a point, so that their links may lean.
    """

    joints: Indices
    bodies: Array
    carriers: Indices
    mounts: Array
    senses: Flags
    lengths: Indices
    chains: Indices
    below: Array
    corners: Array
    foot: Indices
    points: Flags

    def __deepcopy__(self, memo: object) -> 'PackedFeet':
        """Nothing in it changes; copies of its arrays would be writable, of another type."""
        return self

    @classmethod
    def of(cls, rig: Rig) -> 'PackedFeet':
        """Pack the feet of a robot."""
        model, feet = rig.model, rig.feet
        mounts = [(model.mount(foot.sole), model.mount(foot.sensor or foot.sole)) for foot in feet]
        chains = [_chain(foot.below) for foot in feet]
        F = len(feet)
        return cls(
            model.joints,
            model.bodies,
            frozen(np.reshape([[one.body for one in pair] for pair in mounts], (F, 2)), np.int64),
            frozen(np.reshape([[one.pose for one in pair] for pair in mounts], (F, 2, POSE))),
            frozen([foot.sensor is not None for foot in feet], np.bool_),
            frozen([len(joints) for joints, _ in chains], np.int64),
            frozen(
                np.concatenate([np.empty((0, 3)), *(joints for joints, _ in chains)]), np.int64
            ),
            frozen(np.concatenate([np.empty((0, BODY)), *(bodies for _, bodies in chains)])),
            frozen(np.concatenate([np.empty((0, 2)), *(foot.polygon for foot in feet)])),
            frozen([k for k, foot in enumerate(feet) for _ in foot.polygon], np.int64),
            frozen([is_point(foot.polygon) for foot in feet], np.bool_),
        )

    def evaluate(
        self, states: Array, readings: Array, world_R_root: Array, contact_force: float
    ) -> 'FeetAtInstants':
        """Place the soles, bring the measured wrenches to the root, and find which feet stand.

        Args:
            states: (T, 9 + 3n) φ, ω, ω̇ of the root, then q, q̇, q̈.
            readings: (T, F, 6) force [N] and moment [N·m] of the sensors in their frames.
            world_R_root: (T, 3, 3); where it is NaN, φ points up.
            contact_force: normal force from which on a foot is loaded [N].
        """
        count, feet = len(states), len(self.senses)
        found = FeetAtInstants(
            np.empty((count, feet, POSE)),
            np.empty((count, len(self.corners), 3)),
            np.empty((count, feet)),
            np.empty((count, feet, 6)),
            np.empty((count, 6)),
            np.empty((count, feet), np.bool_),
            np.empty(count, np.intp),
        )
        _evaluate(
            self.joints, self.bodies, self.carriers, self.mounts, self.senses, self.lengths,
            self.chains, self.below, self.corners, self.foot, self.points, states, readings,
            world_R_root, contact_force, *found,
        )  # fmt: skip
        return found


class FeetAtInstants(NamedTuple):
    """The F feet at T instants, about the root in its axes.

    Attributes:
        poses: (T, F, 12) of the soles.
        corners: (T, C, 3) of all soles [m].
        forces: (T, F) normal forces [N], of points the sizes of their forces; NaN without a
            sensor.
        wrenches: (T, F, 6) that act on the feet; NaN without a sensor.
        total: (T, 6) their sum.
        loaded: (T, F) which feet carry load.
        most: (T,) the foot that carries most.
    """

    poses: Array
    corners: Array
    forces: Array
    wrenches: Array
    total: Array
    loaded: Flags
    most: npt.NDArray[np.intp]


def _chain(part: RobotModel | None) -> tuple[Indices, Array]:
    """The bodies from the root to those of a part that have mass, (C, 3) and (C, 24)."""
    if part is None:
        return np.zeros((0, 3), np.int64), np.zeros((0, BODY))
    rows = {0}
    for body in np.flatnonzero(part.bodies[:, MASS] > 0).tolist():
        while body > 0:
            rows.add(body)
            body = int(part.joints[body, PARENT])
    chain = sorted(rows)
    joints = part.joints[chain]
    joints[1:, PARENT] = np.searchsorted(chain, joints[1:, PARENT])
    return joints, part.bodies[chain]


@kernel
def _evaluate(
    joints: Indices,
    bodies: Array,
    carriers: Indices,
    mounts: Array,
    senses: Flags,
    lengths: Indices,
    chains: Indices,
    below: Array,
    polygons: Array,
    foot: Indices,
    points: Flags,
    states: Array,
    readings: Array,
    world_R_root: Array,
    contact_force: float,
    soles: Array,
    corners: Array,
    forces: Array,
    wrenches: Array,
    total: Array,
    loaded: Flags,
    most: npt.NDArray[np.intp],
) -> None:
    """Write what `PackedFeet.evaluate` returns."""
    n = (states.shape[1] - ROOT) // 3
    poses, sensor = np.empty((len(bodies), POSE)), np.empty(POSE)
    work, taken = np.empty((len(bodies), WORK)), np.empty(9)
    forces[:] = np.nan
    wrenches[:] = np.nan
    for t in range(len(states)):
        body_poses(joints, bodies, states[t, ROOT : ROOT + n], poses)
        corner = end = 0
        for f in range(len(senses)):
            begin, end = end, end + lengths[f]
            sole, wrench, reading = soles[t, f], wrenches[t, f], readings[t, f]
            compose(poses[carriers[f, 0]], mounts[f, 0], sole)
            while corner < len(foot) and foot[corner] == f:
                x, y = polygons[corner]
                at = rotate(sole, (x, y, 0.0))
                store(corners[t, corner], 0, add(vector(sole, POSITION), at))
                corner += 1
            if not senses[f]:
                continue
            compose(poses[carriers[f, 1]], mounts[f, 1], sensor)
            force = rotate(sensor, vector(reading, 0))
            lever = cross(vector(sensor, POSITION), force)
            store(wrench, 0, force)
            store(wrench, 3, add(rotate(sensor, vector(reading, 3)), lever))
            if lengths[f]:  # along the chain alone, as other joints may be unknown
                mr_ad(chains[begin:end], below[begin:end], states[t], work, taken)
                for k in range(6):
                    wrench[k] += taken[k]
            normal, load, size, upwards = z_axis(sole), 0.0, 0.0, 0.0
            for k in range(3):  # where the mass below is in doubt, the measured force counts
                part = wrench[k] if np.isfinite(wrench[k]) else force[k]
                load += normal[k] * part
                size += part * part
                upwards += states[t, k] * part  # along φ
            if points[f]:  # the force is normal to the ground, but for friction
                load = -np.sqrt(size) if upwards < 0.0 else np.sqrt(size)
            forces[t, f] = load
        _add_up(wrenches[t], total[t])
        up = states[t, :3]
        if np.isfinite(world_R_root[t, 2]).all():
            up = world_R_root[t, 2]
        most[t] = stand(forces[t], corners[t], foot, up, contact_force, loaded[t])


@inlined
def _add_up(wrenches: Array, total: Array) -> None:
    """Write the sum of wrenches (F, 6)."""
    for k in range(6):
        total[k] = wrenches[0, k] if len(wrenches) else 0.0
        for f in range(1, len(wrenches)):
            total[k] += wrenches[f, k]
