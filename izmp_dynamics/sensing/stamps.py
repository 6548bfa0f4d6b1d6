"""Which samples of a stream can be used, judged by their stamps alone.

A difference quotient divides by the time between two samples, so it needs stamps that increase
and that are not too close together. Real logs hold samples whose stamps are zero, equal, out of
order, or 0.2 ms apart at a nominal period of 10 ms. The last kind is a queue that was held up: a
delay only ever makes a stamp late, so of two samples that arrive at once the *earlier* one bears
the wrong stamp and the later one is on time. (On a walking iCub's log at 100 Hz, leaving out the
samples that are followed within half a period takes the noise of q̈ from 490 to 19 rad/s².)

The rule looks at two samples back and one ahead. It is a small state machine, shared by
`screen_stamps` for arrays and `StampGate` for one sample at a time.
"""

from collections import Counter
from enum import IntEnum
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Stamps
from izmp_dynamics.errors import SensingError
from izmp_dynamics.kernel import kernel

Payload = TypeVar('Payload')
Verdicts = npt.NDArray[np.int8]

_ADMITTED, _ZERO, _DUPLICATE, _BACKWARDS, _AHEAD, _HELD_UP = range(6)


class StampVerdict(IntEnum):
    """Why a sample is used or not."""

    ADMITTED = _ADMITTED
    ZERO = _ZERO
    DUPLICATE = _DUPLICATE
    BACKWARDS = _BACKWARDS
    AHEAD = _AHEAD
    HELD_UP = _HELD_UP

    @property
    def reason(self) -> str:
        """The verdict in words, for reports."""
        return _REASONS[self]


_REASONS = {
    StampVerdict.ADMITTED: 'used',
    StampVerdict.ZERO: 'stamp is zero or negative',
    StampVerdict.DUPLICATE: 'stamp occurs twice',
    StampVerdict.BACKWARDS: 'stamp is older than the sample before',
    StampVerdict.AHEAD: 'stamp is newer than the sample after',
    StampVerdict.HELD_UP: 'stamp is late: the next sample follows at once',
}


@kernel
def _judge(previous: int, pending: int, stamp: int, min_spacing: int) -> int:
    """Judge a new `stamp` against the pending sample and the one admitted before it.

    Returns:
        The verdict. ADMITTED, AHEAD and HELD_UP concern the pending sample, whose place the new
        one takes; ZERO, DUPLICATE and BACKWARDS concern the new one. 0 stands for 'none'.
    """
    if stamp <= 0:
        return _ZERO
    if pending == 0:
        return _ADMITTED
    if stamp == pending:
        return _DUPLICATE
    if stamp < pending:
        return _AHEAD if stamp - previous >= max(min_spacing, 1) else _BACKWARDS
    return _HELD_UP if stamp - pending < min_spacing else _ADMITTED


@kernel
def _screen(stamps: Stamps, min_spacing: int) -> Verdicts:
    verdicts = np.zeros(len(stamps), dtype=np.int8)
    previous, pending, row_of_pending = 0, 0, -1
    for row in range(len(stamps)):
        stamp = stamps[row]
        verdict = _judge(previous, pending, stamp, min_spacing)
        if verdict in (_ZERO, _DUPLICATE, _BACKWARDS):
            verdicts[row] = verdict
            continue
        if pending != 0:
            verdicts[row_of_pending] = verdict
            if verdict == _ADMITTED:
                previous = pending
        pending, row_of_pending = stamp, row
    return verdicts


def screen_stamps(stamps: Stamps, min_spacing: float = 0.0) -> Verdicts:
    """Judge every sample of a stream by its stamp.

    Args:
        stamps: (T,) as recorded, in the order of arrival [ns].
        min_spacing: samples that are followed sooner than this are left out [s].

    Returns:
        (T,) `StampVerdict` values; 0 means that the sample can be used. The stamps of those
        strictly increase and are at least `min_spacing` apart.
    """
    return _screen(np.ascontiguousarray(stamps, dtype=np.int64), nanoseconds(min_spacing))


class StampGate(Generic[Payload]):
    """`screen_stamps` for one sample at a time, one sample behind.

    Args:
        min_spacing: samples that are followed sooner than this are left out [s].

    Attributes:
        gated: how many samples were left out, by reason.
    """

    def __init__(self, min_spacing: float = 0.0) -> None:
        self.gated: Counter[str] = Counter()
        self._min_spacing = nanoseconds(min_spacing)
        self._previous = 0
        self._pending: tuple[int, Payload] | None = None

    def push(self, stamp: int, payload: Payload) -> tuple[int, Payload] | None:
        """Take a new sample; return the one before it if that one can be used."""
        pending = self._pending[0] if self._pending else 0
        verdict = StampVerdict(_judge(self._previous, pending, stamp, self._min_spacing))
        if verdict is not StampVerdict.ADMITTED:
            self.gated[verdict.reason] += 1
        if verdict in (StampVerdict.ZERO, StampVerdict.DUPLICATE, StampVerdict.BACKWARDS):
            return None
        admitted = self._pending if verdict is StampVerdict.ADMITTED else None
        if admitted:
            self._previous = admitted[0]
        self._pending = (stamp, payload)
        return admitted

    def flush(self) -> tuple[int, Payload] | None:
        """Return the sample that is still pending at the end of the stream, and forget it."""
        pending, self._pending = self._pending, None
        if pending:
            self._previous = pending[0]
        return pending


def nanoseconds(duration: float) -> int:
    """Convert a duration [s] to whole nanoseconds."""
    return round(duration * 1e9)


def median_period(stamps: Stamps) -> float:
    """Return the median time between consecutive samples [s], ignoring stamps that go back.

    Args:
        stamps: (T,) [ns].

    Raises:
        SensingError: fewer than two stamps that increase.
    """
    steps = np.diff(stamps)
    steps = steps[steps > 0]
    if not len(steps):
        raise SensingError(
            f'{len(stamps)} samples whose stamps never increase do not tell a rate; '
            'record at least two samples or state the rate in the robot file.'
        )
    return float(np.median(steps)) * 1e-9
