"""What Newton's equations and resting feet leave over, at instants of a segment.

    wrench        Σ links above the sensors W θ − Σ feet X (f − o), about the root in root axes
    gyroscope     a foot rests: ω of the root = −ω of the foot against it
    accelerometer a foot rests on level ground: φ of the root from the leg and g along its normal
    swing         a foot is in the air: f − o = −(inertia of what is below the sensor)
    unit          ω and φ of a unit on another link = those of the root carried over the joints

Feet that measure the vertical force alone give three rows of the wrench, in the sole of the foot
that carries: the horizontal forces, which are not known, have no part in them. Which foot rests is
decided by height first: while a robot sways, a foot may be without load on the ground.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.ndimage
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Flags, Indices, cross
from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.calibration.inertias import LinkInertia, moved
from izmp_dynamics.calibration.parameters import LAG, POSE_DELAY, Layout
from izmp_dynamics.calibration.segments import RATE, Instants
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad_batch import mr_ad_batch
from izmp_dynamics.model.body_layout import MASS, MULTIPLIER
from izmp_dynamics.pipeline.rig import FootRig
from izmp_dynamics.stability.clearance import CLEARANCE_WITH_FORCES, clearances
from izmp_dynamics.stability.sole_motion import SoleMotion
from izmp_dynamics.stability.zmp import zero_moment_point

_MARGIN = 0.04  # time about lift-off and touch-down that counts as neither [s]

UNLOADED = 0.1
"""A foot in the air reads what it reads in the air, within this part of the weight [-]."""

_LOADED = 0.5  # a foot that stands alone carries at least this part of the weight [-]

STILL = (0.05, 0.01)
"""Two soles that rest do not turn [rad/s] or move [m/s] faster against each other."""

BLOCK = 1.0
"""Length of a block of time, within which residuals are alike [s]."""

ROWS_OF_BLOCK = round(BLOCK * RATE)


@dataclass
class Rows(Record):
    """Residuals of one kind.

    Attributes:
        values: (M, c).
        row: (M,) number of the instant in its segment.
        share: (M,) what each row counts, see `Instants`.
        label: (M,) of the block of time that it belongs to: number in its segment; of several
            segments see `solver.SEGMENT`.
        name: 'wrench', 'gyroscope[FOOT]', 'accelerometer[FOOT]', 'swing[FOOT]' or 'unit[LINK]'.
    """

    values: Array
    row: Indices
    share: Array
    label: Indices
    name: str

    @classmethod
    def of(
        cls, name: str, instants: Instants, values: Array, rows: Flags | slice = slice(None)
    ) -> 'Rows':
        """Take those of values (K, c) that the instants have."""
        row = instants.row[rows]
        return cls(values[rows], row, instants.shares[rows], row // ROWS_OF_BLOCK, name)

    @property
    def kind(self) -> str:
        """The name without the foot."""
        return self.name.partition('[')[0]

    @property
    def vectors(self) -> list[slice]:
        """Columns that are one vector: all forces, or all moments."""
        width = self.values.shape[1]
        forces = 3 if width == 6 else 1
        if self.kind in ('gyroscope', 'accelerometer') or width == forces:
            return [slice(0, width)]
        return [slice(0, forces), slice(forces, width)]


class Motion(NamedTuple):
    """The root at K instants in root axes: φ, ω, ω̇, (K, 3) each; ω with the stated mounting."""

    phi: Array
    omega: Array
    alpha: Array
    stated: Array


class Reading(NamedTuple):
    """What a foot's sensor measures, (K, 6), less its errors, in the axes of its frame.

    Attributes:
        bare: before its gains, which make small what is compared with nothing.
        full: with scale and calibration matrix applied.
    """

    bare: Array
    full: Array


class Required(NamedTuple):
    """What the motion requires.

    Attributes:
        above: (K, 6) wrench on all links that the sensors carry, about the root.
        below: foot → (K, 6) wrench on the links below its sensor, about the root.
    """

    above: Array
    below: Mapping[str, Array]

    @property
    def hanging(self) -> Array:
        """(K, 6) or (6,) wrench on all links below sensors."""
        return np.asarray(sum(self.below.values(), np.zeros(6)))


@dataclass(frozen=True)
class Terms:
    """What residuals are made from, for some values of the parameters.

    Attributes:
        motion: of the root.
        required: wrenches.
        feet: foot → what its sensor measures.
        tilts: foot → (2,) how far its sole is from level while it rests, about its x and y [rad].
        units: of the units on other links, what is left over.
    """

    motion: Motion
    required: Required
    feet: Mapping[str, Reading]
    tilts: Mapping[str, Array]
    units: tuple[Rows, ...]

    @classmethod
    def of(cls, instants: Instants, layout: Layout, x: Array) -> 'Terms':
        """Make them for the parameters x (N,)."""
        motion = root_motion(instants, layout, x)
        return cls(
            motion,
            required(instants, layout, x, motion),
            {foot.name: read_foot(instants, layout, x, foot) for foot in instants.measured},
            tilts(instants, layout, x),
            tuple(unit_rows(instants, layout, x, link, motion) for link in instants.units),
        )

    @classmethod
    def stated(cls, instants: Instants) -> 'Terms':
        """Make them as the robot file has it."""
        return cls.of(instants, Layout((), instants.links[0]), np.zeros(0))


def decide_contacts(instants: Instants, layout: Layout, x: Array) -> None:
    """Find out which feet rest and which are in the air, with the delayed forces."""
    loads: list[Array | None] = []
    for foot, sole in zip(instants.rig.feet, instants.soles, strict=True):
        load = None
        if foot.sensor is not None:
            force = read_foot(instants, layout, x, foot).full[:, :3]
            load = _load(instants, foot, sole, force)
        loads.append(load)
    weight = instants.rig.model.total_mass * instants.rig.robot.gravity
    instants.rest, instants.air = contacts(instants.soles, tuple(loads), weight)


def contacts(
    soles: tuple[SoleMotion, ...], loads: tuple[Array | None, ...], weight: float
) -> tuple[Flags, Flags]:
    """Decide on the feet.

    Args:
        soles: of F feet.
        loads: (K,) normal force of each [N]; None without a sensor.
        weight: of the robot [N].

    Returns:
        (K, F) at rest on the ground, (K, F) in the air.
    """
    if len(soles) == 1:
        alone = np.ones(len(soles[0].p), dtype=np.bool_)
        rest = alone if loads[0] is None else loads[0] > _LOADED * weight
        return rest[:, None], ~alone[:, None]
    heights = clearances(soles)
    air = heights > CLEARANCE_WITH_FORCES
    for k, load in enumerate(loads):
        if load is not None and air[:, k].any():
            in_air = float(np.median(load[air[:, k]]))
            air[:, k] &= np.abs(load - in_air) < UNLOADED * weight
        air[:, k] = _eroded(air[:, k])
    rest = np.zeros_like(air)
    for k, (sole, load) in enumerate(zip(soles, loads, strict=True)):
        others = [other for other in range(len(soles)) if other != k]
        alone = ~air[:, k] & air[:, others].all(axis=1)
        if load is not None:
            alone &= load > _LOADED * weight
        near = np.abs(heights[:, others]) < CLEARANCE_WITH_FORCES
        together = np.all([_still(sole, soles[other]) for other in others], axis=0) & near.all(1)
        rest[:, k] = _eroded(alone) | _eroded(together)
    return rest, air


def _still(one: SoleMotion, other: SoleMotion) -> Flags:
    turning = np.linalg.norm(one.w - other.w, axis=1)
    # what the second sole does in the first one's frame
    moving = np.linalg.norm(other.v - one.v - cross(one.w, other.p - one.p), axis=1)
    still: Flags = (turning < STILL[0]) & (moving < STILL[1])
    return still


def _eroded(flags: Flags) -> Flags:
    width = 2 * round(_MARGIN * RATE) + 1
    eroded: Flags = scipy.ndimage.binary_erosion(flags, np.ones(width), border_value=1)
    return eroded


def _load(instants: Instants, foot: FootRig, sole: SoleMotion, force: Array) -> Array:
    """(K,) normal force [N] of forces (K, 3) in the axes of a foot's sensor."""
    in_root = rotated(instants.sensors[foot.name][0], force)
    load: Array = np.einsum('ti,ti->t', in_root, sole.R[:, :, 2])
    return load


def root_motion(instants: Instants, layout: Layout, x: Array, lag: Array | float = 0.0) -> Motion:
    """φ, ω and ω̇ of the root from the IMU, less its errors and a further lag of its gyroscope."""
    rig = instants.rig
    delay = layout.value(x, 'imu.delay', 1) + layout.value(x, POSE_DELAY, 1)
    force = instants.times + delay
    gyro = force + layout.value(x, LAG, 1) + lag
    R = rig.imu.R @ Rotation.from_rotvec(layout.value(x, 'imu.rotation', 3)).as_matrix()
    omega = (instants.imu.at(gyro)[:, :3] - layout.value(x, 'imu.gyroscope_bias', 3)) @ R.T
    alpha = instants.imu.at(gyro, 1)[:, :3] @ R.T
    read = (instants.imu.at(force)[:, 3:] - layout.value(x, 'imu.accelerometer_bias', 3)) @ R.T
    r = np.broadcast_to(rig.imu.p, omega.shape)
    phi = read - cross(alpha, r) - cross(omega, cross(omega, r))
    return Motion(phi, omega, alpha, omega @ R @ rig.imu.R.T)


def unit_rows(instants: Instants, layout: Layout, x: Array, link: str, motion: Motion) -> Rows:
    """(K, 6) ω and φ of a unit, less those that root and joints have there, in axes of the link.

    For the parameters x (N,); `motion` is that of the root.
    """
    name, signal = f'segments[{link}]', instants.units[link]
    late = instants.times + layout.value(x, f'{name}.delay', 1)
    gyro = late + layout.value(x, f'{name}.gyroscope_delay', 1)
    omega = signal.at(gyro)[:, :3] - layout.value(x, f'{name}.gyroscope_bias', 3)
    phi = signal.at(late)[:, 3:] - layout.value(x, f'{name}.accelerometer_bias', 3)
    turn = Rotation.from_rotvec(layout.value(x, f'{name}.rotation', 3)).as_matrix()
    w, wd, phi = (v @ turn.T for v in (omega, signal.at(gyro, 1)[:, :3], phi))
    # by its own rates: those by noisy joints would put it where that noise moves it least
    shift = np.broadcast_to(layout.value(x, f'{name}.xyz', 3), w.shape)
    phi = phi - cross(wd, shift) - cross(w, cross(w, shift))
    R, s = instants.rig.unit_pose(link)
    lag = layout.value(x, f'{name}.root_gyroscope_delay', 1)
    if lag.any():
        motion = root_motion(instants, layout, x, lag)
    expected = instants.moved[link].carried(motion.phi, motion.omega, motion.alpha, s)
    left = np.hstack([w @ R.T, phi @ R.T]) - expected - instants.lost[link]
    return Rows.of(f'unit[{link}]', instants, left)


def read_foot(instants: Instants, layout: Layout, x: Array, foot: FootRig) -> Reading:
    """What the sensor of a foot measures for the parameters x (N,)."""
    name = f'feet[{foot.name}].wrench'
    late = instants.times + layout.value(x, f'{name}.delay', 1)
    offset = force_offset(layout, x, name)
    if foot.correction.matrix is not None:
        offset = foot.correction.matrix @ offset
    values = instants.feet[foot.name].at(late) - offset
    turn = Rotation.from_rotvec(layout.value(x, f'{name}.rotation', 3)).as_matrix()
    bare = (values.reshape(-1, 2, 3) @ turn.T).reshape(-1, 6)
    scaled = (1.0 + layout.value(x, f'{name}.scale', 1)[0]) * bare
    matrix = layout.value(x, f'{name}.matrix', 36).reshape(6, 6)
    return Reading(bare, scaled + scaled @ matrix.T)


def force_offset(layout: Layout, x: Array, name: str) -> Array:
    """(6,) offset of the sensor of that name in its axes; perhaps Fz alone is estimated."""
    offset = layout.value(x, f'{name}.offset', 6)
    return offset if len(offset) == 6 else np.array([0.0, 0.0, offset[0], 0.0, 0.0, 0.0])


def tilts(instants: Instants, layout: Layout, x: Array) -> dict[str, Array]:
    """Foot → (2,) how far its sole is from level while it rests, see `Terms`."""
    names = (foot.name for foot in instants.rig.feet)
    return {name: layout.value(x, f'feet[{name}].tilt', 2) for name in names}


def inertia_changes(layout: Layout, x: Array) -> dict[str, Array]:
    """Link → (10,) what is added to its parameters."""
    link = layout.payload_link
    mass = float(layout.value(x, 'payload.mass', 1)[0])
    shift = layout.value(x, 'payload.com', 3)
    if mass == 0.0 and not shift.any():
        return {}
    return {link.link: moved(link.theta, mass, shift) - link.theta}


def required(instants: Instants, layout: Layout, x: Array, motion: Motion) -> Required:
    """Wrenches that the motion requires."""
    model, changes = instants.rig.model, inertia_changes(layout, x)
    root = (motion.phi, motion.omega, motion.alpha)
    packed = np.hstack([*root, instants.q, instants.qd, instants.qdd])

    def wrench(links: Iterable[LinkInertia]) -> Array:
        bodies: Array = model.bodies.copy()
        bodies[:, MASS:MULTIPLIER] = 0.0
        for link in links:
            theta = link.theta + changes.get(link.link, 0.0)
            bodies[link.body, MASS:MULTIPLIER] += link.to_body @ theta
        wrenches: Array = mr_ad_batch(model.joints, bodies, packed)[:, :6]
        return wrenches

    felt = frozenset().union(*instants.below.values())
    return Required(
        wrench(link for link in instants.links if link.link not in felt),
        {
            name: wrench(link for link in instants.links if link.link in names)
            for name, names in instants.below.items()
            if names
        },
    )


def measured_wrench(instants: Instants, feet: Mapping[str, Reading]) -> Array:
    """(K, 6) sum of what the sensors measure, about the root in root axes."""
    total = np.zeros((len(instants), 6))
    for name, reading in feet.items():
        wrench = ContactWrench.from_array(reading.full)
        total += wrench.transformed(*instants.sensors[name]).as_array()
    return total


def in_sensor(instants: Instants, name: str, wrench: Array) -> Array:
    """(K, 6) a wrench about the root in the frame of a foot's sensor."""
    return ContactWrench.from_array(wrench).seen_from(*instants.sensors[name]).as_array()


def residuals(
    instants: Instants, terms: Terms, rest: bool = True, forces: bool = True
) -> list[Rows]:
    """Residuals of units, feet at rest and forces; of the wrench if all feet have sensors."""
    found = list(terms.units) if rest else []
    if forces and instants.all_measured:
        left = terms.required.above - measured_wrench(instants, terms.feet)
        if any(foot.normal_only for foot in instants.measured):
            sole = instants.soles[0]
            in_sole = ContactWrench.from_array(left).seen_from(sole.R, sole.p)
            left = np.column_stack([in_sole.force[:, 2], in_sole.moment[:, :2]])
        found.append(Rows.of('wrench', instants, left))
    for k, (foot, sole) in enumerate(zip(instants.rig.feet, instants.soles, strict=True)):
        name, tilt = foot.name, terms.tilts[foot.name]
        if rest:
            rows = instants.rest[:, k]
            phi, omega = sole.root_at_rest(instants.rig.robot.gravity, (tilt[0], tilt[1]))
            turning, force = terms.motion.stated - omega, terms.motion.phi - phi
            found.append(Rows.of(f'gyroscope[{name}]', instants, turning, rows))
            found.append(Rows.of(f'accelerometer[{name}]', instants, force, rows))
        if forces and name in terms.feet:
            values = terms.feet[name].bare
            if name in terms.required.below:
                values = values + in_sensor(instants, name, terms.required.below[name])
            values = values[:, 2:3] if foot.normal_only else values
            found.append(Rows.of(f'swing[{name}]', instants, values, instants.air[:, k]))
    return found


def zmp_and_cop(instants: Instants, terms: Terms) -> tuple[Array, Array]:
    """(K, 3) IZMP of the motion and CoP of the sensors in the root frame; NaN in flight [m].

    They lie in the sole of the foot that carries most.
    """
    soles, loads = [], []
    for foot, sole in zip(instants.rig.feet, instants.soles, strict=True):
        if foot.sensor is not None:
            soles.append(sole)
            loads.append(_load(instants, foot, sole, terms.feet[foot.name].full[:, :3]))
    most, rows = np.argmax(loads, axis=0), np.arange(len(instants))
    normal = np.stack([sole.R[:, :, 2] for sole in soles])[most, rows]
    p = np.stack([sole.p for sole in soles])[most, rows]
    izmp, cop = (
        zero_moment_point(
            ContactWrench.from_array(wrench + terms.required.hanging),
            normal,
            p,
            instants.rig.minimum_force,
        )
        for wrench in (terms.required.above, measured_wrench(instants, terms.feet))
    )
    return izmp, cop
