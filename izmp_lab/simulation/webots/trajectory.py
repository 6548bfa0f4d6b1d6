"""A motion of joints that a message asks for, and how it is begun and followed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.walking.limits import first_outside
from izmp_lab.walking.plan import interpolated, smooth_step

_TOLERANCE = 1e-6
"""How far beyond a limit a position may lie [rad] or [m]: the rounding of messages."""

LONGEST = 600.0
"""Time that a trajectory may take, from its start to its last point [s]."""


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
            MotionError: if the trajectory is for another robot or for no joint, has no points,
                times that do not increase or beyond `LONGEST`, or values that are not finite.
        """
        if not self.joint_names:
            raise MotionError(
                'The trajectory names no joints; joint_names must not be empty.', kind='no_joints'
            )
        unknown = [name for name in self.joint_names if name not in model.joint_names]
        if unknown or len(set(self.joint_names)) < len(self.joint_names):
            raise MotionError(
                'The trajectory is for another robot: '
                f'{_listed(unknown or self.joint_names)} are not, or not once, among the joints '
                f"of '{model.name}' ({', '.join(model.joint_names)}).",
                kind='other_joints',
                joints=tuple(unknown or self.joint_names),
                robot=model.name,
            )
        self._check_points()
        return [model.joint_names.index(name) for name in self.joint_names]

    def rows(self, model: RobotModel, time_step: float) -> Array:
        """Return the positions (T, n) at every time step from the first point to the last.

        Raises:
            MotionError: as `columns`, or if a position is beyond a limit of its joint, also
                between points, where a curve with velocities can overshoot.
        """
        columns = self.columns(model)
        self._check_limits(model, columns, self.times, self.positions)
        if len(self.times) == 1:
            return self.positions
        count = max(1, round((self.times[-1] - self.times[0]) / time_step))
        at = np.minimum(self.times[0] + time_step * np.arange(count + 1), self.times[-1])
        if self.velocities is None:
            return interpolated(at, self.times, self.positions)
        smooth: Array = CubicHermiteSpline(self.times, self.positions, self.velocities)(at)
        self._check_limits(model, columns, at, smooth)
        return smooth

    def _check_limits(
        self, model: RobotModel, columns: list[int], times: Array, positions: Array
    ) -> None:
        lower, upper = model.position_lower[columns], model.position_upper[columns]
        found = first_outside(positions, lower - _TOLERANCE, upper + _TOLERANCE)
        if found:
            row, column = found
            raise MotionError(
                f"The trajectory wants joint '{self.joint_names[column]}' at "
                f'{positions[row, column]:.3f} at {times[row]:.3f} s; its limits are '
                f'{lower[column]:.3f} to {upper[column]:.3f}.',
                kind='joint_limit',
                joint=self.joint_names[column],
                value=float(positions[row, column]),
                time=float(times[row]),
            )

    def _check_points(self) -> None:
        shape = (len(self.times), len(self.joint_names))
        arrays = (self.times, self.positions, self.velocities)
        if not len(self.times) or self.positions.shape != shape:
            raise MotionError(
                f'The trajectory has {len(self.times)} points of {len(self.joint_names)} joints, '
                'but no position for each of them.',
                kind='positions_missing',
                points=len(self.times),
                joints=len(self.joint_names),
            )
        if self.velocities is not None and self.velocities.shape != shape:
            raise MotionError(
                'The trajectory lacks a velocity for some joint of some point.',
                kind='velocities_missing',
                shape=self.velocities.shape,
            )
        if not all(np.isfinite(array).all() for array in arrays if array is not None):
            raise MotionError('In the trajectory not every number is finite.', kind='not_finite')
        if (np.diff(self.times) <= 0.0).any():
            raise MotionError(
                "The trajectory's times do not increase from point to point.",
                kind='times_not_increasing',
            )
        if self.times[0] < 0.0 or self.times[-1] > LONGEST:
            raise MotionError(
                f'The trajectory lasts from {self.times[0]:g} s to {self.times[-1]:g} s after its '
                f'start; 0 to {LONGEST:g} s are possible.',
                kind='times_out_of_range',
                first=float(self.times[0]),
                last=float(self.times[-1]),
                longest=LONGEST,
            )


def _listed(names: Sequence[str]) -> str:
    more = f' and {len(names) - 5} more' if len(names) > 5 else ''
    return ', '.join(names[:5]) + more


class Mover:
    """Lets the joints follow rows of positions, one for each time step.

    They go smoothly from where they are to the first row, hold it, follow the rows and hold the
    last one. A motor takes a commanded position during the following step; so the row of the next
    instant is commanded.

    Args:
        name: of the motion.
        columns: (m,) which joints move.
        rows: (T, m) their positions [rad] or [m].
        now: (m,) their present positions; NaN where they are not known [rad] or [m].
        time: present time [s].
        time_step: between the rows [s].
        approach: time of going to the first row [s].
        settle: time of holding it [s].

    Attributes:
        begin: when the rows begin [s].
        end: when they are over [s].
    """

    def __init__(
        self,
        name: str,
        columns: Sequence[int],
        rows: Array,
        now: Array,
        time: float,
        time_step: float,
        approach: float,
        settle: float,
    ) -> None:
        self.name, self.columns, self.rows, self.time_step = name, list(columns), rows, time_step
        self.now = np.where(np.isfinite(now), now, rows[0])
        self.start, self.approach = time, approach
        self.begin = time + approach + settle
        self.end = self.begin + time_step * (len(rows) - 1)

    def targets(self, time: float) -> Array:
        """Return the positions (m,) for the instant after `time` [s]."""
        next_instant = time + self.time_step
        row = round((next_instant - self.begin) / self.time_step)
        if row > 0 or next_instant >= self.start + self.approach:
            target: Array = self.rows[min(max(row, 0), len(self.rows) - 1)]
            return target
        rise = smooth_step((next_instant - self.start) / self.approach)
        blended: Array = self.now + rise * (self.rows[0] - self.now)
        return blended

    def is_over(self, time: float) -> bool:
        """Whether the last row has been reached."""
        return time >= self.end - 0.5 * self.time_step
