"""The ground that a walk is planned on: level, then rising at a constant slope."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError

_STEEPEST_DEG = 30.0


@dataclass(frozen=True)
class Ramp:
    """Ground at z = 0 up to the line x = start; from there it rises along x.

    Attributes:
        slope: angle of the ramp [rad]; 0 for level ground everywhere.
        start: where it begins, x in the world [m].
    """

    slope: float = 0.0
    start: float = 0.0

    def __post_init__(self) -> None:
        """Refuse slopes that are too steep or go down.

        Raises:
            MotionError: if the ramp falls or is steeper than 30°.
        """
        if not 0.0 <= self.slope <= np.radians(_STEEPEST_DEG):
            raise MotionError(
                f'A slope of {np.degrees(self.slope):.1f}° cannot be planned; valid are 0° to '
                f'{_STEEPEST_DEG:.0f}° (upwards).',
                kind='slope_out_of_range',
                slope=self.slope,
                upper=np.radians(_STEEPEST_DEG),
            )

    def height(self, x: npt.ArrayLike) -> Array:
        """Return the height of the ground [m] at x (…) [m]."""
        risen: Array = np.tan(self.slope) * np.maximum(np.asarray(x) - self.start, 0.0)
        return risen

    def smooth_height(self, x: npt.ArrayLike, width: float) -> Array:
        """Return a height [m] whose kink is rounded over `width` [m], a softplus."""
        along = (np.asarray(x, dtype=np.float64) - self.start) / width
        risen: Array = np.tan(self.slope) * width * np.logaddexp(0.0, along)
        return risen

    def rotation(self, x: float) -> Array:
        """Return world_R_ground (3, 3) at x [m]: its z axis is the ground's normal."""
        pitch = -self.slope if x > self.start else 0.0
        R: Array = Rotation.from_euler('y', pitch).as_matrix()
        return R

    def straddled(self, heel: float, toe: float) -> bool:
        """Whether a sole from x = heel to x = toe [m] lies across the edge."""
        return self.slope > 0.0 and heel < self.start < toe
