"""What drivers get wrong about further accelerometers, compared with the IMU beside them."""

import numpy as np

from izmp_dynamics.base.conventions import GRAVITY, Array
from izmp_dynamics.base.errors import SensingError

TOLERANCE = 0.3
"""Difference from the IMU's reading that is remarked on, as a part of gravity [-]."""


def check_accelerometer(
    name: str, readings: Array, expected: Array, gravity: float = GRAVITY
) -> str | None:
    """Compare the median reading of an accelerometer with the IMU's on the same rigid link.

    In the median over some seconds the rotation of the link makes no difference of this size.

    Args:
        name: of the accelerometer, for messages.
        readings: (T, k) along its k sensitive axes.
        expected: (k,) what the IMU reads along the same axes [m/s²].
        gravity: magnitude at the place [m/s²].

    Returns:
        What contradicts the IMU: a sentence; None if nothing does.

    Raises:
        SensingError: no finite sample, a wrong unit, or gravity removed.
    """
    finite = np.isfinite(readings).all(axis=1)
    if not finite.any():
        raise SensingError(
            f"None of the {len(readings)} samples of '{name}' is finite.",
            kind='accelerometer_not_finite',
            accelerometer=name,
        )
    median = np.median(readings[finite], axis=0)
    limit = TOLERANCE * gravity
    if float(np.linalg.norm(median - expected)) <= limit:
        return None
    found = f"The accelerometer '{name}' reads {_vector(median)} m/s² in the median"
    steady = float(np.linalg.norm(expected)) > 2.0 * limit
    if steady and float(np.linalg.norm(median * GRAVITY - expected)) <= limit:
        raise SensingError(
            f'{found}: that is g and not m/s²; let the driver publish m/s² (REP 103).',
            kind='accelerometer_in_g',
            accelerometer=name,
        )
    if steady and float(np.linalg.norm(median)) <= 0.5 * limit:
        raise SensingError(
            f'{found} where the IMU reads {_vector(expected)}: gravity has been removed, or the '
            'sensor is dead. Let the driver publish the specific force, which at rest is 1 g '
            'upwards, or take the sensor out of the robot file.',
            kind='accelerometer_without_gravity',
            accelerometer=name,
        )
    return f'{found} where the IMU reads {_vector(expected)} along the same axes.'


def _vector(values: Array) -> str:
    return f'({", ".join(f"{value:.2f}" for value in values)})'
