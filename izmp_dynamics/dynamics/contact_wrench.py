"""The contact wrench: the result of both methods and of the feet's sensors.

The net wrench that the environment exerts on the robot, gravity excepted:

    F_c = Ṗ − m g,    M_c = L̇ − r_COM × m g

about the origin of the frame in which it is expressed. A ZMP follows from it in the same way,
for every method (`stability.zmp`).
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, cross


@dataclass(frozen=True)
class ContactWrench(Record):
    """Contact wrenches at one instant or at T instants.

    Attributes:
        force: (3,) or (T, 3) F_c [N].
        moment: (3,) or (T, 3) M_c about the origin of the frame [N·m].
    """

    force: Array
    moment: Array

    @classmethod
    def from_array(cls, wrench: Array) -> 'ContactWrench':
        """Split an array (…, 6) of forces [N] and moments [N·m], force first."""
        return cls(wrench[..., :3], wrench[..., 3:])

    def as_array(self) -> Array:
        """Join to an array (…, 6) of forces [N] and moments [N·m], force first."""
        return np.concatenate([self.force, self.moment], axis=-1)

    def transformed(self, R: Array, p: Array) -> 'ContactWrench':
        """Express the wrench in another frame, about that frame's origin.

        Args:
            R: (…, 3, 3) target_R_source.
            p: (…, 3) origin of the source frame in the target frame [m].
        """
        force = np.einsum('...ij,...j->...i', R, self.force)
        moment = np.einsum('...ij,...j->...i', R, self.moment)
        return ContactWrench(force, moment + cross(p, force))

    def seen_from(self, R: Array, p: Array) -> 'ContactWrench':
        """Express the wrench in a frame whose pose is given in this one, about its origin.

        Args:
            R: (…, 3, 3) source_R_target.
            p: (…, 3) origin of the target frame in the source frame [m].
        """
        back = np.swapaxes(R, -1, -2)
        return self.transformed(back, -np.einsum('...ij,...j->...i', back, p))

    def momentum_rate(self, mass: float, gravity: Array, com: Array) -> 'ContactWrench':
        """Add gravity: the rates of change of momentum Ṗ [N] and angular momentum [N·m].

        Args:
            mass: [kg].
            gravity: (…, 3) gravity vector g in the frame [m/s²], pointing down.
            com: (…, 3) centre of mass in the frame [m].
        """
        weight = mass * gravity
        return ContactWrench(self.force + weight, self.moment + cross(com, weight))
