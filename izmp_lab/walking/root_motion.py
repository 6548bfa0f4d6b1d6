"""Where the floating root is and how it moves: planned, or the truth of a simulation."""

from dataclasses import dataclass, fields

import numpy as np

from izmp_dynamics.base.conventions import GRAVITY, Array, frozen
from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.base.rotations import from_matrices
from izmp_lab.walking.trajectories import derivatives


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
        p = _continuous(from_matrices(rotation).as_quat())
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
        return _continuous(from_matrices(self.rotation).as_quat())

    def velocity_in_root(self) -> Array:
        """Return the velocity of the origin in root axes, (T, 3) [m/s]."""
        return _to_root_axes(self.rotation, self.velocity)

    def proper_acceleration(self, gravity: float = GRAVITY) -> Array:
        """Return φ = a − g of the origin in root axes, (T, 3) [m/s²]: what a sensor there feels.

        Args:
            gravity: its magnitude [m/s²]; it points along −z of the world.
        """
        return _to_root_axes(self.rotation, self.acceleration + np.array([0.0, 0.0, gravity]))


def _to_root_axes(world_R_root: Array, vectors: Array) -> Array:
    rotated: Array = np.einsum('tji,tj->ti', world_R_root, vectors)
    return rotated


def _continuous(quaternions: Array) -> Array:
    """Choose the sign of every quaternion so that it continues the one before."""
    flips = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0.0
    signs = np.where(np.cumsum(flips) % 2, -1.0, 1.0)
    continued: Array = quaternions * np.concatenate([[1.0], signs])[:, None]
    return continued


def _vector_of_conjugate_product(p_xyzw: Array, r_xyzw: Array) -> Array:
    """Return the vector part of p* r, row by row."""
    p, p_w = p_xyzw[:, :3], p_xyzw[:, 3:]
    r, r_w = r_xyzw[:, :3], r_xyzw[:, 3:]
    product: Array = p_w * r - r_w * p - np.cross(p, r)
    return product
