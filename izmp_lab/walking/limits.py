"""What a robot or planner cannot do is refused, in a sentence with the value and its limits."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.walking.biped import SIDES, Biped

Place = Callable[[int], tuple[str, dict[str, Any]]]
"""Row of a motion → how a sentence about it begins, and the data of the error."""


Ranges = Mapping[str, tuple[float, float, str]]
"""Name of a parameter → least and largest value, and their unit."""


def check_ranges(what: str, parameters: object, ranges: Ranges) -> None:
    """Refuse parameters, of whatever it is, that are not within their ranges; None is no value.

    Raises:
        MotionError: naming parameter and value.
    """
    for name, (lower, upper, unit) in ranges.items():
        value = getattr(parameters, name)
        if value is not None and not (math.isfinite(value) and lower <= value <= upper):
            raise MotionError(
                f'{name} of {what} is {_with_unit(value, unit)}; valid are {lower:g} to '
                f'{_with_unit(upper, unit)}.',
                kind='out_of_range', parameter=name, value=value, lower=lower, upper=upper,
            )  # fmt: skip


def _with_unit(value: float, unit: str) -> str:
    degrees = f' ({math.degrees(value):.1f}°)' if unit == 'rad' else ''
    return f'{value:.4g} {unit}'.rstrip() + degrees


def first_outside(values: Array, lower: Array, upper: Array) -> tuple[int, int] | None:
    """Return row and column of the first of (T, n) values beyond limits (n,); None if none is."""
    outside = np.argwhere((values < lower) | (values > upper))
    return (int(outside[0, 0]), int(outside[0, 1])) if len(outside) else None


def check_joints(
    model: RobotModel, what: Literal['position', 'velocity', 'torque'], values: Array,
    place: Place, error: type[MotionError] = MotionError,
) -> None:  # fmt: skip
    """Refuse joint positions, velocities or torques (T, n) beyond their limits.

    Raises:
        MotionError: of the class `error`, naming place, joint and value.
    """
    lower, upper, unit = {
        'position': (model.position_lower, model.position_upper, 'rad'),
        'velocity': (-model.velocity_limit, model.velocity_limit, 'rad/s'),
        'torque': (-model.effort_limit, model.effort_limit, 'N·m'),
    }[what]
    if found := first_outside(values, lower, upper):
        row, column = found
        (where, data), joint = place(row), model.joint_names[column]
        raise error(
            f"{where}: joint '{joint}' would need the {what} {values[row, column]:.3f} {unit}; "
            f'its limits are {lower[column]:.3f} to {upper[column]:.3f} {unit}.',
            kind='joint_limit', **data, joint=joint, quantity=what,
            value=float(values[row, column]),
        )  # fmt: skip


def check_reach(
    biped: Biped, reach: Array, place: Place, error: type[MotionError] = MotionError,
    stretch: float = 1.0,
) -> None:  # fmt: skip
    """Refuse poses for which a leg is too short.

    Args:
        biped: the robot.
        reach: (T, 2) distance from hip to ankle of the left and the right leg [m]; negative where
            a sole faces upwards.
        place: of the rows.
        error: class of the error.
        stretch: largest part of its length that a leg may reach [-].

    Raises:
        MotionError: naming place, leg and distance.
    """
    if not (found := first_outside(reach, np.zeros(2), stretch * biped.longest)):
        return
    row, foot = found
    (where, data), leg = place(row), biped.legs[foot]
    distance, longest = float(reach[row, foot]), float(biped.longest[foot])
    if distance < 0.0:
        raise error(
            f"{where}: '{leg.sole}' would have to face upwards.",
            kind='sole_upwards', **data, sole=leg.sole,
        )  # fmt: skip
    knee = biped.model.joint_names[leg.columns[3]]
    raise error(
        f"{where}: joint '{knee}' would stretch. The {SIDES[foot]} leg would have to reach "
        f'{distance:.3f} m from hip to ankle; stretched it reaches {longest:.3f} m. Lower the '
        'centre of mass or shorten the steps.',
        kind='knee_stretches', **data, joint=knee, distance=distance, longest=longest,
    )  # fmt: skip
