"""A robot that walks by commands, replanned every interval, without a jump.

It stands until a command comes, walks by the latest command, and stops when commanded to stop or
when a command cannot be walked. A command takes effect with the next step that has not begun.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.walking.biped import LEFT, RIGHT, Biped
from izmp_lab.walking.body_states import BodyStates
from izmp_lab.walking.com_programme import InfeasibleError
from izmp_lab.walking.course import Course, beside
from izmp_lab.walking.dynamics_filter import LEAST_LOAD
from izmp_lab.walking.footsteps import Foothold, Footsteps, StepTiming, check_overlap
from izmp_lab.walking.inverse_dynamics import Drive, Load, ground_reaction, ground_torques
from izmp_lab.walking.limits import check_joints, check_ranges
from izmp_lab.walking.momentum_walk import Walker
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.receding_planner import RecedingPlanner, WindowPlan, at
from izmp_lab.walking.walk_parameters import WalkParameters

_RANGES = {'length': (-2.0, 2.0, 'm'), 'width': (0.01, 1.0, 'm'), 'turn': (-1.0, 1.0, 'rad')}


@dataclass(frozen=True)
class WalkCommand:
    """A gait that goes on until another is wanted.

    Attributes:
        length: from a foothold to the next one of the other foot, along the path [m]; 0 steps in
            place, less walks backwards.
        width: between the soles' origins, across the path [m].
        turn: change of heading per step, positive to the left [rad].
    """

    length: float
    width: float
    turn: float = 0.0

    def __post_init__(self) -> None:
        """Check that the numbers make sense."""
        check_ranges('the walking command', self, _RANGES)

    def steps_from(self, stance: Foothold, count: int) -> list[Foothold]:
        """Return the next footholds; the last one sets the feet side by side.

        Args:
            stance: the foothold that is on the ground when the first step begins.
            count: how many.
        """
        holds = [stance]
        for _ in range(count - 1):
            holds.append(self._next(holds[-1]))
        last = holds[-1]
        middle = self._middle(last)
        across = middle - last.position
        holds.append(Foothold(1 - last.foot, middle + across, last.rotation, last.along))
        return holds[1:]

    def _next(self, stance: Foothold) -> Foothold:
        half = _rotation(0.5 * self.turn)
        chord = self.length * float(np.sinc(0.5 * self.turn / np.pi))
        middle = self._middle(stance) + chord * (stance.rotation @ half)[:, 0]
        rotation = stance.rotation @ _rotation(self.turn)
        side = 0.5 * self.width * (1.0 if stance.foot == RIGHT else -1.0)
        position = middle + side * rotation[:, 1]
        return Foothold(1 - stance.foot, position, rotation, stance.along + 1.0)

    def _middle(self, stance: Foothold) -> np.ndarray:
        """Point of the path beside a foothold (3,) [m]."""
        side = 0.5 * self.width * (1.0 if stance.foot == RIGHT else -1.0)
        return stance.position + side * stance.rotation[:, 1]


def _rotation(angle: float) -> np.ndarray:
    """Rotation about the vertical (3, 3)."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


class TorquePlanner:
    """Inverse dynamics of plans.

    Args:
        planner: made the plans.
        drive: what the servos move besides the links.
    """

    def __init__(self, planner: RecedingPlanner, drive: Drive) -> None:
        self._planner, self._body, self._drive = planner, planner.body, drive
        self._biped = planner.body.biped

    def motion(self, course: Course, plan: WindowPlan, times: Array) -> MotionPlan:
        """Return joints, torques and ZMP at equidistant times (K,) [s]."""
        return self._motion(course, self._body.states(course, plan.com, times), times)

    def check(self, course: Course, plan: WindowPlan, times: Array) -> None:
        """Refuse what the robot cannot do: reach, joints, torques, and ZMP of all bodies.

        Arguments as of `motion`.
        """
        states = self._body.states(course, plan.com, times)
        self._planner.check_poses(times, states.reach, states.q)
        refuse = partial(check_joints, self._biped.model, place=at(times), error=InfeasibleError)
        refuse('velocity', states.qd)
        motion = self._motion(course, states, times)
        assert motion.feed_forward is not None
        assert motion.zmp is not None
        refuse('torque', motion.feed_forward)
        _check_zmp(course, times, motion.zmp)

    def _motion(self, course: Course, states: BodyStates, times: Array) -> MotionPlan:
        model, gravity, root = self._biped.model, self._biped.gravity, states.root
        joints = (states.q, states.qd, states.qdd)
        wrench, com = ground_reaction(model, gravity, root, *joints)
        wanted = course.zmp(times)
        least = LEAST_LOAD * model.total_mass * gravity
        zmp = zero_moment_point(wrench, wanted.normal, wanted.point, least)
        load = Load(wrench, zmp, wanted.loads)
        torques = ground_torques(model, gravity, root, joints, states.feet, load, self._drive)
        return MotionPlan(
            'walk', model.joint_names, float(times[1] - times[0]), *joints, root, states.feet,
            feed_forward=torques, zmp=zmp, com=com,
        )  # fmt: skip


def _check_zmp(course: Course, times: Array, zmp: Array) -> None:
    """Refuse a ZMP (K, 3) [m] of all bodies that leaves the soles that carry."""
    rows, normals, offsets = course.support(times)
    outside = np.sum(normals * zmp[rows, :2], axis=1) - offsets
    worst = int(np.argmax(outside))
    if outside[worst] > 0.0:
        raise InfeasibleError(
            f'At {times[rows[worst]]:.2f} s the ZMP of all bodies would be '
            f'{1e3 * outside[worst]:.0f} mm beyond the edge of the support.',
            kind='zmp_outside_support',
            time=float(times[rows[worst]]),
            distance=float(outside[worst]),
        )


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

    Raises:
        MotionError: if the time step does not divide the planning interval, or the walk would
            have to be known beforehand.
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
        self._execution = TorquePlanner(planner, self.parameters.drive)
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
