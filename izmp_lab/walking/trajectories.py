"""Smooth functions of time and the derivatives of sampled ones."""

import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline

from izmp_dynamics.base.conventions import Array


def smooth_step(phase: npt.ArrayLike) -> Array:
    """Rise from 0 to 1 with velocity, acceleration and jerk zero at both ends.

    Args:
        phase: any shape; the rise takes place between 0 and 1.
    """
    u = np.clip(np.asarray(phase, dtype=np.float64), 0.0, 1.0)
    rise: Array = u**4 * (35.0 + u * (-84.0 + u * (70.0 - 20.0 * u)))
    return rise


def window(times: Array, start: float, end: float, ramp: float) -> Array:
    """Rise to 1 after `start` and fall to 0 before `end`, each within `ramp`, smoothly.

    Args:
        times: (T,) [s].
        start: [s].
        end: [s].
        ramp: duration of rise and fall [s]; half of end − start makes a single bump.
    """
    return smooth_step((times - start) / ramp) * smooth_step((end - times) / ramp)


def derivatives(samples: Array, time_step: float) -> tuple[Array, Array]:
    """Differentiate samples of a smooth motion that starts and ends at rest.

    A quintic spline through the samples is differentiated, so the three agree with each other.

    Args:
        samples: (T, …) equally spaced, T ≥ 2.
        time_step: [s].

    Returns:
        First and second derivative, each (T, …).
    """
    times = time_step * np.arange(len(samples))
    rest = [(order, np.zeros(samples.shape[1:])) for order in (1, 2)]
    spline = make_interp_spline(times, samples, k=5, bc_type=(rest, rest))
    return spline(times, 1), spline(times, 2)
