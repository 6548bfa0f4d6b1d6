"""The gait of a biped as its feet show it: how long steps take, and where they land.

From the last steps follows where the next ones will land if the robot goes on like that.
"""

from collections import deque

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.kernel import kernel

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


LANDED, LAST, STEP, SUPPORT, LANDING, SCATTER, NUMBERS = 0, 1, 2, 3, 4, 8, 10
"""What a gait is known by: when the last step landed and which foot it was, how long a step takes
and both feet carry [s], where the feet land against the other one, x and y of the first and of
the second [m], and by how much a landing [m] and the time of a step [s] scatter; their number."""


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

    @property
    def loaded(self) -> Flags:
        """(2,) which feet carried load at the last instant that was seen."""
        return self._loaded

    @property
    def numbers(self) -> Array:
        """(10,) what it is known by, as `footing` takes it; the step is NaN if it is not."""
        return self._numbers

    def _forget(self) -> None:
        self._times: deque[float] = deque(maxlen=2 * KEPT)
        self._supports: deque[float] = deque(maxlen=2 * KEPT)
        self._landings = tuple(deque[Array](maxlen=KEPT) for _ in range(2))
        self._numbers = np.full(NUMBERS, np.nan)  # not known yet

    def _learn(self) -> None:
        """Find the usual step of those that are remembered."""
        self._numbers = np.full(NUMBERS, np.nan)
        if not self._times or not all(self._landings):
            return
        step = float(np.median(self._times))
        support = float(np.median(self._supports)) if self._supports else 0.0
        landing = [np.median(np.array(kept), axis=0) for kept in self._landings]
        spread = max(float(np.std(np.array(kept), axis=0).max()) for kept in self._landings)
        scatter = max(spread, LEAST_SCATTER), max(float(np.std(self._times)), LEAST_SCATTER)
        timing = self._landed, self._last, step, min(support, 0.5 * step)
        self._numbers = np.array([*timing, *np.concatenate(landing), *scatter])

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


@kernel
def footing(
    numbers: Array,
    loaded: Flags,
    time: float,
    places: Array,
    ends: Array,
    carries: Flags,
    moved: Array,
) -> bool:
    """Write what will carry a robot if it goes on walking; return whether it walks.

    Args:
        numbers: (10,) its gait, as `Gait.numbers`.
        loaded: (2,) which feet carry load.
        time: [s].
        places: (2, 2) middles of the soles, as `Gait.see` takes them [m].
        ends: (P − 1,) out: when the first P − 1 phases end, from now on [s]; the last does not.
        carries: (P, 2) out: which feet carry in each phase.
        moved: (P, 2, 2) out: where they then are, against where they are now [m].
    """
    since, step, support = time - numbers[LANDED], numbers[STEP], numbers[SUPPORT]
    if not since < 2.0 * step or not (loaded[0] or loaded[1]):
        return False
    both = loaded[0] and loaded[1]
    stands = int(numbers[LAST]) if both else int(not loaded[0])
    comes = 1 - stands
    due = max(step - since, SOON)
    ends[0] = max(support - since, 0.0) if both else 0.0
    ends[1], ends[2], ends[3] = due, due + support, due + step
    carries[:] = True
    carries[1, comes] = carries[3, stands] = False
    moved[:] = 0.0
    for i in range(2):
        landing = numbers[LANDING + 2 * comes + i]
        for phase in range(2, PHASES):
            moved[phase, comes, i] = places[stands, i] + landing - places[comes, i]
        moved[4, stands, i] = landing + numbers[LANDING + 2 * stands + i]
    return True
