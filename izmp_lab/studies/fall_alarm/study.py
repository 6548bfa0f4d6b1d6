"""Simulated trials of the fall alarm: a robot is pushed until it falls or the time is over.

The sensors have noise, steps of the encoders and a tilted orientation; in half of the trials their
messages are stamped late, held up or lost (`bus`). They go unfiltered through the evaluator of the
replay and the nodes.

A fall may follow a push that came after the alarm. Whether the robot would have fallen without it
is simulated: the same trial once more, without the pushes from the alarm on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.method import Acd
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.noise_propagation import joint_weights, overlap
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.stability.alarm_rule import AlarmRule
from izmp_dynamics.stability.fall_probability import FALLEN
from izmp_lab.simulation.mujoco.model import MujocoRobot, build_mujoco
from izmp_lab.simulation.mujoco.plant import AnkleFeedback, Sampling, simulate
from izmp_lab.simulation.noisy_signals import add_noise, sensor_noise
from izmp_lab.simulation.physics import Push
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.studies.runs import RobotKey, Run
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
    return Samples(arrival, values).select(rng.random(len(stamps)) >= LOST)


RATE = 125.0
"""Of all sensors [Hz]."""

OVERLAP = overlap(joint_weights(Acd(), None, 1.0 / RATE), 1.0 / RATE)
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


ROBOT = 'robots/biped31/robot.yaml'
KINDS = ('walking', 'standing')
IMPULSES = {'walking': 8.0, 'standing': 16.0}
"""Largest impulse of a push [N·s]."""


@dataclass(frozen=True)
class FallStudy:
    """The trials.

    Attributes:
        trials: of walks; there is one stance to ten of them.
        first_seed: of the first trial of each kind.
        robot: which robot.
    """

    trials: int
    first_seed: int
    robot: RobotKey

    @classmethod
    def of(cls, trials: int, first_seed: int) -> 'FallStudy':
        """Prepare so many walks."""
        return cls(trials, first_seed, RobotKey.of(find_resource(ROBOT)))

    def runs(self) -> dict[tuple[str, int], Run]:
        """All of them, by kind and seed."""
        return {
            (kind, seed): Run(
                trial,
                {'robot': self.robot, 'kind': kind, 'seed': seed, 'impulse': IMPULSES[kind]},
                FallTrial,
            )
            for kind in KINDS
            for seed in range(self.first_seed, self.first_seed + self.count(kind))
        }

    def count(self, kind: str) -> int:
        """How many trials there are of a kind."""
        return self.trials if kind == 'walking' else max(1, self.trials // 10)


def trials_by_kind(found: Mapping[tuple[str, int], FallTrial]) -> dict[str, list[FallTrial]]:
    """Part the results of `FallStudy.runs`."""
    return {kind: [each for (of, _), each in found.items() if of == kind] for kind in KINDS}


LAST = 2.0
"""Time before a fall that does not count as survived; an alarm that begins in it is not false, and
no lead is longer [s]."""

AFTER = 4.0
"""Time after the last push that still counts [s]."""

TOO_LATE = 0.2
"""A lead below it is too short to act [s]."""


@dataclass(frozen=True)
class Outcome:
    """What became of the trials of a kind.

    Attributes:
        leads: (F,) time to the fall, when the trunk is tilted by 45°, from the start of the alarm
            that is raised until then, counted as above [s]; 0 without such an alarm.
        cautious: (F,) the same, where every lead counts from the last push if that is later.
        raised: (F,) the same from the start of the alarm whatever pushes came since, at most
            `LAST` [s].
        pushed_later: falls with a push after the alarm.
        fell_anyway: those of them that came without these pushes as well.
        seeds: (F,) of the trials that ended in a fall.
        untilted: falls of which the trial ended before the trunk was tilted by 45°; they count
            at its end.
        hours: survived, from the first push on [h].
        pushes: survived.
        false_alarms: their starts, in the time that was survived [s].
        undecided: alarms of which it is not known whether they are false.
    """

    leads: Array
    cautious: Array
    raised: Array
    pushed_later: int
    fell_anyway: int
    seeds: Array
    untilted: int
    hours: float
    pushes: int
    false_alarms: tuple[float, ...]
    undecided: int

    @classmethod
    def of(cls, trials: list[FallTrial], threshold: float | None = None) -> 'Outcome':
        """Count.

        Args:
            trials: of one kind.
            threshold: probability from which on the alarm is raised; that of the product if None.
        """
        leads: list[_Lead] = []
        seeds, false_alarms = [], []
        survived, pushes, untilted, undecided = 0.0, 0, 0, 0
        for tried in trials:
            fell = bool(np.isfinite(tried.fallen))
            over, begins = tried.fallen - LAST if fell else _end(tried), tried.pushes[:, 0]
            lead = _Lead()
            for first, last in _episodes(tried, threshold):
                begin = float(tried.time[first])
                if not fell and last == len(tried.time) - 1 and begin > tried.time[-1] - LAST:
                    undecided += 1
                elif begin < over or not fell:
                    false_alarms.append(begin)
                if fell and last == np.count_nonzero(tried.time < tried.fallen) - 1:
                    lead = _Lead.of(tried, begin)
            if fell:
                leads.append(lead)
                seeds.append(tried.seed)
                untilted += int(tried.fallen > tried.time[-1] - 1e-3)
            survived += max(over - float(begins.min(initial=np.inf)), 0.0)
            pushes += int(np.count_nonzero(begins < over))
        hours = survived / 3600.0
        return cls(
            np.array([each.lead for each in leads]),
            np.array([each.cautious for each in leads]),
            np.array([each.raised for each in leads]),
            sum(each.pushed_later for each in leads),
            sum(each.fell_anyway for each in leads),
            np.array(seeds), untilted, hours, pushes, tuple(false_alarms), undecided,
        )  # fmt: skip

    @property
    def in_time(self) -> float:
        """Share of the falls with a lead that is long enough to act."""
        return share_in_time(self.leads)

    @property
    def rate(self) -> float:
        """False alarms per hour."""
        return len(self.false_alarms) / self.hours if self.hours else float('nan')

    @property
    def rate_bound(self) -> float:
        """One-sided 95 % bound of the rate of false alarms, which are counted (Poisson) [1/h]."""
        if not self.hours:
            return float('nan')
        return float(chi2.ppf(0.95, 2 * len(self.false_alarms) + 2)) / 2.0 / self.hours


def share_in_time(leads: Array) -> float:
    """Share of leads that are long enough to act."""
    return float(np.mean(leads >= TOO_LATE)) if len(leads) else float('nan')


def least(leads: Array) -> float:
    """Smallest lead [s]; NaN without a fall."""
    return float(leads.min()) if len(leads) else float('nan')


@dataclass(frozen=True)
class _Lead:
    """Of a fall; see `Outcome`."""

    lead: float = 0.0
    cautious: float = 0.0
    raised: float = 0.0
    pushed_later: bool = False
    fell_anyway: bool = False

    @classmethod
    def of(cls, trial: FallTrial, begin: float) -> '_Lead':
        """Count from the start of an alarm that is raised until the fall [s]."""
        pushed = trial.pushes[trial.pushes[:, 0] < trial.fallen, 0]
        later = pushed[pushed > begin]
        raised = min(trial.fallen - begin, LAST)
        if not len(later):
            return cls(raised, raised, raised)
        cautious = min(raised, trial.fallen - float(later[-1]))
        same = len(later) == np.count_nonzero(pushed > trial.raised)  # as those left out
        if not same or not trial.unpushed - begin <= LAST:
            return cls(cautious, cautious, raised, True)
        lead = min(raised, trial.unpushed - begin)
        return cls(lead, cautious, raised, True, True)


def _end(trial: FallTrial) -> float:
    """When a trial that the robot survived is over: some time after its last push [s]."""
    last = trial.pushes[-1, 0] if len(trial.pushes) else 0.0
    return min(float(trial.time[-1]), float(last) + AFTER)


def _episodes(trial: FallTrial, threshold: float | None) -> Iterator[tuple[int, int]]:
    raised = trial.alarm
    if threshold is not None:
        raised = AlarmRule(threshold).push(trial.time, trial.probability, OVERLAP)
    if np.isfinite(trial.fallen):
        raised = raised & (trial.time < trial.fallen)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], raised, [False]]).astype(int)))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield begin, end - 1
