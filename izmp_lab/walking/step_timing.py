"""When a walk stands on both feet, lifts one and sets it down."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array


@dataclass(frozen=True)
class StepTiming:
    """The instants of a walk; every step is a double support and a swing.

    Attributes:
        steps: number of steps.
        step_time: duration of a step [s].
        double_support: part of a step during which both feet carry [-].
        stand: time of standing before the first step and after the last one [s].
        time_step: between two instants [s].
    """

    steps: int
    step_time: float
    double_support: float
    stand: float
    time_step: float

    def begins(self, step: int) -> float:
        """Return when a step begins, with a double support [s]."""
        return self.stand + step * self.step_time

    def lifts(self, step: int) -> float:
        """Return when the foot of a step leaves the ground [s]."""
        return self.begins(step) + self.double_support * self.step_time

    def lands(self, step: int) -> float:
        """Return when it is on the ground again [s]."""
        return self.begins(step + 1)

    @property
    def duration(self) -> float:
        """Length of the walk [s]; the weight shifts to both feet after the last landing."""
        return self.begins(self.steps) + self.stand

    @property
    def times(self) -> Array:
        """(T,) all instants [s]; the last one is not before the end of the walk."""
        rows = int(np.ceil(self.duration / self.time_step - 1e-9)) + 1
        times: Array = self.time_step * np.arange(rows, dtype=np.float64)
        return times

    def steps_between(self, start: float, end: float) -> range:
        """Return the indices of all steps that take place, in part at least, between two times."""
        first, last = (int((time - self.stand) // self.step_time) for time in (start, end))
        return range(min(max(first, 0), self.steps), min(max(last + 1, 0), self.steps))

    def step_at(self, time: float) -> int | None:
        """Return the index of the step that takes place at a time [s]; None while standing."""
        step = int(np.floor((time - self.stand) / self.step_time))
        return step if 0 <= step < self.steps else None
