"""The recording in pieces: what takes long is summed up piece by piece, here or by workers.

Pieces are whole blocks of time, and the same wherever they are summed up: so are the results, bit
for bit on processors of one kind.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.block_sums import BLOCK, Blocks, block_labels
from izmp_dynamics.calibration.instants import RATE, Instants
from izmp_dynamics.calibration.judged import Judged, judge
from izmp_dynamics.calibration.linear import Linear, linearise
from izmp_dynamics.calibration.noise import Noise, weigh
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.validation import folds
from izmp_dynamics.engine.tasks import Held

LENGTH = 20.0
"""Of a piece [s]: many blocks, and few megabytes."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Piece:
    """Instants of a stretch that follow each other.

    Attributes:
        stretch: index of the stretch.
        first: index of the first instant there.
        instants: the K instants.
    """

    stretch: int
    first: int
    instants: Instants


@dataclass(frozen=True)
class Point:
    """Where residuals are linearised.

    Attributes:
        layout: the parameters.
        x: (N,) their values.
        free: (N,) parameters whose derivatives are wanted.
        noise: of every kind of residual.
        rest: (K, F) of every stretch, which feet rest.
        air: (K, F) of every stretch, which feet are in the air.
        used: (K,) instants of each stretch that count; all if None.
    """

    layout: Layout
    x: Array
    free: Flags
    noise: Mapping[str, Noise]
    rest: tuple[Flags, ...]
    air: tuple[Flags, ...]
    used: tuple[Flags, ...] | None = None

    def at(self, piece: Piece) -> 'Point':
        """The same for the instants of one piece alone."""
        rows = slice(piece.first, piece.first + len(piece.instants))

        def mine(flags: tuple[Flags, ...]) -> tuple[Flags, ...]:
            return (flags[piece.stretch][rows],)

        used = None if self.used is None else mine(self.used)
        return replace(self, rest=mine(self.rest), air=mine(self.air), used=used)


class Pieces:
    """A recording in pieces.

    Args:
        stretches: the recording, prepared.
        client: `distributed.Client` of the workers that have the pieces; None for this process.
    """

    def __init__(self, stretches: Sequence[Instants], client: Any = None) -> None:
        self._pieces = [
            piece for k, instants in enumerate(stretches) for piece in _cut(k, instants)
        ]
        self._held = Held(self._pieces, client)
        parts = [np.full(len(instants), -1) for instants in stretches]
        for number, out in enumerate(folds(stretches)):
            for rows, of_stretch in zip(out, parts, strict=True):
                of_stretch[rows] = number
        self._parts = parts

    def blocks(self, point: Point) -> Blocks:
        """Normal equations of all blocks of time."""
        points = [point.at(piece) for piece in self._pieces]
        return Blocks.joined(self._held.map(_blocks, points))

    def judged(self, point: Point) -> list[Judged]:
        """Residuals on the parts of the motion, by kind, forces apart from moments."""
        arguments = [
            (point.at(piece), self._parts[piece.stretch][piece.first :][: len(piece.instants)])
            for piece in self._pieces
        ]
        found = self._held.map(_judged, arguments)
        return [Judged.total(kind) for kind in zip(*found, strict=True)]


def _cut(index: int, instants: Instants) -> Iterator[Piece]:
    size = round(LENGTH / BLOCK) * round(BLOCK * RATE)
    for first in range(0, len(instants), size):
        yield Piece(index, first, instants.piece(first, first + size))


def _linear(piece: Piece, point: Point) -> list[Linear]:
    instants = piece.instants.with_contacts(point.rest[0], point.air[0])
    used = None if point.used is None else point.used[0]
    return linearise(instants, piece.stretch, point.layout, point.x, point.free, used)


def _blocks(piece: Piece, point: Point) -> Blocks:
    linear, count = _linear(piece, point), len(point.x)
    of_rows = [block_labels(piece.stretch, piece.first + part.row) for part in linear]
    labels = np.unique(np.concatenate(of_rows))
    H, g = np.zeros((len(labels), count, count)), np.zeros((len(labels), count))
    for part, rows in zip(linear, of_rows, strict=True):
        weights = weigh(part, point.noise[part.name])
        begins, ends = (np.searchsorted(rows, labels, side) for side in ('left', 'right'))
        for k, mine in enumerate(map(slice, begins.tolist(), ends.tolist())):
            J = part.jacobian[mine].reshape(-1, count)
            w = weights[mine].reshape(-1)
            H[k] += (J * w[:, None]).T @ J
            g[k] += (J * w[:, None]).T @ part.values[mine].reshape(-1)
    return Blocks(labels, H, g)


def _judged(piece: Piece, argument: tuple[Point, npt.NDArray[np.intp]]) -> list[Judged]:
    point, held = argument
    return judge(_linear(piece, point), piece.instants.rig, held)
