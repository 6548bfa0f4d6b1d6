"""How far two points on the ground are apart, axis by axis, in frames that are stated.

A correlation depends on the frame: the axis in which a robot walks has a large range in the world
and a small one in a frame that walks along. So it never stands alone: beside it are the RMSE and
the bias per axis, above all in the frame of the loaded sole, whose axes an engineer can see.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from izmp_dynamics.conventions import Array, finite_rows, mean_of_corners
from izmp_dynamics.report.scene import Scene
from izmp_dynamics.report.timeline import Mask
from izmp_dynamics.rotations import rotated_back
from izmp_dynamics.store import Store


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
        known = scene.by_rows(partial(_known, rows, points))
        if not known.any():
            continue
        a, b = (scene.by_rows(partial(_known_rows, values, known)) for values in points)
        bias, squares = _mean_difference(scene.store, a, b)
        related = [correlation(a[:, axis], b[:, axis], scene.store) for axis in (0, 1)]
        found.append(AxisStatistics(frame, *map(float, (*bias, *np.sqrt(squares))), *related))
    return tuple(found)


def _known(wanted: Mask, points: list[Array], rows: slice) -> Mask:
    known: Mask = wanted[rows] & finite_rows(points[0][rows]) & finite_rows(points[1][rows])
    return known


def _mean_difference(store: Store, a: Array, b: Array) -> tuple[Array, Array]:
    """Mean (d,) of the differences of vectors (K, d), and of their squares."""

    def sums(rows: slice) -> Array:
        off = a[rows] - b[rows]
        return np.stack([off.sum(axis=0), np.square(off).sum(axis=0)])

    bias, squares = store.reduce(np.add, len(a), sums) / len(a)
    return bias, squares


def _known_rows(values: Array, known: Mask, rows: slice) -> Array:
    found: Array = values[rows][known[rows]]
    return found


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
    store = store or Store()

    def common(rows: slice) -> Array:
        pair = np.column_stack([first[rows], second[rows]])
        return pair[finite_rows(pair)]

    pairs = store.by_rows(len(first), common)
    count = len(pairs)
    if count < 3:
        return float('nan')
    a, b = pairs.T
    mean_a, mean_b = store.mean(a), store.mean(b)

    def products(rows: slice) -> Array:
        x, y = a[rows] - mean_a, b[rows] - mean_b
        return np.array([x @ x, y @ y, x @ y])

    largest = store.reduce(np.maximum, count, lambda rows: np.abs(pairs[rows]).max(axis=0))
    squares_a, squares_b, product = store.reduce(np.add, count, products)
    scale = float(np.sqrt(squares_a * squares_b))
    size = float(largest[0] * largest[1]) * count
    return float(product) / scale if scale > 1e-15 * size else float('nan')


def _coordinates(scene: Scene, names: tuple[str, str]) -> Iterator[tuple[str, list[Array]]]:
    tracks = [scene.evaluation.tracks[name].point for name in names]
    yield 'sole', [scene.by_rows(partial(in_sole, scene, point)) for point in tracks]
    yield 'root', [point[:, :2] for point in tracks]
    yield 'nif', [scene.points[name] for name in names]
