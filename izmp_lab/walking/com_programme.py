"""The motion of the centre of mass within a window as a quadratic programme (Mayr et al.).

A body of mass m that turns has, about a contact point l, the contact torques

    τ_x =  m (c̈_z + G)(c_y − l_y) − m c̈_y (c_z − l_z) + L̇_x,
    τ_y = −m (c̈_z + G)(c_x − l_x) + m c̈_x (c_z − l_z) + L̇_y.

On level ground c_z is constant, and with the wanted torques of a vertical force in the wanted
ZMP p about the same point, the difference from them no longer depends on l. Over the weight it is

    (τ_y − τ_y,ref) / (m G) = p_x − (c_x − h/G c̈_x) + L̇_y / (m G),   likewise in y with −L̇_x:

the distance of the ZMP from where it is wanted. c_x and c_y are cubic uniform B-splines and L̇ is
known, so all of this is linear in the control points. What does not change from cycle to cycle is
computed once: equalities are eliminated, and what remains is scaled such that the cost is
½ |v|² + gᵀ v. The torque τ_z, which turns the soles on the ground, is neither planned nor bounded:
the friction cone is that of the force alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import block_diag, null_space, solve_triangular

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.course import Course
from izmp_lab.walking.quadratic_programme import solve_qp
from izmp_lab.walking.walk_parameters import MomentumParameters


@dataclass(frozen=True)
class UniformSpline:
    """The basis of a uniform B-spline that begins at time 0.

    Shifted by one interval, all control points but one are those of the shifted window: a plan
    that goes on is the same curve.

    Attributes:
        degree: 3 for a cubic, 1 for a polygon through its control points.
        interval: between two knots [s].
        pieces: number of intervals.
    """

    degree: int
    interval: float
    pieces: int

    @property
    def count(self) -> int:
        """Number of control points."""
        return self.pieces + self.degree

    @property
    def duration(self) -> float:
        """Length of the window [s]."""
        return self.pieces * self.interval

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """Return the matrix (K, count) that takes control points to values.

        Args:
            times: (K,) since the beginning of the window [s]; the polynomials at its ends go on.
            derivative: of which derivative the values are.
        """
        knots = self.interval * np.arange(-self.degree, self.count + 1)
        spline = BSpline(knots, np.eye(self.count), self.degree)
        values: Array = spline(times, nu=derivative)
        return values


_SAMPLES = 5
"""Points per interval of the integral (midpoint rule)."""

_CHECKS = 2
"""Points per interval at which the contact force is checked."""

_TAIL = 7.0
"""How far the terminal condition looks beyond the window, in time constants 1/ω of falling; what
comes later weighs e⁻⁷ = 0.1 %."""


class InfeasibleError(MotionError):
    """No motion of the centre of mass keeps the contact; the message says why."""


@dataclass(frozen=True)
class Body:
    """What the programme knows of the robot.

    Attributes:
        mass: [kg].
        gravity: [m/s²].
        height: of the centre of mass above the ground [m].
    """

    mass: float
    gravity: float
    height: float

    @property
    def weight(self) -> float:
        """[N]."""
        return self.mass * self.gravity

    @property
    def omega(self) -> float:
        """Reciprocal of the time constant in which the linear inverted pendulum falls [1/s]."""
        return float(np.sqrt(self.gravity / self.height))

    def zmp_shift(self, momentum_rate: Array) -> Array:
        """Return how far a rate of angular momentum (…, 3) [N·m] moves the ZMP, (…, 2) [m]."""
        return momentum_rate[..., [1, 0]] * [-1.0, 1.0] / self.weight


class ComProgramme:
    """Plans one window after the other; everything is in the world.

    Args:
        body: the robot.
        parameters: window and weights.
    """

    def __init__(self, body: Body, parameters: MomentumParameters) -> None:
        self.body, self.parameters = body, parameters
        interval, pieces = parameters.interval, parameters.pieces
        self.spline = UniformSpline(3, interval, pieces)
        self.momentum_spline = UniformSpline(1, interval, pieces)
        self._samples: Array = interval / _SAMPLES * np.arange(0.5, _SAMPLES * pieces)
        self._checks: Array = interval / _CHECKS * np.arange(1.0, _CHECKS * pieces + 1.0)
        later = np.arange(np.ceil(_TAIL / (body.omega * interval)) + 1.0)
        self._tail: Array = self.spline.duration + interval * later
        self._set_up_cost()
        self._eliminate()
        self._set_up_conditions()

    def solve(
        self,
        course: Course,
        time: float,
        start: Array,
        momentum_rate: Array,
    ) -> Array:
        """Find the control points of the centre of mass.

        Args:
            course: what is wanted.
            time: beginning of the window [s].
            start: (3, 2) position [m], velocity and acceleration there, in x and y.
            momentum_rate: (pieces + 1, 3) control points of L̇, the rate of angular momentum about
                the centre of mass, in world axes [N·m].

        Returns:
            (pieces + 3, 2) [m].

        Raises:
            InfeasibleError: if no motion fulfils the conditions.
        """
        shift = self.body.zmp_shift(momentum_rate)
        times = np.concatenate([self._samples, self._tail])
        zmp = course.zmp_knots.points(time + times)[:, :2]
        wanted, tail = np.split(zmp, [len(self._samples)])
        fixed = self._fix @ np.vstack([start, self._tail_weights @ tail])
        pull = self._pull_zmp @ (wanted - self._momentum_at_samples @ shift)
        pull += self._pull_com @ wanted
        gradient = (self._free.T @ (self._cost @ fixed - pull)).T.ravel()
        G, h, support = self._conditions(course, time, fixed, shift)
        if not (np.isfinite(gradient).all() and np.isfinite(h).all()):
            raise InfeasibleError(
                f'At {time:.2f} s the motion so far or its angular momentum is not finite.',
                kind='not_finite',
                time=time,
            )
        v = solve_qp(self._identity, gradient, G, h)
        if v is None:
            raise self._infeasible(gradient, G, h, support, time)
        control: Array = fixed + self._free @ v.reshape(2, -1).T
        return control

    def _set_up_cost(self) -> None:
        """Cost ½ cᵀ H c − cᵀ f of the control points of an axis; f is linear in what is wanted."""
        weights, step = self.parameters, self.parameters.interval / _SAMPLES
        position = self.spline.basis(self._samples)
        acceleration = self.spline.basis(self._samples, 2)
        zmp = self._zmp(self._samples)
        self._pull_zmp = step * weights.beta * zmp.T
        self._pull_com = step * weights.gamma * position.T
        self._cost = self._pull_zmp @ zmp + self._pull_com @ position
        self._cost += step * weights.alpha * acceleration.T @ acceleration
        self._momentum_at_samples = self.momentum_spline.basis(self._samples)

    def _eliminate(self) -> None:
        """Split the control points of an axis into fixed ones and directions that are free.

        Start: position, velocity and acceleration go on. End: c + ċ/ω is the capture point from
        which the ZMP that is wanted afterwards keeps the robot from diverging.
        """
        omega = self.body.omega
        first, last = np.zeros(1), np.array([self.spline.duration])
        rows = np.vstack(
            [
                *(self.spline.basis(first, order) for order in range(3)),
                self.spline.basis(last) + self.spline.basis(last, 1) / omega,
            ]
        )
        self._fix = np.linalg.pinv(rows)
        free = null_space(rows)
        root = np.linalg.cholesky(free.T @ self._cost @ free)
        self._free = solve_triangular(root, free.T, lower=True).T
        self._identity = np.eye(2 * free.shape[1])
        self._tail_weights = _discounted(omega * self.parameters.interval, len(self._tail))

    def _set_up_conditions(self) -> None:
        zmp, acceleration = self._zmp(self._checks), self.spline.basis(self._checks, 2)
        self._zmp_at_checks, self._acceleration_at_checks = zmp, acceleration
        self._momentum_at_checks = self.momentum_spline.basis(self._checks)
        self._zmp_of_v = zmp @ self._free
        self._cone = block_diag(acceleration @ self._free, acceleration @ self._free)

    def _zmp(self, times: Array) -> Array:
        ratio = self.body.height / self.body.gravity
        return self.spline.basis(times) - ratio * self.spline.basis(times, 2)

    def _conditions(
        self, course: Course, time: float, fixed: Array, shift: Array
    ) -> tuple[Array, Array, Indices]:
        """G and h of G v ≤ h; and which checks the first rows, those of the support, belong to."""
        rows, normals, offsets = course.support(time + self._checks)
        zmp = self._zmp_at_checks @ fixed + self._momentum_at_checks @ shift
        of_v = self._zmp_of_v[rows]
        support = np.hstack([normals[:, :1] * of_v, normals[:, 1:] * of_v])
        room = offsets - self.parameters.margin - np.sum(normals * zmp[rows], axis=1)
        # A square inscribed in the friction cone: the same in x and y.
        most = self.parameters.friction * self.body.gravity / np.sqrt(2.0)
        acceleration = (self._acceleration_at_checks @ fixed).T.ravel()
        G = np.vstack([support, self._cone, -self._cone])
        h = np.concatenate([room, most - acceleration, most + acceleration])
        return G, h, rows

    def _infeasible(
        self, g: Array, G: Array, h: Array, support: Indices, time: float
    ) -> InfeasibleError:
        """Say which conditions cannot be met, and by how much the wanted motion would fail."""
        count = len(support)
        excess = G @ -g - h  # of the motion without conditions
        if solve_qp(self._identity, g, G[:count], h[:count]) is not None:
            condition = int(np.argmax(excess[count:]))
            axis, check = divmod(condition % (2 * len(self._checks)), len(self._checks))
            most = self.parameters.friction / np.sqrt(2.0)
            needed = most + excess[count + condition] / self.body.gravity
            kind, value = 'friction', float(needed)
            what = (
                f'need the friction {needed:.2f} in {"xy"[axis]}; {most:.2f} is allowed along an '
                f'axis, {self.parameters.friction:g} over √2'
            )
        else:
            row = int(np.argmax(excess[:count]))
            check = int(support[row])
            kind, value = 'zmp_outside_support', float(excess[row])
            what = (
                f'bring the ZMP {1e3 * excess[row]:.0f} mm too close to the edge of the support '
                f'or beyond it'
            )
        at = float(time + self._checks[check])
        return InfeasibleError(
            f'No motion of the centre of mass keeps the contact: at {at:.2f} s the wanted one '
            f'would {what}.',
            kind=kind,
            time=at,
            value=value,
        )


def _discounted(a: float, count: int) -> Array:
    """Weights (count,) of the mean of a piecewise linear course with the weight a exp(−a s).

    Args:
        a: decay between two points of the course [-].
        count: of its points; afterwards it is constant.
    """
    decay = np.exp(-a * np.arange(count))
    first = 1.0 - (1.0 - np.exp(-a)) / a
    second = (1.0 - np.exp(-a)) / a - np.exp(-a)
    weights: Array = np.append(first * decay[:-1], decay[-1])
    weights[1:] += second * decay[:-1]
    return weights
