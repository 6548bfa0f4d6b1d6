"""White sensor noise as in the paper (sect. 4.6): standard deviation σ = ν √f, mean zero.

ν is the noise density that data sheets state, f the sample rate.
"""

import math

from izmp_dynamics.base.errors import SensingError

STANDARD_GRAVITY = 9.80665
"""The unit 'g' of data sheets [m/s²]; not the gravity at the robot's place."""


def micro_g(density: float) -> float:
    """Convert an accelerometer's noise density from µg/√Hz to m/s²/√Hz."""
    return density * 1e-6 * STANDARD_GRAVITY


def degrees(density: float) -> float:
    """Convert a gyroscope's noise density from °/s/√Hz to rad/s/√Hz."""
    return math.radians(density)


XSENS_ACCELEROMETER = micro_g(60.0)
"""Accelerometer noise density of Xsens MTi units [m/s²/√Hz]: 60 µg/√Hz typically.

Source: Xsens, MTi User Manual (document MT0605P), sensor specifications; the MTi-300 data sheet
(Movella, May 2023) states the same number. The maker's own measurement, 0.0137 m/s² at 400 Hz
('RMS noise of accelerometers and gyroscopes', base.xsens.com), makes 70 µg/√Hz.
"""


def standard_deviation(density: float, rate: float) -> float:
    """Return σ = ν √f (sect. 4.6).

    Args:
        density: noise density ν [unit/√Hz].
        rate: sample rate f [Hz].

    Raises:
        SensingError: a negative density or a rate that is not positive.
    """
    if not (0.0 <= density < math.inf and 0.0 < rate < math.inf):
        raise SensingError(
            f'Noise needs a density of zero or more and a positive rate, '
            f'but has {density} per √Hz and {rate} Hz.',
            kind='noise',
            density=density,
            rate=rate,
        )
    return density * math.sqrt(rate)
