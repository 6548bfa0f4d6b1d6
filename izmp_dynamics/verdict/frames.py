"""How far two points on the ground are apart, axis by axis, in frames that are stated.

A correlation depends on the frame: the axis in which a robot walks has a large range in the world
and a small one in a frame that walks along. So it never stands alone: beside it are the RMSE and
the bias per axis, above all in the frame of the loaded sole, whose axes an engineer can see.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows, mean_of_corners
from izmp_dynamics.base.rotations import rotated_back
from izmp_dynamics.base.store import Store
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.timeline import Mask

_CONSTANT = 1e-14  # smaller deviations from the mean, relative to the values, are rounding errors


@dataclass(frozen=True)
class AxisStatistics:
    """Differences of two points in one frame, first less second; lengths in m.

    Attributes:
        frame: 'sole': that of the loaded sole that carries most; 'root': of the root link; 'nif':
            the non-inertial frame.
        bias_x: mean difference in x.
        bias_y: mean difference in y.
        rmse_x: root of the mean squared difference in x, with the bias.
        rmse_y: the same in y.
        correlation_x: of the x coordinates.
        correlation_y: of the y coordinates.
    """

    frame: str
    bias_x: float
    bias_y: float
    rmse_x: float
    rmse_y: float
    correlation_x: float
    correlation_y: float


def axis_statistics(
    scene: Scene, first: str, second: str, rows: Mask
) -> tuple[AxisStatistics, ...]:
    """Compare the points of two tracks at some instants (K,) in each frame that is known."""
    found = []
    for frame, points in _coordinates(scene, (first, second)):
        compared = _compare(scene.store, len(rows), partial(_known_pairs, rows, points))
        if compared.number:
            numbers = np.concatenate([compared.bias, compared.rmse, compared.correlation])
            found.append(AxisStatistics(frame, *numbers.tolist()))
    return tuple(found)


def _known_pairs(wanted: Mask, points: Sequence[Array], rows: slice) -> tuple[Array, Array]:
    """Of some rows of two arrays of points (K, d) those that are wanted and known in both.

    Two times (d, S), each of the d rows in one piece of memory: numpy adds along such a row
    pairwise, so that the mean of a constant is the constant, and many times as fast.
    """
    a, b = (values[rows] for values in points)
    known = wanted[rows] & finite_rows(a) & finite_rows(b)
    first, second = (np.stack([column[known] for column in v.T]) for v in (a, b))
    return first, second


class _Compared(NamedTuple):
    """Two arrays of N vectors against each other, column by column.

    Attributes:
        number: N.
        bias: (d,) mean difference; NaN without any.
        rmse: (d,) root of the mean squared difference.
        correlation: (d,) Pearson's; NaN for fewer than three vectors, or of a constant column.
    """

    number: int
    bias: Array
    rmse: Array
    correlation: Array


def _compare(store: Store, count: int, pairs: Callable[[slice], tuple[Array, Array]]) -> _Compared:
    """Compare two arrays, of which `pairs` gives two times (d, S) for some of their rows."""

    def sums(rows: slice) -> Array:
        a, b = pairs(rows)
        off, number = a - b, np.full(len(a), float(a.shape[1]))
        values = a, b, a * a, b * b, off, off * off
        return np.stack([number, *(value.sum(axis=1) for value in values)])

    number, *totals = store.reduce(np.add, count, sums)
    nothing = np.full(len(number), np.nan)
    if not number[0]:
        return _Compared(0, nothing, nothing, nothing)
    mean_a, mean_b, squares_a, squares_b, bias, squares = (total / number for total in totals)

    def products(rows: slice) -> Array:
        a, b = pairs(rows)
        x, y = a - mean_a[:, None], b - mean_b[:, None]
        return np.stack([value.sum(axis=1) for value in (x * x, y * y, x * y)])

    related = nothing
    if number[0] >= 3:
        around_a, around_b, product = store.reduce(np.add, count, products) / number
        scale, size = np.sqrt(around_a * around_b), np.sqrt(squares_a * squares_b)
        varies = scale > _CONSTANT * size
        related = np.divide(product, scale, out=nothing.copy(), where=varies)
    return _Compared(int(number[0]), bias, np.sqrt(squares), related)


def in_sole(scene: Scene, points: Array, rows: slice) -> Array:
    """Express points (K, 3) of the root frame in that of the sole that carries most.

    Args:
        scene: the evaluation.
        points: of the root frame [m].
        rows: at which S of the K instants.

    Returns:
        (S, 2) [m]; NaN where no foot carries load or its axes are not known.
    """
    supporting, points = scene.supporting[rows], points[rows]
    seen = np.full((len(points), 2), np.nan)
    for k, foot in enumerate(scene.evaluation.feet):
        on = supporting == k
        if foot.axes is None or not on.any() or not foot.sole.shape[1]:
            continue
        off = points[on] - mean_of_corners(foot.sole[rows][on])
        seen[on] = rotated_back(foot.axes[rows][on][:, :, :2], off)
    return seen


def correlation(first: Array, second: Array, store: Store | None = None) -> float:
    """Pearson's correlation over the common finite instants.

    Args:
        first: (K,) one signal.
        second: (K,) the other.
        store: keeps what is as long as they are; None: in memory.

    Returns:
        The correlation; NaN when fewer than three instants are common or a signal is constant.
    """
    wanted = np.ones(len(first), dtype=np.bool_)
    columns = [values[:, None] for values in (first, second)]
    compared = _compare(store or Store(), len(first), partial(_known_pairs, wanted, columns))
    return float(compared.correlation[0])


def _coordinates(scene: Scene, names: tuple[str, str]) -> Iterator[tuple[str, list[Array]]]:
    tracks = [scene.evaluation.tracks[name].point for name in names]
    yield 'sole', [scene.by_rows(partial(in_sole, scene, point)) for point in tracks]
    yield 'root', [point[:, :2] for point in tracks]
    yield 'nif', [scene.points[name] for name in names]
