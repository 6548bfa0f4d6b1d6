"""A motion of joints that somebody asks for in a message."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from izmp_dynamics.conventions import Array
from izmp_dynamics.errors import MotionError
from izmp_dynamics.model.robot_model import RobotModel

_TOLERANCE = 1e-6
"""How far beyond a limit a position may lie [rad] or [m]: the rounding of messages."""


@dataclass(frozen=True)
class Trajectory:
    """Points of a motion.

    Attributes:
        joint_names: the n joints.
        times: (K,) since the start [s].
        positions: (K, n) [rad] or [m].
        velocities: (K, n) [rad/s] or [m/s]; None if they are not given.
    """

    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array | None = None

    def columns(self, model: RobotModel) -> list[int]:
        """Return where the joints stand in the model.

        Raises:
            MotionError: if the trajectory is for another robot, has no points, times that do not
                increase, values that are not finite, or positions beyond a limit.
        """
        unknown = [name for name in self.joint_names if name not in model.joint_names]
        if unknown or len(set(self.joint_names)) < len(self.joint_names):
            raise MotionError(
                'The trajectory is for another robot: '
                f'{_listed(unknown or self.joint_names)} are not, or not once, among the joints '
                f"of '{model.name}' ({', '.join(model.joint_names)})."
            )
        self._check_points()
        columns = [model.joint_names.index(name) for name in self.joint_names]
        lower = model.position_lower[columns] - _TOLERANCE
        upper = model.position_upper[columns] + _TOLERANCE
        outside = (self.positions < lower) | (self.positions > upper)
        if outside.any():
            row, column = (int(index) for index in np.argwhere(outside)[0])
            raise MotionError(
                f"The trajectory wants joint '{self.joint_names[column]}' at "
                f'{self.positions[row, column]:.3f} at {self.times[row]:.3f} s; its limits are '
                f'{lower[column]:.3f} to {upper[column]:.3f}.'
            )
        return columns

    def rows(self, time_step: float) -> Array:
        """Return the positions (T, n) at every time step from the first point to the last."""
        if len(self.times) == 1:
            return self.positions
        count = max(1, round((self.times[-1] - self.times[0]) / time_step))
        at = np.minimum(self.times[0] + time_step * np.arange(count + 1), self.times[-1])
        if self.velocities is not None:
            smooth: Array = CubicHermiteSpline(self.times, self.positions, self.velocities)(at)
            return smooth
        columns = [np.interp(at, self.times, column) for column in self.positions.T]
        return np.stack(columns, axis=1)

    def _check_points(self) -> None:
        shape = (len(self.times), len(self.joint_names))
        arrays = (self.times, self.positions, self.velocities)
        if not len(self.times) or self.positions.shape != shape:
            raise MotionError(
                f'The trajectory has {len(self.times)} points of {len(self.joint_names)} joints, '
                'but no position for each of them.'
            )
        if not all(np.isfinite(array).all() for array in arrays if array is not None):
            raise MotionError('In the trajectory not every number is finite.')
        if (np.diff(self.times) <= 0.0).any():
            raise MotionError("The trajectory's times do not increase from point to point.")


def _listed(names: Sequence[str]) -> str:
    more = f' and {len(names) - 5} more' if len(names) > 5 else ''
    return ', '.join(names[:5]) + more
