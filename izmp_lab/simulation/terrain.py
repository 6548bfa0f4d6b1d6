"""The ground of a simulation: level, a ramp behind a level start, or uneven."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import SimulationError
from izmp_lab.walking.footsteps import Ramp
from izmp_lab.walking.plan import smooth_step

_WAVES = 60


class Terrain(Protocol):
    """The height of the ground at every place."""

    def height(self, xy: Array) -> Array:
        """Return heights (…) [m] at places (…, 2) of the world [m]."""


@dataclass(frozen=True)
class Flat:
    """The plane z = 0."""

    def height(self, xy: Array) -> Array:
        """Return heights (…) [m] at places (…, 2) of the world [m]."""
        return np.zeros(np.shape(xy)[:-1])


@dataclass(frozen=True)
class Slope:
    """Level ground and a ramp.

    Attributes:
        ramp: its angle, and where it begins.
    """

    ramp: Ramp

    def height(self, xy: Array) -> Array:
        """Return heights (…) [m] at places (…, 2) of the world [m]."""
        return self.ramp.height(xy[..., 0])


@dataclass(frozen=True)
class Uneven:
    """Smooth bumps and hollows around z = 0, level where the robot starts.

    Waves of random direction and phase add up to them. The ground is made of triangles over a
    square grid; beyond the square there is none.

    Attributes:
        seed: the same seed gives the same ground.
        amplitude: height of the highest bump, or depth of the deepest hollow [m].
        wavelength: length of the shortest waves; the longest are twice as long [m].
        level: radius around the origin within which the ground is level; it reaches its full
            height at twice this distance [m].
        half_size: half the edge of the square [m].
        cell: edge of a cell of the grid [m].
    """

    seed: int = 0
    amplitude: float = 0.01
    wavelength: float = 1.0
    level: float = 0.3
    half_size: float = 16.0
    cell: float = 0.08

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        lengths = (self.amplitude, self.wavelength, self.level, self.half_size, self.cell)
        if self.seed < 0 or not all(0.0 < length < np.inf for length in lengths):
            raise SimulationError(
                'Uneven ground needs a seed of 0 or more and lengths above 0 m, but has the seed '
                f'{self.seed} and {", ".join(f"{length:g}" for length in lengths)} m.',
                kind='terrain_parameters',
                seed=self.seed,
                lengths=lengths,
            )

    @cached_property
    def grid(self) -> Array:
        """(N, N) heights at the nodes of the grid [m]; rows run along y, columns along x."""
        along = self._nodes()
        x, y = np.meshgrid(along, along)
        waves = np.zeros_like(x)
        random = np.random.default_rng(self.seed)
        directions, phases = random.uniform(0.0, 2.0 * np.pi, (2, _WAVES))
        numbers = 2.0 * np.pi / (self.wavelength * random.uniform(1.0, 2.0, _WAVES))
        for direction, phase, number in zip(directions, phases, numbers, strict=True):
            course = np.cos(direction) * x + np.sin(direction) * y
            waves += np.cos(number * course + phase)
        waves *= smooth_step(np.hypot(x, y) / self.level - 1.0)
        return frozen(waves * (self.amplitude / np.abs(waves).max()))

    def height(self, xy: Array) -> Array:
        """Return heights (…) [m] at places (…, 2) of the world [m]; outside those of the edge."""
        places = (np.asarray(xy) + self._nodes()[-1]) / self.cell
        places = np.clip(places, 0.0, len(self.grid) - 1)
        corner = np.minimum(places.astype(np.int64), len(self.grid) - 2)
        (u, v), (column, row) = np.moveaxis(places - corner, -1, 0), np.moveaxis(corner, -1, 0)
        nearest, farthest = self.grid[row, column], self.grid[row + 1, column + 1]
        # Each cell is cut along the diagonal that begins at its nearest corner.
        aside = np.where(v >= u, self.grid[row + 1, column], self.grid[row, column + 1])
        first, second = np.maximum(u, v), np.minimum(u, v)
        height: Array = nearest + first * (aside - nearest) + second * (farthest - aside)
        return height

    def _nodes(self) -> Array:
        count = int(np.ceil(self.half_size / self.cell))
        return self.cell * np.arange(-count, count + 1, dtype=np.float64)


def plane_under(terrain: Terrain, corners: Array) -> tuple[Array, Array]:
    """Fit a plane to the ground under a sole.

    Args:
        terrain: the ground.
        corners: (…, V, 3) corners of the sole in the world [m].

    Returns:
        Its unit normal (…, 3) and the point (…, 3) of it under the middle of the corners [m]. The
        plane is the ground's own where that is plane, else the least squares of the heights under
        the corners.
    """
    places = corners[..., :2]
    heights = terrain.height(places)
    middle, mean = places.mean(axis=-2), heights.mean(axis=-1)
    inverse = np.linalg.pinv(places - middle[..., None, :])
    slopes = np.einsum('...iv,...v->...i', inverse, heights - mean[..., None])
    normal = np.concatenate([-slopes, np.ones_like(slopes[..., :1])], axis=-1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    return normal, np.concatenate([middle, mean[..., None]], axis=-1)
