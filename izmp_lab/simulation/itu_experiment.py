"""The experiment of Şanlıtürk & Kocabaş (2024): the ITU Biped walks with and without CCG.

Both walks have the same footsteps and the same wanted motion of the CoG. With CCG the robot's own
CoG follows it; without, the pelvis moves as if the vector to the CoG were constant. How far the
simulated CoG is from the wanted one, and whether the robot falls, is their figures 7 to 11.

The paper states (tables 1–4, sect. 2.3): lengths, masses and CoGs of the robot; six steps of
0.3 m, a CoG height of 0.45 m, a step height of 0.075 m, four contact spheres of 1 cm per foot.
It leaves open, and is a parameter of the trial: the duration of a step, the size of the feet, the
friction, the double support, how soft MuJoCo's contacts are; 0.13 m between the feet (0.065 m
would let feet of 0.10 m overlap, so it is taken from the middle). Decided here: a reference ZMP at
rest amid the sole; 1.5 s of standing before and after; inertias (`robots/itu_biped/make_urdf.py`).
The paper's joints follow their references perfectly; here stiff servos do, with the torques of the
motion.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.robot_file import RobotFile
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import simulate
from izmp_lab.simulation.physics import Physics
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.converging_cog import Convergence, converge_cog
from izmp_lab.walking.plan import MotionPlan, interpolated
from izmp_lab.walking.walk import PlannedWalk, plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

STEPS = 6
STEP_LENGTH, SWING_HEIGHT, COG_HEIGHT = 0.3, 0.075, 0.45
"""[m] (sect. 2.3, table 4)."""

POINT_INTERVAL = 0.01
"""Time between the points of Algorithm 1 as it is printed; the paper does not state it [s]."""

FOOT_MIDDLE = 0.019
"""How far ahead of the ankle the middle of a sole is: below the foot's CoG [m]."""


@dataclass(frozen=True)
class ItuTrial:
    """One walk of the experiment.

    Attributes:
        step_time: duration of a step [s].
        foot: length and width of a sole [m].
        friction: between soles and ground [-].
        cog_tracking: 'converging' or 'constant', see `WalkParameters`.
        filter_passes: of the dynamics filter, which the paper does not have.
        double_support: part of a step during which both feet carry [-].
        step_width: between the middles of the feet [m].
        contact_time: time constant of the soft contacts, see `Physics` [s].
        literal: whether the joints follow Algorithm 1 as it is printed, see `literal_plan`.
    """

    step_time: float = 1.0
    foot: tuple[float, float] = (0.23, 0.10)
    friction: float = 1.0
    cog_tracking: str = 'converging'
    filter_passes: int = 0
    double_support: float = 0.2
    step_width: float = 0.13
    contact_time: float = 0.01
    literal: bool = False

    @property
    def parameters(self) -> WalkParameters:
        """What is planned."""
        return WalkParameters(
            speed=STEP_LENGTH / self.step_time,
            steps=STEPS,
            step_time=self.step_time,
            double_support=self.double_support,
            step_width=self.step_width,
            swing_height=SWING_HEIGHT,
            com_height=COG_HEIGHT,
            zmp_travel=(FOOT_MIDDLE, FOOT_MIDDLE),
            filter_passes=self.filter_passes,
            cog_tracking=self.cog_tracking,
        )

    @property
    def physics(self) -> Physics:
        """What it is simulated with."""
        return Physics(friction=self.friction, solref=(self.contact_time, 1.0))


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial.

    Attributes:
        trial: what was tried.
        walk: what was planned.
        run: what happened; up to the fall if there was one.
    """

    trial: ItuTrial
    walk: PlannedWalk
    run: SimulatedRun

    @property
    def cog_error(self) -> Array:
        """(T,) distance of the simulated CoG from the wanted one [m] (fig. 11)."""
        wanted = self.walk.com_reference[: len(self.run)]
        error: Array = np.linalg.norm(self.run.truth.com - wanted, axis=1)
        return error

    @property
    def falls_in_step(self) -> int | None:
        """The step, from 1, in which the robot falls; one more than there are after the last."""
        if not self.run.fall:
            return None
        timing = self.walk.timing
        step = int((self.walk.plan.times[len(self.run) - 1] - timing.stand) / timing.step_time)
        return min(step, timing.steps) + 1


def run_trial(file: RobotFile, trial: ItuTrial) -> Outcome:
    """Plan a walk and simulate it.

    Args:
        file: the robot file of the ITU Biped.
        trial: what to try.

    Raises:
        MotionError: if the walk cannot be planned.
        MissingDependencyError: without MuJoCo.
    """
    shod = _with_soles(file, trial.foot)
    biped = Biped.of(shod, posture={})
    walk = plan_walk(biped, trial.parameters)
    plan = literal_plan(biped, walk) if trial.literal else walk.plan
    return Outcome(trial, walk, simulate(plan, build_mujoco(shod, trial.physics)))


def literal_plan(biped: Biped, walk: PlannedWalk) -> MotionPlan:
    """Let the joints follow Algorithm 1 as it is printed: β = ε = 1 mm, a point every 10 ms.

    Between the points positions are interpolated. Servos are given positions alone, without
    velocities and torques: the poses jump by 1 mm, so that their second differences exceed g, and
    inverse dynamics would have the robot leave the ground. Swapping the fixed and the moving leg
    changes nothing, as both hips are on one rigid pelvis.
    """
    plan = walk.plan
    stride = round(POINT_INTERVAL / plan.time_step)
    rows = slice(None, None, stride)
    left, right = plan.feet
    found = converge_cog(
        biped, walk.com_reference[rows], (left[rows], right[rows]), plan.root.rotation[rows],
        start=plan.root.position[0], convergence=Convergence.as_in_paper(),
    )  # fmt: skip
    q = interpolated(plan.times, plan.times[rows], found.q)
    still = np.zeros_like(q)
    return dataclasses.replace(plan, q=q, qd=still, qdd=still, feed_forward=None)


def _with_soles(file: RobotFile, size: tuple[float, float]) -> RobotFile:
    """Give both feet soles of a size (length, width) [m]."""
    length, width = 0.5 * size[0], 0.5 * size[1]
    polygon = tuple(
        (FOOT_MIDDLE + x * length, y * width) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    )
    feet = tuple(dataclasses.replace(foot, polygon=polygon) for foot in file.feet)
    return dataclasses.replace(file, feet=feet)
