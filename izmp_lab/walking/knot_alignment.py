"""Whether the steps of a walk fit the knots of the angular-momentum generator's splines.

Between two knots the acceleration of a cubic spline is straight, and so is the polygon of the
angular momentum. Where a foot lifts off or lands, the wanted ZMP turns; between knots it cannot be
followed around that corner: of a change of its speed by Δv in the middle of an interval Δt,
Δv Δt / 4 is left.
"""

import math

from izmp_lab.walking.walk_parameters import WalkParameters

_SAME = 1e-6
"""Two times that differ by less are the same [s]."""


def off_knots(parameters: WalkParameters) -> str:
    """Say which times of a walk are not multiples of the interval, and the nearest that are.

    Args:
        parameters: of the walk.

    Returns:
        A sentence; '' if lift-offs and landings are at knots, or the generator has none.
    """
    interval = parameters.momentum.interval
    both = parameters.double_support * parameters.step_time
    times = (parameters.stand, parameters.step_time, both)
    stand, step_time, near_both = (_nearest(time, interval) for time in times)
    step_time = max(step_time, 2.0 * interval)
    near_both = min(near_both, step_time - interval)
    near = (stand, step_time, near_both)
    if parameters.generator != 'angular_momentum' or all(
        abs(time - other) < _SAME for time, other in zip(times, near, strict=True)
    ):
        return ''
    nearest = (
        f'step time {step_time:g} s, of it {near_both / step_time:.4g} on both feet',
        '' if abs(stand - parameters.stand) < _SAME else f'standing {stand:g} s',
    )
    return (
        f'Lift-offs and landings do not all fall on the knots of the splines, every {interval:g} '
        f's; the ZMP then misses its corners. Nearest that do: {", ".join(filter(None, nearest))}.'
    )


def _nearest(time: float, interval: float) -> float:
    """The multiple of the interval nearest to a time, at least one; of two, the longer [s]."""
    return max(math.floor(time / interval + 0.5 + _SAME), 1) * interval
