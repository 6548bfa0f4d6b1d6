"""MR-AD: Newton–Euler about a moving reference in the robot's own frame (paper, sect. 4.1–4.3).

The reference point is the origin of the root link. What goes in is what the robot can measure in
itself: joint positions and their derivatives, and the root's angular velocity, angular
acceleration and proper acceleration φ = a − g. With φ in the place of a, eqs. 12 and 13 give the
contact wrench directly: no world position, no linear velocity, no orientation and no value of g.

`mr_ad_reference` reads like the paper, with KDL's types; `MrAd` runs the numba kernel.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.dynamics import kernels
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad_batch import FEW, mr_ad_batch
from izmp_dynamics.model.kinematic_tree import KinematicTree, kdl
from izmp_dynamics.model.robot_model import RobotModel


class MrAd:
    """Contact wrench and centre of mass from the kinematic state.

    `update` reuses its work arrays: an instance belongs to one thread. (Paper, eqs. 12 to 20.)

    Args:
        model: the robot; the reference point is the origin of its root link.
        measured: indices of the bodies whose motion units of their own measure.

    Attributes:
        levers: (S,) how much more the ω̇ of each unit varies than a difference of two φ [1/m²]:
            those of units next to it improve it; 0, as at first: they do not.
    """

    def __init__(self, model: RobotModel, measured: Sequence[int] = ()) -> None:
        self.model = model
        self._state = np.empty(kernels.ROOT + 3 * model.dof)
        self._work = np.empty((len(model.joints), kernels.WORK))
        self._out = np.empty(9)
        self._q_shape = (model.dof,)
        self._carried = np.full(len(model.joints), -1)
        self._carried[list(measured)] = np.arange(len(measured))
        self.levers = np.zeros(len(measured))

    def update(
        self,
        proper_acceleration: Array,
        angular_velocity: Array,
        angular_acceleration: Array,
        q: Array,
        qd: Array,
        qdd: Array,
    ) -> tuple[ContactWrench, Array]:
        """Evaluate one instant.

        Args:
            proper_acceleration: (3,) φ of the root origin in root axes [m/s²].
            angular_velocity: (3,) ω of the root in root axes [rad/s].
            angular_acceleration: (3,) ω̇ of the root in root axes [rad/s²].
            q: (n,) joint positions [rad] or [m].
            qd: (n,) joint velocities [rad/s] or [m/s].
            qdd: (n,) joint accelerations [rad/s²] or [m/s²].

        Returns:
            The contact wrench about the root origin in root axes, and the centre of mass (3,) in
            the root frame [m].

        Raises:
            ShapeError: if an argument has another shape.
        """
        n = self.model.dof
        if not (
            _have_shape(_VECTOR, proper_acceleration, angular_velocity, angular_acceleration)
            and _have_shape(self._q_shape, q, qd, qdd)
        ):
            arguments = (
                proper_acceleration, angular_velocity, angular_acceleration, q, qd, qdd,
            )  # fmt: skip
            _check_shapes(arguments, (), n)
        state = self._state
        state[0:3] = proper_acceleration
        state[3:6] = angular_velocity
        state[6:9] = angular_acceleration
        state[9 : 9 + n] = q
        state[9 + n : 9 + 2 * n] = qd
        state[9 + 2 * n :] = qdd
        kernels.mr_ad(self.model.joints, self.model.bodies, state, self._work, self._out)
        out = self._out.copy()
        return ContactWrench(out[0:3], out[3:6]), out[6:9] / self.model.total_mass

    def batch(
        self,
        proper_acceleration: Array,
        angular_velocity: Array,
        angular_acceleration: Array,
        q: Array,
        qd: Array,
        qdd: Array,
    ) -> tuple[ContactWrench, Array]:
        """Evaluate T instants.

        Args:
            proper_acceleration: (T, 3) φ of the root origin in root axes [m/s²].
            angular_velocity: (T, 3) ω of the root in root axes [rad/s].
            angular_acceleration: (T, 3) ω̇ of the root in root axes [rad/s²].
            q: (T, n) joint positions [rad] or [m].
            qd: (T, n) joint velocities [rad/s] or [m/s].
            qdd: (T, n) joint accelerations [rad/s²] or [m/s²].

        Returns:
            The contact wrenches (T, 3) about the root origin in root axes, and the centres of mass
            (T, 3) in the root frame [m].

        Raises:
            ShapeError: if an argument has another shape.
        """
        arguments = (proper_acceleration, angular_velocity, angular_acceleration, q, qd, qdd)
        _check_shapes(arguments, np.shape(q)[:1], self.model.dof)
        wrenches, com = self.of_states(np.hstack(arguments, dtype=np.float64))
        return ContactWrench.from_array(wrenches), com

    def of_states(self, states: Array, units: Array | None = None) -> tuple[Array, Array]:
        """Evaluate T instants of packed states.

        Args:
            states: (T, 9 + 3n) φ [m/s²], ω [rad/s], ω̇ [rad/s²] of the root, then q, q̇, q̈,
                as `batch` takes them; C-contiguous.
            units: (T, S, 9) φ [m/s²] of the origin, ω [rad/s] and ω̇ [rad/s²] of the measured
                bodies, in the axes of each; where a number is NaN the motion of that body follows
                from the joints. None: that of all bodies does.

        Returns:
            (T, 6) contact wrenches about the root origin in root axes, force first, and the
            centres of mass (T, 3) in the root frame [m].
        """
        if units is not None:
            out = self._with_units(states, units)
        elif len(states) > FEW:
            out = mr_ad_batch(self.model.joints, self.model.bodies, states)
        else:
            out = np.empty((len(states), 9))
            for state, result in zip(states, out, strict=True):
                kernels.mr_ad(self.model.joints, self.model.bodies, state, self._work, result)
        return out[:, :6].copy(), out[:, 6:] / self.model.total_mass

    def _with_units(self, states: Array, units: Array) -> Array:
        out = np.empty((len(states), 9))
        states, units = (np.require(a, np.float64, ('C', 'W')) for a in (states, units))
        model = self.model
        kernels.mr_ad_with_units(
            model.joints, model.bodies, self._carried, self.levers, states, units, out
        )
        return out


_VECTOR = (3,)


def _have_shape(shape: tuple[int, ...], a: Array, b: Array, c: Array) -> bool:
    """Whether three arrays have a shape; False of anything else, which `_check_shapes` judges."""
    try:
        return a.shape == b.shape == c.shape == shape
    except AttributeError:
        return False


def _check_shapes(arguments: tuple[Array, ...], rows: tuple[int, ...], dof: int) -> None:
    """Refuse arguments of `update` and `batch` of the wrong shape, lists included."""
    names = ('proper_acceleration', 'angular_velocity', 'angular_acceleration', 'q', 'qd', 'qdd')
    for name, argument, width in zip(names, arguments, (3, 3, 3, dof, dof, dof), strict=True):
        if np.shape(argument) != (*rows, width):
            raise ShapeError(name, str((*rows, width)), np.shape(argument))


def mr_ad_reference(
    tree: KinematicTree,
    proper_acceleration: Array,
    angular_velocity: Array,
    angular_acceleration: Array,
    q: dict[str, float],
    qd: dict[str, float],
    qdd: dict[str, float],
    measured: Mapping[str, tuple[Array, Array, Array]] | None = None,
) -> ContactWrench:
    """Evaluate MR-AD as the paper writes it, link by link, for reading and for checking.

    Args:
        tree: the robot.
        proper_acceleration: (3,) φ of the root origin in root axes [m/s²].
        angular_velocity: (3,) ω of the root in root axes [rad/s].
        angular_acceleration: (3,) ω̇ of the root in root axes [rad/s²].
        q: position of every independent joint by name [rad] or [m].
        qd: velocities.
        qdd: accelerations.
        measured: link that a joint moves → φ of its origin, ω and ω̇ in its axes, by a unit on it;
            they replace those of the recursion.

    Returns:
        The contact wrench about the root origin in root axes.
    """
    frame = {tree.root: kdl.Frame()}
    phi = {tree.root: kdl.Vector(*proper_acceleration)}
    omega = {tree.root: kdl.Vector(*angular_velocity)}
    omega_dot = {tree.root: kdl.Vector(*angular_acceleration)}
    at_root = (of[tree.root] for of in (frame, phi, omega, omega_dot))
    F, M = _newton_euler(tree.inertias[tree.root], *at_root)
    for link in tree.segments:
        parent, joint = link.parent, link.segment.getJoint()
        position = link.multiplier * q.get(link.driver, 0.0) + link.offset
        velocity = link.multiplier * qd.get(link.driver, 0.0)
        acceleration = link.multiplier * qdd.get(link.driver, 0.0)
        frame[link.link] = frame[parent] * link.segment.pose(position)
        w, wd = omega[parent], omega_dot[parent]
        to_joint = frame[parent].M * joint.JointOrigin()
        a = phi[parent] + _rotation_term(w, wd, to_joint)
        from_joint = frame[link.link].p - frame[parent].p - to_joint
        if link.kind == 'revolute':
            n = frame[parent].M * joint.JointAxis()
            wd = wd + w * (n * velocity) + n * acceleration  # eq. 19
            w = w + n * velocity
        elif link.kind == 'prismatic':
            n = frame[parent].M * joint.JointAxis()
            a = a + 2.0 * (w * (n * velocity)) + n * acceleration
        a = a + _rotation_term(w, wd, from_joint)
        if measured and link.link in measured:
            a, w, wd = (frame[link.link].M * kdl.Vector(*part) for part in measured[link.link])
        phi[link.link] = a
        omega[link.link], omega_dot[link.link] = w, wd
        F_i, M_i = _newton_euler(
            link.segment.getInertia(), frame[link.link], phi[link.link], w, wd
        )
        F, M = F + F_i, M + M_i
    return ContactWrench(np.array([*F]), np.array([*M]))


def _rotation_term(w: Any, wd: Any, r: Any) -> Any:
    """ω̇ × r + ω × (ω × r); KDL's `*` of two vectors is the cross product."""
    return wd * r + w * (w * r)


def _newton_euler(inertia: Any, frame: Any, a_O: Any, w: Any, wd: Any) -> tuple[Any, Any]:
    """Return a link's summands of eqs. 12 and 13, in root axes."""
    m, s = inertia.getMass(), frame.M * inertia.getCOG()
    r_H = frame.p
    F = m * (a_O + wd * s + w * (w * s))
    theta = inertia.getRotationalInertia()
    w_i, wd_i = frame.M.Inverse() * w, frame.M.Inverse() * wd
    spin = frame.M * (theta * wd_i + w_i * (theta * w_i))
    M = (
        m * (r_H * a_O + r_H * (wd * s) + r_H * (w * (w * s)) + s * a_O)
        + spin
    )  # fmt: skip
    return F, M
