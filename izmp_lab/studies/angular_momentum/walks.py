"""What is kept of a walk with angular-momentum estimation: score, tracks, execution.

The functions of a robot and a trial are those of the runs that `study` describes.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_lab.studies.robot_key import RobotKey
from izmp_lab.studies.runs import Arrays
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.walk import PlannedWalk, plan_walk
from izmp_lab.walking.walk_parameters import MomentumParameters, WalkParameters

DOUBLE_SUPPORT = 0.2
"""Time on both feet in every step [s]: two intervals, so that a foot lifts off at a knot."""

STEP_TIME, STEP_LENGTH = 0.8, 0.25
"""Of the walk of most figures [s], [m]."""


@dataclass(frozen=True)
class Robot:
    """A robot of the experiments.

    Attributes:
        name: as figures call it.
        key: its robot file.
        posture: joint positions at rest [rad].
        height: of its centre of mass [m].
        ankle_feedback: whether the plant's ankles answer to the tilt.
        soles: lengths of the sole in the simulations, the robot's own first [m].
    """

    name: str
    key: RobotKey
    posture: Mapping[str, float]
    height: float
    ankle_feedback: bool
    soles: tuple[float, ...]


@dataclass(frozen=True)
class Trial:
    """One walk.

    Attributes:
        scheme: 'E1' to 'E4'.
        step_time: [s].
        step_length: [m].
        steps: how many.
        changed: parameters of the generator that differ from those of the scheme.
        stand: time before the first step [s].
        sole: length of the soles amid the travel of the ZMP [m]; that of the robot if 0.
    """

    scheme: str
    step_time: float = STEP_TIME
    step_length: float = STEP_LENGTH
    steps: int = 10
    changed: Mapping[str, Any] = field(default_factory=dict)
    stand: float = 1.5
    sole: float = 0.0

    def parameters(self, height: float) -> WalkParameters:
        """Return what is planned, with the centre of mass at a height [m]."""
        momentum = dataclasses.replace(MomentumParameters.scheme(self.scheme), **self.changed)
        return WalkParameters.by(
            'angular_momentum',
            speed=self.step_length / self.step_time,
            step_time=self.step_time,
            steps=self.steps,
            double_support=DOUBLE_SUPPORT / self.step_time,
            com_height=height,
            stand=self.stand,
            momentum=momentum,
        )


_KEPT_EVERY = 5  # rows of 2 ms


@dataclass(frozen=True)
class ZmpScore:
    """How far the ZMP of all bodies is from the wanted one, from the first step to the last.

    Attributes:
        rms: (2,) root mean square in x and y [m].
        largest: (2,) [m].
        outside: largest distance of the ZMP of all bodies beyond the soles that carry [m]; less
            than 0 inside.
        refused: why the walk cannot be planned; '' if it can.
    """

    rms: Array
    largest: Array
    outside: float
    refused: str = ''

    @classmethod
    def of(cls, walk: PlannedWalk, biped: Biped) -> 'ZmpScore':
        """Score a walk."""
        rows = _walking(walk)
        errors = walk.zmp_errors[rows]
        return cls(
            rms=np.sqrt(np.mean(errors**2, axis=0)),
            largest=np.abs(errors).max(axis=0),
            outside=_outside(walk, biped),
            refused=str(walk.stopped or ''),
        )


@dataclass(frozen=True)
class WalkOutcome:
    """The outcome of a walk in MuJoCo.

    Attributes:
        mean: distance of the centre of mass from the planned one, from the first step to the last
            [m]; up to a fall.
        largest: likewise, standing included; infinite after a fall.
        cop: root mean square of the CoP less the wanted ZMP, in x and y (2,) [m]; up to a fall.
        falls_in: step in which the robot falls, from 1; 0 if it does not.
        fall_time: when [s]; NaN if it does not.
    """

    mean: float
    largest: float
    cop: Array
    falls_in: int
    fall_time: float


def plan_score(robot: Robot, trial: Trial) -> ZmpScore:
    """Plan a walk and score it."""
    biped = Biped.of(_file(robot, trial), robot.posture)
    try:
        return ZmpScore.of(plan_walk(biped, trial.parameters(robot.height)), biped)
    except MotionError as error:
        nothing = np.full(2, np.nan)
        return ZmpScore(nothing, nothing, np.nan, str(error))


def plan_tracks(robot: Robot, trial: Trial) -> Arrays:
    """Plan a walk and keep its tracks.

    Returns:
        times (K,) [s]; zmp, wanted, com (K, 2) [m]: the ZMP of all bodies, the wanted one and the
        centre of mass; begins (S + 1,) of the steps [s].
    """
    walk = _planned(_file(robot, trial), robot, trial)
    plan, every = walk.plan, slice(None, None, _KEPT_EVERY)
    assert plan.zmp is not None  # plan_walk computes both
    assert plan.com is not None
    return {
        'times': plan.times[every],
        'zmp': plan.zmp[every, :2],
        'wanted': walk.zmp_reference.point[every, :2],
        'com': plan.com[every, :2],
        'begins': walk.timing.beginnings,
    }


def executed(robot: Robot, trial: Trial) -> WalkOutcome:
    """Let the plant execute a walk."""
    from izmp_lab.simulation.mujoco.feed_forward import AnkleFeedback
    from izmp_lab.simulation.mujoco.model import build_mujoco
    from izmp_lab.simulation.mujoco.plant import simulate

    file = _file(robot, trial)
    walk = _planned(file, robot, trial)
    feedback = AnkleFeedback() if robot.ankle_feedback else None
    run = simulate(walk.plan, build_mujoco(file), feedback=feedback)
    assert walk.plan.com is not None
    error = np.linalg.norm(run.truth.com - walk.plan.com[: len(run)], axis=1)
    cop = (run.truth.cop - walk.zmp_reference.point[: len(run)])[:, :2]
    cop = cop[_walking(walk)[: len(run)]]
    last = float(walk.plan.times[len(run) - 1])
    falls_in = int((last - walk.timing.stand) / walk.timing.step_time) + 1 if run.fall else 0
    return WalkOutcome(
        mean=float(error[_walking(walk)[: len(run)]].mean()),
        largest=float(np.inf if run.fall else error.max()),
        cop=np.sqrt(np.nanmean(cop**2, axis=0)),
        falls_in=falls_in,
        fall_time=last if run.fall else np.nan,
    )


def _walking(walk: PlannedWalk) -> np.ndarray:
    """(T,) rows of the plan from the beginning of the first step to the end of the last one."""
    times, timing = walk.plan.times, walk.timing
    return (times >= timing.begins(0)) & (times <= timing.begins(timing.steps))


def _outside(walk: PlannedWalk, biped: Biped) -> float:
    """How far the ZMP of all bodies is at most outside the soles that carry [m]."""
    from izmp_lab.walking.course import Course

    parameters, plan = walk.parameters, walk.plan
    course = Course(
        biped, walk.footsteps, walk.timing, parameters.swing_height, parameters.zmp_travel
    )
    assert plan.zmp is not None
    rows, normals, offsets = course.support(plan.times)
    beyond = np.sum(normals * plan.zmp[rows, :2], axis=1) - offsets
    return float(beyond.max())


def _file(robot: Robot, trial: Trial) -> RobotFile:
    file = robot.key.load()
    if not trial.sole:
        return file
    begin, end = trial.parameters(robot.height).zmp_travel
    middle, half = 0.5 * (begin + end), 0.5 * trial.sole
    feet = []
    for foot in file.feet:
        side = max(abs(y) for _, y in foot.polygon)
        corners = [(middle + x * half, y * side) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
        feet.append(dataclasses.replace(foot, polygon=tuple(corners)))
    return dataclasses.replace(file, feet=tuple(feet))


def _planned(file: RobotFile, robot: Robot, trial: Trial) -> PlannedWalk:
    return plan_walk(Biped.of(file, robot.posture), trial.parameters(robot.height))
