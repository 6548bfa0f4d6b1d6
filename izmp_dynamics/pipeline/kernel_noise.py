"""What the filter, or without one the difference quotients, leave of the noise of the samples.

The samples have independent errors; a mean with the weights c of its samples has the variance
σ² Σ c². The sums depend on half-width and period alone.
"""

from typing import NamedTuple

import numpy as np

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.model.robot_file import Acd
from izmp_dynamics.sensing.differences import central_quotient, local_polynomial
from izmp_dynamics.sensing.matched_filter import kernel_weights
from izmp_dynamics.sensing.stamps import nanoseconds


class NoiseGain(NamedTuple):
    """Variances of a signal after the kernel, for samples of variance 1.

    Attributes:
        value: of x [-].
        first: of ẋ [1/s²].
        second: of ẍ [1/s⁴].
    """

    value: float
    first: float
    second: float


def matched_gain(half_width: float, period: float) -> NoiseGain:
    """Gain of the matched filter.

    Args:
        half_width: of the triangle [s].
        period: of the samples [s].
    """
    reach = int(half_width / period) + 3
    _, weights = kernel_weights(_ticks(reach, period), reach, half_width)
    return NoiseGain(*(float(part) for part in np.sum(weights**2, axis=1)))


def quotient_gain(acd: Acd, period: float) -> NoiseGain:
    """Gain of the difference quotients of the joints, without a filter.

    Args:
        acd: which quotients.
        period: of the samples [s].
    """
    reach = acd.window // 2 if acd.method == 'savitzky_golay' else 1
    stamps, impulses = _ticks(reach, period), np.eye(2 * reach + 1)
    if acd.method == 'savitzky_golay':
        fit = local_polynomial(stamps, impulses, acd.window, acd.degree)
    else:
        fit = central_quotient(stamps, impulses)
    parts = (fit.value[reach], fit.first[reach], fit.second[reach])
    return NoiseGain(*(float(np.sum(part**2)) for part in parts))


def sample_gain(half_width: float | None, period: float) -> NoiseGain:
    """Gain of a sensor on the root: of the matched filter, or of the central difference.

    Args:
        half_width: of the triangle [s]; None: no filter.
        period: of the samples [s].
    """
    if half_width is None:
        return NoiseGain(1.0, 0.5 / period**2, 6.0 / period**4)
    return matched_gain(half_width, period)


def quantisation(step: float, travel: Array) -> Array:
    """Variance of samples of which the quantisation has the same effect on a second difference.

    The error of a fast joint is anywhere within a step: step² / 12. A joint that rests on a step
    has none. In between the error is a saw-tooth of the position, whose values at t - w, t and
    t + w belong together: of a joint that travels d steps in w the second difference has the
    variance 2 d step² up to d = 1/2, then (2 - 2 d) step², and so on; on average step² / 2.

    Args:
        step: of the encoder [rad] or [m].
        travel: of the joint within the half-width w, any shape [rad] or [m].
    """
    steps = np.abs(travel) / step
    triangle = np.where(steps < 0.5, 2.0 * steps, np.maximum(2.0 - 2.0 * steps, 0.5))
    variance: Array = step**2 / 12.0 * 2.0 * triangle
    return variance


def _ticks(reach: int, period: float) -> Stamps:
    stamps: Stamps = np.arange(-reach, reach + 1) * nanoseconds(period)
    return stamps
