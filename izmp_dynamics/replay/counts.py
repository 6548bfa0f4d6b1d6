"""What was not used, by signal and reason; only what lies in the span that is evaluated counts."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Stamps
from izmp_dynamics.replay.signals import Stream
from izmp_dynamics.sensing.stamps import StampVerdict, screen_stamps

NO_SAMPLE = 'no sample at this instant'
INTERPOLATED = 'interpolated to this instant'
PER_INSTANT = (NO_SAMPLE, INTERPOLATED)
"""Reasons that count evaluated instants, not messages."""


@dataclass
class Counts:
    """Counts of one evaluated span.

    Attributes:
        start: the span begins here [ns].
        stop: and ends before this [ns].
        by_signal: signal → reason → number of samples.
    """

    start: int
    stop: int
    by_signal: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, signal: str, reason: str, stamps: Stamps, rows: npt.NDArray[np.bool_]) -> None:
        """Count the samples that `rows` selects."""
        number = int(np.count_nonzero(rows & self.inside(stamps)))
        if number:
            self.by_signal[signal][reason] += number

    def inside(self, stamps: Stamps) -> npt.NDArray[np.bool_]:
        """Which stamps lie in the span."""
        return (stamps >= self.start) & (stamps < self.stop)

    def usable(self, signal: str, stream: Stream) -> Stream:
        """Leave out and count samples with bad stamps or values that are not finite."""
        finite = np.asarray(np.isfinite(stream.values).all(axis=1))
        self.add(signal, 'value is not finite', stream.stamps, ~finite)
        stream = stream.rows(finite)
        verdicts = screen_stamps(stream.stamps)
        for verdict in StampVerdict:
            if verdict is not StampVerdict.ADMITTED:
                self.add(signal, verdict.reason, stream.stamps, verdicts == verdict)
        return stream.rows(verdicts == StampVerdict.ADMITTED)
