"""The figures of the report, in the order in which they are shown."""

from izmp_dynamics.report import time_figures
from izmp_dynamics.report.figure import Figure
from izmp_dynamics.report.ground_track import ground_track
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import Summary


def draw_figures(scene: Scene, summary: Summary) -> dict[str, Figure]:
    """Draw every figure for which `scene` has values.

    Returns:
        name → figure: 'ground', 'margin', 'coordinates', 'force', 'gap', as available.
    """
    ground = ground_track(scene, summary)
    beside = ground if ground is not None and len(ground.svgs) == 1 else None
    if not scene.timeline.duration > 0:  # nothing is over time
        return {ground.name: ground} if ground is not None else {}
    drawn = (
        ground,
        time_figures.margin(scene, summary, beside),
        time_figures.coordinates(scene),
        time_figures.contact_force(scene, summary),
        time_figures.gap(scene, summary),
    )
    return {figure.name: figure for figure in drawn if figure is not None}
