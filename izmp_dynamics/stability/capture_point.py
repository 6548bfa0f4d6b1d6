"""The capture point: where a robot had to put its foot down to come to rest over it.

ξ = c + ċ/ω with ω = √(g/h), after Pratt et al. (2006); also called divergent component of motion.
As long as the centre of pressure stays at z, ξ̇ = ω (ξ − z): only a foot beyond ξ brings it back.
"""

import numpy as np

from izmp_dynamics.conventions import Array

LEAST_HEIGHT = 0.05
"""A centre of mass that is lower above the ground than this is not that of a robot on feet [m]."""


def pendulum_rate(height: Array, gravity: float) -> Array:
    """Return ω (T,) of pendulums of some heights (T,) [m]; NaN where there is none [1/s]."""
    standing = height > LEAST_HEIGHT
    rate: Array = np.sqrt(gravity / np.where(standing, height, np.nan))
    return rate


def capture_point(com: Array, velocity: Array, rate: Array) -> Array:
    """Return the capture points (T, 2) [m].

    Args:
        com: (T, 2) centre of mass along two level axes [m].
        velocity: (T, 2) its velocity against the ground [m/s].
        rate: (T,) ω of the pendulum [1/s].
    """
    point: Array = com + velocity / rate[:, None]
    return point


def offset_of_fall(height: Array, rate: Array, tilt: float, time: float) -> Array:
    """Return how far outside what the feet can reach ξ is if a fall is so near (T,) [m].

    Outside, the distance grows as e^(ω t) whatever the feet do, and the centre of mass follows at
    half of it: an inverted pendulum that tips reaches the angle θ when h θ = ½ d e^(ω t).

    Args:
        height: (T,) of the centre of mass [m].
        rate: (T,) ω [1/s].
        tilt: angle at which the robot counts as fallen [rad].
        time: until then [s].
    """
    offset: Array = 2.0 * tilt * height * np.exp(-rate * time)
    return offset
