"""A planned motion as a value: what a plant executes, independent of the planner."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicHermiteSpline, make_interp_spline

from izmp_dynamics.base.conventions import GRAVITY, Array, frozen
from izmp_dynamics.base.errors import MotionError, ShapeError
from izmp_dynamics.base.rotations import from_matrices
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.walking.limits import check_joints


def smooth_step(phase: npt.ArrayLike) -> Array:
    """Rise from 0 to 1 with velocity, acceleration and jerk zero at both ends.

    Args:
        phase: any shape; the rise takes place between 0 and 1.
    """
    u = np.clip(np.asarray(phase, dtype=np.float64), 0.0, 1.0)
    return u**4 * (35.0 + u * (-84.0 + u * (70.0 - 20.0 * u)))


def window(times: Array, start: float, end: float, ramp: float) -> Array:
    """Rise to 1 after `start` and fall to 0 before `end`, each within `ramp`, smoothly.

    Args:
        times: (T,) [s].
        start: [s].
        end: [s].
        ramp: duration of rise and fall [s]; half of end − start makes a single bump.
    """
    return smooth_step((times - start) / ramp) * smooth_step((end - times) / ramp)


def derivatives(samples: Array, time_step: float) -> tuple[Array, Array]:
    """Differentiate samples of a smooth motion that starts and ends at rest.

    A quintic spline through the samples is differentiated, so the three agree with each other.

    Args:
        samples: (T, …) equally spaced, T ≥ 2.
        time_step: [s].

    Returns:
        First and second derivative, each (T, …).
    """
    times = time_step * np.arange(len(samples))
    rest = [(order, np.zeros(samples.shape[1:])) for order in (1, 2)]
    spline = make_interp_spline(times, samples, k=5, bc_type=(rest, rest))
    return spline(times, 1), spline(times, 2)


@dataclass(frozen=True)
class RootMotion:
    """Pose, velocity and acceleration of the root frame over time.

    Attributes:
        position: (T, 3) origin of the root in the world [m].
        rotation: (T, 3, 3) world_R_root.
        velocity: (T, 3) of the origin, in world axes [m/s].
        angular_velocity: (T, 3) in root axes, as a gyroscope measures it [rad/s].
        acceleration: (T, 3) of the origin against the world, in world axes [m/s²].
        angular_acceleration: (T, 3) in root axes [rad/s²].
    """

    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    acceleration: Array
    angular_acceleration: Array

    def __post_init__(self) -> None:
        """Freeze copies of the arrays and check their shapes."""
        count = len(self.position)
        for item in fields(self):
            shape = (count, 3, 3) if item.name == 'rotation' else (count, 3)
            values = frozen(getattr(self, item.name))
            if values.shape != shape:
                raise ShapeError(item.name, str(shape), values.shape)
            object.__setattr__(self, item.name, values)

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, instants: slice) -> 'RootMotion':
        """Return the motion at some of its instants."""
        return RootMotion(*(getattr(self, item.name)[instants] for item in fields(self)))

    @classmethod
    def from_poses(cls, position: Array, rotation: Array, time_step: float) -> 'RootMotion':
        """Differentiate smooth poses that start and end at rest.

        With the unit quaternion p of the pose, ω = 2 vec(p* p˙) and ω̇ = 2 vec(p* p¨).

        Args:
            position: (T, 3) in the world [m].
            rotation: (T, 3, 3) world_R_root.
            time_step: [s].
        """
        velocity, acceleration = derivatives(position, time_step)
        p = continuous(from_matrices(rotation).as_quat())
        first, second = derivatives(p, time_step)
        return cls(
            position,
            rotation,
            velocity,
            2.0 * _vector_of_conjugate_product(p, first),
            acceleration,
            2.0 * _vector_of_conjugate_product(p, second),
        )

    def quaternion_xyzw(self) -> Array:
        """Return the orientation world_R_root as (T, 4) unit quaternions without jumps."""
        return continuous(from_matrices(self.rotation).as_quat())

    def velocity_in_root(self) -> Array:
        """Return the velocity of the origin in root axes, (T, 3) [m/s]."""
        return in_root_axes(self.rotation, self.velocity)

    def proper_acceleration(self, gravity: float = GRAVITY) -> Array:
        """Return φ = a − g of the origin in root axes, (T, 3) [m/s²]: what a sensor there feels.

        Args:
            gravity: its magnitude [m/s²]; it points along −z of the world.
        """
        return in_root_axes(self.rotation, self.acceleration + np.array([0.0, 0.0, gravity]))

    def felt(self, gravity: float = GRAVITY) -> tuple[Array, Array, Array]:
        """Return φ [m/s²], ω [rad/s], ω̇ [rad/s²] in root axes, (T, 3) each, for MR-AD."""
        return (
            self.proper_acceleration(gravity),
            self.angular_velocity,
            self.angular_acceleration,
        )


def in_root_axes(world_R_root: Array, vectors: Array) -> Array:
    """Turn vectors (T, 3) of the world into the axes of a root with orientation (T, 3, 3)."""
    rotated: Array = np.einsum('tji,tj->ti', world_R_root, vectors)
    return rotated


def continuous(quaternions: Array) -> Array:
    """Return unit quaternions (T, 4) with the signs that make them continuous."""
    flips = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0.0
    signs = np.where(np.cumsum(flips) % 2, -1.0, 1.0)
    continued: Array = quaternions * np.concatenate([[1.0], signs])[:, None]
    return continued


def _vector_of_conjugate_product(p_xyzw: Array, r_xyzw: Array) -> Array:
    p, p_w = p_xyzw[:, :3], p_xyzw[:, 3:]
    r, r_w = r_xyzw[:, :3], r_xyzw[:, 3:]
    return p_w * r - r_w * p - np.cross(p, r)


_ARRAYS = ('q', 'qd', 'qdd', 'feed_forward', 'zmp', 'com')


@dataclass(frozen=True)
class PlannedFoot:
    """Where one sole is meant to be, and when on the ground.

    Attributes:
        sole: name of the sole's frame.
        position: (T, 3) its origin in the world [m].
        rotation: (T, 3, 3) world_R_sole.
        contact: (T,) bool, whether it is meant to carry load.
    """

    sole: str
    position: Array
    rotation: Array
    contact: np.ndarray

    def __post_init__(self) -> None:
        """Freeze copies of the arrays."""
        for name, dtype in (('position', float), ('rotation', float), ('contact', bool)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    def __getitem__(self, instants: slice) -> 'PlannedFoot':
        """Return the foot at some of its instants."""
        arrays = (self.position, self.rotation, self.contact)
        return PlannedFoot(self.sole, *(array[instants] for array in arrays))


@dataclass(frozen=True)
class MotionPlan:
    """Joint references over time with the root motion and contacts that they imply.

    Attributes:
        name: what it is, e.g. 'sway'.
        joint_names: the n joints in the order of the columns.
        time_step: time between two rows [s]; the first row is at time 0.
        q: (T, n) joint positions [rad] or [m].
        qd: (T, n) joint velocities [rad/s] or [m/s].
        qdd: (T, n) joint accelerations [rad/s²] or [m/s²].
        root: where the root is meant to be; the ground is the plane z = 0 of the world.
        feet: where the soles are meant to be.
        feed_forward: (T, n) joint torques [N·m] or forces [N] that the plan needs; None if they
            have not been computed.
        zmp: (T, 3) zero-moment point of the plan in the world [m]; None likewise.
        com: (T, 3) centre of mass of the plan in the world [m]; None likewise.
    """

    name: str
    joint_names: tuple[str, ...]
    time_step: float
    q: Array
    qd: Array
    qdd: Array
    root: RootMotion
    feet: tuple[PlannedFoot, ...] = ()
    feed_forward: Array | None = None
    zmp: Array | None = None
    com: Array | None = None

    def __post_init__(self) -> None:
        """Freeze copies of the arrays and check their shapes."""
        rows, columns = len(self.root), len(self.joint_names)
        for name in _ARRAYS:
            if getattr(self, name) is None:
                continue
            values = frozen(getattr(self, name))
            shape = (rows, 3) if name in ('zmp', 'com') else (rows, columns)
            if values.shape != shape:
                raise ShapeError(name, str(shape), values.shape)
            if not np.isfinite(values).all():
                raise MotionError(
                    f"In the plan '{self.name}' not every {name} is finite.",
                    kind='not_finite',
                    plan=self.name,
                    array=name,
                )
            object.__setattr__(self, name, values)

    @classmethod
    def from_positions(
        cls, name: str, model: RobotModel, time_step: float, q: Array, root: RootMotion,
        feet: tuple[PlannedFoot, ...],
    ) -> 'MotionPlan':  # fmt: skip
        """Make a plan of smooth joint positions that start and end at rest.

        Args:
            name: what it is.
            model: the robot; its joint limits are checked.
            time_step: [s].
            q: (T, n) joint positions in the model's order [rad] or [m].
            root: motion of the root.
            feet: where the soles are.

        Raises:
            MotionError: if a joint would exceed its position or velocity limit.
        """
        qd, qdd = derivatives(q, time_step)

        def place(row: int) -> tuple[str, dict[str, Any]]:
            time = row * time_step
            return f"The motion '{name}', at {time:.3f} s", {'plan': name, 'time': time}

        check_joints(model, 'position', q, place)
        check_joints(model, 'velocity', qd, place)
        com = root.position + np.einsum('tij,tj->ti', root.rotation, model.com(q))
        return cls(name, model.joint_names, time_step, q, qd, qdd, root, feet, com=com)

    def __len__(self) -> int:
        return len(self.q)

    @property
    def times(self) -> Array:
        """(T,) times of the rows [s]."""
        return self.time_step * np.arange(len(self), dtype=np.float64)

    @property
    def duration(self) -> float:
        """Time from the first row to the last [s]."""
        return self.time_step * (len(self) - 1)

    def with_feed_forward(self, feed_forward: Array, zmp: Array) -> 'MotionPlan':
        """Return the plan with the joint torques (T, n) that it needs and its ZMP (T, 3)."""
        return replace(self, feed_forward=feed_forward, zmp=zmp)

    def until(self, time: float) -> 'MotionPlan':
        """Return the plan up to a time [s]; the whole plan if it is no longer than that."""
        rows = slice(round(time / self.time_step) + 1)
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        cut = {name: values[rows] for name, values in arrays.items() if values is not None}
        feet = tuple(foot[rows] for foot in self.feet)
        return replace(self, root=self.root[rows], feet=feet, **cut)

    def references(self, times: Array) -> tuple[Array, Array, Array]:
        """Interpolate the references; before the first row and after the last they are held.

        Args:
            times: (K,) [s].

        Returns:
            Positions, velocities and feed-forward torques (0 where there are none), each (K, n).
        """
        inside = np.clip(times, 0.0, self.duration)
        position = CubicHermiteSpline(self.times, self.q, self.qd)(inside)
        velocity = np.where(
            (inside == times)[:, None], interpolated(inside, self.times, self.qd), 0.0
        )
        if self.feed_forward is None:
            return position, velocity, np.zeros_like(position)
        return position, velocity, interpolated(inside, self.times, self.feed_forward)


def interpolated(at: Array, times: Array, values: Array) -> Array:
    """Return values (T, m) at times (T,), interpolated linearly at other times (K,)."""
    columns = [np.interp(at, times, column) for column in values.T]
    return np.stack(columns, axis=1)
