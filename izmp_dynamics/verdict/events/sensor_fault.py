"""Sensor faults: signals that hang or stop, and force sensors that measure a foot in the air."""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.diagnosis.in_air import in_air
from izmp_dynamics.results.evaluation import Foot, Outage
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.formatting import newtons, seconds
from izmp_dynamics.verdict.scene import Scene

LEAST_OFFSET = 0.02
"""Share of the weight from which on the force on a foot in the air is a fault [-]."""

LEAST_TIME = 0.3
"""Time in the air that is needed to judge a force sensor [s]."""

_SENTENCES = {
    'hangs': 'repeats one value for {} while the robot moves',
    'stops': 'brings no message for {}',
    'lacks': 'has no value for {}',
}


def sensor_faults(scene: Scene) -> list[Event]:
    """Find the faults of an evaluation."""
    found = [_outage(scene, outage) for outage in scene.evaluation.outages]
    found += [_offset(scene, foot) for foot in scene.evaluation.feet]
    return [event for event in found if event is not None]


def _outage(scene: Scene, outage: Outage) -> Event | None:
    """An outage, of which begin and end are cut to the evaluation; None if it is over before."""
    stamps = scene.evaluation.stamps
    if not len(stamps) or outage.end <= stamps[0]:
        return None
    first, last = int(stamps[0]), int(stamps[-1])
    begin, end = (
        (min(max(stamp, first), last) - first) / NANOSECONDS
        for stamp in (outage.begin, outage.end)
    )
    lasts = (outage.end - outage.begin) / NANOSECONDS
    sentence = f'{outage.topic} {_SENTENCES[outage.reason].format(seconds(lasts))}'
    return Event(begin, end, 'sensor fault', sentence, outage.topic, lasts, 's')


def _offset(scene: Scene, foot: Foot) -> Event | None:
    """The force that a foot measures in the air, where the joints say that it is there."""
    in_the_air, store = in_air(scene.evaluation, foot), scene.store
    aloft = scene.by_rows(lambda rows: in_the_air[rows] & np.isfinite(foot.normal_force[rows]))
    if scene.timeline.total(aloft) < LEAST_TIME:
        return None
    force = scene.by_rows(lambda rows: foot.normal_force[rows][aloft[rows]])
    offset = store.median(force)
    apart = store.by_rows(len(force), lambda rows: np.abs(force[rows] - offset))
    spread = 1.4826 * store.median(apart)
    sigma = max(spread, 1e-3 * scene.weight)
    if not abs(offset) > max(LEAST_OFFSET * scene.weight, 3.0 * sigma):
        return None
    rows = store.true(aloft)
    begin, end = scene.timeline.time[rows[[0, -1]]].tolist()
    sentence = f'The force sensor of {foot.name} measures {newtons(offset)} while it is in the air'
    significance = abs(offset) / sigma
    return Event(begin, end, 'sensor fault', sentence, foot.name, abs(offset), 'N', significance)
