"""Parameters of the simulated world: physics, servos, pushes."""

import math
from dataclasses import dataclass, replace

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import ShapeError, SimulationError


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
