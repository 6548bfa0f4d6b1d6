"""IR-MD: the baseline, numerically differentiated momentum in the world (paper, sect. 4.4.2).

After Kajita et al. (2014): momentum P and angular momentum L about the world's origin (eq. 8) are
computed from the root's world pose and linear velocity and differenced,

    F_c = ΔP/Δt − m g,    M_c = ΔL/Δt − r_COM × m g.

Both are differenced in world axes: differencing in a moving frame would lose ω × P.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps, cross
from izmp_dynamics.dynamics import kernels
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.signals.differences import backward_quotient, central_quotient


@dataclass(frozen=True)
class Momentum(Record):
    """Momentum of the robot in the world at T instants.

    Attributes:
        linear: (T, 3) P [kg·m/s].
        angular: (T, 3) L about the world's origin [kg·m²/s].
        com: (T, 3) centre of mass in the world [m].
    """

    linear: Array
    angular: Array
    com: Array


class IrMd:
    """Contact wrench in the world from differenced momenta (paper, eq. 8 and sect. 4.4.2).

    Args:
        model: the robot.
        gravity: magnitude of gravity [m/s²]; the world's z axis points up.
        difference: 'central', whose result belongs to the middle instant, or 'paper', the
            backward quotient, taken as the value of the later instant as in the paper.
    """

    def __init__(self, model: RobotModel, gravity: float, difference: str = 'central') -> None:
        self.model = model
        self.gravity = np.array([0.0, 0.0, -gravity])
        self.difference = difference

    def momentum(
        self,
        world_R_root: Array,
        p_root_in_world: Array,
        v_root_in_world: Array,
        angular_velocity: Array,
        q: Array,
        qd: Array,
    ) -> Momentum:
        """Evaluate momentum and angular momentum (eq. 8) at T instants.

        Args:
            world_R_root: (T, 3, 3) orientation of the root.
            p_root_in_world: (T, 3) position of the root origin [m].
            v_root_in_world: (T, 3) velocity of the root origin in world axes [m/s].
            angular_velocity: (T, 3) of the root, in root axes [rad/s].
            q: (T, n) joint positions [rad] or [m].
            qd: (T, n) joint velocities [rad/s] or [m/s].
        """
        root = (world_R_root.reshape(-1, 9), p_root_in_world, v_root_in_world, angular_velocity)
        motions = np.concatenate([*root, q, qd], axis=1)
        out = kernels.momentum_in_world(self.model.joints, self.model.bodies, motions)
        return Momentum(out[:, :3], out[:, 3:6], out[:, 6:])

    def batch(self, stamps: Stamps, momentum: Momentum, max_gap: float) -> ContactWrench:
        """Difference the momenta.

        Args:
            stamps: (T,) instants [ns].
            momentum: at those instants.
            max_gap: longest step that is differenced across [s].

        Returns:
            (T,) contact wrenches about the world's origin in world axes; NaN where the difference
            quotient lacks a neighbour.
        """
        both = np.hstack([momentum.linear, momentum.angular])
        if self.difference == 'central':
            rates = central_quotient(stamps, both, max_gap).first
        else:
            rates, _ = backward_quotient(stamps, both, max_gap)
        weight = self.model.total_mass * self.gravity
        return ContactWrench(rates[:, :3] - weight, rates[:, 3:] - cross(momentum.com, weight))
