"""The true support polygons of a simulated run."""

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.stability.support_polygon import plane_axes, support_polygon
from izmp_lab.simulation.simulated_run import Truth


def support_polygons(truth: Truth) -> list[Array]:
    """Return the convex hull of the loaded soles on the ground for each of the T instants.

    Args:
        truth: what the ground did to the feet.

    Returns:
        T arrays (V, 3) of corners in the world, in order around the polygon [m]; V = 0 while no
        foot is loaded.
    """
    feet = tuple(truth.feet.values())
    nothing = np.empty((0, 3))
    if not feet:
        return [nothing] * len(truth.cop)
    normal = truth.ground_normal
    axes = plane_axes(normal)
    height = np.einsum('ti,ti->t', normal, truth.cop)
    soles = [np.einsum('tij,tvj->tvi', axes, foot.corners) for foot in feet]
    loaded = np.stack([foot.loaded for foot in feet], axis=1)
    carried = loaded.any(axis=1) & np.isfinite(height)
    polygons = [nothing] * len(normal)
    for t in np.flatnonzero(carried):
        corners = [sole[t] for sole, carries in zip(soles, loaded[t], strict=True) if carries]
        hull = support_polygon(np.concatenate(corners))
        if hull is not None:
            polygons[t] = hull @ axes[t] + height[t] * normal[t]
    return polygons
