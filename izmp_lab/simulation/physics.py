"""Parameters of the simulated world: physics, servos, pushes as they are written."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import ShapeError, SimulationError, UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_lab.walking.plan import MotionPlan


@dataclass(frozen=True)
class Physics:
    """How the world behaves; gravity is the robot file's.

    Attributes:
        time_step: of the integration [s].
        friction: coefficient between soles and ground [-].
        solref: time constant [s] and damping ratio [-] of MuJoCo's soft contacts.
        impratio: friction-to-normal impedance of the contacts [-].
        mass_scale: factor on all masses and inertias, to ask what a wrong model costs [-].
    """

    time_step: float = 0.002
    friction: float = 1.0
    solref: tuple[float, float] = (0.01, 1.0)
    impratio: float = 10.0
    mass_scale: float = 1.0

    @classmethod
    def at_rate(cls, rate: float, friction: float | None = None) -> 'Physics':
        """Return the default physics at so many steps per second, with a friction if given.

        Raises:
            SimulationError: if the rate is not 100 Hz to 10 kHz, if its step is not a whole
                number of microseconds, or if the friction is not positive.
        """
        microseconds = 1e6 / rate if 100.0 <= rate <= 10_000.0 else 0.0
        if microseconds != round(microseconds) or not microseconds:
            raise SimulationError(
                f'The physics cannot run at {rate:g} Hz; valid are rates from 100 Hz to 10 kHz '
                'with a step of whole microseconds, e.g. 500 or 1000 Hz.',
                kind='physics_rate',
                rate=rate,
            )
        physics = cls(time_step=1e-6 * microseconds)
        if friction is None:
            return physics
        if not 0.0 < friction < math.inf:
            raise SimulationError(
                f'The friction must be above 0, not {friction:g}.',
                kind='friction',
                friction=friction,
            )
        return replace(physics, friction=friction)


@dataclass(frozen=True)
class Servo:
    """A position servo with feed-forward: force = kp (q_ref − q) + kv (q̇_ref − q̇) + τ_ff.

    Attributes:
        kp: [N·m/rad] or [N/m].
        kv: [N·m·s/rad] or [N·s/m].
        armature: inertia of the rotor seen at the joint [kg·m²] or [kg].
        damping: viscous friction of the joint [N·m·s/rad] or [N·s/m].
    """

    kp: float = 4000.0
    kv: float = 28.0
    armature: float = 0.1
    damping: float = 0.1


@dataclass(frozen=True)
class Push:
    """A constant force for a while, at the centre of mass of the body that carries a link.

    Attributes:
        link: name of the link.
        force: (3,) in world axes [N].
        start: time in the recording [s].
        duration: [s].
    """

    link: str
    force: Array
    start: float
    duration: float

    def __post_init__(self) -> None:
        """Freeze a copy of the force."""
        force = frozen(self.force)
        if force.shape != (3,):
            raise ShapeError('force', '(3,)', force.shape)
        object.__setattr__(self, 'force', force)

    def steps(self, time_step: float) -> tuple[int, int]:
        """Return the first step of the push and the first one after it."""
        return round(self.start / time_step), round((self.start + self.duration) / time_step)


DIRECTIONS: Mapping[str, tuple[float, float, float]] = {
    'forward': (1.0, 0.0, 0.0),
    'back': (-1.0, 0.0, 0.0),
    'left': (0.0, 1.0, 0.0),
    'right': (0.0, -1.0, 0.0),
    'lateral': (0.0, 1.0, 0.0),
    'up': (0.0, 0.0, 1.0),
    'down': (0.0, 0.0, -1.0),
}
"""Name → direction as the robot faces; 'lateral' is to the left."""

_FORM = 'NEWTONS:DIRECTION:START[:DURATION], e.g. 40:lateral:3.0 or 40:forward:3.0:0.1'


@dataclass(frozen=True)
class Shove:
    """A push relative to where the robot faces.

    Attributes:
        force: [N].
        direction: one of DIRECTIONS.
        start: time in the recording [s].
        duration: [s].
        link: at the centre of mass of the body that carries it.
    """

    force: float
    direction: str
    start: float
    duration: float = 0.1
    link: str = 'trunk'

    def __post_init__(self) -> None:
        """Refuse pushes that cannot be."""
        if self.direction not in DIRECTIONS:
            raise UnknownNameError('direction of a push', self.direction, DIRECTIONS)
        if not (0.0 < self.force < math.inf and 0.0 < self.duration < math.inf):
            raise SimulationError(
                f'A push needs a force and a duration above zero, not {self.force:g} N and '
                f'{self.duration:g} s.',
                kind='push_size',
                force=self.force,
                duration=self.duration,
            )
        if not 0.0 <= self.start < math.inf:
            raise SimulationError(
                f'A push starts at 0 s or later, not at {self.start:g} s.',
                kind='push_start',
                start=self.start,
            )

    @classmethod
    def parse(cls, text: str, link: str = 'trunk') -> 'Shove':
        """Read 'NEWTONS:DIRECTION:START[:DURATION]'.

        Raises:
            SimulationError: if the text has not that form, or as the constructor does.
        """
        parts = text.split(':')
        try:
            force, direction, start, *rest = parts
            numbers = [float(number) for number in (force, start, *rest)]
        except ValueError:
            numbers = []
        if not 2 <= len(numbers) <= 3:
            raise SimulationError(
                f"The push '{text}' is not of the form {_FORM}.", kind='push_format', text=text
            )
        duration = numbers[2] if len(numbers) == 3 else 0.1
        return cls(numbers[0], direction, numbers[1], duration, link)

    def push(self, plan: MotionPlan) -> Push:
        """Return the push in the world, turned as the planned root faces when it starts.

        Raises:
            SimulationError: if it does not end within the plan.
        """
        if self.start + self.duration > plan.duration + 1e-9:
            raise SimulationError(
                f'A push from {self.start:g} s to {self.start + self.duration:g} s does not fit '
                f"into the motion '{plan.name}', which ends at {plan.duration:.2f} s.",
                kind='push_outside_motion',
                start=self.start,
                duration=self.duration,
                plan=plan.name,
            )
        world_R_root = plan.root.rotation[round(self.start / plan.time_step)]
        heading = np.arctan2(world_R_root[1, 0], world_R_root[0, 0])
        turned = Rotation.from_euler('z', heading).apply(DIRECTIONS[self.direction])
        return Push(self.link, self.force * turned, self.start, self.duration)


def check_sensors(file: RobotFile) -> None:
    """Refuse a robot file whose sensors are not those that a simulation has.

    Raises:
        SimulationError: with an IMU without gravity, or a unit that is not at its frame.
    """
    if file.imu.gravity_removed:
        raise SimulationError(
            'A simulated IMU measures specific force; the robot file says '
            'imu.gravity_removed: true, which it must not for a simulation.',
            kind='gravity_removed', sensor='imu',
        )  # fmt: skip
    for unit in file.segments:
        if any((*unit.xyz, *unit.rotation, unit.delay)):
            raise SimulationError(
                'A simulated unit is at its frame and not late; take xyz, rotation and delay of '
                f'segments.{unit.link} out of the robot file, which a calibration found.',
                kind='unit_not_at_frame', link=unit.link,
            )  # fmt: skip
