"""A robot that walks by commands, replanned every interval, without a jump.

It stands until a command comes, walks by the latest command, and stops when commanded to stop or
when a command cannot be walked. A command takes effect with the next step that has not begun.
"""

import math

import numpy as np

from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.biped import LEFT, Biped
from izmp_lab.walking.course import Course, beside
from izmp_lab.walking.execution import Execution
from izmp_lab.walking.footsteps import Foothold, Footsteps, check_overlap
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.receding_planner import RecedingPlanner
from izmp_lab.walking.step_timing import StepTiming
from izmp_lab.walking.walk_command import WalkCommand
from izmp_lab.walking.walk_parameters import WalkParameters
from izmp_lab.walking.walker import Walker

LEAD = 0.8
"""Time from a command to a standing robot until its first step begins [s]."""

_FUTURE = 2.0
"""Time beyond the window for which steps are laid out [s]."""


class OnlineWalk:
    """Plans the motion interval by interval.

    Args:
        biped: the robot.
        parameters: how it walks, but for length, width and direction of its steps.

    Raises:
        MotionError: if the time step does not divide the planning interval, or the walk would
            have to be known beforehand.

    Attributes:
        command: by which it walks; None if it is to stand.
    """

    def __init__(self, biped: Biped, parameters: WalkParameters | None = None) -> None:
        self.biped = biped
        self.parameters = parameters or WalkParameters.by('angular_momentum', time_step=0.01)
        _check_time_step(self.parameters.time_step, self.interval)
        if self.parameters.momentum.second_iteration:
            raise MotionError(
                'A second iteration (E2) needs the whole walk beforehand; online are E1, E3, E4.',
                kind='second_iteration_online',
                valid=('E1', 'E3', 'E4'),
            )
        self.command: WalkCommand | None = None
        self._changed = False
        momentum = self.parameters.momentum
        self._horizon = momentum.window + _FUTURE
        left = Foothold(LEFT, np.array([0.0, 0.5 * biped.hip_width, 0.0]), np.eye(3), 0.0)
        course = self._standing((left, beside(left, biped.hip_width)))
        planner = RecedingPlanner(biped, self.parameters.com_height, momentum)
        self._execution = Execution(planner, self.parameters.drive)
        self._walker = Walker(planner, course, self._execution.check)

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
    def stopped(self) -> MotionError | None:
        """Why the robot stops or stands against its command; None if it does not."""
        return self._walker.stopped

    @property
    def stands(self) -> bool:
        """Whether both feet carry until another command comes."""
        timing = self._walker.course.timing
        settled = timing.begins(timing.steps) + timing.double_support * timing.step_time
        return not timing.steps or self.time >= settled

    def walk(self, command: WalkCommand | None) -> bool:
        """Walk by a command from the next step on; None stops.

        Returns:
            Whether it is obeyed; while the robot stops because it cannot go on, none is.
        """
        if self.stopped and not self.stands:
            return False
        self.command, self._changed = command, True
        return True

    def advance(self) -> MotionPlan:
        """Plan the interval that comes next.

        Returns:
            Its motion from beginning to end; the end is the beginning of the next one.

        Raises:
            MotionError: in the first cycle, if the robot cannot even stand.
        """
        begin, walker = self.time, self._walker
        if self.stopped and self.stands and self._changed and self.command:
            walker.resume()
        wanted = walker.course
        if not self.stopped:
            try:
                wanted = self._wanted()
            except MotionError as error:
                walker.halt(error)
        plan = walker.advance(wanted)
        if self.stopped and not self._changed:
            self.command = None
        rows = round(self.interval / self.parameters.time_step)
        times = begin + self.parameters.time_step * np.arange(rows + 1.0)
        return self._execution.motion(walker.course, plan, times)

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


def _check_time_step(time_step: float, interval: float) -> None:
    rows = interval / time_step
    if abs(rows - round(rows)) > 1e-6:
        raise MotionError(
            f'time_step is {time_step:g} s; it must divide the planning interval of {interval:g} '
            f's without remainder, as {interval / 10:g} s does.',
            kind='time_step_divides_not',
            time_step=time_step,
            interval=interval,
        )
