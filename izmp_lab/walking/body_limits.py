"""What the legs and joints of a robot cannot do, at instants of a motion that is planned ahead."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_lab.walking.biped import SIDES, Biped
from izmp_lab.walking.com_programme import InfeasibleError


@dataclass(frozen=True)
class BodyLimits:
    """The limits of a robot.

    Attributes:
        biped: the robot.
        stretch: largest part of its length that a leg may reach [-].
    """

    biped: Biped
    stretch: float

    def check_reach(self, times: Array, reach: Array) -> None:
        """Refuse legs that would be straight.

        Args:
            times: (K,) [s].
            reach: (K, 2) distance from hip to ankle of the left and the right leg [m].

        Raises:
            InfeasibleError: naming time, leg and distance.
        """
        longest = np.array([leg.thigh + leg.shank for leg in self.biped.legs])
        straight = (reach > self.stretch * longest) | (reach < 0.0)
        if straight.any():
            row, foot = (int(index) for index in np.argwhere(straight)[0])
            raise InfeasibleError(
                f'At {times[row]:.2f} s the {SIDES[foot]} leg would have to reach '
                f'{reach[row, foot]:.3f} m from hip to ankle, and stretched it reaches '
                f'{longest[foot]:.3f} m. Lower the centre of mass or shorten the steps.',
                kind='knee_stretches',
                foot=SIDES[foot],
                time=float(times[row]),
                distance=float(reach[row, foot]),
                longest=float(longest[foot]),
            )

    def check_positions(self, times: Array, q: Array) -> None:
        """Refuse joint positions (K, n) [rad] or [m] beyond their limits, at times (K,) [s].

        Raises:
            InfeasibleError: naming time, joint and value.
        """
        model = self.biped.model
        self._check(times, q, model.position_lower, model.position_upper, 'at', 'rad')

    def check_velocities(self, times: Array, qd: Array) -> None:
        """Refuse joint velocities (K, n) [rad/s] or [m/s], likewise."""
        most = self.biped.model.velocity_limit
        self._check(times, qd, -most, most, 'as fast as', 'rad/s')

    def check_torques(self, times: Array, torques: Array) -> None:
        """Refuse joint torques (K, n) [N·m] or forces [N], likewise."""
        most = self.biped.model.effort_limit
        self._check(times, torques, -most, most, 'loaded with', 'N·m')

    def _check(
        self, times: Array, values: Array, lower: Array, upper: Array, what: str, unit: str
    ) -> None:
        beyond = (values < lower) | (values > upper)
        if beyond.any():
            row, joint = (int(index) for index in np.argwhere(beyond)[0])
            raise InfeasibleError(
                f"At {times[row]:.2f} s joint '{self.biped.model.joint_names[joint]}' would be "
                f'{what} {values[row, joint]:.3f} {unit}; its limits are {lower[joint]:.3f} to '
                f'{upper[joint]:.3f} {unit}.',
                kind='joint_limit',
                time=float(times[row]),
                joint=self.biped.model.joint_names[joint],
                value=float(values[row, joint]),
            )
