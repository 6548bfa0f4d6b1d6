"""The capture point: where a robot had to put its foot down to come to rest over it.

ξ = c + ċ/ω with ω = √(g/h), after Pratt et al. (2006); also called divergent component of motion.
As long as the centre of pressure stays at z, ξ̇ = ω (ξ − z): only a foot beyond ξ brings it back.

The functions are kernels for one instant.
"""

import numpy as np

from izmp_dynamics.base.kernel import inlined

LEAST_HEIGHT = 0.05
"""A centre of mass that is lower above the ground than this is not that of a robot on feet [m]."""


@inlined
def pendulum_rate(height: float, gravity: float) -> float:
    """Return ω of a pendulum of some height [m]; NaN where there is none [1/s]."""
    return np.sqrt(gravity / height) if height > LEAST_HEIGHT else np.nan


@inlined
def capture_point(com: float, velocity: float, rate: float) -> float:
    """Return the capture point along a level axis [m].

    Args:
        com: centre of mass along it [m].
        velocity: its velocity against the ground [m/s].
        rate: ω of the pendulum [1/s].
    """
    return com + velocity / rate


@inlined
def offset_of_fall(height: float, rate: float, tilt: float, time: float) -> float:
    """Return how far outside what the feet can reach ξ is if a fall is so near [m].

    Outside, the distance grows as e^(ω t) whatever the feet do, and the centre of mass follows at
    half of it: an inverted pendulum that tips reaches the angle θ when h θ = ½ d e^(ω t).

    Args:
        height: of the centre of mass above the ground [m].
        rate: ω [1/s].
        tilt: angle at which the robot counts as fallen [rad].
        time: until then [s].
    """
    return float(2.0 * tilt * height * np.exp(-rate * time))
