"""The gait of a biped as its feet show it: how long steps take, and where they land.

From the last steps follows where the next ones will land if the robot goes on like that.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array

Flags = npt.NDArray[np.bool_]

KEPT = 4
"""Steps that are remembered, of each foot."""

SHORTEST_SWING = 0.1
"""A foot that is in the air for less has not stepped: it bounced, or its sensor did [s]."""

LONGEST_STEP = 2.0
"""A step that takes longer was not one of a walk [s]."""

SOON = 0.02
"""A step that is overdue is expected within this time [s]."""

LEAST_SCATTER = 0.01
"""Steps scatter at least so much [s] and [m]; few of them show less."""

PHASES = 5
"""Both feet (until one lifts off), one, both where the next step lands, that one, both again."""


@dataclass(frozen=True)
class Footing:
    """What will carry a robot, in phases that follow each other.

    Attributes:
        ends: when the first P − 1 phases end, from now on [s]; the last one does not.
        carries: (P, F) which feet carry in it.
        moved: (P, F, 2) where they then are, against where they are now [m].
        landing: (2,) where the next step lands against the foot that stands [m].
        scatter: standard deviations of a landing [m] and of the time of a step [s].
    """

    ends: tuple[float, ...]
    carries: Flags
    moved: Array
    landing: Array
    scatter: tuple[float, float]


class Gait:
    """Learns the gait of two feet from their touchdowns."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all steps."""
        self._loaded = np.ones(2, dtype=np.bool_)
        self._lifted = [-np.inf, -np.inf]
        self._landed, self._last = -np.inf, 0
        self._forget()

    def _forget(self) -> None:
        self._times: deque[float] = deque(maxlen=2 * KEPT)
        self._supports: deque[float] = deque(maxlen=2 * KEPT)
        self._landings = tuple(deque[Array](maxlen=KEPT) for _ in range(2))
        self._step = np.nan  # [s]; not known yet

    def _learn(self) -> None:
        """Find the usual step of those that are remembered."""
        self._step = float(np.median(self._times)) if self._times else np.nan
        support = float(np.median(self._supports)) if self._supports else 0.0
        self._support = min(support, 0.5 * self._step)
        if not all(self._landings):
            self._step = np.nan
            return
        self._landing = [np.median(np.array(kept), axis=0) for kept in self._landings]
        spread = max(float(np.std(np.array(kept), axis=0).max()) for kept in self._landings)
        of_time = float(np.std(self._times)) if self._times else 0.0
        self._scatter = max(spread, LEAST_SCATTER), max(of_time, LEAST_SCATTER)

    def see(self, time: float, places: Array, loaded: Flags) -> None:
        """Take an instant.

        Args:
            time: [s].
            places: (2, 2) middles of the soles along two level axes that turn with the robot [m].
            loaded: (2,) which feet carry load.
        """
        for foot in range(2):
            other = 1 - foot
            if self._loaded[foot] and not loaded[foot]:
                self._lifted[foot] = time
                if self._last == other:
                    self._supports.append(time - self._landed)
                    self._learn()
            lands = loaded[foot] and not self._loaded[foot]
            if lands and time - self._lifted[foot] >= SHORTEST_SWING:
                self._land(foot, time, places[foot] - places[other])
        self._loaded = np.array(loaded)

    def _land(self, foot: int, time: float, landing: Array) -> None:
        took = time - self._landed
        if took > LONGEST_STEP or foot == self._last:
            self._forget()
        else:
            self._times.append(took)
        self._landings[foot].append(landing)
        self._landed, self._last = time, foot
        self._learn()

    def footing(self, time: float, places: Array) -> Footing | None:
        """What will carry the robot if it goes on walking; None if it does not walk.

        Args:
            time: [s].
            places: (2, 2) middles of the soles, as `see` takes them [m].
        """
        step, since = self._step, time - self._landed
        if not since < 2.0 * step or not self._loaded.any():
            return None
        both = bool(self._loaded.all())
        stands = self._last if both else int(np.flatnonzero(self._loaded)[0])
        comes = 1 - stands
        due = max(step - since, SOON)
        support, landing = self._support, self._landing
        lift = max(support - since, 0.0) if both else 0.0
        moved = np.zeros((PHASES, 2, 2))
        moved[2:, comes] = places[stands] + landing[comes] - places[comes]
        moved[4, stands] = landing[comes] + landing[stands]
        carries = np.ones((PHASES, 2), dtype=np.bool_)
        carries[1, comes] = carries[3, stands] = False
        ends = (lift, due, due + support, due + step)
        return Footing(ends, carries, moved, landing[comes], self._scatter)
