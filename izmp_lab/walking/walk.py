"""The walking pattern generator: from a speed and a number of steps to the motion of every joint.

Footsteps → soles and ZMP reference → centre of mass and whole body (converging CoG) → joint
torques. Two generators make the motion of the centre of mass: the cart-table with full preview and
a dynamics filter, and the receding horizon with estimated angular momentum. `docs/references.md`
names the sources.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.converging_cog import WholeBodyPoses, converge_cog, keep_cog_offset
from izmp_lab.walking.course import Course, heading, upright
from izmp_lab.walking.dynamics_filter import (
    Task,
    WholeBodyMotion,
    filter_dynamics,
    from_rest_to_rest,
    whole_body,
)
from izmp_lab.walking.footsteps import Footsteps, Gait, plan_footsteps
from izmp_lab.walking.ground_torques import Load, ground_torques
from izmp_lab.walking.momentum_walk import plan_momentum_walk
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.ramp import Ramp
from izmp_lab.walking.step_timing import StepTiming
from izmp_lab.walking.walk_limits import WalkLimits
from izmp_lab.walking.walk_parameters import WalkParameters
from izmp_lab.walking.zmp_reference import ZmpReference

EDGE_WIDTH = 0.08
"""Width over which the height of the centre of mass bends at the edge of a ramp [m]."""

_TRACKING: dict[str, Callable[..., WholeBodyPoses]] = {
    'converging': converge_cog,
    'constant': keep_cog_offset,
}


@dataclass(frozen=True)
class PlannedWalk:
    """A walk and how it came about.

    Attributes:
        plan: what a plant executes; with torques, ZMP and centre of mass.
        parameters: what was asked for.
        ramp: the ground.
        footsteps: where the soles are set down.
        timing: when.
        zmp_reference: the ZMP that was wanted; `plan.zmp` is that of all bodies.
        com_reference: (T, 3) the centre of mass that was wanted, in the world [m]; `plan.com` is
            that of all bodies.
        filter_errors: mean distance of `plan.zmp` from the wanted ZMP in x and y after each pass
            of the dynamics filter, the first before any [m].
        stopped: why the walk stops before its last step; None if it does not.
    """

    plan: MotionPlan
    parameters: WalkParameters
    ramp: Ramp
    footsteps: Footsteps
    timing: StepTiming
    zmp_reference: ZmpReference
    com_reference: Array
    filter_errors: tuple[tuple[float, float], ...]
    stopped: MotionError | None = None

    @property
    def zmp_errors(self) -> Array:
        """(T, 2) distance of the ZMP of all bodies from the wanted one in x and y [m]."""
        assert self.plan.zmp is not None
        errors: Array = (self.plan.zmp - self.zmp_reference.point)[:, :2]
        return errors


def plan_walk(biped: Biped, parameters: WalkParameters | None = None) -> PlannedWalk:
    """Plan a walk.

    The middle of the first stance is the world's origin; the walk begins along x.

    Args:
        biped: the robot.
        parameters: how it walks.

    Raises:
        MotionError: if the robot cannot walk like that; the message names step, joint and value.
    """
    parameters = parameters or WalkParameters()
    ramp = Ramp(parameters.slope, parameters.slope_start)
    timing = StepTiming(
        parameters.steps, parameters.step_time, parameters.double_support, parameters.stand,
        parameters.time_step,
    )  # fmt: skip
    footsteps = plan_footsteps(biped, _gait(biped, parameters), ramp)
    course = Course(biped, footsteps, timing, parameters.swing_height, parameters.zmp_travel)
    WalkLimits(biped, footsteps, timing).check_zmp(parameters.zmp_travel)
    planned = _GENERATORS[parameters.generator](course, ramp, parameters)
    task, motion, course = planned.task, planned.motion, planned.course
    limits = WalkLimits(biped, course.footsteps, course.timing)
    limits.check_joints(motion.poses.q, motion.qd)
    torques = ground_torques(
        biped, motion.root, (motion.poses.q, motion.qd, motion.qdd), task.feet,
        Load(motion.wrench, motion.zmp, task.zmp.loads), parameters.drive,
    )  # fmt: skip
    limits.check_torques(torques)
    plan = MotionPlan(
        name='walk',
        joint_names=biped.model.joint_names,
        time_step=parameters.time_step,
        q=motion.poses.q,
        qd=motion.qd,
        qdd=motion.qdd,
        root=motion.root,
        feet=task.feet,
        feed_forward=torques,
        zmp=motion.zmp,
        com=motion.com,
    )
    return PlannedWalk(
        plan, parameters, ramp, course.footsteps, course.timing, task.zmp, planned.com,
        planned.errors, planned.stopped,
    )  # fmt: skip


@dataclass(frozen=True)
class _Planned:
    """What a generator made: see `PlannedWalk` and `Filtered`."""

    course: Course
    task: Task
    motion: WholeBodyMotion
    com: Array
    errors: tuple[tuple[float, float], ...]
    stopped: MotionError | None = None


def _plan_with_filter(course: Course, ramp: Ramp, parameters: WalkParameters) -> _Planned:
    task = _task(course, ramp, parameters)
    limits = WalkLimits(course.biped, course.footsteps, course.timing)
    filtered = filter_dynamics(course.biped, task, parameters.filter_passes, limits.check_reach)
    return _Planned(course, task, filtered.motion, filtered.com, filtered.errors)


def _plan_with_momentum(course: Course, ramp: Ramp, parameters: WalkParameters) -> _Planned:
    walk = plan_momentum_walk(course, parameters.com_height, parameters.momentum)
    task = _task(walk.course, ramp, parameters)
    com = from_rest_to_rest(walk.com(walk.course.timing.times), task)
    limits = WalkLimits(course.biped, walk.course.footsteps, walk.course.timing)
    motion = whole_body(course.biped, task, com, limits.check_reach)
    error = np.abs(motion.zmp - task.zmp.point).mean(axis=0)
    return _Planned(
        walk.course, task, motion, com, ((float(error[0]), float(error[1])),), walk.stopped
    )


_GENERATORS: dict[str, Callable[[Course, Ramp, WalkParameters], _Planned]] = {
    'cart_table': _plan_with_filter,
    'angular_momentum': _plan_with_momentum,
}


def _task(course: Course, ramp: Ramp, parameters: WalkParameters) -> Task:
    feet = course.feet()
    return Task(
        feet=feet,
        world_R_root=upright(heading(feet)),
        zmp=course.zmp(),
        height=lambda x: parameters.com_height + ramp.smooth_height(x, EDGE_WIDTH),
        time_step=parameters.time_step,
        rest=0.5 * parameters.stand,
        track=_TRACKING[parameters.cog_tracking],
    )


def _gait(biped: Biped, parameters: WalkParameters) -> Gait:
    return Gait(
        steps=parameters.steps,
        length=parameters.step_length,
        turn=parameters.turn_rate * parameters.step_time,
        width=parameters.step_width or biped.hip_width,
        first=parameters.first,
    )
