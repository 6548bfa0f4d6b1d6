"""Which samples of a stream can be used, judged by their stamps alone.

A difference quotient divides by the time between two samples, so it needs stamps that increase
and that are not too close together. Real logs hold samples whose stamps are zero, equal, out of
order, or 0.2 ms apart at a nominal period of 10 ms. The last kind is a queue that was held up: a
delay only ever makes a stamp late, so of two samples that arrive at once the *earlier* one bears
the wrong stamp and the later one is on time. (On a walking iCub's log at 100 Hz, leaving out the
samples that are followed within half a period takes the noise of q̈ from 490 to 19 rad/s².)

The rule looks at two samples back and one ahead; `Gate` applies it to streams.
"""

from izmp_dynamics.base.faults import Reason
from izmp_dynamics.base.kernel import kernel

ADMITTED, ZERO, DUPLICATE, BACKWARDS, AHEAD, HELD_UP = range(6)

REASONS = {
    ZERO: Reason.STAMP_UNSET,
    DUPLICATE: Reason.STAMP_TWICE,
    BACKWARDS: Reason.STAMP_BACKWARDS,
    AHEAD: Reason.STAMP_AHEAD,
    HELD_UP: Reason.STAMP_HELD_UP,
}


@kernel
def judge_stamp(previous: int, pending: int, stamp: int, min_spacing: int) -> int:
    """Judge a new `stamp` against the pending sample and the one admitted before it [ns].

    Returns:
        The verdict. ADMITTED, AHEAD and HELD_UP concern the pending sample, whose place the new
        one takes; ZERO, DUPLICATE and BACKWARDS concern the new one. 0 stands for 'none'.
    """
    if stamp <= 0:
        return ZERO
    if pending == 0:
        return ADMITTED if stamp > previous else BACKWARDS
    if stamp == pending:
        return DUPLICATE
    if stamp < pending:
        return AHEAD if stamp - previous >= max(min_spacing, 1) else BACKWARDS
    return HELD_UP if stamp - pending < min_spacing else ADMITTED


def nanoseconds(duration: float) -> int:
    """Convert a duration [s] to whole nanoseconds."""
    return round(duration * 1e9)
