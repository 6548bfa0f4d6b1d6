"""Which position each motor is to have at the next instant."""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_lab.walking.trajectories import smooth_step


class Mover:
    """Lets the joints follow rows of positions, one for each time step.

    They go smoothly from where they are to the first row, hold it, follow the rows and hold the
    last one. A motor takes a commanded position during the following step; so the row of the next
    instant is commanded.

    Args:
        name: of the motion.
        columns: (m,) which joints move.
        rows: (T, m) their positions [rad] or [m].
        now: (m,) their present positions; NaN where they are not known [rad] or [m].
        time: present time [s].
        time_step: between the rows [s].
        approach: time of going to the first row [s].
        settle: time of holding it [s].

    Attributes:
        begin: when the rows begin [s].
        end: when they are over [s].
    """

    def __init__(
        self,
        name: str,
        columns: Sequence[int],
        rows: Array,
        now: Array,
        time: float,
        time_step: float,
        approach: float,
        settle: float,
    ) -> None:
        self.name, self.columns, self.rows, self.time_step = name, list(columns), rows, time_step
        self.now = np.where(np.isfinite(now), now, rows[0])
        self.start, self.approach = time, approach
        self.begin = time + approach + settle
        self.end = self.begin + time_step * (len(rows) - 1)

    def targets(self, time: float) -> Array:
        """Return the positions (m,) for the instant after `time` [s]."""
        next_instant = time + self.time_step
        row = round((next_instant - self.begin) / self.time_step)
        if row > 0 or next_instant >= self.start + self.approach:
            target: Array = self.rows[min(max(row, 0), len(self.rows) - 1)]
            return target
        rise = smooth_step((next_instant - self.start) / self.approach)
        blended: Array = self.now + rise * (self.rows[0] - self.now)
        return blended

    def is_over(self, time: float) -> bool:
        """Whether the last row has been reached."""
        return time >= self.end - 0.5 * self.time_step
