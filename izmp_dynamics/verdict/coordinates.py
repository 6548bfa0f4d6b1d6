"""An evaluation in ground coordinates: nif (z along its normal), or seen from the robot."""

from functools import cached_property

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.stability.support_polygon import plane_axes
from izmp_dynamics.verdict.timeline import Indices, Timeline

SAMPLES = 200
"""Instants that stand for many."""


class Coordinates:
    """Points, soles and forces of an evaluation, seen from the ground.

    Attributes:
        evaluation: what is shown.
        timeline: its instants.
        names: the wrench sources, as the evaluation orders them.
        columns: makes what is as long as the recording.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.timeline = Timeline.of(evaluation.stamps)
        self.names = tuple(evaluation.tracks)
        self.columns = evaluation.columns
        self._count = len(evaluation.stamps)

    @property
    def weight(self) -> float:
        """The robot's weight m·g [N]."""
        return self.evaluation.total_mass * self.evaluation.gravity

    def level(self, vectors: Array, rows: slice | Indices) -> Array:
        """Bring vectors (S, 3) of the root frame, at the instants `rows`, to nif: (S, 2) x, y."""
        seen: Array = rotated(self.evaluation.nif_R_root(rows)[:, :2], vectors)
        return seen

    def seen_ahead(self, vectors: Array, rows: slice | Indices) -> Array:
        """Bring vectors (S, 3) of the root frame to forward, left and up: (S, 3)."""
        seen: Array = rotated(self._ahead_R_nif @ self.evaluation.nif_R_root(rows), vectors)
        return seen

    def seen_upright(self, vectors: Array, rows: slice) -> Array:
        """The same, up against gravity where that is known: a falling robot tilts its soles."""
        normal, up = self.evaluation.normal[rows], self.evaluation.up
        if up is not None:
            normal = np.where(finite_rows(up[rows])[:, None], up[rows], normal)
        level_R_root = np.concatenate([plane_axes(normal), normal[:, None]], axis=1)
        seen: Array = rotated(self._ahead_R_nif @ level_R_root, vectors)
        return seen

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

    @cached_property
    def points(self) -> dict[str, Array]:
        """Track name → (K, 2) point in nif [m]; a point that is not finite is NaN."""

        def points(rows: slice) -> tuple[Array, ...]:
            found = [self.level(track.point[rows], rows) for track in tracks.values()]
            for xy in found:
                xy[~finite_rows(xy)] = np.nan
            return tuple(found)

        tracks = self.evaluation.tracks
        return dict(zip(tracks, self.columns.by_blocks(self._count, points), strict=True))

    def apart(self, first: str, second: str) -> Array:
        """(K,) distance of the points of two tracks on the ground [m]."""
        (x, y), (other_x, other_y) = self.points[first].T, self.points[second].T
        apart: Array = np.hypot(x - other_x, y - other_y)
        return apart

    @cached_property
    def normal_forces(self) -> dict[str, Array]:
        """Track name → (K,) contact force along the ground normal [N]."""

        def forces(rows: slice) -> tuple[Array, ...]:
            normal = self.evaluation.normal[rows]
            return tuple(
                np.einsum('ki,ki->k', normal, track.wrench[rows, :3]) for track in tracks.values()
            )

        tracks = self.evaluation.tracks
        return dict(zip(tracks, self.columns.by_blocks(self._count, forces), strict=True))

    @cached_property
    def measured_force(self) -> Array:
        """(K,) sum of the feet's measured normal forces [N]; NaN unless every foot measures."""
        forces = [foot.normal_force for foot in self.evaluation.feet]
        if forces and all(np.isfinite(force).any() for force in forces):
            total: Array = np.sum(forces, axis=0)
            return total
        return self.normal_forces.get('cop', np.full(self._count, np.nan))

    def soles_in_nif(self, foot: Foot, instants: Indices) -> Array:
        """Corners of the foot's sole at `instants` (S,): (S, V, 2) in nif [m]."""
        soles = self.columns.take(foot.sole, instants)
        axes = self.evaluation.nif_R_root(instants)[:, :2]
        corners: Array = np.einsum('kij,kvj->kvi', axes, soles)
        return corners

    def sampled(self, rows: Indices, count: int = SAMPLES) -> Indices:
        """Pick at most `count` of some rows, evenly."""
        if len(rows) <= count:
            return rows
        sampled: Indices = rows[np.linspace(0, len(rows) - 1, count).round().astype(np.intp)]
        return sampled
