"""A trial: the truth of one simulated walk as arrays, from which any sensor can be derived."""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps, frozen, seconds
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.signals.differences import Mask
from izmp_lab.walking.walk_parameters import WalkParameters

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
        position=root.position,
        rotation=root.rotation,
        velocity=root.velocity,
        acceleration=root.acceleration,
        angular_velocity=root.angular_velocity,
        angular_acceleration=root.angular_acceleration,
        ground_wrench=truth.ground_wrench,
        applied_wrench=truth.applied_wrench,
        cop=truth.cop_in_root(),
        ground_normal=truth.ground_normal_in_root(),
        normal_forces=np.stack([truth.feet[foot.name].normal_force for foot in file.feet], axis=1),
        step_begins=walk.planned.timing.beginnings,
    )
