"""A trial: the truth of one simulated walk as arrays, from which any sensor can be derived.

A setup is a method, the rates of actuators and bus, and how derivatives are taken (Table 3).
"""

import dataclasses
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps, frozen, seconds
from izmp_dynamics.base.errors import RobotFileError, SimulationError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.settings import setting
from izmp_dynamics.signals.differences import Mask
from izmp_lab.walking.walk_parameters import WalkParameters

REFERENCE_RATE = 500.0
"""Rate at which the paper's reference curves were made [Hz] (sect. 5.2)."""


@dataclass(frozen=True)
class Setup:
    """One way to evaluate a walk.

    The convention 'paper' takes the quotients that robot files call 'paper', gives each the stamp
    of the newest sample (q̈ one later than the instant it belongs to, see
    `sensors.paper_quotient`), and its accelerometers report the mean over their sample
    interval, because those of the paper's simulator are differences of velocity. 'aligned' is this
    package's default: central quotients at the instant they belong to, and accelerometers that
    report that instant.
    """

    name: str = setting('what it is called in figures and tables')
    method: str = setting('dynamics', default='mr_ad', choices=('mr_ad', 'ir_md'))
    actuator: float = setting(
        'rate at which joints and sensors are sampled', default=500.0, unit='Hz', lower=1.0,
        upper=10_000.0,
    )  # fmt: skip
    bus: float = setting(
        'rate at which the dynamics are evaluated', default=125.0, unit='Hz', lower=1.0,
        upper=10_000.0,
    )  # fmt: skip
    angular_acceleration: str = setting(
        'from the accelerometers or the difference of the gyroscope (MR-AD)',
        default='accelerometers',
        choices=('accelerometers', 'gyro'),
    )
    step: str = setting(
        'samples that momentum (IR-MD) or gyroscope are differenced between',
        default='bus',
        choices=('bus', 'actuator'),
    )
    convention: str = setting(
        'how derivatives are taken', default='paper', choices=('paper', 'aligned')
    )

    def __post_init__(self) -> None:
        """Refuse a bus that is not fed."""
        strides = self.actuator / self.bus
        if self.stride < 1 or abs(strides - self.stride) > 1e-9 * strides:
            raise RobotFileError(
                f"in setup '{self.name}' the bus sees every n-th sample of the actuators, so its "
                f'rate must divide theirs; {self.bus:g} Hz does not divide {self.actuator:g} Hz.',
                kind='rate_divides_not',
                setup=self.name,
                bus=self.bus,
                actuator=self.actuator,
            )

    @property
    def stride(self) -> int:
        """Samples of the actuators per tick of the bus."""
        return round(self.actuator / self.bus)

    @property
    def label(self) -> str:
        """The method as the paper writes it."""
        return 'MR-AD' if self.method == 'mr_ad' else 'IR-MD'

    @property
    def quotient(self) -> str:
        """Method of the package's stages."""
        return 'central' if self.convention == 'aligned' else 'paper'

    @property
    def sample_step(self) -> float:
        """Time between neighbouring samples of what is differenced, momentum or gyroscope [s]."""
        return 1.0 / (self.bus if self.step == 'bus' else self.actuator)

    @property
    def differenced_over(self) -> float:
        """Time between the two samples of a difference: a central one spans two steps [s]."""
        return self.sample_step * (2.0 if self.convention == 'aligned' else 1.0)

    def reference(self, rate: float = REFERENCE_RATE) -> 'Setup':
        """Return what this setup is compared with: the same, both rates at `rate` [Hz]."""
        return dataclasses.replace(
            self, name=f'{self.name} reference', actuator=rate, bus=rate, step='bus'
        )

    def aligned(self) -> 'Setup':
        """Return the same setup with this package's conventions."""
        return dataclasses.replace(self, name=f'{self.name}*', convention='aligned')


SETUP_A = Setup('A', method='ir_md', actuator=125.0)
SETUP_B = Setup('B', actuator=125.0)
SETUP_C = Setup('C', method='ir_md')
SETUP_D = Setup('D')
SETUP_E = Setup('E', angular_acceleration='gyro')
SETUP_C_FAST = Setup('C, 2 ms', method='ir_md', step='actuator')
SETUP_E_FAST = Setup('E, 2 ms', angular_acceleration='gyro', step='actuator')

PAPER_SETUPS = (SETUP_A, SETUP_B, SETUP_C, SETUP_D, SETUP_E)
"""The setups of figs. 9 and 10; C and E difference over the bus step (8 ms)."""

VARIANTS = (SETUP_C_FAST, SETUP_E_FAST)
"""C and E differenced over the actuator step, because the paper leaves it open."""


SKIPPED_STEPS = 2
"""Steps at either end of a walk that no experiment looks at: starting and stopping."""

PUSH_DURATION = 0.1
"""How long a push lasts [s]."""


HEEL_TO_TOE = (-0.08, 0.10)
"""Way of the ZMP along the sole in a gait that rolls over the foot: that of fig. 6 [m]."""


@dataclass(frozen=True)
class WalkCase:
    """Which walk is simulated; everything else is the default of the walk.

    Attributes:
        speed: [m/s].
        steps: number of steps.
        slope_deg: angle of the ramp [°]; 0 for level ground.
        physics_rate: rate of the simulation, and of the trial's samples [Hz].
        push: sideways force on the root for `PUSH_DURATION` in the middle of the walk [N].
        zmp_travel: how far ahead of the ankle the wanted ZMP is when a foot begins and when it
            ends carrying alone [m].
    """

    speed: float = 0.3
    steps: int = 20
    slope_deg: float = 0.0
    physics_rate: float = 500.0
    push: float = 0.0
    zmp_travel: tuple[float, float] = WalkParameters.zmp_travel


@dataclass(frozen=True)
class WalkTruth:
    """The truth of a walk, at every step of the physics.

    Attributes:
        stamps: (T,) [ns].
        q: (T, n) joint positions [rad] or [m].
        qd: (T, n) joint velocities.
        qdd: (T, n) joint accelerations.
        position: (T, 3) root origin in the world [m].
        rotation: (T, 3, 3) world_R_root.
        velocity: (T, 3) of the root origin in world axes [m/s].
        acceleration: (T, 3) of the root origin in world axes [m/s²].
        angular_velocity: (T, 3) of the root, in root axes [rad/s].
        angular_acceleration: (T, 3) of the root, in root axes [rad/s²].
        ground_wrench: (T, 6) ground on robot, about the root origin in root axes [N], [N·m].
        applied_wrench: (T, 6) pushes, likewise.
        cop: (T, 3) centre of pressure in the root frame [m].
        ground_normal: (T, 3) true normal of the ground in root axes.
        normal_forces: (T, F) force of the ground on each foot along the ground's normal [N].
        step_begins: (steps + 1,) when the steps begin, and the last one ends [s].
    """

    stamps: Stamps
    q: Array
    qd: Array
    qdd: Array
    position: Array
    rotation: Array
    velocity: Array
    acceleration: Array
    angular_velocity: Array
    angular_acceleration: Array
    ground_wrench: Array
    applied_wrench: Array
    cop: Array
    ground_normal: Array
    normal_forces: Array
    step_begins: Array

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for item in fields(self):
            dtype = np.int64 if item.name == 'stamps' else np.float64
            object.__setattr__(self, item.name, frozen(getattr(self, item.name), dtype))

    def __len__(self) -> int:
        return len(self.stamps)

    @cached_property
    def times(self) -> Array:
        """(T,) time since the first sample [s]."""
        return seconds(self.stamps)

    @property
    def rate(self) -> float:
        """Rate of the samples [Hz]."""
        return NANOSECONDS / int(self.stamps[1] - self.stamps[0])

    def stride(self, rate: float) -> int:
        """Return how many samples of the trial a sample at `rate` [Hz] stands for."""
        stride = round(self.rate / rate)
        if stride < 1 or abs(self.rate / rate - stride) > 1e-9 * stride:
            raise SimulationError(
                f'Samples at {rate:g} Hz cannot be taken from a simulation at {self.rate:g} Hz; '
                'choose a rate that divides it.',
                kind='rate_divides_not',
                rate=rate,
                simulation_rate=self.rate,
            )
        return stride

    def steady(self) -> Mask:
        """(T,) the instants of all steps but the first two and the last two."""
        begins = self.step_begins
        if len(begins) < 2 * SKIPPED_STEPS + 2:
            raise SimulationError(
                f'A walk of {len(begins) - 1} steps has none besides the first and last '
                f'{SKIPPED_STEPS}; simulate at least {2 * SKIPPED_STEPS + 1}.',
                kind='walk_too_short',
                steps=len(begins) - 1,
                least=2 * SKIPPED_STEPS + 1,
            )
        start, stop = begins[SKIPPED_STEPS], begins[-1 - SKIPPED_STEPS]
        return np.asarray((self.times >= start - 1e-9) & (self.times < stop - 1e-9))


def simulate_trial(file: RobotFile, case: WalkCase) -> WalkTruth:
    """Plan a walk and execute it.

    Raises:
        IzmpError: if it cannot be planned or simulated, or the robot falls.
    """
    from izmp_lab.simulation.physics import Physics, Shove
    from izmp_lab.simulation.scenarios import simulate_walk

    parameters = WalkParameters(
        speed=case.speed,
        steps=case.steps,
        slope=float(np.radians(case.slope_deg)),
        zmp_travel=(case.zmp_travel[0], case.zmp_travel[1]),
    )
    pushes = []
    if case.push:
        middle = parameters.stand + ((case.steps + 1) // 2 + 0.5) * parameters.step_time
        link = load_model(file.read_urdf(), file.root).root
        pushes = [Shove(case.push, 'left', middle, PUSH_DURATION, link)]
    physics = Physics(time_step=1.0 / case.physics_rate)
    walk = simulate_walk(file, parameters=parameters, physics=physics, pushes=pushes)
    run = walk.run
    run.require_standing()
    truth, root = run.truth, run.truth.root
    return WalkTruth(
        stamps=run.stamps,
        q=run.q,
        qd=truth.qd,
        qdd=truth.qdd,
        **vars(root),
        ground_wrench=truth.ground_wrench,
        applied_wrench=truth.applied_wrench,
        cop=truth.cop_in_root(),
        ground_normal=truth.ground_normal_in_root(),
        normal_forces=np.stack([truth.feet[foot.name].normal_force for foot in file.feet], axis=1),
        step_begins=walk.planned.timing.beginnings,
    )
