"""Messages as they come over a robot's bus: stamped late, held up in queues, lost."""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.signals.samples import Samples

SHARE = 0.5
"""Of the trials, those whose messages come like that."""

LATE = 0.5e-3
"""Mean delay of a stamp, exponentially distributed [s]."""

HELD_UP, QUEUE = 0.01, 0.016
"""Share of the messages that a queue holds up, with those behind it, and up to how long [s]."""

APART = 200_000
"""Between the messages of a queue that goes on [ns], as in real logs (`sensing/stamps.py`)."""

LOST = 0.01
"""Share of the messages that are lost."""


def has_errors(seed: int) -> bool:
    """Whether the messages of a trial come like that."""
    return bool(np.random.default_rng([seed, 1]).random() < SHARE)


def received(rng: np.random.Generator, stamps: Stamps, values: Array) -> Samples:
    """What arrives of the messages of a topic, stamped on arrival.

    Args:
        rng: decides which messages are late or lost.
        stamps: (T,) true instants [ns].
        values: (T, m).
    """
    delay = rng.exponential(LATE, len(stamps))
    held = rng.random(len(stamps)) < HELD_UP
    delay[held] += rng.uniform(0.0, QUEUE, np.count_nonzero(held))
    late = stamps + np.round(NANOSECONDS * delay).astype(np.int64)
    apart = APART * np.arange(len(stamps))
    arrival = np.maximum.accumulate(late - apart) + apart
    return Samples(arrival, values).rows(rng.random(len(stamps)) >= LOST)
