"""A robot prepared for evaluation: its model, and where on it each sensor and sole sits.

Everything that can be wrong between a robot file, a URDF and the frame_ids of a recording is
found here, before anything is computed.
"""

from dataclasses import dataclass, replace

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.rotations import from_rpy, rotated_back
from izmp_dynamics.model.feet import Foot, Ground
from izmp_dynamics.model.robot_file import RobotFile, unknown_link
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.sensors import Accelerometer, Imu, SegmentUnit
from izmp_dynamics.signals.correction import NO_CORRECTION, Correction
from izmp_dynamics.stability.sole_motion import sole_motion

AXES = {'x': 0, 'y': 1, 'z': 2}

_BELOW = (
    'below names the link under the sensor, usually the foot: it and all it carries press on the '
    'ground without being felt by the sensor, so their weight and inertia are added to its '
    'readings. Leave it out if nothing is below the sensor.'
)


@dataclass(frozen=True)
class Mount:
    """Where a sensor sits on the root link, or on another one.

    Attributes:
        name: of its signal.
        R: (3, 3) root_R_sensor, or body_R_sensor.
        p: (3,) origin of the sensor frame in the root frame, or in that of the body [m].
        axes: (k,) indices of the sensitive axes.
        correction: of its samples.
    """

    name: str
    R: Array
    p: Array
    axes: tuple[int, ...] = (0, 1, 2)
    correction: Correction = NO_CORRECTION


@dataclass(frozen=True)
class SegmentRig:
    """The unit on a link other than the root.

    Attributes:
        body: index of the body that carries it.
        imu: gyroscope and accelerometer; R and p are in the frame of the body.
        accelerometers: the further ones, likewise.
    """

    body: int
    imu: Mount
    accelerometers: tuple[Mount, ...]


@dataclass(frozen=True)
class FootRig:
    """A foot, prepared for evaluation.

    Attributes:
        name: of the foot.
        sole: link of the sole.
        polygon: (V, 2) corners of the sole in the sole frame [m]; of a ball its centre.
        sensor: link of the force sensor's frame; None without a sensor.
        normal_only: whether only the force along the sensor's z axis is measured.
        below: the robot with the mass below the sensor only; None if there is none.
        sole_R_imu: (3, 3) orientation of the foot's IMU in the sole; None without one.
        correction: of the samples of the force sensor; what comes out acts on the robot.
        imu_correction: of the samples of the IMU.
        scalar: whether its normal force is measured as a number ('force'), or only whether it
            carries load ('contact'); '' if neither is.
        radius: of the ball with which it touches the ground [m]; None of a flat sole.
    """

    name: str
    sole: str
    polygon: Array
    sensor: str | None
    normal_only: bool
    below: RobotModel | None
    sole_R_imu: Array | None = None
    correction: Correction = NO_CORRECTION
    imu_correction: Correction = NO_CORRECTION
    radius: float | None = None
    scalar: str = ''


@dataclass(frozen=True)
class Rig:
    """A robot, prepared for evaluation.

    Attributes:
        robot: its file.
        model: its model, rooted at the link that carries the IMU.
        imu: the IMU.
        accelerometers: the further accelerometers.
        position: the frame whose position in the world is known; None without one.
        feet: the feet.
        segments: the units on other links.
        ground_reference: link of the robot that is the reference frame of a moving ground's pose;
            None if that is the world, or if the ground does not move.
        minimum_force: normal force below which there is no ZMP [N].
        contact_force: normal force from which on a foot is loaded [N].
    """

    robot: RobotFile
    model: RobotModel
    imu: Mount
    accelerometers: tuple[Mount, ...]
    position: Mount | None
    feet: tuple[FootRig, ...]
    minimum_force: float
    contact_force: float
    segments: tuple[SegmentRig, ...] = ()
    ground_reference: str | None = None

    @property
    def units(self) -> dict[str, Mount]:
        """Link of the robot file → gyroscope and accelerometer of its unit."""
        links = (unit.link for unit in self.robot.segments)
        return dict(zip(links, (unit.imu for unit in self.segments), strict=True))

    def unit_pose(self, link: str) -> tuple[Array, Array]:
        """Axes (3, 3) and place (3,) [m] of the unit on a link, in the frame of that."""
        on, unit = self.model.mount(link), self.units[link]
        R = on.body_R_frame.T
        return R @ unit.R, R @ (unit.p - on.p_frame_in_body)


def unit_rates(rig: Rig, q: Array, qd: Array, omega: Array, units: Array) -> Array:
    """Angular velocities by units on other links, and by root and joints.

    The latter as in the outward recursion of MR-AD (Gießler & Waltersberger 2023, eqs. 15–20).

    Args:
        rig: the robot.
        q: (K, n) joint positions.
        qd: (K, n) joint velocities.
        omega: (K, 3) angular velocity of the root in its axes [rad/s].
        units: (K, S, 9) φ, ω, ω̇ by the units, in the axes of their bodies.

    Returns:
        (K, 2, S, 3) in the axes of the units [rad/s]; NaN where they or a joint are not known.
    """
    found = np.full((len(q), 2, len(rig.segments), 3), np.nan)
    known = np.isfinite(q + qd).all(axis=1)
    q, qd = q[known], qd[known]
    for k, (link, mount) in enumerate(rig.units.items()):
        moved = sole_motion(rig.model, link, np.empty((0, 2)), lambda shift: q + shift * qd)
        R = moved.R @ rig.model.mount(link).body_R_frame.T @ mount.R
        found[:, 0, k] = units[:, k, 3:6] @ mount.R
        found[known, 1, k] = rotated_back(R, omega[known] + moved.w)
    return found


def make_rig(
    robot: RobotFile,
    model: RobotModel | None = None,
    frame_ids: dict[str, str | None] | None = None,
) -> Rig:
    """Prepare a robot for evaluation.

    Args:
        robot: the robot file.
        model: its model, if it is loaded already.
        frame_ids: topic (as in the robot file) → frame_id of its messages, for sensors whose
            frame the robot file does not state.

    Raises:
        ModelError: if the URDF cannot be used.
        UnknownNameError: if a link is named that the robot does not have.
        ReplayError: if a sensor's frame is not known, not on the root link, or on another leg.
    """
    model = model or load_model(robot.read_urdf(), robot.root)
    ids = frame_ids or {}
    ground = robot.ground
    minimum_force, contact_force = ground.forces(model.total_mass * robot.gravity)
    if ground.frame is not None and not ground.moves:
        _known(model, ground.frame, 'ground.frame')
    if robot.fusion.link is not None:
        _known(model, robot.fusion.link, 'fusion.link')
    return Rig(
        robot=robot,
        model=model,
        imu=_imu_mount(model, robot, ids),
        accelerometers=tuple(
            _mount(model, f'accelerometers[{k}]', sensor, ids)
            for k, sensor in enumerate(robot.accelerometers)
        ),
        position=_position_mount(model, robot, ids),
        feet=_on_their_legs(model, tuple(_foot(model, foot, ids) for foot in robot.feet)),
        minimum_force=minimum_force,
        contact_force=contact_force,
        segments=_segments(model, robot, ids),
        ground_reference=_ground_reference(model, ground, ids),
    )


def _on_their_legs(model: RobotModel, feet: tuple[FootRig, ...]) -> tuple[FootRig, ...]:
    """Refuse the frame of a force sensor that is on the leg of another foot."""
    chains = {foot.name: model.chain(foot.sole) for foot in feet}
    for foot in feet:
        body = None if foot.sensor is None else model.mount(foot.sensor).body
        if body is None or body in chains[foot.name]:
            continue
        for other, chain in chains.items():
            if body in chain:
                raise ReplayError(
                    f"feet[{foot.name}]: the force sensor's frame '{foot.sensor}' is on the leg "
                    f"of foot '{other}', not on that of the sole '{foot.sole}'; exchange "
                    'the frames or the topics.',
                    kind='on_other_leg', signal=f'feet[{foot.name}]', frame=foot.sensor,
                )  # fmt: skip
    return feet


def _mount(
    model: RobotModel,
    key: str,
    sensor: Imu | Accelerometer | SegmentUnit,
    frame_ids: dict[str, str | None],
    link: str | None = None,
) -> Mount:
    """Where a sensor sits on a link, of a unit, or on the root."""
    frame = _sensor_frame(model, sensor.frame, sensor.topic, frame_ids, key)
    on, body = model.mount(frame), 0 if link is None else model.mount(link).body
    if on.body != body and link is None:
        raise ReplayError(
            f"{key}: the frame '{frame}' moves against the root link '{model.root}'. The IMU and "
            "the accelerometers must sit on the root; set 'root' in the robot file to the link "
            'that carries them.',
            kind='not_on_root', signal=key, frame=frame,
        )  # fmt: skip
    if on.body != body:
        raise ReplayError(
            f"{key}: the frame '{frame}' moves against '{link}'; state a link that is fixed to "
            'it.',
            kind='not_on_segment', signal=key, frame=frame,
        )  # fmt: skip
    if isinstance(sensor, Accelerometer):
        axes = tuple(AXES[axis] for axis in sensor.axes)
        correction = Correction.of_delay(sensor.delay)
        return Mount(key, on.body_R_frame, on.p_frame_in_body, axes, correction)
    R = frozen(on.body_R_frame @ from_rpy(sensor.rotation))
    if isinstance(sensor, Imu):
        return Mount(key, R, on.p_frame_in_body, correction=Correction.of_imu(sensor))
    p = frozen(on.p_frame_in_body + on.body_R_frame @ np.array(sensor.xyz))
    return Mount(key, R, p, correction=Correction.of_delay(sensor.delay))


def _imu_mount(model: RobotModel, robot: RobotFile, frame_ids: dict[str, str | None]) -> Mount:
    imu, position = robot.imu, _position_mount(model, robot, frame_ids)
    if imu.from_position and position is not None:
        return replace(position, name='imu', correction=NO_CORRECTION)
    return _mount(model, 'imu', imu, frame_ids)


def _segments(
    model: RobotModel, robot: RobotFile, frame_ids: dict[str, str | None]
) -> tuple[SegmentRig, ...]:
    """The units on other links, each on a body of its own."""
    units: dict[int, SegmentRig] = {}
    for unit in robot.segments:
        name = f'segments[{unit.link}]'
        _known(model, unit.link, name)
        body = model.mount(unit.link).body
        if body == 0:
            raise ReplayError(
                f"{name}: '{unit.link}' is the root link '{model.root}' or fixed to it, whose "
                'motion imu measures already; take the unit out of segments.',
                kind='unit_on_root', signal=name,
            )  # fmt: skip
        if body in units:
            raise ReplayError(
                f"{name}: '{unit.link}' is fixed to the link of {units[body].imu.name}; state one "
                'of the two units.',
                kind='two_units', signal=name,
            )  # fmt: skip

        further = tuple(
            _mount(
                model, f'segment_accelerometers[{unit.link}][{k}]', sensor, frame_ids, unit.link
            )
            for k, sensor in enumerate(unit.accelerometers)
        )
        units[body] = SegmentRig(body, _mount(model, name, unit, frame_ids, unit.link), further)
    return tuple(units.values())


def _sensor_frame(
    model: RobotModel,
    stated: str | None,
    topic: str,
    frame_ids: dict[str, str | None],
    key: str,
    signal: str = '',
) -> str:
    """The link in whose axes a sensor measures: the stated one, or that of its messages."""
    frame = stated or frame_ids.get(topic)
    if not frame:
        raise ReplayError(
            f"The messages of '{topic}' name no frame_id, and the robot file does not state one: "
            f"add 'frame: LINK' under {key}, the link whose axes it measures in.",
            kind='no_frame_id', signal=signal or key, topic=topic,
        )  # fmt: skip
    frame = frame.lstrip('/')
    where = f'{key}.frame' if stated else f"the frame_id of '{topic}'"
    _known(model, frame, where, frame_ids.get(topic))
    return frame


def _known(model: RobotModel, link: str, where: str, frame_id: str | None = None) -> None:
    """Refuse a name that is no link of the robot; the frame_id may be the right one."""
    if link not in model.frame_names:
        raise unknown_link(link, model.frame_names, model.name, where, frame_id)


def _ground_reference(
    model: RobotModel, ground: Ground, frame_ids: dict[str, str | None]
) -> str | None:
    if ground.topic is None:
        return None
    if ground.frame in model.frame_names:
        raise ReplayError(
            f"ground.frame: '{ground.frame}' is a link of the robot, but with ground.topic it is "
            'the name of a frame that moves by itself; give that another name, or leave the topic '
            'out.',
            kind='ground_is_a_link',
            frame=ground.frame,
        )
    reference = (frame_ids.get(ground.topic) or '').lstrip('/')
    return reference if reference in model.frame_names else None


def _position_mount(
    model: RobotModel, robot: RobotFile, frame_ids: dict[str, str | None]
) -> Mount | None:
    if robot.position is None:
        return None
    frame = robot.position.frame or frame_ids.get(robot.position.topic) or model.root
    _known(model, frame, 'position.frame')
    if not model.mounted_on_root(frame):
        raise ReplayError(
            f"position: the frame '{frame}' moves against the root link '{model.root}'; it must "
            'be fixed to the root.',
            kind='not_on_root',
            signal='position',
            frame=frame,
        )
    mount = model.mount(frame)
    correction = Correction.of_delay(robot.position.delay)
    return Mount('position', mount.body_R_frame, mount.p_frame_in_body, correction=correction)


def _foot(model: RobotModel, foot: Foot, frame_ids: dict[str, str | None]) -> FootRig:
    key = f'feet[{foot.name}]'
    _known(model, foot.sole_frame, f'{key}.sole')
    sensor, below = None, None
    if foot.wrench is not None:
        sensor = _sensor_frame(
            model, foot.wrench.frame, foot.wrench.topic, frame_ids, f'{key}.wrench', key
        )
    for kind, load in (('wrench', foot.wrench), ('force', foot.force)):
        if load is not None and load.below is not None:
            _known(model, load.below, f'{key}.{kind}.below')
            _check_below(model, f'{key}.{kind}', foot.sole_frame, sensor, load.below)
            below = model.part(load.below)
    return FootRig(
        name=foot.name,
        sole=foot.sole_frame,
        polygon=frozen(foot.corners),
        sensor=sensor,
        normal_only=foot.normal_only,
        below=below if below is not None and below.total_mass > 0 else None,
        sole_R_imu=_imu_in_sole(model, foot, frame_ids),
        correction=Correction.of_wrench(foot.wrench) if foot.wrench else NO_CORRECTION,
        imu_correction=Correction.of_delay(foot.imu.delay if foot.imu else 0.0),
        radius=foot.radius,
        scalar='force' if foot.force else 'contact' if foot.contact else '',
    )


def _imu_in_sole(model: RobotModel, foot: Foot, frame_ids: dict[str, str | None]) -> Array | None:
    """(3, 3) sole_R_imu; None for a foot without an IMU."""
    if foot.imu is None:
        return None
    key, signal = f'feet[{foot.name}].imu', f'foot_imus[{foot.name}]'
    frame = _sensor_frame(model, foot.imu.frame, foot.imu.topic, frame_ids, key, signal)
    imu, sole = model.mount(frame), model.mount(foot.sole_frame)
    if imu.body != sole.body:
        raise ReplayError(
            f"feet[{foot.name}].imu: the frame '{frame}' moves against the sole "
            f"'{foot.sole_frame}'; the IMU of a foot must be fixed to its sole.",
            kind='not_on_sole',
            foot=foot.name,
            frame=frame,
        )
    return frozen(sole.body_R_frame.T @ imu.body_R_frame)


def _check_below(model: RobotModel, key: str, sole: str, sensor: str | None, below: str) -> None:
    """Refuse a link as `below` that is not between sensor and ground.

    Its mass is added to what the sensor measures; a link on the wrong side of the sensor would add
    the mass of a leg, or of the robot.
    """
    carried = model.links_carried(below)
    if below == model.root:
        why = 'is the root link, and all of the robot would count'
    elif sole not in carried:
        why = f"does not carry the sole '{sole}'"
    elif sensor is not None and _is_above(model, below, sensor):
        mass = model.part(below).total_mass
        why = f"is above the sensor '{sensor}': it carries it ({mass:.3g} kg would count)"
    else:
        return
    suggestion = ''
    link = link_at(model, sole)
    if link != below and link != model.root:
        suggestion = f" Is '{link}' meant?"
    raise ReplayError(
        f"{key}.below: '{below}' {why}. {_BELOW}{suggestion}",
        kind='not_below',
        foot=key.partition('[')[2].partition(']')[0],
        link=below,
    )


def link_at(model: RobotModel, frame: str) -> str:
    """The first link with mass from a frame upwards: of a sole, the foot."""
    parents = {segment.link: segment for segment in model.tree.segments}
    while frame in parents and not parents[frame].segment.getInertia().getMass():
        frame = parents[frame].parent
    return frame


def _is_above(model: RobotModel, link: str, sensor: str) -> bool:
    """Whether a joint lies between a link and the frame of a sensor further down."""
    chain = model.chain(sensor)
    body = model.mount(link).body
    return (
        body in (0, *chain)
        and body != model.mount(sensor).body
        and (sensor in model.links_carried(link))
    )
