"""A robot that walks as it is told, replanned every interval, without a jump.

It stands until a command comes, walks by the command that came last, and stops when it is told to
or when a command cannot be walked. A command takes effect with the next step that has not begun.
"""

import math

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.errors import MotionError
from izmp_dynamics.motion.biped import LEFT, Biped
from izmp_dynamics.motion.body_states import BodyStates
from izmp_dynamics.motion.course import Course, beside
from izmp_dynamics.motion.dynamics_filter import LEAST_LOAD
from izmp_dynamics.motion.footsteps import Foothold, Footsteps, check_overlap
from izmp_dynamics.motion.ground_torques import Load, ground_torques
from izmp_dynamics.motion.plan import MotionPlan
from izmp_dynamics.motion.receding_planner import RecedingPlanner, WindowPlan
from izmp_dynamics.motion.step_timing import StepTiming
from izmp_dynamics.motion.walk_command import WalkCommand
from izmp_dynamics.motion.walk_parameters import WalkParameters
from izmp_dynamics.motion.walker import Walker
from izmp_dynamics.stability.zmp import zero_moment_point

LEAD = 0.8
"""Time from a command to a standing robot until its first step begins [s]."""

_FUTURE = 2.0
"""Time beyond the window for which steps are laid out [s]."""


class OnlineWalk:
    """Plans the motion interval by interval.

    Args:
        biped: the robot.
        parameters: how it walks, but for length, width and direction of its steps.

    Attributes:
        command: by which it walks; None if it is to stand.
    """

    def __init__(self, biped: Biped, parameters: WalkParameters | None = None) -> None:
        self.biped = biped
        self.parameters = parameters or WalkParameters.by('angular_momentum', time_step=0.01)
        self.command: WalkCommand | None = None
        self._changed = False
        momentum = self.parameters.momentum
        self._horizon = momentum.window + _FUTURE
        left = Foothold(LEFT, np.array([0.0, 0.5 * biped.hip_width, 0.0]), np.eye(3), 0.0)
        course = self._standing((left, beside(left, biped.hip_width)))
        planner = RecedingPlanner(biped, self.parameters.com_height, momentum)
        self._walker = Walker(planner, course)

    @property
    def time(self) -> float:
        """When the interval that comes next begins, since the robot stood first [s]."""
        return self._walker.time

    @property
    def interval(self) -> float:
        """[s]."""
        return self.parameters.momentum.interval

    @property
    def planner(self) -> RecedingPlanner:
        """What plans the windows."""
        return self._walker.planner

    @property
    def stopped(self) -> str:
        """Why the robot stops or stands although it was told to walk; '' if it does not."""
        return self._walker.stopped

    @property
    def stands(self) -> bool:
        """Whether both feet carry until another command comes."""
        timing = self._walker.course.timing
        settled = timing.begins(timing.steps) + timing.double_support * timing.step_time
        return not timing.steps or self.time >= settled

    def walk(self, command: WalkCommand | None) -> None:
        """Walk by a command from the next step on; None stops."""
        self.command, self._changed = command, True

    def advance(self) -> MotionPlan:
        """Plan the interval that comes next.

        Returns:
            Its motion from beginning to end; the end is the beginning of the next one.

        Raises:
            MotionError: if the last plan has ended and no other could be made.
        """
        begin, walker = self.time, self._walker
        if self.stopped and self.stands and self._changed and self.command:
            walker.resume()
        wanted = walker.course
        if not self.stopped:
            try:
                wanted = self._wanted()
            except MotionError as error:
                walker.halt(str(error))
        plan = walker.advance(wanted)
        if self.stopped and not self._changed:
            self.command = None
        return self._motion(plan, begin)

    def _wanted(self) -> Course:
        """Return the course for the command; the same one while that is long enough."""
        course, time = self._walker.course, self.time
        changed, self._changed = self._changed, False
        if self.command is None:
            return course.stopping(time) if changed else course
        if self.stands:
            standing = self._standing(course.footsteps.before(course.timing.steps), time + LEAD)
            return self._laid_out(standing, self.command)
        if changed or course.timing.begins(course.timing.steps) < time + self._horizon:
            return self._laid_out(course, self.command)
        return course

    def _laid_out(self, course: Course, command: WalkCommand) -> Course:
        """The course with steps of the command after the one that has begun."""
        course = course.recent(self.time)
        begun = course.begun(self.time)
        if begun:
            stance = course.footsteps.steps[begun - 1]
        else:
            stance = course.footsteps.start[1 - self.parameters.first]
        ahead = 2.0 * self._horizon - (course.timing.begins(begun) - self.time)
        count = max(2, math.ceil(ahead / self.parameters.step_time))
        laid_out = course.going_on(self.time, command.steps_from(stance, count))
        check_overlap(laid_out.footsteps, self.biped)
        return laid_out

    def _standing(self, holds: tuple[Foothold, Foothold], until: float = 0.0) -> Course:
        parameters = self.parameters
        timing = StepTiming(
            0, parameters.step_time, parameters.double_support, until, parameters.time_step
        )
        return Course(
            self.biped, Footsteps(holds, ()), timing, parameters.swing_height,
            parameters.zmp_travel,
        )  # fmt: skip

    def _motion(self, plan: WindowPlan, begin: float) -> MotionPlan:
        """The motion of all bodies during an interval, with its ZMP and torques."""
        rows = round(self.interval / self.parameters.time_step)
        times = begin + self.parameters.time_step * np.arange(rows + 1.0)
        course, body = self._walker.course, self.planner.body
        states = body.states(course, plan.com, times)
        wrench, com_in_root = body.contact_wrench(states)
        root = states.root
        in_world = wrench.transformed(root.rotation, root.position)
        wanted = course.zmp(times)
        least = LEAST_LOAD * self.biped.model.total_mass * self.biped.gravity
        zmp = zero_moment_point(in_world, wanted.normal, wanted.point, least)
        return MotionPlan(
            name='walk',
            joint_names=self.biped.model.joint_names,
            time_step=self.parameters.time_step,
            q=states.q,
            qd=states.qd,
            qdd=states.qdd,
            root=root,
            feet=states.feet,
            feed_forward=self._torques(states, Load(in_world, zmp, wanted.loads)),
            zmp=zmp,
            com=root.position + np.einsum('tij,tj->ti', root.rotation, com_in_root),
        )

    def _torques(self, states: BodyStates, load: Load) -> Array:
        joints = (states.q, states.qd, states.qdd)
        return ground_torques(
            self.biped, states.root, joints, states.feet, load, self.parameters.drive
        )
