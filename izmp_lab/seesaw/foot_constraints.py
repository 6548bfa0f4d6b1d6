"""What a foot can transmit: friction, normal force, centre of pressure (Nava et al., eq. 19a)."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array

_SIDES_OF_CONE = 12


@dataclass(frozen=True)
class FootConstraints:
    """Linear inequalities C f ≤ b of a wrench in the frame of a sole.

    Attributes:
        C: (19, 6): twelve sides of the friction cone, two of torsion, lowest normal force, four
            edges of the sole.
        b: (19,).
    """

    C: Array
    b: Array

    @classmethod
    def of(
        cls, box: Array, friction: float, torsional: float, lowest_normal_force: float
    ) -> 'FootConstraints':
        """Build them.

        Args:
            box: (2, 2) x_min, x_max; y_min, y_max of the sole [m].
            friction: coefficient [-]; the cone is inscribed by twelve planes.
            torsional: the same for the moment about the normal [m].
            lowest_normal_force: [N].
        """
        middle = (np.arange(_SIDES_OF_CONE) + 0.5) * 2.0 * np.pi / _SIDES_OF_CONE
        reach = friction * np.cos(np.pi / _SIDES_OF_CONE)
        cone = np.zeros((_SIDES_OF_CONE, 6))
        cone[:, 0], cone[:, 1], cone[:, 2] = np.cos(middle), np.sin(middle), -reach
        (x_min, x_max), (y_min, y_max) = box
        rest = np.array(
            [
                [0.0, 0.0, -torsional, 0.0, 0.0, 1.0],
                [0.0, 0.0, -torsional, 0.0, 0.0, -1.0],
                [0.0, 0.0, -1.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, x_min, 0.0, 1.0, 0.0],  # the CoP is at x = −M_y / F_z, y = M_x / F_z
                [0.0, 0.0, -x_max, 0.0, -1.0, 0.0],
                [0.0, 0.0, y_min, -1.0, 0.0, 0.0],
                [0.0, 0.0, -y_max, 1.0, 0.0, 0.0],
            ]
        )
        b = np.zeros(_SIDES_OF_CONE + len(rest))
        b[_SIDES_OF_CONE + 2] = -lowest_normal_force
        return cls(np.concatenate([cone, rest]), b)

    def in_world(self, world_R_sole: Array) -> Array:
        """Return C for a wrench in world axes about the origin of the sole."""
        return self.C @ np.kron(np.eye(2), world_R_sole.T)
