"""How far two points on the ground are apart, axis by axis, in frames that are stated.

A correlation depends on the frame: the axis in which a robot walks has a large range in the world
and a small one in a frame that walks along. So it never stands alone: beside it are the RMSE and
the bias per axis, above all in the frame of the loaded sole, whose axes an engineer can see.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows, mean_of_corners
from izmp_dynamics.base.rotations import rotated_back
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
    points = [scene.evaluation.tracks[name].point for name in (first, second)]
    seen = {
        'sole': [scene.columns.by_blocks(len(rows), partial(in_sole, scene, p)) for p in points],
        'root': [point[:, :2] for point in points],
        'nif': [scene.points[name] for name in (first, second)],
    }
    found = []
    for frame, (a, b) in seen.items():
        known = rows & finite_rows(a) & finite_rows(b)
        if known.any():
            axes = [_compare(a[known, axis], b[known, axis]) for axis in range(2)]
            numbers = [number for kind in zip(*axes, strict=True) for number in kind]
            found.append(AxisStatistics(frame, *numbers))
    return tuple(found)


def _compare(a: Array, b: Array) -> tuple[float, float, float]:
    """Mean difference, root of the mean squared one, and correlation of known values (N,)."""
    off = a - b
    return float(off.mean()), float(np.sqrt((off * off).mean())), correlation(a, b)


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


def correlation(first: Array, second: Array) -> float:
    """Pearson's correlation (K,) over the common finite instants.

    NaN where fewer than three are common, or a signal is constant.
    """
    known = np.isfinite(first) & np.isfinite(second)
    a, b = first[known], second[known]
    if len(a) < 3:
        return float('nan')
    x, y = a - a.mean(), b - b.mean()
    scale, size = np.sqrt((x @ x) * (y @ y)), np.sqrt((a @ a) * (b @ b))
    return float(x @ y / scale) if scale > _CONSTANT * size else float('nan')
