"""The seesaw: a semi-cylindrical board that rolls on level ground.

The board's frame S has its origin at the board's centre of mass; at θ = 0 its axes are those of
the world: x along the axis of the cylinder, y to the left, z out of the plate. A positive θ turns
about x: the left side goes up, and the board rolls to the right.
"""

import math
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import SimulationError
from izmp_lab.seesaw.state import RigidState


@dataclass(frozen=True)
class Seesaw:
    """Geometry and inertia of the board; the defaults are those of the authors' controller.

    Attributes:
        radius: ρ of the cylinder [m].
        arc_height: from the lowest line of the cylinder to the lower side of the plate [m].
        plate: thickness of the plate [m].
        com_height: of the board's centre of mass above the ground, the board being level [m].
        mass: [kg].
        inertia: (xx, yy, zz) about the centre of mass, in S [kg·m²].
        length: along the axis of the cylinder [m]; the line of contact is as long.
        feet_x: of both soles in S [m].
        feet_y: of the left sole in S; the right one mirrors it [m].
        friction: between soles and plate, as the controller assumes it [-].
        torsional_friction: of a sole about its normal [m].
    """

    radius: float = 0.362
    arc_height: float = 0.1
    plate: float = 0.004
    com_height: float = 0.102
    mass: float = 4.2
    inertia: tuple[float, float, float] = (0.0767, 0.0379, 0.1089)
    length: float = 0.32
    feet_x: float = -0.01
    feet_y: float = 0.11
    friction: float = 1.0
    torsional_friction: float = 2.0 / 150.0

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        positive = (self.radius, self.arc_height, self.mass, self.length, *self.inertia)
        if not all(0.0 < value < math.inf for value in positive):
            raise SimulationError(
                'Radius, arc height, mass, length and inertia of a seesaw must be above 0, not '
                f'{", ".join(f"{value:g}" for value in positive)}.',
                kind='board_not_positive',
                values=tuple(positive),
            )
        if self.arc_height > self.radius:
            raise SimulationError(
                f'The arc of a seesaw is at most as high as its radius, {self.radius:g} m, not '
                f'{self.arc_height:g} m.',
                kind='arc_too_high',
                arc_height=self.arc_height,
                radius=self.radius,
            )

    @property
    def top(self) -> float:
        """Height of the plate's upper side in S [m]."""
        return self.arc_height + self.plate - self.com_height

    @property
    def axis_height(self) -> float:
        """Height of the cylinder's axis in S [m]."""
        return self.radius - self.com_height

    @property
    def half_width(self) -> float:
        """Half the width of the plate: where the arc meets it [m]."""
        return math.sqrt(self.arc_height * (2.0 * self.radius - self.arc_height))

    @property
    def largest_angle(self) -> float:
        """Angle at which the edge of the plate touches the ground [rad]."""
        return math.asin(self.half_width / self.radius)

    def rolled(self, angle: float, rate: float = 0.0) -> RigidState:
        """Return the board rolled from level, its contact line then at y = 0.

        Args:
            angle: θ [rad].
            rate: θ̇ [rad/s].
        """
        c, s = math.cos(angle), math.sin(angle)
        rotation = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        axis = np.array([0.0, -self.radius * angle, self.radius])
        position = axis - rotation @ [0.0, 0.0, self.axis_height]
        omega = np.array([rate, 0.0, 0.0])
        contact = axis - [0.0, 0.0, self.radius]
        return RigidState(position, rotation, np.cross(omega, position - contact), omega)

    def contact_point(self, board: RigidState) -> Array:
        """Return the point of the board's contact line below its frame, in the world (3,) [m].

        The line is below the axis of the cylinder, by its radius.
        """
        axis = board.position + board.rotation @ [0.0, 0.0, self.axis_height]
        return frozen(axis - [0.0, 0.0, self.radius])

    def sole_in_board(self, side: int) -> Array:
        """Return the origin of a sole in S (3,) [m]; side: 1 left, −1 right."""
        return frozen([self.feet_x, side * self.feet_y, self.top])
