"""Where the soles stood: their outlines and the support polygons they span, at chosen instants."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.hull_area import hull_area
from izmp_dynamics.results.evaluation import Foot
from izmp_dynamics.stability.support_polygon import support_polygon
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.timeline import Indices

SHOWN_PHASES = 200
"""At most so many phases of contact are drawn."""

SHORTEST_PHASE = 0.04
"""A change of the loaded feet for less than this time [s] is a flicker."""

SMALLEST_AREA = 1e-9
"""Of an outline [m²]; corners on a line have rounding errors."""


@dataclass(frozen=True)
class Footprints:
    """Outlines on the ground, each (V, 2) [m] and counter-clockwise.

    Attributes:
        soles: the loaded soles.
        polygons: the support polygons.
    """

    soles: tuple[Array, ...]
    polygons: tuple[Array, ...]

    @property
    def corners(self) -> Array:
        """All corners of the support polygons: (C, 2) [m]."""
        return np.concatenate([np.empty((0, 2)), *self.polygons])


def footprints(scene: Scene, instants: Indices, frame: str) -> Footprints:
    """Collect the outlines at `instants` in the frame 'world' or 'nif'."""
    soles, polygons = [], []
    for k in instants:
        loaded = [_corners(scene, f, k, frame) for f in scene.evaluation.feet if f.loaded[k]]
        soles += [outline for outline in map(_hull, loaded) if outline is not None]
        polygon = _hull(np.concatenate(loaded)) if loaded else None
        polygons += [] if polygon is None else [polygon]
        scene.evaluation.store.release()
    return Footprints(tuple(soles), tuple(polygons))


def phases(scene: Scene) -> Indices:
    """Pick the middle of each phase in which the same feet carry load."""
    return scene.sampled(scene.phases(SHORTEST_PHASE), SHOWN_PHASES)


def _corners(scene: Scene, foot: Foot, k: int, frame: str) -> Array:
    R, p = scene.evaluation.world_R_root, scene.evaluation.world_p_root
    if frame == 'nif' or R is None or p is None:
        in_nif: Array = scene.soles_in_nif(foot, np.array([k]))[0]
        return in_nif
    in_world: Array = (foot.sole[k] @ R[k].T + p[k])[:, :2]
    return in_world


def _hull(corners: Array) -> Array | None:
    """Return the convex hull of `corners` (V, 2); None when it has no area."""
    corners = corners[np.isfinite(corners).all(axis=1)]
    if len(corners) < 3:
        return None
    hull = support_polygon(corners)
    if hull is None or hull_area(map(tuple, hull.tolist())) < SMALLEST_AREA:
        return None
    return hull
