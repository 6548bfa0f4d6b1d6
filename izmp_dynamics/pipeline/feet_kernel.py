"""Soles, wrenches and loads of all feet at once: the kernel, and the arrays that it takes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Flags, Indices, frozen
from izmp_dynamics.base.kernel import inlined, kernel
from izmp_dynamics.base.vectors import add, cross, dot, rotate, rotate_back, scale, store, vector
from izmp_dynamics.dynamics.kernels import ROOT, WORK, mr_ad
from izmp_dynamics.estimation.contact import as_stated, carrying, landing_speed
from izmp_dynamics.estimation.torques import pulls_of_legs
from izmp_dynamics.model.body_layout import BODY, MASS, PARENT, POSE, POSITION
from izmp_dynamics.model.kinematics import body_poses, compose, z_axis
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.stability.clearance import is_point
from izmp_dynamics.stability.ground_plane import Soles, level_normal, stand
from izmp_dynamics.stability.support_polygon import level_axes

PASSES = 3
"""So often the plane through balls is found anew: one is enough for balls of one size."""

STEP = 1e-6
"""Of the difference quotients that give the velocities of soles [s]."""

FORCE, CONTACT = 1, 2
"""Feet that measure one number, in the third place of a reading."""


@dataclass(frozen=True)
class FeetState(Record):
    """The F feet of a robot at K instants, about the root in its axes.

    Attributes:
        soles: of all feet.
        loaded: (K, F) which feet carry load.
        most: (K,) the foot that carries most.
        wrenches: (K, F, 6) on the feet about the root origin; NaN without a sensor [N, N·m].
        total: (K, 6) their sum; None unless every foot has a sensor.
        shares: (K, F) of the contact force, see `estimation.contact`; NaN where it is measured.
        chances: (K, F) probability that a foot carries, likewise.
    """

    soles: Soles
    loaded: Flags
    most: npt.NDArray[np.intp]
    wrenches: Array
    total: Array | None
    shares: Array
    chances: Array


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
        radii: (F,) of the balls that these are [m]; NaN of others.
        scalars: (F,) which measure nothing but FORCE or CONTACT; 0 of others.
        landing: how fast feet without sensors that carry load move at most [m/s].
        counts: (F,) how many corners each sole has.
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
    radii: Array
    scalars: Indices
    landing: float
    counts: tuple[int, ...]

    def __deepcopy__(self, memo: object) -> 'PackedFeet':
        """Nothing in it changes; copies of its arrays would be writable, of another type."""
        return self

    @classmethod
    def of(cls, rig: Rig) -> 'PackedFeet':
        """Pack the feet of a robot."""
        model, feet = rig.model, rig.feet
        mounts = [(model.mount(foot.sole), model.mount(foot.sensor or foot.sole)) for foot in feet]
        poses = np.reshape([[one.pose for one in pair] for pair in mounts], (-1, 2, POSE))
        for foot, (_, pose) in zip(feet, poses, strict=True):
            if foot.scalar:  # which acts in the middle of the sole
                middle = [*foot.polygon.mean(axis=0), 0.0]
                pose[POSITION:] += pose[:POSITION].reshape(3, 3) @ middle
        chains = [_chain(foot.below) for foot in feet]
        F = len(feet)
        return cls(
            model.joints,
            model.bodies,
            frozen(np.reshape([[one.body for one in pair] for pair in mounts], (F, 2)), np.int64),
            frozen(poses),
            frozen([foot.sensor is not None or foot.scalar == 'force' for foot in feet], np.bool_),
            frozen([len(joints) for joints, _ in chains], np.int64),
            frozen(
                np.concatenate([np.empty((0, 3)), *(joints for joints, _ in chains)]), np.int64
            ),
            frozen(np.concatenate([np.empty((0, BODY)), *(bodies for _, bodies in chains)])),
            frozen(np.concatenate([np.empty((0, 2)), *(foot.polygon for foot in feet)])),
            frozen([k for k, foot in enumerate(feet) for _ in foot.polygon], np.int64),
            frozen([is_point(foot.polygon) for foot in feet], np.bool_),
            frozen([np.nan if foot.radius is None else foot.radius for foot in feet]),
            frozen([['', 'force', 'contact'].index(foot.scalar) for foot in feet], np.int64),
            landing_speed(rig.robot.filter.half_width),
            tuple(len(foot.polygon) for foot in feet),
        )

    def evaluate(
        self,
        states: Array,
        readings: Array,
        up: Array,
        normals: Array | None,
        contact_force: float,
        wrench: Array | None = None,
        minimum_force: float = 0.0,
        torques: Array | None = None,
    ) -> tuple[FeetState, Flags]:
        """Place the soles, bring the measured wrenches to the root, and find which feet stand.

        Args:
            states: (T, 9 + 3n) φ, ω, ω̇ of the root, then q, q̇, q̈.
            readings: (T, F, 6) force [N] and moment [N·m] of the sensors in their frames.
            up: (T, 3) unit vectors against gravity; where they are NaN, φ points up.
            normals: (T, 3) of the ground, if it is not for the feet to say.
            contact_force: normal force from which on a foot is loaded [N].
            wrench: (T, 6) contact wrench of MR-AD, where a foot has no force; where it is not
                known, the heights of the soles decide.
            minimum_force: vertical force below which such feet do not carry [N].
            torques: (T, n) of the joints [N·m] or [N]; NaN where they are not known.

        Returns:
            The feet; and (T,) whether the torques contradict the contact wrench.
        """
        count, feet = len(states), len(self.senses)
        stated = np.empty((0, 3)) if normals is None else np.array(normals)
        contact = np.full((count, 6), np.nan) if wrench is None else np.array(wrench)
        if torques is None:
            torques = np.full((count, (states.shape[1] - ROOT) // 3), np.nan)
        sensed: tuple[bool, ...] = tuple(self.senses.tolist())
        poses, corners = np.empty((count, feet, POSE)), np.empty((count, len(self.corners), 3))
        forces, shares, chances = (np.empty((count, feet)) for _ in range(3))
        wrenches, total = np.empty((count, feet, 6)), np.empty((count, 6))
        loaded, most = np.empty((count, feet), np.bool_), np.empty(count, np.intp)
        doubted = np.zeros(count, np.bool_)
        _evaluate(
            self.joints, self.bodies, self.carriers, self.mounts, self.senses, self.lengths,
            self.chains, self.below, self.corners, self.foot, self.points, self.radii,
            self.scalars, self.landing, states, readings, up, stated, contact_force,
            contact, minimum_force, torques, poses, corners, forces, wrenches, total, loaded,
            most, shares, chances, doubted,
        )  # fmt: skip
        soles, whole = Soles(poses, corners, forces, self.counts, sensed), sensed and all(sensed)
        found = FeetState(
            soles, loaded, most, wrenches, total if whole else None, shares, chances
        )  # fmt: skip
        return found, doubted


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
    radii: Array,
    scalars: Indices,
    landing: float,
    states: Array,
    readings: Array,
    verticals: Array,
    normals: Array,
    contact_force: float,
    contact: Array,
    minimum_force: float,
    torques: Array,
    soles: Array,
    corners: Array,
    forces: Array,
    wrenches: Array,
    total: Array,
    loaded: Flags,
    most: npt.NDArray[np.intp],
    shares: Array,
    chances: Array,
    doubted: Flags,
) -> None:
    """Write what `PackedFeet.evaluate` returns."""
    n = (states.shape[1] - ROOT) // 3
    poses, sensor = np.empty((len(bodies), POSE)), np.empty(POSE)
    later, places = np.empty_like(poses), np.empty((2, len(foot), 3))
    work, taken = np.empty((len(bodies), WORK)), np.empty(9)
    felt, up = np.full((len(senses), 3), np.nan), np.empty(3)  # NaN without a sensor
    carry, pulls = np.empty(len(senses)), np.empty((len(senses), 2))
    forces[:] = np.nan
    wrenches[:] = np.nan
    shares[:] = np.nan
    chances[:] = np.nan
    for t in range(len(states)):
        body_poses(joints, bodies, states[t, ROOT : ROOT + n], poses)
        corner = end = 0
        carry[:] = np.nan
        for f in range(len(senses)):
            begin, end = end, end + lengths[f]
            sole, wrench, reading = soles[t, f], wrenches[t, f], readings[t, f]
            compose(poses[carriers[f, 0]], mounts[f, 0], sole)
            while corner < len(foot) and foot[corner] == f:
                x, y = polygons[corner]
                at = rotate(sole, (x, y, 0.0))
                store(corners[t, corner], 0, add(vector(sole, POSITION), at))
                corner += 1
            if scalars[f] == CONTACT:
                carry[f] = reading[2]
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
            for k in range(3):  # where the mass below is in doubt, the measured force counts
                felt[f, k] = wrench[k] if np.isfinite(wrench[k]) else force[k]
            forces[t, f] = dot(z_axis(sole), vector(felt[f], 0))
        oriented = np.isfinite(verticals[t]).all()
        up[:] = verticals[t] if oriented else states[t, :3]
        carries = -1
        if not np.isfinite(forces[t]).all():
            up /= np.sqrt(dot(vector(up, 0), vector(up, 0)))
            for f in range(len(senses)):
                if senses[f]:
                    leans = points[f] and not scalars[f]
                    load = dot(vector(up, 0), vector(felt[f], 0)) if leans else forces[t, f]
                    carry[f] = load if np.isnan(load) else 1.0 * (load >= contact_force)
            moved = states[t, ROOT : ROOT + n] + STEP * states[t, ROOT + n : ROOT + 2 * n]
            body_poses(joints, bodies, moved, later)
            _move(poses, later, carriers[:, 0], radii, foot, up, states[t], corners[t], places)
            pulls[:] = np.nan
            known = np.isfinite(torques[t]).any()
            if known:
                pulls_of_legs(
                    joints, bodies, carriers[:, 0], states[t], torques[t], contact[t], up,
                    places[0], foot, pulls,
                )  # fmt: skip
            carries = carrying(
                contact[t], up, places[0], places[1], foot, minimum_force, landing, carry,
                pulls, loaded[t], shares[t], chances[t],
            )  # fmt: skip
            doubted[t] = known and carries >= 0 and np.isnan(pulls[0, 0])
        if points.any():
            _stand_on_points(
                points, radii, scalars, carry, felt, up, oriented, normals[t : t + 1], foot,
                contact_force, carries >= 0, soles[t], corners[t], forces[t], wrenches[t],
                loaded[t],
            )  # fmt: skip
        _add_up(wrenches[t], total[t])
        most[t] = carries
        if carries < 0:
            shares[t] = np.nan
            most[t] = stand(forces[t], corners[t], foot, up, contact_force, loaded[t])
            most[t] = as_stated(carry, loaded[t], most[t])


@kernel
def _move(
    poses: Array,
    later: Array,
    carriers: Indices,
    radii: Array,
    foot: Indices,
    up: Array,
    state: Array,
    corners: Array,
    places: Array,
) -> None:
    """Write corners (C, 3) of soles [m], and what moves there but for the root's velocity [m/s].

    Those of balls are their lowest points.

    Args:
        poses: (B, 12) of the bodies.
        later: (B, 12) after `STEP`.
        carriers: (F,) the bodies that carry the soles.
        radii: (F,) of balls [m]; NaN of other feet.
        foot: (C,) which foot each corner belongs to.
        up: (3,) unit vector.
        state: φ, ω, … of the root.
        corners: (C, 3) of the soles, of balls their centres [m].
        places: (2, C, 3) out.
    """
    for c in range(len(foot)):
        f = foot[c]
        at, now, then = vector(corners[c], 0), poses[carriers[f]], later[carriers[f]]
        if np.isfinite(radii[f]):
            at = add(at, scale(-radii[f], vector(up, 0)))
        on_body = rotate_back(now, add(at, scale(-1.0, vector(now, POSITION))))
        shift = add(add(rotate(then, on_body), vector(then, POSITION)), scale(-1.0, at))
        store(places[0, c], 0, at)
        store(places[1, c], 0, add(scale(1.0 / STEP, shift), cross(vector(state, 3), at)))


@kernel
def _stand_on_points(
    points: Flags,
    radii: Array,
    scalars: Indices,
    carry: Array,
    felt: Array,
    up: Array,
    oriented: bool,
    stated: Array,
    foot: Indices,
    contact_force: float,
    is_given: bool,
    soles: Array,
    corners: Array,
    forces: Array,
    wrenches: Array,
    loaded: Flags,
) -> None:
    """Write forces on points along the ground's normal, and where balls touch the ground.

    The normal is the stated one or that of the plane through the points that carry load. These
    are found along the vertical first. Where that is not known, three or more determine it alone.

    Args:
        points: (F,) which feet are points.
        radii: (F,) of balls [m]; NaN of other feet.
        scalars: (F,) which measure FORCE or CONTACT alone.
        carry: (F,) 1 where a sensor says that a foot carries load, 0 where not; else NaN.
        felt: (F, 3) forces on the feet [N].
        up: (3,) a vector pointing up.
        oriented: whether the vertical is known, so that this is it.
        stated: (1, 3) normal of the ground, (0, 3) if it is that of the feet.
        foot: (C,) which foot each corner belongs to.
        contact_force: normal force from which on a foot is loaded [N].
        is_given: whether it is known which feet carry load.
        soles: (F, 12) poses, with the centres of balls; out: their points on the ground.
        corners: (C, 3) likewise [m].
        forces: (F,) normal forces [N]; changed for points.
        wrenches: (F, 6) about the root [N, N·m]; changed for points that measure FORCE alone.
        loaded: (F,) which feet carry load, if it is given; else scratch.
    """
    centres = soles[:, POSITION:].copy()
    if len(stated):
        _touch(points, radii, felt, stated[0], centres, foot, soles, corners, forces, scalars)
        _press(points, scalars, forces, stated[0], foot, corners, wrenches)
        return
    vertical = up / np.sqrt(dot(vector(up, 0), vector(up, 0)))
    n, known, level = vertical.copy(), 0, np.empty((2, 3))
    level_axes(vector(vertical, 0), level)
    for _ in range(PASSES):
        _touch(points, radii, felt, n, centres, foot, soles, corners, forces, scalars)
        if not is_given:
            stand(forces, corners, foot, vertical, contact_force, loaded)
            as_stated(carry, loaded, 0)
        known = level_normal(soles[:, POSITION:], loaded & points, vertical, level, n)
    if known == 2 or oriented:
        _touch(points, radii, felt, n, centres, foot, soles, corners, forces, scalars)
        _press(points, scalars, forces, n, foot, corners, wrenches)
        return
    for f in range(len(radii)):
        if np.isfinite(radii[f]):  # the load is known, the ground is not
            soles[f] = np.nan
    for c in range(len(foot)):
        if np.isfinite(radii[foot[c]]):
            corners[c] = np.nan
    _press(points, scalars, forces, n, foot, corners, wrenches)


@kernel
def _touch(
    points: Flags,
    radii: Array,
    felt: Array,
    normal: Array,
    centres: Array,
    foot: Indices,
    soles: Array,
    corners: Array,
    forces: Array,
    scalars: Indices,
) -> None:
    """Write forces (F,) on points along a normal (3,), and poses and corners of balls."""
    n, axes, known = vector(normal, 0), np.empty((2, 3)), np.isfinite(normal).all()
    level_axes(n, axes)
    for f in range(len(points)):
        if points[f] and not scalars[f]:
            force = vector(felt[f], 0)
            forces[f] = dot(n, force) if known else np.sqrt(dot(force, force))
        if np.isfinite(radii[f]):
            for k in range(3):
                store(soles[f], 3 * k, (axes[0, k], axes[1, k], n[k]))
            store(soles[f], POSITION, add(vector(centres[f], 0), scale(-radii[f], n)))
    for c in range(len(foot)):
        if np.isfinite(radii[foot[c]]):
            store(corners[c], 0, vector(soles[foot[c]], POSITION))


@kernel
def _press(
    points: Flags,
    scalars: Indices,
    forces: Array,
    normal: Array,
    foot: Indices,
    corners: Array,
    wrenches: Array,
) -> None:
    """Write the wrenches (F, 6) on points of which only the normal force is measured."""
    for f in range(len(points)):
        if not (points[f] and scalars[f] == FORCE):
            continue
        force, count = scale(forces[f], vector(normal, 0)), 0
        store(wrenches[f], 0, force)
        wrenches[f, 3:] = 0.0
        for c in range(len(foot)):
            if foot[c] == f:
                count += 1
                at = cross(vector(corners[c], 0), force)
                store(wrenches[f], 3, add(vector(wrenches[f], 3), at))
        wrenches[f, 3:] /= count


@inlined
def _add_up(wrenches: Array, total: Array) -> None:
    """Write the sum of wrenches (F, 6)."""
    for k in range(6):
        total[k] = wrenches[0, k] if len(wrenches) else 0.0
        for f in range(1, len(wrenches)):
            total[k] += wrenches[f, k]
