"""The instant at which the averaged point is nearest to the edge."""

from math import isfinite

from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.formatting import margin_mm, mm, seconds
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import TrackStatistics


def lowest_margin(scene: Scene, judged: TrackStatistics) -> list[Event]:
    """Make an event of it."""
    margin, at = judged.averaged_margin, judged.averaged_margin_time
    if not isfinite(margin):
        return []
    over = seconds(scene.averaging_time)
    sentence = f'Smallest margin of {judged.described}, averaged over {over}: {margin_mm(margin)}'
    if judged.name != 'cop':  # nothing measures the error of the CoP
        sentence += f' (± {mm(judged.error.uncertainty)})'
    return [Event(at, at, 'lowest margin', sentence, judged.name, margin, 'm')]
