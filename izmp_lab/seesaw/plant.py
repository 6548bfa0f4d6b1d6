"""What a plant, the simulated robot on its seesaw, must be able to do."""

from typing import Protocol

from izmp_dynamics.base.conventions import Array
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.state import BalanceState


class SeesawPlant(Protocol):
    """A robot on a seesaw that takes joint torques.

    Damping and rotor inertia of the joints are those of the robot, whatever the plant.
    """

    @property
    def robot(self) -> BalancingRobot:
        """The robot."""

    @property
    def seesaw(self) -> Seesaw:
        """The board."""

    @property
    def time_step(self) -> float:
        """Step of the physics [s]."""

    @property
    def state(self) -> BalanceState:
        """The present state."""

    @property
    def foot_wrenches(self) -> Array:
        """What the board exerts on the feet in the last step of the physics (2, 6) [N], [N·m].

        Left, right; force, moment in world axes about the origin of the sole.
        """

    @property
    def cop(self) -> Array:
        """Centre of pressure of both soles on the plate, in the board's frame (3,) [m]."""

    def reset(self, state: BalanceState) -> None:
        """Begin from a state."""

    def step(self, torques: Array, duration: float, push: Array | None = None) -> BalanceState:
        """Hold the torques for a while.

        Args:
            torques: (n,) in the order of the robot's joints [N·m].
            duration: a whole number of steps of the physics [s].
            push: (3,) force in world axes at the centre of mass of the body that carries the
                robot's torso link [N]; none if None.

        Returns:
            The state after it.

        Raises:
            SimulationError: if the simulation diverges.
        """
