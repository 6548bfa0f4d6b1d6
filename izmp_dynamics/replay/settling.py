"""The filter of a replay: how long it settles at ends and gaps, its bandwidth and its name."""

import math

from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.signals.matched_filter import bandwidth

FORGOTTEN = 1e-2
"""What is left of a disturbance when the filter counts as settled [-]."""


def filter_settle_time(robot: RobotFile, period: float) -> float:
    """Time from an end or a gap of the signals within which values are still settling [s].

    Forwards and backwards, a low-pass starts at either end of a stretch from an invented past. The
    matched filter has no values there instead.

    Args:
        robot: whose signals are filtered.
        period: time between the samples of the joints [s].
    """
    cutoff, order = robot.low_pass.cutoff, robot.low_pass.order
    if cutoff is None or not 0.0 < 2.0 * cutoff * period < 1.0:
        return 0.0
    from izmp_dynamics.signals.low_pass import settle_time  # scipy.signal takes long to import

    return settle_time(cutoff, period, order, FORGOTTEN)


def filter_bandwidth(robot: RobotFile) -> float:
    """Bandwidth of the filter that all signals pass [Hz]; infinite without one."""
    cutoff, half_width = robot.low_pass.cutoff, robot.filter.half_width
    if half_width is not None:
        return bandwidth(half_width)
    return math.inf if cutoff is None else cutoff
