"""White sensor noise of a simulation, reproducible sample by sample.

It depends on the seed, the signal's name and the index of the sample, and on nothing else: adding
a signal, or processing a log in windows, does not change any other number.
"""

import hashlib

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.sensing.noise import degrees, standard_deviation

_BLOCK = 4096

XSENS_GYROSCOPE = degrees(0.01)
"""Gyroscope noise density of Xsens MTi units [rad/s/√Hz]: 0.01 °/s/√Hz.

Source: the same user manual and data sheet, for the MTi 100-series. Check the page of your own
unit: the manual lists the 10-series, to which the MTi-20 belongs, in a table of its own.
"""


class WhiteNoise:
    """Reproducible white noise of one signal.

    Args:
        seed: of the experiment; the same seed gives the same noise.
        name: of the signal, e.g. 'imu/angular_velocity'.
        density: noise density ν [unit/√Hz].
        rate: sample rate f [Hz].
        width: components of the signal; they are independent.

    Raises:
        SensingError: an impossible density, rate or seed.
    """

    def __init__(self, seed: int, name: str, density: float, rate: float, width: int = 3) -> None:
        if seed < 0:
            raise SensingError(
                f'The seed of noise must be zero or more, not {seed}.', kind='seed', seed=seed
            )
        self.sigma = standard_deviation(density, rate)
        self.width = width
        digest = hashlib.sha256(name.encode()).digest()
        self._key = [seed, *np.frombuffer(digest[:16], dtype='<u4').tolist()]
        self._next = 0
        self._cached: tuple[int, Array] | None = None

    def batch(self, count: int, first: int = 0) -> Array:
        """Noise of the samples `first` to `first + count - 1`.

        Returns:
            (count, width) [unit].
        """
        if count <= 0:
            return np.empty((0, self.width))
        blocks = range(first // _BLOCK, (first + count - 1) // _BLOCK + 1)
        noise = np.concatenate([self._block(block) for block in blocks])
        start = first - blocks[0] * _BLOCK
        samples: Array = self.sigma * noise[start : start + count]
        return samples

    def update(self) -> Array:
        """Noise (width,) of the next sample."""
        sample: Array = self.batch(1, self._next)[0]
        self._next += 1
        return sample

    def _block(self, block: int) -> Array:
        if self._cached is None or self._cached[0] != block:
            generator = np.random.default_rng([*self._key, block])
            self._cached = (block, generator.standard_normal((_BLOCK, self.width)))
        return self._cached[1]
