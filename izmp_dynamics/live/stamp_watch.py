"""Notices that time began anew: a bag that plays again, a simulation that was reset."""

from izmp_dynamics.conventions import NANOSECONDS

JUMP = 1.0
"""A stamp so far from the newest one is no straggler [s]."""

CONFIRMATIONS = 3
"""Samples in a row that must say so: a single wrong stamp is not a new time."""


class StampWatch:
    """Watches the stamps of one topic."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all stamps."""
        self._newest = 0
        self._doubtful = 0

    def jumped_back(self, stamp: int) -> bool:
        """Take a stamp [ns]; tell whether time began anew, so that all else is to be forgotten."""
        if stamp <= 0:
            return False
        step = stamp - self._newest
        if self._newest and abs(step) > JUMP * NANOSECONDS:
            self._doubtful += 1
            if self._doubtful < CONFIRMATIONS:
                return False
            self._newest, self._doubtful = stamp, 0
            return step < 0
        self._newest, self._doubtful = max(self._newest, stamp), 0
        return False
