"""What Newton's equations and resting feet leave over, at the instants of a stretch.

    wrench        Σ links above the sensors W θ − Σ feet X (f − o), about the root in root axes
    gyroscope     a foot rests: ω of the root = −ω of the foot against it
    accelerometer a foot rests on level ground: φ of the root from the leg and g along its normal
    swing         a foot is in the air: f − o = −(inertia of what is below the sensor)

Feet that measure the vertical force alone give three rows of the wrench, in the sole of the foot
that carries: the horizontal forces, which are not known, have no part in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array, cross
from izmp_dynamics.calibration.contact import contacts
from izmp_dynamics.calibration.instants import RATE, Instants
from izmp_dynamics.calibration.parameters import LAG, Layout
from izmp_dynamics.calibration.regressor import (
    SIZE,
    LinkInertia,
    moved,
    regressor,
)
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad_batch import mr_ad_batch
from izmp_dynamics.model.body_layout import MASS, MULTIPLIER
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.rig import FootRig
from izmp_dynamics.stability.zmp import zero_moment_point

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Block:
    """Residuals of one kind.

    Attributes:
        name: 'wrench', 'gyroscope[FOOT]', 'accelerometer[FOOT]' or 'swing[FOOT]'.
        rows: (K,) the instants that have it.
        values: (K, c), zero elsewhere.
    """

    name: str
    rows: Flags
    values: Array


@dataclass(frozen=True)
class Motion:
    """The root at K instants in root axes: φ, ω, ω̇, (K, 3) each; ω with the stated mounting."""

    phi: Array
    omega: Array
    alpha: Array
    stated: Array


def decide_contacts(instants: Instants, layout: Layout, x: Array) -> None:
    """Find out which feet rest and which are in the air, with the delayed forces."""
    loads: list[Array | None] = []
    for foot, sole in zip(instants.rig.feet, instants.soles, strict=True):
        if foot.sensor is None:
            loads.append(None)
            continue
        R, _ = instants.sensors[foot.name]
        force = np.einsum('tij,tj->ti', R, foot_wrench(instants, layout, x, foot)[:, :3])
        loads.append(np.einsum('ti,ti->t', force, sole.R[:, :, 2]))
    weight = instants.rig.model.total_mass * instants.rig.robot.gravity
    instants.rest, instants.air = contacts(instants.soles, tuple(loads), weight, RATE)


def root_motion(instants: Instants, layout: Layout, x: Array) -> Motion:
    """φ, ω and ω̇ of the root from the IMU, less its errors."""
    rig = instants.rig
    force = instants.times + layout.value(x, 'imu.delay', 1)
    gyro = force + layout.value(x, LAG, 1)
    R = rig.imu.R @ Rotation.from_rotvec(layout.value(x, 'imu.rotation', 3)).as_matrix()
    omega = (instants.imu.at(gyro)[:, :3] - layout.value(x, 'imu.gyroscope_bias', 3)) @ R.T
    alpha = instants.imu.at(gyro, 1)[:, :3] @ R.T
    read = (instants.imu.at(force)[:, 3:] - layout.value(x, 'imu.accelerometer_bias', 3)) @ R.T
    r = np.broadcast_to(rig.imu.p, omega.shape)
    phi = read - cross(alpha, r) - cross(omega, cross(omega, r))
    return Motion(phi, omega, alpha, omega @ R @ rig.imu.R.T)


def foot_wrench(instants: Instants, layout: Layout, x: Array, foot: FootRig) -> Array:
    """(K, 6) what the sensor of a foot measures, less its errors, in the axes of its frame."""
    return with_gains(layout, x, foot, bare_wrench(instants, layout, x, foot))


def bare_wrench(instants: Instants, layout: Layout, x: Array, foot: FootRig) -> Array:
    """(K, 6) the same before its gains, which make small what is compared with nothing."""
    name = f'feet[{foot.name}].wrench'
    late = instants.times + layout.value(x, f'{name}.delay', 1)
    offset = layout.value(x, f'{name}.offset', 6)
    if len(offset) == 1:
        offset = np.array([0.0, 0.0, offset[0], 0.0, 0.0, 0.0])
    values = instants.feet[foot.name].at(late) - offset
    turn = Rotation.from_rotvec(layout.value(x, f'{name}.rotation', 3)).as_matrix()
    turned: Array = (values.reshape(-1, 2, 3) @ turn.T).reshape(-1, 6)
    return turned


def with_gains(layout: Layout, x: Array, foot: FootRig, bare: Array) -> Array:
    """(K, 6) wrenches of a foot with scale and calibration matrix applied."""
    name = f'feet[{foot.name}].wrench'
    scaled = (1.0 + layout.value(x, f'{name}.scale', 1)[0]) * bare
    gained: Array = scaled + scaled @ layout.value(x, f'{name}.matrix', 36).reshape(6, 6).T
    return gained


@dataclass(frozen=True)
class Readings:
    """What the feet's sensors measure, foot → (K, 6), less their errors.

    Attributes:
        full: as `foot_wrench` gives it.
        bare: as `bare_wrench` gives it.
    """

    full: Mapping[str, Array]
    bare: Mapping[str, Array]

    def with_foot(
        self, instants: Instants, layout: Layout, x: Array, foot: FootRig, gains_alone: bool
    ) -> 'Readings':
        """The same with a foot read for other values x (N,); perhaps only its gains differ."""
        name = foot.name
        bare = self.bare[name] if gains_alone else bare_wrench(instants, layout, x, foot)
        full = with_gains(layout, x, foot, bare)
        return Readings({**self.full, name: full}, {**self.bare, name: bare})


def readings(instants: Instants, layout: Layout, x: Array) -> Readings:
    """Read all feet for the parameters x (N,)."""
    feet = instants.measured
    bare = {foot.name: bare_wrench(instants, layout, x, foot) for foot in feet}
    return Readings(
        {foot.name: with_gains(layout, x, foot, bare[foot.name]) for foot in feet}, bare
    )


def inertia_changes(layout: Layout, x: Array) -> dict[str, Array]:
    """Link → (10,) what is added to its parameters."""
    if layout.inertias:
        names = [inertia.link for inertia in layout.inertias]
        changes = np.stack([layout.value(x, f'inertia[{name}]', SIZE) for name in names])
        return dict(zip(names, changes, strict=True))
    link = layout.payload_link
    mass = float(layout.value(x, 'payload.mass', 1)[0])
    shift = layout.value(x, 'payload.com', 3)
    if mass == 0.0 and not shift.any():
        return {}
    return {link.link: moved(link.theta, mass, shift) - link.theta}


def _bodies(
    model: RobotModel, links: tuple[LinkInertia, ...], changes: Mapping[str, Array]
) -> Array:
    """`bodies` of a robot that has the mass of some links alone, with changes."""
    bodies: Array = model.bodies.copy()
    bodies[:, MASS:MULTIPLIER] = 0.0
    for link in links:
        theta = link.theta + changes.get(link.link, 0.0)
        bodies[link.body, MASS:MULTIPLIER] += link.to_body @ theta
    return bodies


def states(instants: Instants, motion: Motion) -> Array:
    """(K, 9 + 3n) as the kernels take them."""
    return np.hstack(
        [motion.phi, motion.omega, motion.alpha, instants.q, instants.qd, instants.qdd]
    )


@dataclass(frozen=True)
class Required:
    """What the motion requires.

    Attributes:
        above: (K, 6) wrench on all links that the sensors carry, about the root.
        below: foot → (K, 6) wrench on the links below its sensor, about the root.
    """

    above: Array
    below: Mapping[str, Array]

    @property
    def total(self) -> Array:
        """(K, 6) contact wrench."""
        return self.above + np.asarray(sum(self.below.values(), np.zeros(6)))


def required(instants: Instants, layout: Layout, x: Array, motion: Motion) -> Required:
    """Wrenches that the motion requires."""
    model, changes = instants.rig.model, inertia_changes(layout, x)
    packed = states(instants, motion)

    def wrench(links: tuple[LinkInertia, ...]) -> Array:
        bodies = _bodies(model, links, changes)
        wrenches: Array = mr_ad_batch(model.joints, bodies, packed)[:, :6]
        return wrenches

    felt = frozenset().union(*instants.below.values())
    return Required(
        wrench(tuple(link for link in instants.links if link.link not in felt)),
        {
            name: wrench(tuple(link for link in instants.links if link.link in names))
            for name, names in instants.below.items()
            if names
        },
    )


def measured_wrench(instants: Instants, feet: Mapping[str, Array]) -> Array:
    """(K, 6) sum of what the sensors measure, about the root in root axes."""
    total = np.zeros((len(instants), 6))
    for name, values in feet.items():
        R, p = instants.sensors[name]
        total += ContactWrench.from_array(values).transformed(R, p).as_array()
    return total


def in_sensor(instants: Instants, name: str, wrench: Array) -> Array:
    """(K, 6) a wrench about the root in the frame of a foot's sensor."""
    return ContactWrench.from_array(wrench).seen_from(*instants.sensors[name]).as_array()


def carrying(instants: Instants, feet: Mapping[str, Array]) -> tuple[Array, Array]:
    """Sole of the foot that carries most: root_R_sole (K, 3, 3) and its origin (K, 3)."""
    loads = np.stack(
        [
            np.einsum('tij,tj->ti', instants.sensors[foot.name][0], feet[foot.name][:, :3])[
                :, None
            ]
            @ sole.R[:, :, 2:]
            for foot, sole in zip(instants.rig.feet, instants.soles, strict=True)
            if foot.sensor is not None
        ]
    ).reshape(-1, len(instants))
    most = np.argmax(loads, axis=0)
    rows = np.arange(len(instants))
    soles = [
        sole
        for foot, sole in zip(instants.rig.feet, instants.soles, strict=True)
        if foot.sensor is not None
    ]
    return (
        np.stack([sole.R for sole in soles])[most, rows],
        np.stack([sole.p for sole in soles])[most, rows],
    )


def residuals(instants: Instants, layout: Layout, x: Array) -> list[Block]:
    """All residuals for the parameters x (N,)."""
    motion = root_motion(instants, layout, x)
    needed = required(instants, layout, x, motion)
    return blocks(instants, motion, needed, readings(instants, layout, x), tilts(layout, x))


def tilts(layout: Layout, x: Array) -> Mapping[str, tuple[float, float]]:
    """Foot → how far its sole is from level while it rests, about its x and y [rad]."""
    return {name: tuple(layout.value(x, f'feet[{name}].tilt', 2)) for name in layout.soles}


def blocks(
    instants: Instants,
    motion: Motion,
    needed: Required,
    feet: Readings,
    tilts: Mapping[str, tuple[float, float]],
) -> list[Block]:
    """Residuals from their parts."""
    found = wrench_block(instants, needed, feet)
    for k, foot in enumerate(instants.rig.feet):
        found += rest_blocks(instants, k, motion, tilts[foot.name])
        found += swing_block(instants, k, needed, feet)
    return found


def wrench_block(instants: Instants, needed: Required, feet: Readings) -> list[Block]:
    """What the sum of all feet leaves over; none unless all have sensors."""
    if not feet.full or len(feet.full) != len(instants.rig.feet):
        return []
    rest = needed.above - measured_wrench(instants, feet.full)
    everything = np.ones(len(instants), dtype=np.bool_)
    return [Block('wrench', everything, _observable(instants, rest))]


def rest_blocks(
    instants: Instants, k: int, motion: Motion, tilt: tuple[float, float]
) -> list[Block]:
    """What foot k leaves over of the motion of the root while it rests."""
    name, rows = instants.rig.feet[k].name, instants.rest[:, k]
    phi, omega = instants.soles[k].root_at_rest(instants.rig.robot.gravity, tilt)
    return [
        _masked(f'gyroscope[{name}]', rows, motion.stated - omega),
        _masked(f'accelerometer[{name}]', rows, motion.phi - phi),
    ]


def swing_block(instants: Instants, k: int, needed: Required, feet: Readings) -> list[Block]:
    """What the sensor of foot k leaves over in the air; none without one."""
    foot = instants.rig.feet[k]
    if foot.name not in feet.bare:
        return []
    values = feet.bare[foot.name]
    if foot.name in needed.below:
        values = values + in_sensor(instants, foot.name, needed.below[foot.name])
    values = values[:, 2:3] if foot.normal_only else values
    return [_masked(f'swing[{foot.name}]', instants.air[:, k], values)]


def _masked(name: str, rows: Flags, values: Array) -> Block:
    return Block(name, rows, np.where(rows[:, None], values, 0.0))


def _observable(instants: Instants, wrench: Array) -> Array:
    """The components of a residual wrench that the sensors measure."""
    if not instants.normal_only:
        return wrench
    sole = instants.soles[0]
    in_sole = ContactWrench.from_array(wrench).seen_from(sole.R, sole.p)
    return np.column_stack([in_sole.force[:, 2], in_sole.moment[:, :2]])


def points(instants: Instants, layout: Layout, x: Array) -> tuple[Array, Array]:
    """(K, 3) IZMP of the motion and CoP of the sensors in the root frame; NaN in flight [m]."""
    motion = root_motion(instants, layout, x)
    needed = required(instants, layout, x, motion)
    return zmp_and_cop(instants, needed, readings(instants, layout, x))


def zmp_and_cop(instants: Instants, needed: Required, readings: Readings) -> tuple[Array, Array]:
    """The same two from what the motion requires and the sensors measure."""
    feet = readings.full
    below = np.asarray(sum(needed.below.values(), np.zeros(6)))
    measured = measured_wrench(instants, feet) + below
    R, p = carrying(instants, feet)
    least = instants.rig.minimum_force
    izmp, cop = (
        zero_moment_point(ContactWrench.from_array(wrench), R[:, :, 2], p, least)
        for wrench in (needed.total, measured)
    )
    return izmp, cop


def inertia_jacobian(instants: Instants, motion: Motion) -> dict[str, Array]:
    """Block → (K, c, L · 10) derivatives of its values with respect to all links' parameters."""
    columns = regressor(instants.rig.model, instants.links, states(instants, motion))
    flat = (len(instants), 6, len(instants.links) * SIZE)
    felt = frozenset().union(*instants.below.values())
    links = [link.link for link in instants.links]
    above = np.repeat([link not in felt for link in links], SIZE)
    jacobian = {'wrench': columns.reshape(flat) * above}
    for name, below in instants.below.items():
        if below:
            mine = np.repeat([link in below for link in links], SIZE)
            wrench = np.moveaxis(columns.reshape(flat) * mine, 2, 0)
            moved_ = np.stack([in_sensor(instants, name, column) for column in wrench], axis=2)
            jacobian[f'swing[{name}]'] = moved_
    return jacobian
