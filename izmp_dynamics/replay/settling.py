"""How long the filter settles at the ends of a recording and at gaps, and what it is called."""

from izmp_dynamics.model.robot_file import RobotFile

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
    from izmp_dynamics.sensing.low_pass import settle_time  # scipy.signal takes long to import

    return settle_time(cutoff, period, order, FORGOTTEN)


def filter_in_words(robot: RobotFile) -> str:
    """The filter that all signals pass; empty without one."""
    cutoff, half_width = robot.low_pass.cutoff, robot.filter.half_width
    if half_width is not None:
        return f'the matched filter of half-width {1e3 * half_width:.3g} ms'
    return '' if cutoff is None else f'the low-pass at {cutoff:g} Hz'
