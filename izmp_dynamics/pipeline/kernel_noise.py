"""What the filter, or without one the difference quotients, leave of the noise of the samples.

The samples have independent errors; a mean with the weights c of its samples has the variance
σ² Σ c². The sums depend on half-width and period alone.
"""

from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.model.robot_file import Acd
from izmp_dynamics.signals.differences import central_quotient, local_polynomial
from izmp_dynamics.signals.matched_filter import kernel_weights
from izmp_dynamics.signals.stamps import nanoseconds

_SPREAD = 0.3


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


def matched_weights(half_width: float, period: float) -> Array:
    """(3, k) weights of even samples in the means of x, ẋ and ẍ of the matched filter.

    Args:
        half_width: of the triangle [s].
        period: of the samples [s].
    """
    reach = int(half_width / period) + 4
    _, weights = kernel_weights(_ticks(reach, period), reach, half_width)
    return weights


def quotient_weights(acd: Acd, period: float) -> Array:
    """(3, k) weights of even samples in q, q̇ and q̈ without a filter.

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
    return np.stack([fit.value[reach], fit.first[reach], fit.second[reach]])


def joint_weights(acd: Acd, half_width: float | None, period: float) -> Array:
    """(3, k) weights of even samples in q, q̇ and q̈, by the matched filter if there is one.

    Args:
        acd: which quotients.
        half_width: of the triangle [s]; None: no filter.
        period: of the samples [s].
    """
    if half_width is None:
        return quotient_weights(acd, period)
    return matched_weights(half_width, period)


def gain_of(weights: Array) -> NoiseGain:
    """Sums of the squares of weights (3, k)."""
    return NoiseGain(*(float(part) for part in np.sum(weights**2, axis=1)))


def overlap(weights: Array, period: float) -> float:
    """Time for which two values of ẋ have samples, and so errors, in common [s].

    Less half a period, by which stamps may jitter.

    Args:
        weights: (3, k) of even samples in x, ẋ and ẍ.
        period: of the samples [s].
    """
    used = np.flatnonzero(weights[1])
    return period * (float(used[-1] - used[0]) + 0.5)


def sample_gain(half_width: float | None, period: float) -> NoiseGain:
    """Gain of a sensor on the root: of the matched filter, or of the central difference.

    Args:
        half_width: of the triangle [s]; None: no filter.
        period: of the samples [s].
    """
    if half_width is None:
        return NoiseGain(1.0, 0.5 / period**2, 6.0 / period**4)
    return gain_of(matched_weights(half_width, period))


def quantised_second(weights: Array, step: float, travel: Array) -> Array:
    """Variance of q̈ that the steps of an encoder cause.

    The error of a sample is a saw-tooth of the position. For a joint at constant velocity, which
    travels d steps from one sample to the next, the errors of two samples that are j apart have
    the covariance step² R(j d), R(x) = 1/12 - |x| (1 - |x|) / 2 for |x| ≤ 1 and so on with period
    1. A joint that rests has none, a fast one step² / 12 in each sample: R is averaged over
    velocities that differ by `_SPREAD`, as those in a window do.

    Args:
        weights: (k,) of even samples in q̈ [1/s²].
        step: of the encoder [rad] or [m].
        travel: of the joint from one sample to the next, any shape [rad] or [m].
    """
    grid = np.concatenate([np.linspace(0.0, 0.1, 100), np.linspace(0.1, 1.0, 91)[1:]])
    apart = np.arange(len(weights))[:, None] - np.arange(len(weights))
    around = grid[:, None] * np.linspace(1.0 - _SPREAD, 1.0 + _SPREAD, 9)
    phase = (around[:, :, None, None] * np.abs(apart)) % 1.0
    covariance = np.mean(1.0 / 12.0 - 0.5 * phase * (1.0 - phase), axis=1)
    variance = np.einsum('i,gij,j->g', weights, covariance, weights)
    variance[-1] = np.sum(weights**2) / 12.0
    known = np.maximum(variance, 0.0)
    found: Array = step**2 * np.interp(np.abs(travel) / step, grid, known)
    return found


def _ticks(reach: int, period: float) -> Stamps:
    stamps: Stamps = np.arange(-reach, reach + 1) * nanoseconds(period)
    return stamps
