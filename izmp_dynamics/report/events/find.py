"""All events of an evaluation in the order of time."""

from izmp_dynamics.report.events.contact import contacts_of
from izmp_dynamics.report.events.event import Event
from izmp_dynamics.report.events.excursion import excursions
from izmp_dynamics.report.events.fall import falls
from izmp_dynamics.report.events.flight import flights
from izmp_dynamics.report.events.lowest_margin import lowest_margin
from izmp_dynamics.report.events.push import pushes
from izmp_dynamics.report.events.sensor_fault import sensor_faults
from izmp_dynamics.report.events.slip import slips
from izmp_dynamics.report.events.step import steps
from izmp_dynamics.report.fall_alarm import alarms
from izmp_dynamics.report.pushes import ExternalForces
from izmp_dynamics.report.scene import Scene
from izmp_dynamics.report.statistics import TrackStatistics
from izmp_dynamics.report.verdict import Verdict


def find_events(
    scene: Scene, judged: TrackStatistics | None, forces: ExternalForces, verdict: Verdict
) -> tuple[Event, ...]:
    """Find the events of an evaluation.

    Args:
        scene: the evaluation.
        judged: the track that the verdict rests on.
        forces: external forces.
        verdict: on the recording.
    """
    contacts = contacts_of(scene.evaluation, scene.timeline)
    fallen = falls(scene, verdict)
    onset = min((event.begin for event in fallen), default=float('inf'))
    found = [
        *steps(contacts, scene.timeline),
        *flights(scene, contacts),
        *pushes(forces.pushes),
        *slips(scene, contacts, until=onset),
        *fallen,
        *alarms(scene),
        *sensor_faults(scene),
    ]
    if judged is not None:
        found += [*excursions(scene, judged, forces.pushes), *lowest_margin(scene, judged)]
    return tuple(sorted(found, key=lambda event: (event.begin, event.kind, event.subject)))
