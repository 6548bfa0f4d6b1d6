"""A walking command: length, width and direction of the next steps."""

import math
from dataclasses import dataclass

import numpy as np

from izmp_lab.walking.biped import RIGHT
from izmp_lab.walking.footsteps import Foothold
from izmp_lab.walking.limits import check_ranges

_RANGES = {'length': (-2.0, 2.0, 'm'), 'width': (0.01, 1.0, 'm'), 'turn': (-1.0, 1.0, 'rad')}


@dataclass(frozen=True)
class WalkCommand:
    """A gait that goes on until another is wanted.

    Attributes:
        length: from a foothold to the next one of the other foot, along the path [m]; 0 steps in
            place, less walks backwards.
        width: between the soles' origins, across the path [m].
        turn: change of heading per step, positive to the left [rad].
    """

    length: float
    width: float
    turn: float = 0.0

    def __post_init__(self) -> None:
        """Check that the numbers make sense."""
        check_ranges('the walking command', self, _RANGES)

    def steps_from(self, stance: Foothold, count: int) -> list[Foothold]:
        """Return the next footholds; the last one sets the feet side by side.

        Args:
            stance: the foothold that is on the ground when the first step begins.
            count: how many.
        """
        holds = [stance]
        for _ in range(count - 1):
            holds.append(self._next(holds[-1]))
        last = holds[-1]
        middle = self._middle(last)
        across = middle - last.position
        holds.append(Foothold(1 - last.foot, middle + across, last.rotation, last.along))
        return holds[1:]

    def _next(self, stance: Foothold) -> Foothold:
        half = _rotation(0.5 * self.turn)
        chord = self.length * float(np.sinc(0.5 * self.turn / np.pi))
        middle = self._middle(stance) + chord * (stance.rotation @ half)[:, 0]
        rotation = stance.rotation @ _rotation(self.turn)
        side = 0.5 * self.width * (1.0 if stance.foot == RIGHT else -1.0)
        position = middle + side * rotation[:, 1]
        return Foothold(1 - stance.foot, position, rotation, stance.along + 1.0)

    def _middle(self, stance: Foothold) -> np.ndarray:
        """Point of the path beside a foothold (3,) [m]."""
        side = 0.5 * self.width * (1.0 if stance.foot == RIGHT else -1.0)
        middle: np.ndarray = stance.position + side * stance.rotation[:, 1]
        return middle


def _rotation(angle: float) -> np.ndarray:
    """Rotation about the vertical (3, 3)."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
