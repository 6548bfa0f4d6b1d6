"""What goes wrong in a soak test, and when: all of it from a seed."""

import random
from dataclasses import dataclass

KINDS = ('kill', 'silence', 'burst', 'NaN', 'clock reset', 'parameter')

SENSORS = ('joint_states', 'imu', 'gps', 'l_foot/wrench', 'r_foot/wrench')
"""Topics that may be silent."""

SETTINGS = (
    ('acd.method', 'savitzky_golay'), ('acd.method', 'central'), ('acd.method', 'best'),
    ('acd.window', 9), ('acd.window', 8), ('acd.window', 'wide'), ('acd.degree', 4),
    ('filter.half_width', 0.02), ('filter.half_width', 0.03), ('filter.half_width', 2.0),
    ('pairing.max_gap', 0.06), ('pairing.max_gap', -1.0), ('gravity', 9.81), ('robot', 'other'),
)  # fmt: skip
"""Parameters and values, some of which cannot be."""

SHORTEST_PAUSE = 4.0
"""Time between the end of a fault and the next one, at least [s]."""


@dataclass(frozen=True)
class Fault:
    """A fault that is injected.

    Attributes:
        kind: one of `KINDS`.
        begin: since the start [s].
        duration: of silence, burst and NaN [s]; 0 of the others.
        choice: picks a node, a topic, a setting.
        amount: by which the clock is set [s].
    """

    kind: str
    begin: float
    duration: float
    choice: int
    amount: float

    @property
    def end(self) -> float:
        """Since the start [s]."""
        return self.begin + self.duration


def plan(seed: int, seconds: float, every: float) -> list[Fault]:
    """Faults for a run of this length [s], one in `every` seconds on average."""
    dice, faults, time = random.Random(seed), [], SHORTEST_PAUSE
    while time < seconds - SHORTEST_PAUSE:
        kind = dice.choice(KINDS)
        longest = {'silence': 6.0, 'burst': 1.5, 'NaN': 0.5}.get(kind, 0.0)
        back = dice.choice((-1.0, 1.0))
        fault = Fault(
            kind,
            time,
            dice.uniform(0.05 * longest, longest),
            dice.randrange(10**6),
            back * round(dice.uniform(2.0, 100.0), 6),
        )
        faults.append(fault)
        time = fault.end + max(SHORTEST_PAUSE, dice.expovariate(1.0 / every))
    return faults
