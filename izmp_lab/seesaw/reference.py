"""Where the centre of mass is to be: at rest, or swinging to the sides."""

import math
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SimulationError

_FORM = "'constant' or 'sine:AMPLITUDE:FREQUENCY' in metres and hertz, e.g. sine:0.025:0.25"


@dataclass(frozen=True)
class ComReference:
    """Displacement of the CoM to the left: amplitude · sin(2π frequency t), from t = 0.

    Attributes:
        amplitude: [m]; 0 to stay.
        frequency: [Hz].
    """

    amplitude: float = 0.0
    frequency: float = 0.25

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if not (0.0 <= self.amplitude <= 0.2 and 0.0 < self.frequency <= 5.0):
            raise SimulationError(
                'The reference of the CoM has an amplitude of 0 to 0.2 m and a frequency above 0 '
                f'and up to 5 Hz, not {self.amplitude:g} m and {self.frequency:g} Hz.',
                kind='reference_out_of_range',
                amplitude=self.amplitude,
                frequency=self.frequency,
            )

    @classmethod
    def parse(cls, text: str) -> 'ComReference':
        """Read 'constant' or 'sine:AMPLITUDE:FREQUENCY'.

        Raises:
            SimulationError: if the text has not that form, or as the constructor does.
        """
        kind, *values = text.split(':')
        try:
            numbers = [float(value) for value in values]
        except ValueError:
            numbers = [math.nan]
        if kind == 'constant' and not values:
            return cls()
        if kind != 'sine' or len(numbers) != 2 or not np.isfinite(numbers).all():
            raise SimulationError(
                f"The reference '{text}' is not of the form {_FORM}.",
                kind='reference_format',
                text=text,
            )
        return cls(*numbers)

    def at(self, time: float) -> Array:
        """Return displacement, velocity and acceleration (3, 3), a row each [m], [m/s], [m/s²]."""
        rate = 2.0 * math.pi * self.frequency
        sine, cosine = math.sin(rate * time), math.cos(rate * time)
        rows = np.zeros((3, 3))
        rows[:, 1] = self.amplitude * np.array([sine, rate * cosine, -(rate**2) * sine])
        return rows
