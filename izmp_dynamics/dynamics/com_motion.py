"""Motion of the centre of mass against the ground, from the joints and a foot that stands.

The linear velocity of the root is not measured, but where a foot touches the ground, nothing
moves unless it slips. With all velocities taken as if the root's origin were at rest, that of the
centre of mass less that of the touching point is the one against the ground.
"""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.conventions import Array, Indices, frozen
from izmp_dynamics.dynamics.kernels import MOTION, OMEGA, WORK, momentum
from izmp_dynamics.kernel import kernel
from izmp_dynamics.model.body_layout import MASS, POSITION
from izmp_dynamics.model.robot_model import RobotModel


class ComMotion:
    """Centre of mass of a robot that stands on some of its feet, and its velocity.

    Args:
        model: the robot.
        soles: links of the F soles.
    """

    def __init__(self, model: RobotModel, soles: Sequence[str]) -> None:
        self.model = model
        self._carriers = frozen([model.mount(sole).body for sole in soles], np.int64)

    def __deepcopy__(self, memo: object) -> 'ComMotion':
        """Nothing in it changes; copies of its arrays would be writable, of another type."""
        return self

    def batch(
        self, angular_velocity: Array, q: Array, qd: Array, corners: Sequence[Array],
        up: Array, loads: Array,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Evaluate T instants.

        Args:
            angular_velocity: (T, 3) ω of the root in root axes [rad/s].
            q: (T, n) joint positions [rad] or [m].
            qd: (T, n) joint velocities [rad/s] or [m/s].
            corners: for each of F feet (T, V, 3) corners of its sole in the root frame [m].
            up: (T, 3) unit vector against gravity in root axes.
            loads: (T, F) weights of the feet; 0 for one in the air.

        Returns:
            The centre of mass (T, 3) in the root frame [m], and its velocity (T, 3) against the
            ground in root axes [m/s], NaN where no foot stands.
        """
        zeros = np.zeros_like(angular_velocity)
        states = np.concatenate([zeros, angular_velocity, q, qd], axis=1)
        model = self.model
        of_com, of_feet = _velocities(model.joints, model.bodies, self._carriers, states)
        total = loads.sum(axis=1)
        with np.errstate(invalid='ignore', divide='ignore'):
            share = loads / total[:, None]
        com, velocity = of_com[:, :3], of_com[:, 3:].copy()
        instants = np.arange(len(states))
        for foot, (sole, part) in enumerate(zip(corners, share.T, strict=True)):
            lowest = np.argmin(np.einsum('tvi,ti->tv', sole, up), axis=1)
            touching = sole[instants, lowest]
            body, motion, omega = np.split(of_feet[:, foot], 3, axis=1)
            slip = motion + np.cross(omega, touching - body)
            velocity -= np.where(part[:, None] > 0.0, part[:, None] * slip, 0.0)
        velocity[~(total > 0.0)] = np.nan
        return com, velocity


@kernel
def _velocities(
    joints: Indices, bodies: Array, carriers: Indices, states: Array
) -> tuple[Array, Array]:
    """Velocities as if the root's origin were at rest, of packed states (T, 6 + 2n).

    Returns (T, 6) centre of mass and its velocity, and (T, F, 9) place, velocity and ω of the
    bodies of the feet.
    """
    mass = 0.0
    for body in bodies:
        mass += body[MASS]
    work, out = np.empty((joints.shape[0], WORK)), np.empty(9)
    rows = states.shape[0]
    of_com, of_feet = np.empty((rows, 6)), np.empty((rows, len(carriers), 9))
    for t in range(rows):
        momentum(joints, bodies, states[t], work, out)
        for k in range(3):
            of_com[t, k], of_com[t, 3 + k] = out[6 + k] / mass, out[k] / mass
            for f in range(len(carriers)):
                of_feet[t, f, k] = work[carriers[f], POSITION + k]
                of_feet[t, f, 3 + k] = work[carriers[f], MOTION + k]
                of_feet[t, f, 6 + k] = work[carriers[f], OMEGA + k]
    return of_com, of_feet
