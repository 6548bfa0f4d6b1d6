"""Simulated trials: a robot that walks or stands is pushed until it falls or the time is over.

The sensors have noise, steps of the encoders and a tilted orientation; in half of the trials their
messages are stamped late, held up or lost (`bus`). They go unfiltered through the evaluator of the
replay and the nodes.

A fall may follow a push that came after the alarm. Whether the robot would have fallen without it
is simulated: the same trial once more, without the pushes from the alarm on.
"""

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.model.method import Acd
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.noise_propagation import overlap, quotient_weights
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.stability.fall_probability import FALLEN
from izmp_lab.simulation.mujoco.feed_forward import AnkleFeedback
from izmp_lab.simulation.mujoco.model import MujocoRobot, build_mujoco
from izmp_lab.simulation.mujoco.plant import Sampling, simulate
from izmp_lab.simulation.noisy_signals import add_noise, sensor_noise
from izmp_lab.simulation.physics import Push
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.studies.robot_key import RobotKey
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

SHARE = 0.5
"""Of the trials, those whose messages come like that."""

LATE = 0.5e-3
"""Mean delay of a stamp, exponentially distributed [s]."""

HELD_UP, QUEUE = 0.01, 0.016
"""Share of the messages that a queue holds up, with those behind it, and up to how long [s]."""

APART = 200_000
"""Between the messages of a queue that goes on [ns], as in real logs (`sensing/stamps.py`)."""

LOST = 0.01
"""Share of the messages that are lost."""


def has_errors(seed: int) -> bool:
    """Whether the messages of a trial come like that."""
    return bool(np.random.default_rng([seed, 1]).random() < SHARE)


def received(rng: np.random.Generator, stamps: Stamps, values: Array) -> Samples:
    """What arrives of the messages of a topic, stamped on arrival.

    Args:
        rng: decides which messages are late or lost.
        stamps: (T,) true instants [ns].
        values: (T, m).
    """
    delay = rng.exponential(LATE, len(stamps))
    held = rng.random(len(stamps)) < HELD_UP
    delay[held] += rng.uniform(0.0, QUEUE, np.count_nonzero(held))
    late = stamps + np.round(NANOSECONDS * delay).astype(np.int64)
    apart = APART * np.arange(len(stamps))
    arrival = np.maximum.accumulate(late - apart) + apart
    return Samples(arrival, values).rows(rng.random(len(stamps)) >= LOST)


RATE = 125.0
"""Of all sensors [Hz]."""

OVERLAP = overlap(quotient_weights(Acd(), 1.0 / RATE), 1.0 / RATE)
"""For so long velocities without a filter have samples in common [s]."""

ENCODER = 2.0 * np.pi / 65536
"""Step of the joint positions [rad]."""

ORIENTATION = np.radians(0.3)
"""Standard deviation of the tilt of the measured orientation, constant in a trial [rad]."""

FORCE, MOMENT = 1.0, 0.1
"""Standard deviations of the force sensors [N], [N·m]."""

SPEEDS, TURNS = (0.15, 0.3, 0.4), (0.0, 0.1, -0.1)
"""Of the walks [m/s], [rad/s]."""

STEPS, STAND = 40, 10.0
"""Steps of a walk; duration of a stance [s]."""

PREVIEW = 4.0
"""A robot that is to step prepares for it no earlier than this [s]."""

DURATIONS, PAUSES = (0.05, 0.3), (2.0, 4.0)
"""Of the pushes, and between them [s]; uniformly distributed, as are size and direction."""


@dataclass(frozen=True)
class FallTrial:
    """What the alarm said in a trial, and what happened.

    Attributes:
        seed: of pushes and noise.
        pushes: (P, 4) begin [s], impulse [N·s], direction (0: ahead, to the left) [rad] and
            duration [s].
        time: (K,) since the begin [s].
        probability: (K,) of a fall.
        alarm: (K,) whether it is raised.
        fallen: when the trunk was tilted by 45° [s]; NaN if the robot did not fall.
        bus: whether the messages came as over a bus.
        unpushed: when it would have been without the pushes after the start of the alarm that is
            raised at the last instant before the fall [s]: infinity if not at all, NaN if there
            were none.
    """

    seed: int
    pushes: Array
    time: Array
    probability: Array
    alarm: npt.NDArray[np.bool_]
    fallen: float
    bus: bool = False
    unpushed: float = float('nan')

    @property
    def raised(self) -> float:
        """Start of the alarm that is raised at the last instant before the fall [s], or NaN."""
        before = self.alarm[self.time < self.fallen]
        if not len(before) or not before[-1]:
            return float('nan')
        calm = np.flatnonzero(~before)
        return float(self.time[calm[-1] + 1 if len(calm) else 0])


def trial(robot: RobotKey, kind: str, seed: int, impulse: float) -> FallTrial:
    """Make a trial; the same seed gives the same one.

    Args:
        robot: which robot.
        kind: 'walking' or 'standing'.
        seed: of pushes and noise.
        impulse: largest impulse of a push [N·s].
    """
    rng, path = np.random.default_rng([seed, len(kind)]), robot.file
    file, plant = _robot(path)
    speed, turn = float(rng.choice(SPEEDS)), float(rng.choice(TURNS))
    plan = _walk(path, speed, turn) if kind == 'walking' else _stance(path)
    begin, end = (2.4, plan.duration - 2.5) if kind == 'walking' else (1.0, STAND - 2.0)
    pushes = _pushes(rng, begin, end, impulse)
    bus = has_errors(seed)
    run = _simulated(plan, plant, pushes)
    found = [(piece.stamps, piece.fall) for piece in evaluated(run, file, seed, bus)]
    risks = [risk for _, risk in found if risk is not None]
    stamps = np.concatenate([stamps for stamps, _ in found])
    tried = FallTrial(
        seed=seed,
        pushes=pushes,
        time=(stamps - run.stamps[0]) / NANOSECONDS,
        probability=np.concatenate([risk.probability for risk in risks]),
        alarm=np.concatenate([risk.alarm for risk in risks]),
        fallen=_fallen(run),
        bus=bus,
    )
    known, unpushed = pushes[:, 0] <= tried.raised, np.nan
    if not (np.isnan(tried.raised) or known[pushes[:, 0] < tried.fallen].all()):
        unpushed = _fallen(_simulated(plan, plant, pushes[known]))
        unpushed = np.inf if np.isnan(unpushed) else unpushed
    return replace(
        tried,
        time=tried.time.astype(np.float32),
        probability=tried.probability.astype(np.float32),
        unpushed=unpushed,
    )


def _simulated(plan: MotionPlan, plant: MujocoRobot, pushes: Array) -> SimulatedRun:
    return simulate(
        plan,
        plant,
        sampling=replace(Sampling.at_rate(RATE, plant.physics), settle=0.3),
        pushes=[_push(*push) for push in pushes.tolist()],
        feedback=AnkleFeedback(),
    )


def evaluated(run: SimulatedRun, file: RobotFile, seed: int, bus: bool) -> list[Evaluated]:
    """Evaluate a run by noisy sensors, without a filter, as the nodes do.

    Args:
        run: with ideal sensors.
        file: the robot file.
        seed: of the noise.
        bus: whether the messages come as over a bus.
    """
    rng = np.random.default_rng([seed, 0])
    noisy = add_noise(run, file, sensor_noise('xsens_mti20'), seed)
    tilt = Rotation.from_rotvec(ORIENTATION * np.append(rng.normal(size=2), 0.0))
    orientation = (tilt * Rotation.from_quat(run.imu.orientation_xyzw)).as_quat()
    signals = {
        'joints': ENCODER * np.round(run.q / ENCODER),
        'imu': np.hstack([noisy.imu.angular_velocity, noisy.imu.specific_force]),
        'orientation': orientation,
    }
    for k, sensor in enumerate(file.accelerometers):
        signals[f'accelerometers[{k}]'] = noisy.accelerometers[sensor.topic]
    for foot in file.feet:
        if foot.wrench is not None:
            noise = rng.normal(size=(len(run), 6)) * np.repeat([FORCE, MOMENT], 3)
            signals[f'feet[{foot.name}]'] = run.wrenches[foot.wrench.topic] + noise
    evaluator = Evaluator(make_rig(file))
    given = {name: Samples(run.stamps, np.array(values)) for name, values in signals.items()}
    if bus:
        inertial = received(rng, run.stamps, np.hstack([signals['imu'], signals['orientation']]))
        given = {
            **{name: received(rng, run.stamps, each.values) for name, each in given.items()},
            'imu': Samples(inertial.stamps, inertial.values[:, :6]),  # one message
            'orientation': Samples(inertial.stamps, inertial.values[:, 6:]),
        }
    return evaluator.push(given) + evaluator.flush()


def _fallen(run: SimulatedRun) -> float:
    """When the trunk was tilted by 45° [s]; NaN if the robot did not fall."""
    if not run.fall:
        return float('nan')
    tilted = run.truth.root.rotation[:, 2, 2] <= np.cos(FALLEN)
    row = int(np.argmax(tilted)) if tilted.any() else len(run) - 1
    return float(run.stamps[row] - run.stamps[0]) / NANOSECONDS


def _pushes(rng: np.random.Generator, begin: float, end: float, impulse: float) -> Array:
    """(P, 4) see `FallTrial.pushes`."""
    pushes, time = [], begin + rng.uniform(0.0, 1.0)
    while time < end:
        duration = rng.uniform(*DURATIONS)
        pushes.append([time, rng.uniform(0.0, impulse), rng.uniform(0.0, 2.0 * np.pi), duration])
        time += duration + rng.uniform(*PAUSES)
    return np.array(pushes).reshape(-1, 4)


def _push(begin: float, impulse: float, direction: float, duration: float) -> Push:
    force = impulse / duration * np.array([np.cos(direction), np.sin(direction), 0.0])
    return Push('trunk', force, begin, duration)


@lru_cache(maxsize=1)
def _robot(path: str) -> tuple[RobotFile, MujocoRobot]:
    file = replace(load_robot_file(Path(path)), position=None)
    return file, build_mujoco(file)


@cache
def _walk(path: str, speed: float, turn: float) -> MotionPlan:
    parameters = WalkParameters(speed=speed, turn_rate=turn, steps=STEPS)
    return plan_walk(Biped.of(_robot(path)[0]), parameters).plan


@cache
def _stance(path: str) -> MotionPlan:
    """The robot stands; the step that a walk needs would come when the trial is over."""
    parameters = WalkParameters(steps=1, stand=STAND + PREVIEW)
    return plan_walk(Biped.of(_robot(path)[0]), parameters).plan.until(STAND)
