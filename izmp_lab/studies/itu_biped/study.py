"""The ITU Biped with and without converging CoG: which walks are simulated, what is kept of them.

A setting is a step time, a foot size and a friction; at each the robot walks by every method. Most
walks leave a score, those of figures 7 to 11 their tracks.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_file import RobotFile
from izmp_lab.simulation.itu_experiment import FOOT_MIDDLE, ItuTrial, Outcome, run_trial
from izmp_lab.studies.publish import Curve
from izmp_lab.studies.runs import Arrays, RobotKey, Run
from izmp_lab.studies.tipping_arm import arm_of_wrench
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.converging_cog import Convergence, converge_cog
from izmp_lab.walking.itu_biped import STRETCHED, leg_angles, link_frames
from izmp_lab.walking.walk import PlannedWalk, plan_walk

POSES = 11
"""Instants whose pose is kept: those that divide a walk into 10 equal intervals (fig. 7)."""

_UPRIGHT = ([-0.7, -0.5, -1.0, 0.05, -1.0, -0.5], [0.7, 0.5, 0.5, 2.0, 0.5, 0.5])
"""Least and largest angles of joints, from the stretched leg [rad]."""

_KEPT_EVERY = 5  # samples of 2 ms
_TIMED = 5  # times that Algorithm 1 is repeated, of which the shortest counts


def walk_score(robot: RobotKey, trial: ItuTrial) -> 'CogScore':
    """Simulate a walk and score it."""
    file = robot.load()
    return CogScore.of(run_trial(file, trial), file)


def walk_tracks(robot: RobotKey, trial: ItuTrial) -> 'Tracks':
    """Simulate a walk and take its tracks."""
    file = robot.load()
    return Tracks.of(run_trial(file, trial), file)


def leg_closure(count: int) -> Arrays:
    """Close the legs' forward and inverse kinematics on random poses.

    Returns:
        opening (count,): largest difference of the pose of the sole from the wanted one [m], [-].
    """
    theta = np.random.default_rng(4).uniform(*_UPRIGHT, (count, 6)) + STRETCHED
    wanted = link_frames(theta)[:, 6]
    hips = np.linalg.inv(wanted).astype(np.float64)
    found = link_frames(leg_angles(hips))[:, 6]
    return {'opening': np.abs(found - wanted).max(axis=(1, 2))}


def iterations(robot: RobotKey, step_time: float, intervals: Sequence[float]) -> Arrays:
    """Count what Algorithm 1 needs for the points of a walk, at several intervals between them.

    Returns:
        mean, most (I, 2) iterations per point of the paper's and the exact form; residual (I, 2)
        the largest distance from the wanted CoG [m]; duration (I, 2) of computing a point [s].
    """
    biped = Biped.of(robot.load(), posture={})
    walk = plan_walk(biped, ItuTrial(step_time=step_time).parameters)
    rows = []
    for interval in intervals:
        stride = round(interval / walk.plan.time_step)
        forms = (Convergence.as_in_paper(), Convergence())
        rows.append([_converged(biped, walk, stride, form) for form in forms])
    mean, most, residual, duration = np.moveaxis(np.array(rows), 2, 0)
    return {'mean': mean, 'most': most, 'residual': residual, 'duration': duration}


def _converged(
    biped: Biped, walk: PlannedWalk, stride: int, form: Convergence
) -> tuple[float, float, float, float]:
    """Mean and most iterations, largest residual [m], duration per point [s] of every n-th row."""
    plan = walk.plan
    left, right = (foot[::stride] for foot in plan.feet)
    wanted, rotation = walk.com_reference[::stride], plan.root.rotation[::stride]
    durations = []
    for _ in range(_TIMED):
        begin = thread_time()
        found = converge_cog(
            biped, wanted, (left, right), rotation, start=plan.root.position[0], convergence=form
        )
        durations.append((thread_time() - begin) / len(wanted))
    count = found.iterations
    return (
        float(count.mean()),
        float(count.max()),
        float(found.residual.max()),
        float(np.median(durations)),
    )


def _largest_arm(outcome: Outcome, file: RobotFile) -> float:
    """Largest arm of the tipping moment of the ground about the IZMP of the exact motion [m].

    Without a push IZMP and CoP are the same point, whatever the robot does.
    """
    model = Biped.of(file, posture={}).model
    minimum, _ = file.ground.forces(model.total_mass * file.gravity)
    truth = outcome.run.truth
    wrench, _ = MrAd(model).batch(
        *truth.root.felt(file.gravity), outcome.run.q, truth.qd, truth.qdd
    )
    normal, on_ground = truth.ground_normal_in_root(), truth.cop_in_root()
    arms = arm_of_wrench(wrench, truth.ground_wrench, normal, on_ground, minimum)
    return float(np.nanmax(arms))


@dataclass(frozen=True)
class CogScore:
    """The outcome of a walk; lengths in m.

    Attributes:
        mean: distance of the CoG from the wanted one, over the whole run.
        largest: likewise; up to the fall if there was one.
        smallest: likewise.
        walking: mean from the beginning of the first step to the end of the last one or the fall.
        falls_in: step in which the robot fell, from 1; 0 if it did not.
        fall_time: when [s]; NaN if it did not.
        planned: largest distance of the plan's CoG from the wanted one.
        zmp_gap: (2,) largest distance in x and y of the plan's ZMP, that of all bodies, from the
            wanted one while one foot carries.
        arm: largest tipping moment of what the ground does, about the IZMP of the exact motion,
            over the normal force.
    """

    mean: float
    largest: float
    smallest: float
    walking: float
    falls_in: int
    fall_time: float
    planned: float
    zmp_gap: Array
    arm: float

    @property
    def finishes(self) -> bool:
        """Whether the robot stands at the end."""
        return not self.falls_in

    @classmethod
    def of(cls, outcome: Outcome, file: RobotFile) -> 'CogScore':
        """Score a walk of the robot of a file."""
        error, plan, timing = outcome.cog_error, outcome.walk.plan, outcome.walk.timing
        times = plan.times[: len(error)]
        walking = (times >= timing.stand) & (times < timing.begins(timing.steps))
        single = np.sum([foot.contact for foot in plan.feet], axis=0) == 1
        assert plan.zmp is not None  # plan_walk computes both
        assert plan.com is not None
        planned = np.linalg.norm(plan.com - outcome.walk.com_reference, axis=1)
        gap = np.abs(plan.zmp - outcome.walk.zmp_reference.point)[single]
        return cls(
            mean=float(error.mean()),
            largest=float(error.max()),
            smallest=float(error.min()),
            walking=float(error[walking].mean()),
            falls_in=outcome.falls_in_step or 0,
            fall_time=float(times[-1]) if outcome.run.fall else float('nan'),
            planned=float(planned.max()),
            zmp_gap=gap[:, :2].max(axis=0),
            arm=_largest_arm(outcome, file),
        )


@dataclass(frozen=True)
class Tracks:
    """A walk over time, every 10 ms; positions in the world [m].

    Attributes:
        times: (K,) [s]; up to the fall if there was one.
        com: (K, 3) simulated CoG.
        cop: (K, 3) simulated ZMP: where the ground reaction acts; NaN without one.
        error: (K,) distance of the CoG from the wanted one.
        wanted_times: (W,) [s]; the whole walk.
        wanted_com: (W, 3).
        wanted_zmp: (W, 3).
        support: (W, 4) least and largest x, least and largest y of the feet that are to carry.
        soles: (S, 4, 2) outlines of all footholds.
        pose_times: (P,) instants that divide the run into equal intervals [s].
        poses: (P, L, 3) pelvis, then hip, knee, ankle, heel and toe of the left and right leg.
        step_begins: (steps + 1,) [s].
    """

    times: Array
    com: Array
    cop: Array
    error: Array
    wanted_times: Array
    wanted_com: Array
    wanted_zmp: Array
    support: Array
    soles: Array
    pose_times: Array
    poses: Array
    step_begins: Array

    @classmethod
    def of(cls, outcome: Outcome, file: RobotFile) -> 'Tracks':
        """Take the tracks of a walk."""
        walk, run, every = outcome.walk, outcome.run, slice(None, None, _KEPT_EVERY)
        plan, timing = walk.plan, walk.timing
        chosen = np.linspace(0, len(run) - 1, POSES).round().astype(np.intp)
        return cls(
            times=plan.times[: len(run)][every],
            com=run.truth.com[every],
            cop=run.truth.cop[every],
            error=outcome.cog_error[every],
            wanted_times=plan.times[every],
            wanted_com=walk.com_reference[every],
            wanted_zmp=walk.zmp_reference.point[every],
            support=_support(outcome)[every],
            soles=_soles(outcome),
            pose_times=plan.times[chosen],
            poses=_poses(outcome, file, chosen),
            step_begins=timing.beginnings,
        )


def _support(outcome: Outcome) -> Array:
    """(T, 4) least and largest x, least and largest y of the soles that are meant to carry."""
    length, width = outcome.trial.foot
    limits = np.full((len(outcome.walk.plan), 4), np.nan)
    for foot in outcome.walk.plan.feet:
        x, y = foot.position[:, 0] + FOOT_MIDDLE, foot.position[:, 1]
        edges = np.stack([x - length / 2, x + length / 2, y - width / 2, y + width / 2], axis=1)
        edges[~foot.contact] = np.nan
        limits[:, 0::2] = np.fmin(limits[:, 0::2], edges[:, 0::2])
        limits[:, 1::2] = np.fmax(limits[:, 1::2], edges[:, 1::2])
    return limits


def _soles(outcome: Outcome) -> Array:
    """(S, 4, 2) outlines of all footholds."""
    length, width = outcome.trial.foot
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * [length / 2, width / 2]
    steps = outcome.walk.footsteps
    middles = [hold.point(FOOT_MIDDLE)[:2] for hold in (*steps.start, *steps.steps)]
    outlines: Array = np.array(middles)[:, None] + corners
    return outlines


def _poses(outcome: Outcome, file: RobotFile, chosen: npt.NDArray[np.intp]) -> Array:
    """(P, 11, 3) see `Tracks.poses`."""
    biped, run = Biped.of(file, posture={}), outcome.run
    root, half = run.truth.root, outcome.trial.foot[0] / 2
    places = [np.zeros((len(chosen), 3))]
    for leg, prefix in zip(biped.legs, 'lr', strict=True):
        for link in ('upper_leg', 'lower_leg', 'foot'):
            places.append(biped.model.frame_pose(f'{prefix}_{link}', run.q[chosen])[1])
        R, p = biped.model.frame_pose(leg.sole, run.q[chosen])
        places += [p + R[..., 0] * (FOOT_MIDDLE + side * half) for side in (-1, 1)]
    in_root = np.stack(places, axis=1)
    turned: Array = np.einsum('pij,plj->pli', root.rotation[chosen], in_root)
    return root.position[chosen, None] + turned


ROBOT = 'robots/itu_biped/robot.yaml'

METHODS: Mapping[str, Mapping[str, Any]] = {
    'constant': {'cog_tracking': 'constant'},
    'converging': {'cog_tracking': 'converging'},
    'filtered': {'cog_tracking': 'converging', 'filter_passes': 4},
}
"""Name → what sets it apart: the paper's two, and CCG after our dynamics filter."""

LARGE, SMALL = (0.23, 0.10), (0.12, 0.06)
"""Length and width of the largest and the smallest soles [m]."""


@dataclass(frozen=True, order=True)
class Setting:
    """What all methods have to cope with.

    Attributes:
        step_time: [s].
        foot: length and width of a sole [m].
        friction: [-].
    """

    step_time: float
    foot: tuple[float, float]
    friction: float

    def trial(self, method: str, **others: Any) -> ItuTrial:
        """Return the walk by a method; `others` are further attributes of the trial."""
        given = {**METHODS[method], **others}
        return dataclasses.replace(ItuTrial(self.step_time, self.foot, self.friction), **given)


@dataclass(frozen=True)
class Grid:
    """Settings that are tried.

    Attributes:
        step_times: [s].
        feet: lengths and widths of a sole [m].
        frictions: [-].
    """

    step_times: tuple[float, ...] = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
    feet: tuple[tuple[float, float], ...] = (SMALL, (0.15, 0.07), (0.18, 0.08), LARGE)
    frictions: tuple[float, ...] = (0.6, 0.8, 1.0, 1.2)

    def __iter__(self) -> Iterator[Setting]:
        for foot, friction, step_time in itertools.product(
            self.feet, self.frictions, self.step_times
        ):
            yield Setting(step_time, foot, friction)


SHOWN = Setting(1.4, SMALL, 1.0)
"""The walk of figures 7 to 11: CCG finishes, the constant vector falls."""

WITH_LARGE_FEET = Setting(1.0, LARGE, 1.0)
"""Where both finish, so that their errors can be compared over the whole walk."""

OPEN_PARAMETERS: Mapping[str, tuple[float, ...]] = {
    'double_support': (0.1, 0.3, 0.4),
    'step_width': (0.065, 0.11, 0.2),
    'contact_time': (0.005, 0.02, 0.03),
}
"""Attribute of the trial → other values than its own, for what the paper leaves open."""

POINT_INTERVALS = (0.002, 0.004, 0.01, 0.02, 0.04, 0.1)
"""Times between the points that Algorithm 1 is given [s]."""


@dataclass(frozen=True)
class ItuStudy:
    """The runs of the experiment, by what they are about.

    Attributes:
        grid: the settings.
        open_parameters: attribute of the trial → other values than its own.
        robot: which robot.
    """

    grid: Grid
    open_parameters: Mapping[str, tuple[float, ...]]
    robot: RobotKey

    @classmethod
    def full(cls) -> 'ItuStudy':
        """Prepare the whole experiment."""
        return cls(Grid(), OPEN_PARAMETERS, RobotKey.of(find_resource(ROBOT)))

    @classmethod
    def quick(cls) -> 'ItuStudy':
        """Prepare one that takes seconds and still shows all that the page describes."""
        few = {name: values[:1] for name, values in OPEN_PARAMETERS.items()}
        grid = Grid((0.6, 1.0, 1.4), (SMALL, LARGE), (0.8, 1.0))
        return cls(grid, few, RobotKey.of(find_resource(ROBOT)))

    def score(self, method: str, setting: Setting, **others: Any) -> Run:
        """Describe the score of a walk."""
        return self._walk(walk_score, CogScore, setting.trial(method, **others))

    def tracks(self, method: str, setting: Setting) -> Run:
        """Describe the tracks of a walk."""
        return self._walk(walk_tracks, Tracks, setting.trial(method))

    def leg_closure(self) -> Run:
        """Describe the closing of the legs' kinematics."""
        return Run(leg_closure, {'count': 2000})

    def iterations(self, step_time: float) -> Run:
        """Describe the count of the iterations of Algorithm 1."""
        given = {'robot': self.robot, 'step_time': step_time, 'intervals': POINT_INTERVALS}
        return Run(iterations, given, effort=6.0)

    def _walk(self, function: Callable[..., Any], record: type, trial: ItuTrial) -> Run:
        effort = (6.0 * trial.step_time + 3.0) * (1.5 if trial.filter_passes else 1.0)
        return Run(function, {'robot': self.robot, 'trial': trial}, record, effort=effort)


PAPER_METHODS = ('converging', 'constant')
ALL_METHODS = (*PAPER_METHODS, 'filtered')

CURVES = {
    'converging': Curve('CCG', 'mr-ad', '-', 1.4, 'o'),
    'constant': Curve('constant vector', 'ir-md', (0, (4, 1.6)), 1.4, 's'),
    'filtered': Curve('CCG and dynamics filter', 'cop', (0, (1, 1)), 1.8, '^'),
}

WANTED_COG = Curve('wanted CoG', 'ink', (0, (1.2, 1.4)), 1.1, '')
WANTED_ZMP = Curve('wanted ZMP', 'muted', '-', 0.9, '')


def foot_text(foot: tuple[float, float]) -> str:
    """Write the size of a foot."""
    return f'{foot[0]:.2f} × {foot[1]:.2f} m'


def setting_text(setting: Setting) -> str:
    """Write a setting."""
    return (
        f'feet of {foot_text(setting.foot)}, steps of {setting.step_time:.1f} s, '
        f'friction {setting.friction:.1f}'
    )
