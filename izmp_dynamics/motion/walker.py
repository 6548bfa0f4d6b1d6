"""A walk that is planned while it is walked, and that stops safely when it cannot go on.

Every interval the window is planned anew for the course that is wanted. If there is no such
motion, the robot finishes the step that it has begun, sets the feet side by side and stands; if
not even that can be planned now, the last plan that could be goes on until it can.
"""

from izmp_dynamics.conventions import Array
from izmp_dynamics.errors import MotionError
from izmp_dynamics.motion.course import Course
from izmp_dynamics.motion.receding_planner import RecedingPlanner, WindowPlan


class Walker:
    """Advances interval by interval.

    Args:
        planner: plans the windows.
        course: where the walk begins, at rest.

    Attributes:
        planner: as given.
        course: what is being walked.
        plan: what is being executed.
        cycle: number of the interval that comes next.
        stopped: why the robot stops or has stopped; '' while it does what is wanted.
    """

    def __init__(self, planner: RecedingPlanner, course: Course) -> None:
        self.planner = planner
        self.course = course
        self.cycle = 0
        self.stopped = ''
        begin: Array = course.zmp(course.timing.times[:1]).point[0, :2]
        self.plan = planner.at_rest(begin, 0.0)

    @property
    def time(self) -> float:
        """When the interval that comes next begins [s]."""
        return self.cycle * self.planner.parameters.interval

    def advance(self, wanted: Course) -> WindowPlan:
        """Plan the interval that comes next.

        Args:
            wanted: the course; ignored while the robot stops.

        Returns:
            The plan to be executed during this interval.

        Raises:
            MotionError: if the last plan has ended and no other could be made.
        """
        if not self.stopped:
            try:
                self._take(wanted)
            except MotionError as error:
                self.stopped = str(error)
        if self.stopped:
            self._stop()
        self.cycle += 1
        return self.plan

    def halt(self, reason: str) -> None:
        """Stop, for a reason."""
        self.stopped = reason

    def resume(self) -> None:
        """Let the robot that has stopped do again what is wanted."""
        self.stopped = ''

    def _take(self, course: Course) -> None:
        self.plan = self.planner.plan(course, self.time, self.plan)
        self.course = course

    def _stop(self) -> None:
        try:
            self._take(self.course.stopping(self.time))
        except MotionError as error:
            if not self.cycle:
                raise MotionError(f'The robot cannot even stand. {error}') from error
            if self.time + self.planner.parameters.interval > self.plan.end + 1e-9:
                raise MotionError(f'The robot cannot even stop. {error}') from error
