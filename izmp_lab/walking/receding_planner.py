"""Receding-horizon planning with estimated angular momentum (Mayr et al.), cycle by cycle.

In every cycle the motion of the centre of mass over the next 1.6 s is planned with the rate of
angular momentum L̇ of the cycle before; then inverse kinematics and dynamics of the whole body at
the nodes estimate it for the next cycle, which begins one interval later.

The estimate is kept at twice as many instants as the polygon of L̇ has control points, and the
polygon is fitted to them: between its corners the centre of mass cannot do better than follow a
straight line, and the fitted one leaves half the error of the one through the samples.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.body_states import BodyMotion
from izmp_lab.walking.com_programme import Body, ComProgramme, InfeasibleError, UniformSpline
from izmp_lab.walking.course import Course
from izmp_lab.walking.limits import Place, check_joints, check_reach
from izmp_lab.walking.walk_parameters import MomentumParameters

MomentumRate = Callable[[Array], Array]
"""L̇ (K, 3) about the centre of mass in world axes [N·m] at times (K,) [s]."""


@dataclass(frozen=True)
class WindowPlan:
    """The motion of the centre of mass within a window.

    Attributes:
        time: when the window begins [s].
        spline: of the centre of mass.
        control: (count, 2) its control points in x and y [m].
        height: z of the centre of mass [m].
        momentum_rate: (2 pieces + 1, 3) L̇ every half interval [N·m]; NaN where no node has been.
    """

    time: float
    spline: UniformSpline
    control: Array
    height: float
    momentum_rate: Array

    @property
    def end(self) -> float:
        """When the window ends [s]."""
        return self.time + self.spline.duration

    def held(self, time: float) -> 'WindowPlan':
        """Return the plan that goes on from this one at a time [s] and comes to rest."""
        unknown = np.full_like(self.momentum_rate, np.nan)
        return replace(self, time=time, control=self.shifted(time), momentum_rate=unknown)

    def com(self, times: Array) -> Array:
        """Centre of mass (K, 3) in the world at times (K,) [m]."""
        horizontal = self.spline.basis(times - self.time) @ self.control
        return np.column_stack([horizontal, np.full(len(times), self.height)])

    def shifted(self, time: float) -> Array:
        """Control points (count, 2) of a window that begins later; the last one is held [m]."""
        passed = min(round((time - self.time) / self.spline.interval), len(self.control) - 1)
        return np.vstack([self.control[passed:], np.tile(self.control[-1], (passed, 1))])

    def state(self, time: float) -> Array:
        """Position [m], velocity and acceleration at a time in x and y, (3, 2)."""
        at = np.array([time - self.time])
        rows = np.vstack([self.spline.basis(at, order) for order in range(3)])
        return rows @ self.control


def at(times: Array) -> Place:
    """Return where the rows of a motion at times (K,) [s] are."""
    return lambda row: (f'At {times[row]:.2f} s', {'time': float(times[row])})


class RecedingPlanner:
    """Plans window after window.

    Args:
        biped: the robot.
        height: of its centre of mass above the ground [m].
        parameters: of the generator.
        known: L̇ if it is known beforehand (second iteration).

    Attributes:
        parameters: as given.
        programme: plans the centre of mass.
        body: finds what the whole body does.
    """

    def __init__(
        self,
        biped: Biped,
        height: float,
        parameters: MomentumParameters,
        known: MomentumRate | None = None,
    ) -> None:
        self.parameters = parameters
        self.body = BodyMotion(biped)
        self._known = known
        body = Body(biped.model.total_mass, biped.gravity, height)
        self.programme = ComProgramme(body, parameters)
        self._spacing = 0.5 * parameters.interval
        self._instants: Array = self._spacing * np.arange(2.0 * parameters.pieces + 1.0)
        self._fit = fit_polygon(parameters.pieces)

    def at_rest(self, position: Array, time: float) -> WindowPlan:
        """Return the plan of having stood still up to a time [s] with the CoM above (2,) [m]."""
        spline = self.programme.spline
        return WindowPlan(
            time - self.parameters.interval,
            spline,
            np.tile(position, (spline.count, 1)),
            self.programme.body.height,
            np.full((len(self._instants), 3), np.nan),
        )

    def plan(self, course: Course, time: float, before: WindowPlan) -> WindowPlan:
        """Plan the window that begins at a time.

        Args:
            course: what is wanted.
            time: [s], one or more intervals after `before` began.
            before: the plan that is being executed; the new one goes on from it.

        Raises:
            InfeasibleError: if there is no such motion; the message says why.
        """
        momentum_rate = self._expected(before, time)
        polygon = self._fit @ self._filled(momentum_rate)
        control = self.programme.solve(course, time, before.state(time), polygon)
        plan = WindowPlan(time, before.spline, control, before.height, momentum_rate)
        self._check_poses(course, plan)
        nodes = self.parameters.nodes_in_cycle(round(time / self.parameters.interval))
        if len(nodes):
            at_nodes = np.round(nodes / self._spacing).astype(np.int64)
            momentum_rate[at_nodes] = self.estimate(course, plan, nodes)
        return plan

    def improved(self, course: Course, plan: WindowPlan, before: WindowPlan) -> WindowPlan:
        """Return a plan with L̇ of the plan itself at all instants; arguments as of `plan`."""
        rate = plan.momentum_rate.copy()
        rate[1:] = self.estimate(course, plan, self._instants[1:])
        control = self.programme.solve(
            course, plan.time, before.state(plan.time), self._fit @ self._filled(rate)
        )
        improved = replace(plan, control=control, momentum_rate=rate)
        self._check_poses(course, improved)
        return improved

    def estimate(self, course: Course, plan: WindowPlan, nodes: Array) -> Array:
        """Return L̇ (K, 3) [N·m] of a plan at nodes (K,), by inverse kinematics and dynamics."""
        return self.body.momentum_rate(self.body.states(course, plan.com, plan.time + nodes))

    def _expected(self, before: WindowPlan, time: float) -> Array:
        """L̇ (2 pieces + 1, 3) in the window that begins at a time; NaN where it is not known."""
        if self._known:
            return self._known(time + self._instants)
        old = before.momentum_rate
        passed = min(round((time - before.time) / self._spacing), len(old) - 1)
        return np.concatenate([old[passed:], np.full((passed, 3), np.nan)])

    def _filled(self, momentum_rate: Array) -> Array:
        known = np.isfinite(momentum_rate[:, 0])
        if known.all() or not known.any():
            return np.nan_to_num(momentum_rate)
        at = self._instants[known]
        end = None if self.parameters.end_estimate == 'hold' else 0.0
        columns = [np.interp(self._instants, at, c, right=end) for c in momentum_rate[known].T]
        return np.stack(columns, axis=1)

    def _check_poses(self, course: Course, plan: WindowPlan) -> None:
        times = plan.time + self.parameters.knots[1:]
        poses = self.body.poses(course, plan.com, times)
        self.check_poses(times, poses.reach, poses.q)

    def check_poses(self, times: Array, reach: Array, q: Array) -> None:
        """Refuse legs that would be straight, and joint positions beyond their limits.

        Args:
            times: (K,) [s].
            reach: (K, 2) distance from hip to ankle of the left and the right leg [m].
            q: (K, n) joint positions [rad] or [m].

        Raises:
            InfeasibleError: naming time, leg or joint, and value.
        """
        biped, place = self.body.biped, at(times)
        check_reach(biped, reach, place, InfeasibleError, self.parameters.stretch)
        check_joints(biped.model, 'position', q, place, InfeasibleError)


def fit_polygon(pieces: int) -> Array:
    """Return the matrix that fits a polygon to a curve by least squares.

    Args:
        pieces: edges of the polygon.

    Returns:
        (pieces + 1, 2 pieces + 1): from samples of the curve at the corners and midway between
        them, which parabolas join, to the values at the corners.
    """
    points, weights = np.polynomial.legendre.leggauss(3)
    u = np.asarray(0.5 * (points + 1.0), dtype=np.float64)
    edge = np.stack([1.0 - u, u])
    parabola = np.stack([(1.0 - u) * (1.0 - 2.0 * u), 4.0 * u * (1.0 - u), u * (2.0 * u - 1.0)])
    gram = np.zeros((pieces + 1, pieces + 1))
    mixed = np.zeros((pieces + 1, 2 * pieces + 1))
    for piece in range(pieces):
        corners = slice(piece, piece + 2)
        gram[corners, corners] += (edge * weights) @ edge.T
        mixed[corners, 2 * piece : 2 * piece + 3] += (edge * weights) @ parabola.T
    return np.asarray(np.linalg.solve(gram, mixed), dtype=np.float64)
