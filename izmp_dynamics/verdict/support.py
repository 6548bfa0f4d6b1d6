"""An evaluation seen from the ground: which feet carry load, how much of it, over which ground."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, finite_rows, mean_of_corners
from izmp_dynamics.base.rotations import rotated, rotated_back
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.stability.clearance import stays_point
from izmp_dynamics.stability.support_polygon import plane_axes
from izmp_dynamics.verdict.timeline import Indices, Timeline, changes

SAMPLES = 200
"""Instants that stand for many."""

ENCODER_ERROR = np.radians(1.0)
"""Error of the zero of a joint in each leg that may bring the soles closer to each other [rad]."""

_LEAST_LOAD = 0.1  # of the weight, below which the load split means nothing


Values = TypeVar('Values')


def by_rows(function: Callable[[Any, slice], Values]) -> 'cached_property[Values]':
    """Make a cached property of all K rows from a method that gives it at some of them."""

    def whole(scene: Any) -> Values:
        found: Values = scene.columns.by_blocks(scene.count, partial(function, scene))
        return found

    return cached_property(whole)


class Support:
    """Points, soles and forces of an evaluation, seen from the ground, and which feet carry load.

    The coordinates are nif (z along the ground's normal), or those of the robot.

    Attributes:
        evaluation: what is shown.
        timeline: its instants.
        names: the wrench sources, as the evaluation orders them.
        columns: makes what is as long as the recording.
        count: number K of the instants.
        loaded: (K,) whether any foot carries load.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.timeline = Timeline.of(evaluation.stamps)
        self.names = tuple(evaluation.tracks)
        self.columns = evaluation.columns
        self.count = len(evaluation.stamps)
        self.loaded: Flags = np.zeros(self.count, dtype=bool)
        for foot in evaluation.feet:
            self.loaded |= foot.loaded.astype(bool)

    @property
    def weight(self) -> float:
        """The robot's weight m·g [N]."""
        return self.evaluation.weight

    def level(self, vectors: Array, rows: slice | Indices) -> Array:
        """Bring vectors (S, 3) of the root frame, at the instants `rows`, to nif: (S, 2) x, y."""
        return np.asarray(rotated(self.evaluation.nif_R_root(rows)[:, :2], vectors))

    def seen_ahead(self, vectors: Array, rows: slice | Indices) -> Array:
        """Bring vectors (S, 3) of the root frame to forward, left and up: (S, 3)."""
        return np.asarray(rotated(self._ahead_R_nif @ self.evaluation.nif_R_root(rows), vectors))

    def seen_upright(self, vectors: Array, rows: slice) -> Array:
        """The same, up against gravity where that is known: a falling robot tilts its soles."""
        normal, up = self.evaluation.normal[rows], self.evaluation.up
        if up is not None:
            normal = np.where(finite_rows(up[rows])[:, None], up[rows], normal)
        level_R_root = np.concatenate([plane_axes(normal), normal[:, None]], axis=1)
        return np.asarray(rotated(self._ahead_R_nif @ level_R_root, vectors))

    @cached_property
    def _ahead_R_nif(self) -> Array:
        """(3, 3) the quarter turns that bring x of nif ahead, to where the soles' x axes point.

        Some roots have x backwards (iCub). None where the soles are not known, or disagree.
        """
        ahead = np.zeros(2)
        soles = [foot.axes for foot in self.evaluation.feet if foot.axes is not None]
        rows = self.sampled(np.flatnonzero(finite_rows(self.evaluation.normal)))
        for axes in soles:
            x = self.level(self.columns.take(axes, rows)[:, :, 0], rows)
            x = x[finite_rows(x)]
            ahead += x.mean(axis=0) / len(soles) if len(x) else 0.0
        turns = round(np.arctan2(ahead[1], ahead[0]) / (np.pi / 2))
        cos, sin = ((1, 0), (0, 1), (-1, 0), (0, -1))[turns % 4 if ahead @ ahead > 0.25 else 0]
        return np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])

    @by_rows
    def points(self, rows: slice) -> dict[str, Array]:
        """Track name → (K, 2) point in nif [m]; a point that is not finite is NaN."""
        tracks = self.evaluation.tracks
        found = {name: self.level(track.point[rows], rows) for name, track in tracks.items()}
        for xy in found.values():
            xy[~finite_rows(xy)] = np.nan
        return found

    def apart(self, first: str, second: str) -> Array:
        """(K,) distance of the points of two tracks on the ground [m]."""
        (x, y), (other_x, other_y) = self.points[first].T, self.points[second].T
        return np.asarray(np.hypot(x - other_x, y - other_y))

    @by_rows
    def normal_forces(self, rows: slice) -> dict[str, Array]:
        """Track name → (K,) contact force along the ground normal [N]."""
        normal = self.evaluation.normal[rows]
        return {
            name: np.einsum('ki,ki->k', normal, track.wrench[rows, :3])
            for name, track in self.evaluation.tracks.items()
        }

    @cached_property
    def measured_force(self) -> Array:
        """(K,) sum of the feet's measured normal forces [N]; NaN unless every foot measures."""
        forces = [foot.normal_force for foot in self.evaluation.feet]
        if forces and all(np.isfinite(force).any() for force in forces):
            return np.asarray(np.sum(forces, axis=0))
        return self.normal_forces.get('cop', np.full(self.count, np.nan))

    def soles_in_nif(self, foot: Foot, instants: Indices) -> Array:
        """Corners of the foot's sole at `instants` (S,): (S, V, 2) in nif [m]."""
        soles = self.columns.take(foot.sole, instants)
        axes = self.evaluation.nif_R_root(instants)[:, :2]
        return np.asarray(np.einsum('kij,kvj->kvi', axes, soles))

    def sampled(self, rows: Indices, count: int = SAMPLES) -> Indices:
        """Pick at most `count` of some rows, evenly."""
        if len(rows) <= count:
            return rows
        return np.asarray(rows[np.linspace(0, len(rows) - 1, count).round().astype(np.intp)])

    @cached_property
    def spans_area(self) -> Flags:
        """(K,) where the loaded feet span a polygon; one or two that are points do not."""
        corners = sum(foot.sole.shape[1] * foot.loaded for foot in self.evaluation.feet)
        return np.full(self.count, corners >= 3)

    @cached_property
    def in_flight(self) -> Flags:
        """(K,) whether the load of every foot is measured or estimated and none carries any.

        Where neither this nor `loaded` holds, nothing is known about the support.
        """
        feet = self.evaluation.feet
        measured = [
            np.isfinite(f.normal_force if f.share is None else np.fmax(f.normal_force, f.share))
            for f in feet
        ]
        return np.asarray(np.all(measured, axis=0) & bool(feet) & ~self.loaded)

    @property
    def foot_pose_unknown(self) -> bool:
        """Whether the robot stands on a foot of which the joints do not say where it is."""
        return any(foot.held_joints and foot.loaded.any() for foot in self.evaluation.feet)

    @property
    def compares_forces(self) -> bool:
        """Whether the forces of motion and feet are compared, which shows pushes."""
        return self.evaluation.external_force is not None and not self.foot_pose_unknown

    @property
    def support_known(self) -> Flags:
        """(K,) whether it is known which feet carry load."""
        return self.loaded | self.in_flight

    @property
    def unknown_time(self) -> float:
        """Time for which nothing is known about the support, gaps included [s]."""
        known = self.timeline.total(self.loaded) + self.timeline.total(self.in_flight)
        return max(self.timeline.duration - known, 0.0)

    @property
    def cop_is_whole(self) -> bool:
        """Whether there is a CoP that is known in both directions."""
        feet = self.evaluation.feet
        partly = any(foot.normal_only and not stays_point(foot.sole) for foot in feet)
        return 'cop' in self.names and not partly

    @cached_property
    def supporting(self) -> Indices:
        """(K,) index of the loaded foot that carries most; −1 where none does."""
        foot: Indices = np.full(self.count, -1)
        most = np.full(self.count, -np.inf)
        for k, each in enumerate(self.evaluation.feet):
            force = np.where(each.loaded, np.nan_to_num(each.normal_force, nan=0.0), -np.inf)
            foot[force > most] = k
            np.maximum(most, force, out=most)
        return foot

    def in_sole(self, points: Array, rows: slice) -> Array:
        """Express points (K, 3) of the root frame in that of the sole that carries most.

        Args:
            points: of the root frame [m].
            rows: at which S of the K instants.

        Returns:
            (S, 2) [m]; NaN where no foot carries load or its axes are not known.
        """
        supporting, points = self.supporting[rows], points[rows]
        seen = np.full((len(points), 2), np.nan)
        for k, foot in enumerate(self.evaluation.feet):
            on = supporting == k
            if foot.axes is None or not on.any() or not foot.sole.shape[1]:
                continue
            off = points[on] - mean_of_corners(foot.sole[rows][on])
            seen[on] = rotated_back(foot.axes[rows][on][:, :, :2], off)
        return seen

    @cached_property
    def load_split(self) -> Array:
        """(K,) (F_first − F_second)/(F_first + F_second) of two feet; NaN for any other number.

        A force sensor that reads a pull counts as zero.
        """
        split = np.full(self.count, np.nan)
        if len(self.evaluation.feet) == 2:
            first, second = (np.maximum(foot.normal_force, 0.0) for foot in self.evaluation.feet)
            carries = first + second > _LEAST_LOAD * self.weight
            np.divide(first - second, first + second, out=split, where=carries)
        return split

    def between_feet(self, name: str) -> tuple[Array, Array]:
        """Where a track's point lies between two feet, and half the distance of these.

        Returns:
            (K,) 1 beside the first foot's sensor, −1 beside the second's, 0 in the middle: forces
            that act at the sensors have their CoP where the load split says. Without sensors, the
            centres of the soles. (K,) [m]. NaN for any other number of feet.
        """
        feet = self.evaluation.feet
        if len(feet) != 2 or not all(foot.sole.shape[1] for foot in feet):
            return np.full(self.count, np.nan), np.full(self.count, np.nan)

        def between(rows: slice) -> tuple[Array, Array]:
            places = (
                mean_of_corners(foot.sole[rows]) if foot.sensor is None else foot.sensor[rows]
                for foot in feet
            )
            first, second = (self.level(place, rows) for place in places)
            across, middle = first - second, (first + second) / 2
            along = np.einsum('ki,ki->k', self.points[name][rows] - middle, across)
            distance = np.maximum(np.einsum('ki,ki->k', across, across), 1e-9)
            return 2.0 * along / distance, np.linalg.norm(across, axis=1) / 2

        position, half = self.columns.by_blocks(self.count, between)
        return position, half

    def phases(self, shortest: float) -> Indices:
        """Rows in the middle of each phase that lasts so long [s]; all loaded ones if none does.

        A phase is a time in which the same feet carry load.
        """
        code = np.zeros(self.count, dtype=np.int64)  # of each set of feet: one bit for each
        for bit, foot in enumerate(self.evaluation.feet):
            code += foot.loaded.astype(np.int64) << bit
        borders, time = changes(code), self.timeline.time
        first, last = np.append(0, borders), np.append(borders, len(code))
        if not len(code):
            return np.flatnonzero(self.loaded)
        lasts = time[np.minimum(last, len(code) - 1)] - time[first]
        middles = ((first + last) // 2)[(code[first] != 0) & (lasts >= shortest)]
        return middles if len(middles) else np.flatnonzero(self.loaded)

    def median_depth(self, one: Foot, other: Foot) -> float:
        """Median overlap [m] where both feet carry load, negative if apart; −inf without."""
        instants = self.sampled(np.flatnonzero(one.loaded & other.loaded))
        depths = overlap_depth(*(self.soles_in_nif(foot, instants) for foot in (one, other)))
        depths = depths[np.isfinite(depths)]
        return float(np.median(depths)) if len(depths) else -np.inf


def overlap_depth(one: Array, other: Array) -> Array:
    """How deep convex polygons overlap, by the separating axis theorem.

    The depth is smallest across an edge of either, and every edge joins two corners.

    Args:
        one: (S, V, 2) corners in the plane [m], in any order; their hull counts.
        other: (S, W, 2).

    Returns:
        (S,) [m], negative where they are apart; NaN where a corner is.
    """
    across, there = (
        np.concatenate(each, axis=1)
        for each in zip(*(_across_edges(polygon) for polygon in (one, other)), strict=True)
    )
    a, b = (np.einsum('svi,sei->sev', polygon, across) for polygon in (one, other))
    depth = np.minimum(a.max(axis=-1) - b.min(axis=-1), b.max(axis=-1) - a.min(axis=-1))
    return np.asarray(np.where(there, depth, np.inf).min(axis=-1))


def smallest_width(corners: Array) -> Array:
    """Smallest width (S,) of the convex hull of `corners` (S, C, 2); NaN corners don't count.

    The width of a polygon is smallest across one of its edges, and every edge of the hull joins
    two corners.
    """
    across, there = _across_edges(corners)
    along = np.einsum('sci,sei->sce', corners, np.where(there[..., None], across, np.nan))
    width = np.fmax.reduce(along, axis=1) - np.fmin.reduce(along, axis=1)
    return np.asarray(np.fmin.reduce(width, axis=1))


def _across_edges(corners: Array) -> tuple[Array, Flags]:
    """(S, E, 2) unit vectors across each line that joins two of (S, C, 2), and where there is one.

    An unknown corner makes it NaN.
    """
    first, second = np.triu_indices(corners.shape[1], k=1)
    edge = corners[:, second] - corners[:, first]
    across = np.stack([-edge[..., 1], edge[..., 0]], axis=-1)
    length = np.linalg.norm(edge, axis=-1)
    there: Flags = length != 0
    return np.divide(
        across, length[..., None], out=np.zeros_like(across), where=there[..., None]
    ), there
