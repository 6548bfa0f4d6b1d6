"""A whole walk by the angular-momentum generator, planned interval by interval, beforehand."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.body_states import BodyMotion
from izmp_lab.walking.course import Course
from izmp_lab.walking.momentum_parameters import MomentumParameters
from izmp_lab.walking.receding_planner import MomentumRate, RecedingPlanner, WindowPlan
from izmp_lab.walking.walker import Walker


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
