"""Where the centre of mass and the capture point are, seen from the support polygon.

The capture point ξ = c + ċ √(h/g) (Pratt et al., 2006) is where the robot would have to step to
come to rest. Along gravity, where the orientation of the root is known, else along the ground's
normal: a sole that tips takes the plane of the ground with it.

About the line between two feet that are points a robot tips until others land. What counts is
where its capture point is then: within the feet that have carried and those that come it can be
brought to rest, outside only by a further step.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags
from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.stability.support_polygon import margins, plane_axes
from izmp_dynamics.verdict.formatting import instant, seconds
from izmp_dynamics.verdict.scene import Scene, sole_frame

SMOOTHING = 0.04
"""Time over which velocities are averaged [s]."""


def capture_margins(scene: Scene, rows: slice, counts: Flags | None = None) -> tuple[Array, Array]:
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
        on: Flags = scene.supporting[rows] == k
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
    return np.asarray(slope(time, position, m) - yaw[:, None] * across)


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
    return np.asarray((values[after] - values[before]) / span)


@dataclass(frozen=True)
class Touchdowns:
    """When feet come to the support of a robot that spans no area.

    Attributes:
        time: (N,) [s].
        margin: (N,) distance of the capture point, the instant before, from the edge of the feet
            that have carried and those that come, positive inside [m]; NaN where it is not known,
            after a flight or a gap, and where these feet span no area.
        longest: for so long no further foot is known to have come [s].
    """

    time: Array
    margin: Array
    longest: float

    def unknown(self, scene: Scene) -> str:
        """Say why it is not known whether the next feet come in time; '' if it is."""
        if self.longest > scene.falls_for or not len(self.time):
            return f'for {seconds(self.longest)} none is seen to land'
        lost = self.time[~np.isfinite(self.margin)]
        if len(lost):
            which = 'the capture point is not known, or not which feet land next'
            return f'at {instant(float(lost[0]))} {which}'
        return ''


def all_measured(scene: Scene) -> bool:
    """Whether every foot measures its load."""
    return all(bool(np.isfinite(foot.normal_force).any()) for foot in scene.evaluation.feet)


def touchdowns(scene: Scene) -> Touchdowns:
    """Find when the next feet come, and whether the capture point is within them.

    Feet that land within half of the tipping time constant come together: so briefly none tips.
    """
    known = np.flatnonzero(scene.support_known)
    time, width = scene.timeline.time[known], scene.averaging_time
    loaded: Flags = np.stack([foot.loaded[known] for foot in scene.evaluation.feet], axis=1)
    on_line = (scene.loaded & ~scene.spans_area)[known]
    comes = np.zeros(len(known), dtype=np.bool_)
    comes[1:] = (loaded[1:] & ~loaded[:-1]).any(axis=1)
    comes[1:] &= on_line[:-1] | scene.in_flight[known[:-1]]
    first: list[int] = []
    for row in np.flatnonzero(comes).tolist():
        if not first or time[row] - time[first[-1]] > width:
            first.append(row)
    margin = np.full(len(first), np.nan)
    for k, row in enumerate(first):
        if time[row] - time[row - 1] <= width:
            until = np.searchsorted(time, time[row] + width, side='right')
            margin[k] = _margin(scene, int(known[row - 1]), loaded[row - 1 : until])
    supported = np.concatenate([time[:1], time[~on_line | comes], time[-1:]])
    return Touchdowns(time[first], margin, float(np.diff(supported).max(initial=0.0)))


def _margin(scene: Scene, before: int, loaded: Flags) -> float:
    """Margin of the capture point at an instant before feet land [m].

    Args:
        scene: the evaluation.
        before: row of the instant.
        loaded: (S, F) which feet carry then and while they land.
    """
    counts: Flags = np.asarray(loaded.any(axis=0))
    feet = zip(scene.evaluation.feet, counts, strict=True)
    if not loaded[0].any() or sum(foot.sole.shape[1] for foot, on in feet if on) < 3:
        return np.nan
    rows = slice(max(0, before - 3 * half_width(scene)), before + 1)
    _, capture = capture_margins(scene, rows, np.tile(counts, (rows.stop - rows.start, 1)))
    return float(capture[-1])
