"""Where the centre of mass and the capture point are, seen from the support polygon.

The capture point ξ = c + ċ √(h/g) (Pratt et al., 2006) is where the robot would have to step to
come to rest. Along gravity, where the orientation of the root is known, else along the ground's
normal: a sole that tips takes the plane of the ground with it.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.stability.support_polygon import margins, plane_axes
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.timeline import Mask
from izmp_dynamics.verdict.tipping import sole_frame

SMOOTHING = 0.04
"""Time over which velocities are averaged [s]."""


def capture_margins(scene: Scene, rows: slice, counts: Mask | None = None) -> tuple[Array, Array]:
    """Distances of the projections of centre of mass and capture point from the edge.

    The velocity is the mean over the time before, so that no push acts before it begins.

    Args:
        scene: the evaluation.
        rows: at which S of its instants.
        counts: (S, F) which feet span the polygon; those that carry load if None.

    Returns:
        (S,) and (S,) [m], positive inside; NaN where no foot carries load or one is not known.
    """
    evaluation = scene.evaluation
    if not evaluation.feet:
        com, capture = np.full((2, rows.stop - rows.start), np.nan)
        return com, capture
    up, centre = evaluation.normal[rows], evaluation.com[rows]
    if evaluation.up is not None:
        known = np.isfinite(evaluation.up[rows]).all(axis=1, keepdims=True)
        up = np.where(known, evaluation.up[rows], up)
        centre = np.where(scene.vertical_unknown[rows, None], np.nan, centre)
    axes = plane_axes(up)
    velocity = np.full((len(up), 2), np.nan)
    m = half_width(scene)
    earlier = np.maximum(np.arange(len(up)) - m, 0)
    for k, foot in enumerate(evaluation.feet):
        R, middle = sole_frame(foot, rows)
        on: Mask = scene.supporting[rows] == k
        velocity[on] = _velocity(
            scene.timeline.time[rows],
            rotated(axes, centre - middle),
            rotated(axes, R[:, :, 0]),
            m,
        )[earlier[on]]
    thrown = np.einsum('kij,ki->kj', axes, velocity) * scene.time_constant
    if counts is None:
        counts = np.stack([foot.loaded[rows] for foot in evaluation.feet], axis=1)
    soles = tuple(foot.sole[rows] for foot in evaluation.feet)
    com, capture = margins((centre, centre + thrown), soles, counts, up)
    return com, capture


def _velocity(time: Array, position: Array, fixed: Array, m: int) -> Array:
    """Velocity (K, 2) on the ground of a position (K, 2) from a sole that rests on it [m/s].

    Args:
        time: (K,) [s].
        position: (K, 2) along axes that yaw with the root [m].
        fixed: (K, 2) a direction that is fixed to the sole, along the same axes.
        m: instants to either side over which it is averaged.
    """
    change = slope(time, fixed, m)
    yaw = fixed[:, 0] * change[:, 1] - fixed[:, 1] * change[:, 0]
    yaw = yaw / np.einsum('ki,ki->k', fixed, fixed)  # of the sole, seen from the axes
    across = np.column_stack([-position[:, 1], position[:, 0]])
    velocity: Array = slope(time, position, m) - yaw[:, None] * across
    return velocity


def half_width(scene: Scene) -> int:
    """Number of instants to either side of one over which a velocity is averaged, 1 or more."""
    return max(1, round(SMOOTHING / 2 / scene.timeline.usual_step))


def slope(time: Array, values: Array, m: int) -> Array:
    """Central difference quotient over the instants `m` before and after each.

    Args:
        time: (K,) [s].
        values: (K,) or (K, d).
        m: number of instants; at both ends as many as there are.

    Returns:
        Derivative, shape of `values`, in their unit per second; NaN of fewer than two instants.
    """
    if len(time) < 2:
        return np.full(values.shape, np.nan)
    after = np.minimum(np.arange(len(time)) + m, len(time) - 1)
    before = np.maximum(np.arange(len(time)) - m, 0)
    span = (time[after] - time[before]).reshape(-1, *[1] * (values.ndim - 1))
    derivative: Array = (values[after] - values[before]) / span
    return derivative
