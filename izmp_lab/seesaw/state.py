"""The state of a robot on a seesaw."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import ShapeError


@dataclass(frozen=True)
class RigidState:
    """Pose and twist of a rigid body, in world axes.

    Attributes:
        position: (3,) origin of the body's frame in the world [m].
        rotation: (3, 3) world_R_body.
        velocity: (3,) of that origin, in world axes [m/s].
        angular_velocity: (3,) in world axes [rad/s].
    """

    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array

    def __post_init__(self) -> None:
        """Freeze copies of the arrays."""
        for name, shape in (
            ('position', (3,)),
            ('rotation', (3, 3)),
            ('velocity', (3,)),
            ('angular_velocity', (3,)),
        ):
            _freeze(self, name, shape)

    @property
    def finite(self) -> bool:
        """Whether every number is finite."""
        parts = (self.position, self.rotation, self.velocity, self.angular_velocity)
        return all(bool(np.isfinite(part).all()) for part in parts)

    @property
    def twist(self) -> Array:
        """(6,) velocity of the origin, angular velocity; world axes."""
        return np.concatenate([self.velocity, self.angular_velocity])

    def moved(self, shift: Array, twist: Array) -> 'RigidState':
        """Return the body shifted and turned by (6,) [m], [rad] in world axes, with a twist."""
        turn = Rotation.from_rotvec(shift[3:]).as_matrix()
        return RigidState(self.position + shift[:3], turn @ self.rotation, twist[:3], twist[3:])

    @classmethod
    def at_rest(cls, position: Array, rotation: Array) -> 'RigidState':
        """Return the state of a body that does not move."""
        return cls(position, rotation, np.zeros(3), np.zeros(3))


@dataclass(frozen=True)
class BalanceState:
    """Robot and board at an instant.

    Attributes:
        time: [s].
        root: the root link.
        q: (n,) joint positions, in the order of RobotModel.joint_names [rad].
        qd: (n,) joint velocities [rad/s].
        board: the board; the origin of its frame is its centre of mass.
    """

    time: float
    root: RigidState
    q: Array
    qd: Array
    board: RigidState

    def __post_init__(self) -> None:
        """Freeze copies of the arrays."""
        _freeze(self, 'q', (len(self.q),))
        _freeze(self, 'qd', (len(self.q),))

    @property
    def finite(self) -> bool:
        """Whether every number is finite."""
        joints = np.isfinite(self.q).all() and np.isfinite(self.qd).all()
        return bool(joints) and self.root.finite and self.board.finite

    @property
    def angle(self) -> float:
        """Angle θ of the board about the world's x axis; its left side is up if above 0 [rad]."""
        R = self.board.rotation
        return float(np.arctan2(R[2, 1], R[1, 1]))

    @property
    def angle_rate(self) -> float:
        """Rate θ̇ of the board about the world's x axis [rad/s]."""
        return float(self.board.angular_velocity[0])


def _freeze(state: object, name: str, shape: tuple[int, ...]) -> None:
    array = frozen(getattr(state, name))
    if array.shape != shape:
        raise ShapeError(name, str(shape), array.shape)
    object.__setattr__(state, name, array)
