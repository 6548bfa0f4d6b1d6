"""A whole walk by the angular-momentum generator, planned interval by interval, beforehand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.body_states import BodyMotion
from izmp_lab.walking.com_programme import InfeasibleError
from izmp_lab.walking.course import Course
from izmp_lab.walking.footsteps import check_overlap
from izmp_lab.walking.receding_planner import MomentumRate, RecedingPlanner, WindowPlan
from izmp_lab.walking.walk_parameters import MomentumParameters

Check = Callable[[Course, WindowPlan, Array], None]
"""Raises a MotionError if the robot cannot execute a plan at times (K,) [s]."""

_ROWS, _ROWS_OF_STOP = 10, 5
"""Instants per interval at which a plan, and the stop after it, are checked."""

_Way = tuple[Course, WindowPlan]


class Walker:
    """Advances interval by interval.

    Args:
        planner: plans the windows.
        course: where the walk begins, at rest.
        check: decides whether a plan is taken; without, the planner does.

    Attributes:
        planner: as given.
        course: what is being walked.
        plan: what is being executed.
        cycle: number of the interval that comes next.
        stopped: why the robot stops or has stopped; None while it does what is wanted.
    """

    def __init__(
        self, planner: RecedingPlanner, course: Course, check: Check | None = None
    ) -> None:
        self.planner = planner
        self.course = course
        self.cycle = 0
        self._check = check
        self.stopped: MotionError | None = None
        begin: Array = course.zmp(course.timing.times[:1]).point[0, :2]
        self.plan = planner.at_rest(begin, 0.0)
        self._way_out = (course, self.plan)

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
            MotionError: if the robot cannot even stand in the first cycle; without a check also if
                the last plan ends before the robot stands.
        """
        if not self.stopped:
            try:
                self._take(wanted)
            except MotionError as error:
                self.halt(error)
        if self.stopped:
            self._stop()
        self.cycle += 1
        return self.plan

    def halt(self, reason: MotionError) -> None:
        """Stop, for a reason."""
        self.stopped = reason.with_traceback(None)  # which would keep all arrays of the attempt

    def resume(self) -> None:
        """Let the robot that has stopped do again what is wanted."""
        self.stopped = None

    def _take(self, course: Course) -> None:
        plan = self.planner.plan(course, self.time, self.plan)
        way_out = (course, plan)
        if self._check:
            then = self.time + self.planner.parameters.interval
            self._check(course, plan, np.linspace(self.time, then, _ROWS + 1))
            way_out = self._stop_after(course, plan, then)
        self.course, self.plan, self._way_out = course, plan, way_out

    def _stop_after(self, course: Course, plan: WindowPlan, then: float) -> _Way:
        reasons = []
        for stop in course.stops(then):
            try:
                check_overlap(stop.footsteps, stop.biped)
                return stop, self._checked_stop(stop, plan, then)
            except MotionError as error:
                reasons.append(error)
        raise InfeasibleError(
            f'Afterwards the robot could not stop. {reasons[0]}', kind='no_stop', cause=reasons[0]
        )

    def _checked_stop(self, stop: Course, plan: WindowPlan, then: float) -> WindowPlan:
        """Plan a stop; if need be again, with the angular momentum of the first attempt."""
        assert self._check
        way = self.planner.plan(stop, then, plan)
        if stop.timing.begins(stop.timing.steps) > way.end + 1e-9:
            raise InfeasibleError(
                'The foot would land after the window.', kind='landing_after_window'
            )
        rows = self.planner.parameters.pieces * _ROWS_OF_STOP + 1
        times = np.linspace(then, way.end, rows)
        try:
            self._check(stop, way, times)
        except MotionError:
            way = self.planner.improved(stop, way, plan)
            self._check(stop, way, times)
        return way

    def _stop(self) -> None:
        """Stop with the feet side by side, or follow the stored stopping plan, then rest."""
        try:
            self._take(self.course.stopping(self.time))
        except MotionError as error:
            if not self.cycle:
                raise MotionError(
                    f'The robot cannot even stand. {error}', kind='cannot_stand', cause=error
                ) from error
            self.course, self.plan = self._way_out
            if self.time + self.planner.parameters.interval > self.plan.end + 1e-9:
                timing = self.course.timing
                if timing.begins(timing.steps) > self.plan.end + 1e-9:
                    raise MotionError(
                        f'The robot cannot even stop. {error}', kind='cannot_stop', cause=error
                    ) from error
                self.plan = self.plan.held(self.time)
                self._way_out = (self.course, self.plan)


@dataclass(frozen=True)
class ComTrack:
    """The motion of the centre of mass that was executed, from the windows of all intervals.

    Attributes:
        plans: of the intervals.
        interval: [s].
    """

    plans: Sequence[WindowPlan]
    interval: float

    def __call__(self, times: Array) -> Array:
        """Centre of mass (K, 3) at ascending times (K,) [m]."""
        rows = np.floor(times / self.interval + 1e-9).astype(np.int64)
        rows = np.clip(rows, 0, len(self.plans) - 1)
        return np.concatenate(
            [self.plans[row].com(times[rows == row]) for row in np.unique(rows).tolist()]
        )


@dataclass(frozen=True)
class MomentumWalk:
    """What the generator planned.

    Attributes:
        course: that was walked; shorter than wanted if the robot stopped.
        com: the centre of mass.
        stopped: why it stopped; None if it did not.
    """

    course: Course
    com: ComTrack
    stopped: MotionError | None


def plan_momentum_walk(
    course: Course, height: float, parameters: MomentumParameters
) -> MomentumWalk:
    """Plan a walk.

    Args:
        course: what is wanted.
        height: of the centre of mass above the ground [m].
        parameters: of the generator.

    Raises:
        MotionError: if not even the first step can be planned.
    """
    walk = _walked(course, height, parameters)
    if not parameters.second_iteration:
        return walk
    return _walked(course, height, parameters, _momentum_rate(walk, parameters))


def _walked(
    course: Course,
    height: float,
    parameters: MomentumParameters,
    known: MomentumRate | None = None,
) -> MomentumWalk:
    walker = Walker(RecedingPlanner(course.biped, height, parameters, known), course)
    plans: list[WindowPlan] = []
    while walker.time < walker.course.timing.duration - 1e-9:
        plan = walker.advance(course)
        if walker.stopped and not walker.course.timing.steps:
            raise MotionError(
                f'The walk cannot begin. {walker.stopped}',
                kind='cannot_begin',
                cause=walker.stopped,
            )
        plans.append(plan)
    return MomentumWalk(walker.course, ComTrack(plans, parameters.interval), walker.stopped)


def _momentum_rate(walk: MomentumWalk, parameters: MomentumParameters) -> MomentumRate:
    """L̇ of a walk that has been planned, every half interval; 0 before and after."""
    times = np.arange(0.0, walk.course.timing.duration, 0.5 * parameters.interval)[1:]
    body = BodyMotion(walk.course.biped)
    rate = body.momentum_rate(body.states(walk.course, walk.com, times))

    def known(at: Array) -> Array:
        columns = [np.interp(at, times, column, left=0.0, right=0.0) for column in rate.T]
        return np.stack(columns, axis=1)

    return known
