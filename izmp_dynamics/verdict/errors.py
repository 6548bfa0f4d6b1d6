"""How wrong a point may be: its scatter, and the part of its error that no filter removes.

Without other contacts the IZMP is the CoP. Where a CoP is measured in both directions, their gap
is the error of the signals: what changes from instant to instant is noise (`scatter`), the rest is
the bias of sensors, mounting or model, constant or changing with the motion. Without a CoP only
the noise can be estimated, from the jumps of the point, and of a filtered signal not even that; a
bias is then assumed, so that a point beyond the edge by millimetres is no event.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.base.robust import MAD_TO_SIGMA, median, percentile
from izmp_dynamics.verdict.frames import in_sole
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.timeline import Mask

CONFIDENCE = 0.95
"""Share of the time in which the averaged point is within its uncertainty."""

ASSUMED_TILT = 2.0
"""Error of the vertical in the soles that is assumed where no CoP measures it [°]: mounting of the
IMU, joint offsets, elasticity. It moves the point by this angle times the height of the COM."""

_RAYLEIGH_MEDIAN = 1.1774  # median distance of a 2-D normal distribution in its σ per axis
_RAYLEIGH_95 = 2.4477  # its 95th percentile
_SECOND_DIFFERENCE_GAIN = np.sqrt(6.0)  # white noise of σ has second differences of σ√6


@dataclass(frozen=True)
class TrackError:
    """What is known about the error of a point; lengths in m.

    Attributes:
        against: 'cop' when measured against the CoP; 'itself' when only its noise is known, from
            the jumps of the point from instant to instant.
        scatter: standard deviation per axis of its noise, instant by instant.
        averaged_scatter: what is left of the noise after the average over half the tipping time.
        bias_x: median error in x of the loaded sole; NaN without a CoP.
        bias_y: the same in y.
        slow: median distance of the averaged point from the CoP, or of the point of single
            instants where that is smaller (spikes): bias, and errors that change with the motion;
            NaN without a CoP.
        uncertainty: the averaged point is right within this distance for 95 % of the time; the
            assumed bias included where it is not measured.
        usual: the same without the assumed bias, and as if the error were distributed normally
            with the median that it has, so that pushes don't enter it.
    """

    against: str
    scatter: float
    averaged_scatter: float
    bias_x: float
    bias_y: float
    slow: float
    uncertainty: float
    usual: float

    @property
    def bias(self) -> float:
        """Distance of the bias [m]; NaN where it is not known."""
        return float(np.hypot(self.bias_x, self.bias_y))

    @property
    def sigma(self) -> float:
        """Standard deviation per axis of the averaged point [m].

        From `usual`, into which no push enters; without a CoP from `uncertainty`, with the bias
        that is assumed.
        """
        return (self.usual if self.against == 'cop' else self.uncertainty) / _RAYLEIGH_95

    @property
    def biased(self) -> bool:
        """Whether more of the averaged point's error is bias than noise."""
        return bool(self.slow / _RAYLEIGH_MEDIAN > 2.0 * self.averaged_scatter)


def track_error(scene: Scene, name: str) -> TrackError:
    """Estimate the error of a track.

    Medians throughout: a push that throws the IZMP off the CoP for a moment, or a few spikes, is
    no property of the signal.
    """
    judged = scene.judged(name)
    nan = float('nan')
    if name == 'cop' or not scene.cop_is_whole:
        scatter = _jumps(scene, name, judged)
        remaining = scatter * _average_gain(scene)
        usual = float(np.nan_to_num(_RAYLEIGH_95 * remaining))
        bias = 0.0 if name == 'cop' else _assumed_bias(scene)
        bound = float(np.hypot(usual, bias))
        return TrackError('itself', scatter, remaining, nan, nan, nan, bound, usual)
    both = judged & scene.judged('cop')
    points = [scene.evaluation.tracks[track].point for track in (name, 'cop')]
    averages = [scene.averaged(track).point for track in (name, 'cop')]

    def sizes(rows: slice) -> tuple[Array, ...]:
        """Sizes of the gap of the averaged points, of the points, and of the difference."""
        off, gap = (
            np.where(both[rows, None], one[rows] - cop[rows], np.nan)
            for one, cop in (averages, points)
        )
        return tuple(np.linalg.norm(v, axis=1) for v in (off, gap, gap - off))

    def in_soles(rows: slice) -> tuple[Array, ...]:
        off = in_sole(scene, averages[0], rows) - in_sole(scene, averages[1], rows)
        return tuple(np.where(both[rows] & finite_rows(off), off.T, np.nan))

    by_blocks = scene.columns.by_blocks
    distance, gap, rest = by_blocks(len(both), sizes)
    if np.isfinite(distance).sum() < 3:
        return TrackError('itself', nan, nan, nan, nan, nan, _assumed_bias(scene), 0.0)
    scatter = median(rest) / _RAYLEIGH_MEDIAN
    bias_x, bias_y = map(median, by_blocks(len(both), in_soles))
    typical = median(distance)
    return TrackError(
        against='cop',
        scatter=scatter,
        averaged_scatter=scatter * _average_gain(scene),
        bias_x=bias_x,
        bias_y=bias_y,
        slow=min(typical, median(gap)),
        uncertainty=percentile(distance, 100.0 * CONFIDENCE),
        usual=typical * _RAYLEIGH_95 / _RAYLEIGH_MEDIAN,
    )


def _assumed_bias(scene: Scene) -> float:
    """What the assumed tilt makes of the point [m]."""
    height = scene.initial_height
    return float(np.tan(np.radians(ASSUMED_TILT)) * height) if height > 0 else 0.0


def _jumps(scene: Scene, name: str, judged: Mask) -> float:
    """Noise per axis [m] of a track from its second differences."""
    x, y = (np.where(judged, axis, np.nan) for axis in scene.points[name].T)
    bend = np.abs(np.concatenate([np.diff(x, n=2), np.diff(y, n=2)]))
    return float(MAD_TO_SIGMA * median(bend) / _SECOND_DIFFERENCE_GAIN)


def _average_gain(scene: Scene) -> float:
    """What a triangle leaves of white noise: √(2 / 3N) with N instants in half its base."""
    step = scene.timeline.usual_step
    if not step > 0:
        return 1.0
    number = max(1.0, scene.averaging_time / step)
    return float(min(1.0, np.sqrt(2.0 / (3.0 * number))))
