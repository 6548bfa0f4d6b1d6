"""Mass, centre of mass and inertia of a solid of Webots."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SimulationError
from izmp_lab.simulation.webots.vrml import Node


@dataclass(frozen=True)
class SolidMass:
    """How the mass of a solid is distributed.

    Attributes:
        mass: [kg].
        com: (3,) centre of mass in the solid [m].
        inertia: (3, 3) about the centre of mass, in the solid's axes [kg·m²].
    """

    mass: float
    com: Array
    inertia: Array

    @classmethod
    def of_kdl(cls, inertia: Any) -> 'SolidMass':
        """Take over a PyKDL.RigidBodyInertia about the solid's origin."""
        com = inertia.getCOG()
        about_com = inertia.RefPoint(com).getRotationalInertia()
        tensor = np.array([about_com[index] for index in range(9)]).reshape(3, 3)
        return cls(inertia.getMass(), np.array([com[0], com[1], com[2]]), tensor)

    def moved(self, R: Array, p: Array) -> 'SolidMass':
        """Express it in the frame in which this one's frame has the pose R (3, 3), p (3,) [m]."""
        return SolidMass(self.mass, p + R @ self.com, R @ self.inertia @ R.T)

    def without(self, part: 'SolidMass') -> 'SolidMass':
        """Return what remains if a part is taken away.

        Raises:
            SimulationError: if less remains than a body can have.
        """
        mass = self.mass - part.mass
        com = (self.mass * self.com - part.mass * part.com) / mass
        inertia = self._about(com) - part._about(com)
        if np.linalg.eigvalsh(inertia).min() <= 0.0:
            raise SimulationError(
                f'A foot of {self.mass:.3g} kg is too light for the pads of its sole; its inertia '
                'would not be positive.',
                kind='foot_too_light',
                mass=self.mass,
            )
        return SolidMass(mass, com, inertia)

    def node(self) -> Node:
        """Return the Physics node."""
        tensor = self.inertia
        return Node(
            'Physics',
            {
                'density': (-1.0,),
                'mass': (self.mass,),
                'centerOfMass': self.com.tolist(),
                'inertiaMatrix': [
                    *np.diag(tensor).tolist(), tensor[0, 1], tensor[0, 2], tensor[1, 2],
                ],
            },
        )  # fmt: skip

    def _about(self, point: Array) -> Array:
        """Inertia (3, 3) about a point (3,)."""
        arm = self.com - point
        about: Array = self.inertia + self.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return about


def ball(mass: float, radius: float, middle: Array) -> SolidMass:
    """Return a solid ball with its middle (3,) [m]."""
    return SolidMass(mass, middle, 0.4 * mass * radius**2 * np.eye(3))
