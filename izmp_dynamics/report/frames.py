"""How far two points on the ground are apart, axis by axis, in frames that are stated.

A correlation depends on the frame: the axis in which a robot walks has a large range in the world
and a small one in a frame that walks along. So it never stands alone: beside it are the RMSE and
the bias per axis, above all in the frame of the loaded sole, whose axes an engineer can see.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.report.scene import Scene
from izmp_dynamics.report.significance import finite_rows
from izmp_dynamics.report.timeline import Mask


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
        known = rows & finite_rows(points[0]) & finite_rows(points[1])
        if not known.any():
            continue
        a, b = (scene.by_rows(partial(_known_rows, values, known)) for values in points)
        off = a - b
        bias = off.mean(axis=0)
        rmse = np.sqrt(np.square(off, out=off).mean(axis=0))
        related = [correlation(a[:, axis], b[:, axis]) for axis in (0, 1)]
        found.append(AxisStatistics(frame, *map(float, (*bias, *rmse)), *related))
    return tuple(found)


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
        off = points[on] - foot.sole[rows][on].mean(axis=1)
        seen[on] = np.einsum('kji,kj->ki', foot.axes[rows][on], off)[:, :2]
    return seen


def correlation(first: Array, second: Array) -> float:
    """Pearson's correlation over the common finite instants.

    Args:
        first: (K,) one signal.
        second: (K,) the other.

    Returns:
        The correlation; NaN when fewer than three instants are common or a signal is constant.
    """
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < 3:
        return float('nan')
    a, b = first[both], second[both]
    size = float(max(a.max(), -a.min()) * max(b.max(), -b.min())) * both.sum()
    a -= a.mean()
    b -= b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 1e-15 * size else float('nan')


def _coordinates(scene: Scene, names: tuple[str, str]) -> Iterator[tuple[str, list[Array]]]:
    tracks = [scene.evaluation.tracks[name].point for name in names]
    yield 'sole', [scene.by_rows(partial(in_sole, scene, point)) for point in tracks]
    yield 'root', [point[:, :2] for point in tracks]
    yield 'nif', [scene.points[name] for name in names]
