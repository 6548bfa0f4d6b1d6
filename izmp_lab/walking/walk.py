"""The walking pattern generator: from a speed and a number of steps to the motion of every joint.

Footsteps → soles and ZMP reference → centre of mass and whole body (converging CoG) → joint
torques. Two generators make the motion of the centre of mass: the cart-table with full preview and
a dynamics filter, and the receding horizon with estimated angular momentum. `docs/references.md`
names the sources.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from shapely.geometry import Point, Polygon

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError, UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.walking.biped import SIDES, Biped
from izmp_lab.walking.converging_cog import WholeBodyPoses, converge_cog, keep_cog_offset
from izmp_lab.walking.course import Course, heading, upright
from izmp_lab.walking.dynamics_filter import (
    Filtered,
    Task,
    filter_dynamics,
    from_rest_to_rest,
    whole_body,
)
from izmp_lab.walking.footsteps import (
    Footsteps,
    Gait,
    Ramp,
    StepTiming,
    ZmpReference,
    plan_footsteps,
)
from izmp_lab.walking.inverse_dynamics import Load, ground_torques
from izmp_lab.walking.limits import Place, check_joints, check_reach
from izmp_lab.walking.momentum_walk import plan_momentum_walk
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.sway import plan_sway
from izmp_lab.walking.walk_parameters import WalkParameters


def _check_zmp(biped: Biped, travel: tuple[float, float]) -> None:
    """Refuse a ZMP that would leave the sole that carries alone, from so far ahead to so far [m].

    Raises:
        MotionError: naming the foot and the point.
    """
    for side, polygon in zip(SIDES, biped.polygons, strict=True):
        for ahead in travel:
            if not Polygon(polygon).contains(Point(ahead, 0.0)):
                raise MotionError(
                    f'The ZMP is to be {ahead:.3f} m ahead of the origin of the {side} sole, '
                    f'which reaches from {polygon[:, 0].min():.3f} to '
                    f'{polygon[:, 0].max():.3f} m; it must stay inside.',
                    kind='zmp_outside_sole',
                    foot=side,
                    ahead=ahead,
                )


def _place_in(course: Course) -> Place:
    """Steps and times of the rows of a walk; the step is 0 if none is under way."""
    timing = course.timing

    def place(row: int) -> tuple[str, dict[str, Any]]:
        time = row * timing.time_step
        step = timing.step_at(time)
        if step is None:
            name = f'{"Before the first" if time < timing.begins(0) else "After the last"} step'
        else:
            name = f'Step {step + 1} ({SIDES[course.footsteps.steps[step].foot]} foot)'
        return f'{name}, at {time:.3f} s', {
            'time': time, 'step': 0 if step is None else step + 1,
        }  # fmt: skip

    return place


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
        return (self.plan.zmp - self.zmp_reference.point)[:, :2]


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
    _check_zmp(biped, parameters.zmp_travel)
    generate = _GENERATORS[parameters.generator]
    course, task, found, stopped = generate(course, ramp, parameters)
    motion = found.motion
    place = _place_in(course)
    check_joints(biped.model, 'position', motion.poses.q, place)
    check_joints(biped.model, 'velocity', motion.qd, place)
    torques = ground_torques(
        biped.model, biped.gravity, motion.root, (motion.poses.q, motion.qd, motion.qdd),
        task.feet, Load(motion.wrench, motion.zmp, task.zmp.loads), parameters.drive,
    )  # fmt: skip
    check_joints(biped.model, 'torque', torques, place)
    plan = MotionPlan(
        'walk', biped.model.joint_names, parameters.time_step, motion.poses.q, motion.qd,
        motion.qdd, motion.root, task.feet, torques, motion.zmp, motion.com,
    )  # fmt: skip
    return PlannedWalk(
        plan, parameters, ramp, course.footsteps, course.timing, task.zmp, found.com,
        found.errors, stopped,
    )  # fmt: skip


_Generated = tuple[Course, Task, Filtered, MotionError | None]
"""The course that is walked, what the body does on it, its motion, and why it stops early."""


def _reached(course: Course) -> Callable[[WholeBodyPoses], None]:
    place = _place_in(course)
    return lambda poses: check_reach(course.biped, poses.reach, place)


def _plan_with_filter(course: Course, ramp: Ramp, parameters: WalkParameters) -> _Generated:
    task = _task(course, ramp, parameters)
    found = filter_dynamics(course.biped, task, parameters.filter_passes, _reached(course))
    return course, task, found, None


def _plan_with_momentum(course: Course, ramp: Ramp, parameters: WalkParameters) -> _Generated:
    walk = plan_momentum_walk(course, parameters.com_height, parameters.momentum)
    task = _task(walk.course, ramp, parameters)
    com = from_rest_to_rest(walk.com(walk.course.timing.times), task)
    motion = whole_body(course.biped, task, com, _reached(walk.course))
    x, y = np.abs(motion.zmp - task.zmp.point).mean(axis=0)[:2].tolist()
    return walk.course, task, Filtered(motion, com, ((x, y),)), walk.stopped


_GENERATORS: dict[str, Callable[[Course, Ramp, WalkParameters], _Generated]] = {
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


GAITS = ('walk', 'sway')


def make_plan(
    robot: RobotFile,
    gait: str,
    time_step: float,
    speed: float = 0.3,
    steps: int = 20,
    slope: float = 0.0,
) -> MotionPlan:
    """Plan a motion.

    Args:
        robot: robot file.
        gait: 'walk' or 'sway'.
        time_step: of the plan [s].
        speed: of the walk [m/s].
        steps: of the walk.
        slope: of the ramp that the walk goes up [rad].

    Raises:
        UnknownNameError: another gait.
        MotionError: if the robot cannot move like that.
    """
    if gait == 'walk':
        parameters = WalkParameters(speed=speed, steps=steps, time_step=time_step, slope=slope)
        return plan_walk(Biped.of(robot), parameters).plan
    if gait == 'sway':
        return plan_sway(load_model(robot.read_urdf(), robot.root), time_step=time_step)
    raise UnknownNameError('gait', gait, GAITS)
