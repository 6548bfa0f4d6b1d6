"""The posture: how high the robot is, when it stands, lies, tips or is carried.

It lies where it stood before and is down for longer than a fall takes. It is down where its centre
of mass is lower than half of what it was, or where it is tilted by 45° and its centre of mass is
beside its feet, where none can stand: a quadruped that lies on its side is half as high as before.
"""

from functools import cached_property
from itertools import combinations

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, finite_rows
from izmp_dynamics.base.finding import Finding, warning
from izmp_dynamics.base.robust import percentile
from izmp_dynamics.diagnosis.forces import FORCE_TOLERANCE
from izmp_dynamics.stability.fall_probability import FALLEN
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.verdict.formatting import mm
from izmp_dynamics.verdict.support import (
    ENCODER_ERROR,
    Support,
    by_rows,
    smallest_width,
)
from izmp_dynamics.verdict.timeline import Indices, running_sum

FALL_TIMES = 3.0
"""A tipping robot has fallen after this many time constants."""

LONGEST_FLIGHT = 1.0
"""Longer without load, the robot is held, or lies: it would have jumped 1.2 m high [s]."""

FALLEN_HEIGHT = 0.5
"""Share of the height of the standing robot's COM below which it is down [-]."""

STANDS = 0.9
"""Share of the greatest height from which on the robot stands upright [-]."""

LONG_ENOUGH = 2.0
"""Time after which the mean contact force of a robot that stays up is its weight [s]."""

_CARRIED = 0.5  # of the weight, from which on the feet carry the robot
_DEFAULT_TIME_CONSTANT = 0.25  # [s], a COM at 0.6 m, where the height is unknown
_REFERENCE_TIME = 1.0  # [s] of standing that is the reference
_OVER, _ABOUT = 0.05, 0.15  # [s] half of what speeds are differenced and averaged over
MOTION_REACH = _OVER + _ABOUT
"""Instants so far apart share samples of `Posture.motion` [s]."""

_SAMPLES = 2000
_LOW = 10.0  # percentile of the phases that counts as the smallest, as kinematics scatter


class Posture(Support):
    """Height and attitude of the robot of an evaluation."""

    @cached_property
    def vertical_unknown(self) -> Flags:
        """(K,) where the vertical is not known, of a robot of which it mostly is."""
        unknown: Flags = np.zeros(self.count, dtype=np.bool_)
        if self.evaluation.up is not None:
            known = finite_rows(self.evaluation.up)
            unknown = ~known & (2 * np.count_nonzero(known) > self.count)
        return unknown

    @by_rows
    def height(self, rows: slice) -> Array:
        """(K,) height of the COM over the ground [m], along the vertical where that is known.

        A sole that tips takes the plane of the ground with it: along its normal a robot that lies
        on its face is as high as before. Where the vertical is known for most of the time, nothing
        else is comparable with it. The ground is the evaluation's plane or, where no foot defines
        one or a sole is lower, the lowest sole corner.
        """
        normal, up = self.evaluation.normal[rows], self.evaluation.up
        vertical: Flags = np.zeros(len(normal), dtype=np.bool_)
        if up is not None:
            vertical[:] = finite_rows(up[rows])
            normal = np.where(vertical[:, None], up[rows], normal)
        ground = np.einsum('ki,ki->k', normal, self.evaluation.ground_point[rows])
        looked = np.flatnonzero(vertical | ~np.isfinite(ground))
        for foot in self.evaluation.feet:
            corners = np.einsum('ki,kvi->kv', normal[looked], foot.sole[rows][looked])
            if corners.shape[1]:
                ground[looked] = np.fmin(ground[looked], np.fmin.reduce(corners, axis=1))
        height = np.einsum('ki,ki->k', normal, self.evaluation.com[rows]) - ground
        return np.where(self.vertical_unknown[rows], np.nan, height)

    @by_rows
    def _squared_speeds(self, rows: slice) -> Array:
        time, com = self.timeline.time, self.evaluation.com
        span = self.timeline.usual_step
        n = max(1, round(_OVER / span)) if span > 0.0 else 1
        at = np.arange(rows.start, rows.stop)
        before, after = np.maximum(at - n, 0), np.minimum(at + n, max(self.count - 1, 0))
        way, lasts = com[after] - com[before], np.maximum(time[after] - time[before], 1e-6)
        return np.asarray(np.einsum('ki,ki->k', way, way) / lasts**2)

    @cached_property
    def motion(self) -> Array:
        """(K,) speed at which the joints move the COM against the root, about each instant [m/s].

        NaN where the joints are not known.
        """
        time, squares = self.timeline.time, self._squared_speeds
        known = np.isfinite(squares)
        first = np.searchsorted(time, time - _ABOUT)
        stop = np.searchsorted(time, time + _ABOUT, side='right')
        total, count = running_sum(np.where(known, squares, 0.0)), running_sum(known)
        with np.errstate(invalid='ignore', divide='ignore'):
            return np.asarray(np.sqrt((total[stop] - total[first]) / (count[stop] - count[first])))

    @cached_property
    def _standing(self) -> Indices:
        """Rows of the first second in which the robot stands; none if no height is known.

        That is the first second of the recording, unless the robot is much higher later on: it
        may begin on the ground.
        """
        able = known = np.isfinite(self.height)
        carried = self.measured_force >= _CARRIED * self.weight
        if (known & carried).any():
            able = known & carried
        rows = np.flatnonzero(able)
        if not len(rows):
            return rows
        some = rows[:: max(1, len(rows) // _SAMPLES)]
        upright = STANDS * float(np.percentile(self.height[some], 90.0))
        first = self._one_second(rows, 0)
        if np.median(self.height[first]) >= upright:
            return first
        high = np.flatnonzero(able & (self.height >= upright))
        return self._one_second(rows, int(np.searchsorted(rows, high[0])) if len(high) else 0)

    def _one_second(self, rows: Indices, begin: int) -> Indices:
        until = self.timeline.time[rows[begin]] + _REFERENCE_TIME
        after = np.searchsorted(self.timeline.time, until, side='right')
        return rows[begin : np.searchsorted(rows, after)]

    @cached_property
    def initial_height(self) -> float:
        """Median height of the COM during the first second in which it stands [m]; NaN without."""
        rows = self._standing
        return float(np.median(self.height[rows])) if len(rows) else float('nan')

    @property
    def time_constant(self) -> float:
        """Time constant √(h/g) [s] of the inverted pendulum of the COM's initial height."""
        if not self.initial_height > 0:
            return _DEFAULT_TIME_CONSTANT
        return float(np.sqrt(self.initial_height / self.evaluation.gravity))

    @property
    def averaging_time(self) -> float:
        """Half of the tipping time constant [s]."""
        return self.time_constant / 2

    @property
    def falls_for(self) -> float:
        """A robot that tips has fallen after this time [s]."""
        return FALL_TIMES * self.time_constant

    @cached_property
    def room(self) -> float:
        """Half the smallest width of the support polygon [m], over the phases that last.

        A phase counts if the robot could tip meanwhile. No point can be farther inside. NaN
        where the loaded feet never span one.
        """
        rows = self.phases(self.averaging_time)
        samples = self.sampled(rows[self.spans_area[rows]])
        feet = [foot for foot in self.evaluation.feet if foot.sole.shape[1]]
        if not len(samples) or not feet:
            return float('nan')
        corners = []
        for foot in feet:
            sole = self.soles_in_nif(foot, samples)
            corners.append(np.where(foot.loaded[samples, None, None], sole, np.nan))
        return percentile(smallest_width(np.concatenate(corners, axis=1)), _LOW) / 2

    @cached_property
    def sole_overlap(self) -> Finding | None:
        """The two soles that overlap most; None if none do by more than encoders may be wrong.

        Two bodies cannot, so the soles are too large. The depth [m] is that by which one would
        have to be moved to be clear of the other, in the median.
        """
        feet = [foot for foot in self.evaluation.feet if foot.sole.shape[1] >= 3]
        pairs = ((self.median_depth(*pair), *pair) for pair in combinations(feet, 2))
        found = max(pairs, key=lambda pair: pair[0], default=None)
        explained = 2.0 * ENCODER_ERROR * self.evaluation.gravity * self.time_constant**2
        if found is None or found[0] <= explained:
            return None
        depth, one, other = found
        return warning(
            'soles_overlap',
            f'The soles of {one.name} and {other.name} overlap by {mm(depth)} while both carry '
            'load (median), which is impossible, so margins are too large.',
            'Check the polygons in the robot file: metres, in the frame of the sole, of one foot '
            'each.',
            data={'depth': depth},
        )

    @cached_property
    def lying(self) -> tuple[slice, ...]:
        """Rows of each time in which the robot lies on the ground, after it stood.

        At the end of a recording it lies where it is low; before, where it is not up again after
        the time of a fall.
        """
        timeline, standing = self.timeline, self._standing
        if not len(standing):
            return ()
        low = self.height < FALLEN_HEIGHT * self.initial_height
        is_down = low | self._tilted_beside
        high = timeline.sustained(np.isfinite(self.height) & ~is_down)
        down = timeline.sustained(is_down)
        last_high = int(np.max(np.flatnonzero(high)[-1:], initial=-1))
        found: list[slice] = []
        for start, stop in zip(*(edges.tolist() for edges in timeline.runs(down)), strict=True):
            never_up = stop > last_high
            lasts = timeline.time[stop - 1] - timeline.time[start] > self.falls_for
            if start > standing[0] and (lasts or (never_up and low[start:stop].any())):
                found.append(slice(start, len(down) if never_up else stop))
                if never_up:
                    break
        return tuple(found)

    @cached_property
    def tilt(self) -> Array:
        """(K,) angle of the root from where it is while the robot stands [rad]; NaN if unknown."""
        tilt, up = np.full(self.count, np.nan), self.evaluation.up
        upright = np.empty((0, 3)) if up is None else up[self._standing]
        upright = upright[finite_rows(upright)]
        if up is not None and len(upright):
            axis = np.median(upright, axis=0)
            tilt = np.arccos(np.clip(up @ (axis / np.linalg.norm(axis)), -1.0, 1.0))
        return tilt

    @by_rows
    def _tilted_beside(self, rows: slice) -> Flags:
        """(K,) where it is tilted by 45° and its centre of mass is beside all of its feet."""
        found: Flags = self.tilt[rows] > FALLEN
        up, feet = self.evaluation.up, self.evaluation.feet
        if up is not None and feet:
            soles = tuple(foot.sole[rows][found] for foot in feet)
            every: Flags = np.ones((len(soles[0]), len(feet)), dtype=np.bool_)
            com, up = self.evaluation.com[rows][found], up[rows][found]
            found[found] = margins((com,), soles, every, up)[0] < 0.0
        return found & bool(feet)

    @cached_property
    def lies(self) -> Flags:
        """(K,) whether the robot lies on the ground."""
        lies: Flags = np.zeros(self.count, dtype=np.bool_)
        for rows in self.lying:
            lies[rows] = True
        return lies

    @cached_property
    def stands(self) -> Flags:
        """(K,) where the robot neither falls nor lies, hangs or is carried.

        Feet that never carry load have wrong sensors, so these say nothing about it.
        """
        stands: Flags = ~self.lies
        time = self.timeline.time
        for rows in self.lying:
            begin = int(np.searchsorted(time, time[rows.start] - self.falls_for))
            stands[begin : rows.start + 1] = False
        late = int(np.searchsorted(time, self.timeline.duration - self.falls_for))
        stands[late:] &= ~(self.height[late:] < STANDS * self.initial_height)  # it may fall
        in_the_air = self.timeline.runs(self.in_flight & self.loaded.any())
        for first, stop in zip(*in_the_air, strict=True):
            if float(self.timeline.span[first:stop].sum()) > LONGEST_FLIGHT:
                stands[first:stop] = False
        return stands

    @cached_property
    def long_standing(self) -> Flags:
        """(K,) where it stands on known feet; nowhere if that is too short for a mean force."""
        stands: Flags = self.stands & self.support_known
        if self.timeline.total(stands) < LONG_ENOUGH or not self.weight > 0:
            stands[:] = False
        return stands

    @cached_property
    def feet_over_weight(self) -> float:
        """What the feet measure on average while it stands, over the weight; NaN if unknown."""
        measured = np.where(self.long_standing, self.measured_force, np.nan)
        return self.timeline.mean(measured) / self.weight if self.weight > 0 else np.nan

    @property
    def feet_are_doubtful(self) -> bool:
        """Whether the feet do not measure the weight, so that their CoP proves nothing."""
        return abs(self.feet_over_weight - 1.0) > FORCE_TOLERANCE
