"""What the report needs of an evaluation, seen from the ground: computed once, used by all."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows, mean_of_corners
from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.results.evaluation import Evaluation, Foot, Track
from izmp_dynamics.verdict.leg_odometry import GroundFixed, ground_fixed
from izmp_dynamics.verdict.lying import (
    FALLEN_HEIGHT,
    STANDS,
    standing_rows,
    tilted_beside,
    times_lying,
)
from izmp_dynamics.verdict.timeline import Indices, Mask, Timeline
from izmp_dynamics.verdict.tipping import Averaged, averaged

FALL_TIMES = 3.0
"""A tipping robot has fallen after this many time constants."""

LONGEST_FLIGHT = 1.0
"""Who flies for longer has jumped 1.2 m high; so the robot is held, or lies [s]."""

LABELS = {'mr_ad': 'MR-AD', 'ir_md': 'IR-MD', 'cop': 'CoP'}

_CARRIED = 0.5  # of the weight, from which on the feet carry the robot
_LEAST_LOAD = 0.1  # of the weight, below which the load split means nothing
_POLYGON_SAMPLES = 200
_LOW = 10.0  # percentile of the phases that counts as the smallest, as kinematics scatter
_BRIDGED = 0.05  # [s] a longer hole in a track ends a stretch of the filter
_DEFAULT_TIME_CONSTANT = 0.25  # [s], a COM at 0.6 m, where the height is unknown


class Scene:
    """An evaluation in ground coordinates (nif: z along the ground normal, x forward).

    Attributes:
        evaluation: what is shown.
        timeline: its instants.
        names: the wrench sources, as the evaluation orders them.
        store: keeps what is as long as the recording.
        loaded: (K,) whether any foot carries load.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.timeline = Timeline.of(evaluation.stamps, evaluation.store)
        self.names = tuple(evaluation.tracks)
        self.store = evaluation.store
        self.loaded: Mask = self.by_rows(self._loaded)
        self._settled: dict[str, Mask] = {}
        self._judged: dict[str, Mask] = {}

    def by_rows(self, function: Callable[[slice], Any]) -> Any:
        """Compute an array (K, …) from a function of some of its rows."""
        return self.timeline.by_rows(function)

    def _loaded(self, rows: slice) -> Mask:
        loaded: Mask = np.zeros(rows.stop - rows.start, dtype=bool)
        for foot in self.evaluation.feet:
            loaded |= np.asarray(foot.loaded[rows], dtype=bool)
        return loaded

    @cached_property
    def in_flight(self) -> Mask:
        """(K,) whether every foot measures its force and none carries load.

        Where neither this nor `loaded` holds, nothing is known about the support.
        """
        flight: Mask = self.by_rows(self._in_flight)
        return flight

    def _in_flight(self, rows: slice) -> Mask:
        feet = self.evaluation.feet
        measured: Mask = np.full(rows.stop - rows.start, bool(feet))
        for foot in feet:
            measured &= np.isfinite(foot.normal_force[rows])
        return measured & ~self.loaded[rows]

    @property
    def astray(self) -> bool:
        """Whether the robot stands on a foot of which the joints do not say where it is."""
        return any(foot.held_joints and foot.loaded.any() for foot in self.evaluation.feet)

    @cached_property
    def support_known(self) -> Mask:
        """(K,) whether it is known which feet carry load."""
        known: Mask = self.by_rows(lambda rows: self.loaded[rows] | self.in_flight[rows])
        return known

    @property
    def unknown_time(self) -> float:
        """Time for which nothing is known about the support, gaps included [s]."""
        known = self.timeline.total(self.loaded) + self.timeline.total(self.in_flight)
        return max(self.timeline.duration - known, 0.0)

    @property
    def cop_is_whole(self) -> bool:
        """Whether there is a CoP that is known in both directions."""
        feet = self.evaluation.feet
        return 'cop' in self.points and not any(foot.normal_only for foot in feet)

    def settled(self, name: str) -> Mask:
        """(K,) where a value of a track is not that of a filter which is still settling."""
        if name not in self._settled:
            self._settled[name] = self._settled_of(name)
        return self._settled[name]

    def _settled_of(self, name: str) -> Mask:
        settle, time = self.evaluation.settle_time, self.timeline.time
        track = self.evaluation.tracks[name]
        there: Mask = self.by_rows(lambda rows: finite_rows(track.wrench[rows]))
        if not settle > 0.0 or not there.any():
            return there
        known = self.by_rows(lambda rows: time[rows][there[rows]])
        bridged = max(_BRIDGED, 3.0 * self.store.median(self.timeline.span))
        broken = self.store.by_rows(
            len(known) - 1,
            lambda rows: (
                np.flatnonzero(np.diff(known[rows.start : rows.stop + 1]) > bridged) + rows.start
            ),
        )
        begins = known[np.append(0, broken + 1)]
        ends = known[np.append(broken, len(known) - 1)]

        def far_from_ends(rows: slice) -> Mask:
            here = time[rows]
            stretch = np.searchsorted(begins, here, side='right') - 1
            near = np.minimum(here - begins[stretch], ends[stretch] - here)
            far: Mask = there[rows] & (near >= settle)
            return far

        settled: Mask = self.by_rows(far_from_ends)
        return settled

    def judged(self, name: str) -> Mask:
        """(K,) where a track counts for the verdict: a margin, a loaded foot, a settled filter.

        Not while the robot lies on the ground: it touches that with more than its soles. Never
        where it stands on a foot of which it is not known where it is.
        """
        if name not in self._judged:
            self._judged[name] = self._judged_of(name)
        return self._judged[name]

    def _judged_of(self, name: str) -> Mask:
        if self.astray or (name == 'cop' and not self.cop_is_whole):
            return np.zeros(len(self.loaded), dtype=bool)  # its margin means nothing
        margin = self.evaluation.tracks[name].margin
        may = self.loaded & self.settled(name) & ~self.lies
        counts: Mask = self.by_rows(lambda rows: may[rows] & np.isfinite(margin[rows]))
        return counts

    @cached_property
    def ground_fixed(self) -> GroundFixed:
        """Pose of the root in a frame that is fixed to the ground."""
        return ground_fixed(self.evaluation.feet, self.timeline, self.evaluation.store)

    def averaged(self, name: str) -> Averaged:
        """A track as the tipping of the robot feels it, see `tipping`."""
        return self._averaged[name]

    @cached_property
    def _averaged(self) -> dict[str, Averaged]:
        return averaged(
            self.evaluation,
            self.ground_fixed,
            self.timeline,
            {name: self.judged(name) for name in self.names},
            self.averaging_time,
        )

    def judged_margin(self, name: str) -> Array:
        """(K,) margin of the averaged point [m]; NaN where the track does not count."""
        margin, judged = self.averaged(name).margin, self.judged(name)
        counting: Array = self.by_rows(lambda rows: np.where(judged[rows], margin[rows], np.nan))
        return counting

    @property
    def averaging_time(self) -> float:
        """Half of the tipping time constant [s]."""
        return self.time_constant / 2

    @cached_property
    def supporting(self) -> Indices:
        """(K,) index of the loaded foot that carries most; −1 where none does."""
        feet = self.evaluation.feet
        foot: Indices = np.full(len(self.loaded), -1)
        if feet:
            foot = self.by_rows(self._supporting)
        return foot

    def _supporting(self, rows: slice) -> Indices:
        forces = [
            np.where(foot.loaded[rows], np.nan_to_num(foot.normal_force[rows], nan=0.0), -np.inf)
            for foot in self.evaluation.feet
        ]
        return np.where(self.loaded[rows], np.argmax(forces, axis=0), -1)

    @property
    def weight(self) -> float:
        """The robot's weight m·g [N]."""
        return self.evaluation.total_mass * self.evaluation.gravity

    def level(self, vectors: Array, rows: slice | Indices) -> Array:
        """Bring vectors (S, 3) of the root frame, at the instants `rows`, to nif: (S, 2) x, y."""
        seen: Array = rotated(self.evaluation.nif_R_root(rows)[:, :2], vectors)
        return seen

    @cached_property
    def points(self) -> dict[str, Array]:
        """Track name → (K, 2) point in nif [m]; a point that is not finite is NaN."""

        def point(track: Track, rows: slice) -> Array:
            xy = self.level(track.point[rows], rows)
            xy[~finite_rows(xy)] = np.nan
            return xy

        return {
            name: self.by_rows(partial(point, track))
            for name, track in self.evaluation.tracks.items()
        }

    def apart(self, first: str, second: str) -> Array:
        """(K,) distance of the points of two tracks on the ground [m]."""

        def distance(rows: slice) -> Array:
            off = self.points[first][rows] - self.points[second][rows]
            return np.hypot(off[:, 0], off[:, 1])

        apart: Array = self.by_rows(distance)
        return apart

    @cached_property
    def normal_forces(self) -> dict[str, Array]:
        """Track name → (K,) contact force along the ground normal [N]."""
        normal = self.evaluation.normal

        def force(track: Track, rows: slice) -> Array:
            along: Array = np.einsum('ki,ki->k', normal[rows], track.wrench[rows, :3])
            return along

        return {
            name: self.by_rows(partial(force, track))
            for name, track in self.evaluation.tracks.items()
        }

    @cached_property
    def measured_force(self) -> Array:
        """(K,) sum of the feet's measured normal forces [N]; NaN unless every foot measures."""
        feet = self.evaluation.feet
        if feet and all(self.store.has_numbers(foot.normal_force) for foot in feet):
            total: Array = self.by_rows(
                lambda rows: np.sum([foot.normal_force[rows] for foot in feet], axis=0)
            )
            return total
        nothing = np.full(len(self.loaded), np.nan)
        return self.normal_forces.get('cop', nothing)

    @cached_property
    def load_split(self) -> Array:
        """(K,) (F_first − F_second)/(F_first + F_second) of two feet; NaN for any other number.

        A force sensor that reads a pull counts as zero.
        """
        split: Array = self.by_rows(self._load_split)
        return split

    def _load_split(self, rows: slice) -> Array:
        split = np.full(rows.stop - rows.start, np.nan)
        if len(self.evaluation.feet) == 2:
            first, second = (np.maximum(f.normal_force[rows], 0.0) for f in self.evaluation.feet)
            carries = first + second > _LEAST_LOAD * self.weight
            np.divide(first - second, first + second, out=split, where=carries)
        return split

    def between_feet(self, name: str) -> Array:
        """(K,) where a track's point lies between two feet; NaN for any other number of feet.

        1 beside the first foot's sensor, −1 beside the second's, 0 in the middle: forces that act
        at the sensors have their CoP where the load split says. Without sensors, the centres of
        the soles.
        """
        position: Array = self.by_rows(lambda rows: self._between_feet(name, rows))
        return position

    def _between_feet(self, name: str, rows: slice) -> Array:
        feet = self.evaluation.feet
        if len(feet) != 2 or not all(foot.sole.shape[1] for foot in feet):
            return np.full(rows.stop - rows.start, np.nan)
        across, middle = self._across_feet(rows)
        along = np.einsum('ki,ki->k', self.points[name][rows] - middle, across)
        distance = np.maximum(np.einsum('ki,ki->k', across, across), 1e-9)
        position: Array = 2.0 * along / distance
        return position

    def on_line(self, name: str) -> Array:
        """(K,) position of a track's point along the line between the feet [m].

        From the middle between the sensors, positive towards the first one; NaN unless both feet
        carry load, and for any other number of feet.
        """
        position: Array = self.by_rows(lambda rows: self._on_line(name, rows))
        return position

    def _on_line(self, name: str, rows: slice) -> Array:
        feet = self.evaluation.feet
        if len(feet) != 2 or not all(foot.sole.shape[1] for foot in feet):
            return np.full(rows.stop - rows.start, np.nan)
        both = np.all([foot.loaded[rows] for foot in self.evaluation.feet], axis=0)
        across, _ = self._across_feet(rows)
        half = np.linalg.norm(across, axis=1) / 2
        position: Array = np.where(both, self._between_feet(name, rows) * half, np.nan)
        return position

    def _across_feet(self, rows: slice) -> tuple[Array, Array]:
        """(S, 2) from the second sensor (or sole) to the first, and their middle, in nif [m]."""
        first, second = (
            self.level(
                mean_of_corners(foot.sole[rows]) if foot.sensor is None else foot.sensor[rows],
                rows,
            )
            for foot in self.evaluation.feet
        )
        return first - second, (first + second) / 2

    @cached_property
    def height(self) -> Array:
        """(K,) height of the COM over the ground [m], along the vertical where that is known.

        A sole that tips takes the plane of the ground with it: along its normal a robot that lies
        on its face is as high as before. The ground is the evaluation's plane or, where no foot
        defines one or a sole is lower, the lowest sole corner.
        """
        height: Array = self.by_rows(self._height)
        return height

    def _height(self, rows: slice) -> Array:
        normal, up = self.evaluation.normal[rows], self.evaluation.up
        vertical: Mask = np.zeros(len(normal), dtype=np.bool_)
        if up is not None:
            vertical[:] = finite_rows(up[rows])
            normal = np.where(vertical[:, None], up[rows], normal)
        ground = np.einsum('ki,ki->k', normal, self.evaluation.ground_point[rows])
        looked = np.flatnonzero(vertical | ~np.isfinite(ground))
        for foot in self.evaluation.feet:
            corners = np.einsum('ki,kvi->kv', normal[looked], foot.sole[rows][looked])
            if corners.shape[1]:
                ground[looked] = np.fmin(ground[looked], np.fmin.reduce(corners, axis=1))
        height: Array = np.einsum('ki,ki->k', normal, self.evaluation.com[rows]) - ground
        return height

    @cached_property
    def _standing(self) -> Indices:
        """Rows of the first second in which the robot stands."""
        carries = _CARRIED * self.weight
        carried = self.by_rows(lambda rows: self.measured_force[rows] >= carries)
        return standing_rows(self.timeline, self.height, carried)

    @cached_property
    def initial_height(self) -> float:
        """Median height of the COM during the first second in which it stands [m]; NaN without."""
        rows = self._standing
        return float(np.median(self.height[rows])) if len(rows) else float('nan')

    @cached_property
    def lying(self) -> tuple[slice, ...]:
        """Rows of each time in which the robot lies on the ground, after it stood."""
        height, lowest = self.height, FALLEN_HEIGHT * self.initial_height
        known = self.by_rows(lambda rows: np.isfinite(height[rows]))
        low = self.by_rows(lambda rows: height[rows] < lowest)
        beside: Mask = np.zeros(len(low), dtype=np.bool_)
        if self.evaluation.up is not None:
            beside = tilted_beside(
                self.evaluation.up,
                self._standing,
                self.evaluation.com,
                self.evaluation.feet,
                self.evaluation.store,
            )
        longest = FALL_TIMES * self.time_constant
        return times_lying(self.timeline, low, beside, known, self._standing, longest)

    @cached_property
    def lies(self) -> Mask:
        """(K,) whether the robot lies on the ground."""
        lies: Mask = np.zeros(len(self.loaded), dtype=np.bool_)
        for rows in self.lying:
            lies[rows] = True
        return lies

    @cached_property
    def stands(self) -> Mask:
        """(K,) where the robot neither falls nor lies, hangs or is carried.

        Feet that never carry load have wrong sensors, so these say nothing about it.
        """
        stands: Mask = ~self.lies
        time, falls_for = self.timeline.time, FALL_TIMES * self.time_constant
        for rows in self.lying:
            begin = int(np.searchsorted(time, time[rows.start] - falls_for))
            stands[begin : rows.start + 1] = False
        end = slice(int(np.searchsorted(time, self.timeline.duration - falls_for)), None)
        stands[end] &= ~(self.height[end] < STANDS * self.initial_height)  # it may fall
        aloft = self.timeline.runs(self.in_flight & self.loaded.any())
        for first, stop in zip(*aloft, strict=True):
            if float(self.timeline.span[first:stop].sum()) > LONGEST_FLIGHT:
                stands[first:stop] = False
        return stands

    @property
    def time_constant(self) -> float:
        """Time constant √(h/g) [s] of the inverted pendulum of the COM's initial height."""
        if not self.initial_height > 0:
            return _DEFAULT_TIME_CONSTANT
        return float(np.sqrt(self.initial_height / self.evaluation.gravity))

    @cached_property
    def room(self) -> float:
        """Half the smallest width of the support polygon [m], over the phases that last.

        No point can be farther inside. A phase is a time in which the same feet carry load; it
        counts if the robot could tip meanwhile. NaN without a loaded foot.
        """
        samples = self.sampled(self.phases(self.averaging_time))
        feet = [foot for foot in self.evaluation.feet if foot.sole.shape[1]]
        if not len(samples) or not feet:
            return float('nan')
        corners = []
        for foot in feet:
            sole = self.soles_in_nif(foot, samples)
            corners.append(np.where(foot.loaded[samples, None, None], sole, np.nan))
        smallest = _smallest_width(np.concatenate(corners, axis=1))
        smallest = smallest[np.isfinite(smallest)]
        return float(np.percentile(smallest, _LOW)) / 2 if len(smallest) else float('nan')

    def phases(self, shortest: float) -> Indices:
        """Rows in the middle of each phase that lasts so long [s]; all loaded ones if none does.

        A phase is a time in which the same feet carry load.
        """
        code = self.by_rows(self._which_loaded)
        borders = self.store.changes(code)
        first, last = np.append(0, borders), np.append(borders, len(code))
        if not len(code):
            return self.store.true(self.loaded)
        begins, ends = (
            self.store.take(self.timeline.time, rows)
            for rows in (first, np.minimum(last, len(code) - 1))
        )
        kept = (self.store.take(code, first) != 0) & (ends - begins >= shortest)
        middles: Indices = ((first + last) // 2)[kept]
        return middles if len(middles) else self.store.true(self.loaded)

    def _which_loaded(self, rows: slice) -> Indices:
        """Number of each set of feet: one bit for each."""
        code = np.zeros(rows.stop - rows.start, dtype=np.int64)
        for bit, foot in enumerate(self.evaluation.feet):
            code += np.asarray(foot.loaded[rows], dtype=np.int64) << bit
        return code

    def soles_in_nif(self, foot: Foot, instants: Indices) -> Array:
        """Corners of the foot's sole at `instants` (S,): (S, V, 2) in nif [m]."""
        corners: Array = np.einsum(
            'kij,kvj->kvi',
            self.evaluation.nif_R_root(instants)[:, :2],
            self.evaluation.store.take(foot.sole, instants),
        )
        return corners

    def sampled(self, rows: Indices, count: int = _POLYGON_SAMPLES) -> Indices:
        """Pick at most `count` of some rows, evenly."""
        if len(rows) <= count:
            return rows
        picked = np.linspace(0, len(rows) - 1, count).round().astype(np.intp)
        return self.store.take(rows, picked)


def _smallest_width(corners: Array) -> Array:
    """Smallest width (S,) of the convex hull of `corners` (S, C, 2); NaN corners don't count.

    The width of a polygon is smallest across one of its edges, and every edge of the hull joins
    two corners.
    """
    first, second = np.triu_indices(corners.shape[1], k=1)
    edge = corners[:, second] - corners[:, first]
    across = np.stack([-edge[..., 1], edge[..., 0]], axis=-1)
    length = np.linalg.norm(across, axis=-1, keepdims=True)
    across = np.divide(across, length, out=np.full_like(across, np.nan), where=length > 0)
    along = np.einsum('sci,sei->sce', corners, across)
    width = np.fmax.reduce(along, axis=1) - np.fmin.reduce(along, axis=1)
    smallest: Array = np.fmin.reduce(width, axis=1)
    return smallest
