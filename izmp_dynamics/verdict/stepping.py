"""Whether the next feet come in time: of a robot that stands on lines and points between steps.

About the line between two feet that are points it tips until others land. What counts is where its
capture point is then: within the feet that have carried and those that come it can be brought to
rest, outside only by a further step (Pratt et al., 2006).
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.verdict.capture import capture_margins, half_width
from izmp_dynamics.verdict.formatting import instant, seconds
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.timeline import Mask


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
    loaded: Mask = np.stack([foot.loaded[known] for foot in scene.evaluation.feet], axis=1)
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


def _margin(scene: Scene, before: int, loaded: Mask) -> float:
    """Margin of the capture point at an instant before feet land [m].

    Args:
        scene: the evaluation.
        before: row of the instant.
        loaded: (S, F) which feet carry then and while they land.
    """
    counts: Mask = np.asarray(loaded.any(axis=0))
    feet = zip(scene.evaluation.feet, counts, strict=True)
    if not loaded[0].any() or sum(foot.sole.shape[1] for foot, on in feet if on) < 3:
        return np.nan
    rows = slice(max(0, before - 3 * half_width(scene)), before + 1)
    _, capture = capture_margins(scene, rows, np.tile(counts, (rows.stop - rows.start, 1)))
    return float(capture[-1])
