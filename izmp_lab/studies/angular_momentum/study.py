"""Walking patterns with angular-momentum estimation: which walks are planned and simulated.

The experiments of Mayr et al. are E1 (a point mass), E2 (its second iteration), E3 (16 uniform
nodes) and E4 (8 nodes, half of them early). Their poster leaves robot, weights and gait open;
what is taken is in the trial and in `MomentumParameters`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MissingDependencyError, MotionError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pages.rendering import write_files
from izmp_lab.studies.publish import Curve
from izmp_lab.studies.runs import Arrays, RobotKey, Run
from izmp_lab.walking.biped import BIPED31_POSTURE, Biped, example_robot
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
    file = _file(robot, trial)
    try:
        return ZmpScore.of(_planned(file, robot, trial), Biped.of(file, robot.posture))
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
    from izmp_lab.simulation.mujoco.model import build_mujoco
    from izmp_lab.simulation.mujoco.plant import AnkleFeedback, simulate

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
    return _plan(file, tuple(robot.posture.items()), trial.parameters(robot.height))


@lru_cache(maxsize=16)  # figures score, track and execute the same walks
def _plan(
    file: RobotFile, posture: tuple[tuple[str, float], ...], parameters: WalkParameters
) -> PlannedWalk:
    return plan_walk(Biped.of(file, dict(posture)), parameters)


POSTURE = {
    'arm_left_2_joint': 0.3, 'arm_left_4_joint': -1.2,
    'arm_right_2_joint': -0.3, 'arm_right_4_joint': -1.2,
}  # fmt: skip
"""Joint positions at rest [rad]: the arms hang, with bent elbows."""

_TALOS = 'talos_data/robots/talos_reduced.urdf'
_SOLE = [[0.1, 0.06], [-0.1, 0.06], [-0.1, -0.06], [0.1, -0.06]]


def write_robot_file(folder: Path) -> Path:
    """Write talos.yaml into a folder, and return its path.

    Raises:
        MissingDependencyError: if example-robot-data is not installed.
        StoreError: if the folder cannot be written.
    """
    robot = {
        'urdf': str(example_robot('TALOS', _TALOS)),
        'root': 'base_link',
        'joints': {'topic': 'joint_states'},
        'imu': {'topic': 'imu', 'frame': 'imu_link'},
        'feet': [
            {'name': f'{side}_foot', 'sole': f'{side}_sole_link', 'polygon': _SOLE}
            for side in ('left', 'right')
        ],
    }
    text = '# TALOS of example-robot-data, with the soles that its URDF lacks.\n'
    text += yaml.safe_dump(robot, sort_keys=False)
    write_files({'talos.yaml': text.encode()}, folder)
    return folder / 'talos.yaml'


CURVES = {
    'E1': Curve('E1: point mass', 'ir-md', (0, (4, 1.6)), 1.3, 's'),
    'E2': Curve('E2: second iteration', 'other', (0, (2, 1)), 1.3, 'D'),
    'E3': Curve('E3: 16 uniform nodes', 'cop', (0, (1, 1)), 2.2, '^'),
    'E4': Curve('E4: 8 nodes, half early', 'mr-ad', '-', 1.2, 'o'),
}


@dataclass(frozen=True)
class MomentumStudy:
    """The runs of the experiment.

    Attributes:
        robots: biped31, and TALOS where example-robot-data is installed.
        step_times: of the grid [s].
        step_lengths: of the grid [m].
        steps: of every walk.
    """

    robots: tuple[Robot, ...]
    step_times: tuple[float, ...] = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
    step_lengths: tuple[float, ...] = (0.15, 0.20, 0.25, 0.30)
    steps: int = 10

    @classmethod
    def full(cls, folder: Path) -> 'MomentumStudy':
        """Prepare the whole experiment; TALOS's robot file is written into the folder."""
        return cls(_robots(folder))

    @classmethod
    def quick(cls, folder: Path) -> 'MomentumStudy':
        """Prepare one that takes seconds and still shows all that the page describes."""
        own, *_ = _robots(folder)
        robots = (dataclasses.replace(own, soles=own.soles[:1]),)
        return cls(robots, step_times=(0.6, 0.75, 0.8), step_lengths=(0.25,), steps=7)

    @property
    def biped31(self) -> Robot:
        """The robot that is always there."""
        return self.robots[0]

    def score(self, robot: Robot, trial: Trial) -> Run:
        """Describe the score of a planned walk."""
        return self._run(plan_score, robot, trial, ZmpScore)

    def tracks(self, robot: Robot, trial: Trial) -> Run:
        """Describe the tracks of a planned walk."""
        return self._run(plan_tracks, robot, trial)

    def executed(self, robot: Robot, trial: Trial) -> Run:
        """Describe the execution of a walk by the plant."""
        return self._run(executed, robot, trial, WalkOutcome, effort=10.0)

    def _run(
        self, function: Callable[..., Any], robot: Robot, trial: Trial, *of: Any, **how: Any
    ) -> Run:
        trial = dataclasses.replace(trial, steps=self.steps)
        return Run(function, {'robot': robot, 'trial': trial}, *of, **how)


def _robots(folder: Path) -> tuple[Robot, ...]:
    own = Robot(
        'biped31', RobotKey.of(find_resource('robots/biped31/robot.yaml')), BIPED31_POSTURE, 0.75,
        ankle_feedback=True, soles=(0.24, 0.16, 0.12, 0.10, 0.08),
    )  # fmt: skip
    try:
        path = write_robot_file(folder)
    except MissingDependencyError:
        return (own,)
    other = Robot(
        'TALOS', RobotKey.of(path), POSTURE, 0.86, ankle_feedback=False,
        soles=(0.20, 0.16, 0.12, 0.10, 0.08),
    )  # fmt: skip
    return own, other
