"""All events of an evaluation in the order of time."""

import numpy as np

from izmp_dynamics.verdict.events.contact import contacts_of
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.events.excursion import excursions
from izmp_dynamics.verdict.events.fall import falls
from izmp_dynamics.verdict.events.flight import flights
from izmp_dynamics.verdict.events.lowest_margin import lowest_margin
from izmp_dynamics.verdict.events.push import pushes
from izmp_dynamics.verdict.events.sensor_fault import sensor_faults
from izmp_dynamics.verdict.events.slip import slips
from izmp_dynamics.verdict.events.step import steps
from izmp_dynamics.verdict.fall_alarm import alarms
from izmp_dynamics.verdict.pushes import ExternalForces
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import TrackStatistics
from izmp_dynamics.verdict.verdict import Verdict


def find_events(
    scene: Scene, judged: TrackStatistics | None, forces: ExternalForces, verdict: Verdict
) -> tuple[Event, ...]:
    """Find the events of an evaluation.

    Of a robot that lies on the ground there are no steps, pushes, slips and flights.

    Args:
        scene: the evaluation.
        judged: the track that the verdict rests on.
        forces: external forces.
        verdict: on the recording.
    """
    contacts = contacts_of(scene.evaluation, scene.timeline)
    fallen = falls(scene, verdict)
    down = _down(scene, fallen)
    time = scene.timeline.time
    afoot = np.ones(len(time), dtype=np.bool_)
    for onset, _, up in down:
        afoot[slice(*np.searchsorted(time, [onset, up]).tolist())] = False
    upright = [*steps(contacts, scene.timeline), *pushes(forces.pushes), *alarms(scene)]
    found = [
        *(event for event in upright if not any(hit < event.begin < up for _, hit, up in down)),
        *flights(scene, contacts, afoot),
        *slips(scene, contacts, afoot),
        *fallen,
        *sensor_faults(scene),
    ]
    if judged is not None:
        found += [*excursions(scene, judged, forces.pushes), *lowest_margin(scene, judged)]
    return tuple(sorted(found, key=lambda event: (event.begin, event.kind, event.subject)))


def _down(scene: Scene, fallen: list[Event]) -> list[tuple[float, float, float]]:
    """Onset and impact of each fall, and when the robot is up again [s]."""
    time = scene.timeline.time
    stops = [float(time[rows.stop]) if rows.stop < len(time) else np.inf for rows in scene.lying]
    stops = stops or [np.inf]
    found = [event for event in fallen if event.kind == 'fall']
    return [(fall.begin, fall.end, up) for fall, up in zip(found, stops, strict=False)]
