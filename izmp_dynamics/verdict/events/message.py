"""An event as a diagnostic_msgs/DiagnosticArray with one status: the topic `events`.

The standard type with a level, a sentence and named values, which every ROS tool shows; the header
has the stamp of the begin. The bag and the nodes fill it from here.
"""

from typing import NamedTuple

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.verdict.events.event import STEPS, Event

TOPIC = 'events'
MSGTYPE = 'diagnostic_msgs/msg/DiagnosticArray'

DEPTH = 1000
"""Events that the topic keeps for those who subscribe later."""

OK, WARN, ERROR = 0, 1, 2
"""Levels of diagnostic_msgs/DiagnosticStatus."""

_LEVELS = dict.fromkeys((*STEPS, 'lowest margin'), OK)
_LEVELS |= dict.fromkeys(('fall', 'fall alarm', 'point of no return', 'impact'), ERROR)


class EventMessage(NamedTuple):
    """What a message holds.

    Attributes:
        begin: [ns], for the header.
        end: [ns].
        level: of the status.
        name: the kind of the event.
        message: the sentence.
        hardware_id: the foot, topic or track that it is about.
        values: (key, value) of each number: begin, end and what the event has of size, unit and
            significance.
    """

    begin: int
    end: int
    level: int
    name: str
    message: str
    hardware_id: str
    values: tuple[tuple[str, str], ...]


def event_message(event: Event, origin: int) -> EventMessage:
    """Describe an event for the topic.

    Args:
        event: what happened.
        origin: stamp of the instant from which its times count [ns].
    """
    begin, end = (origin + round(time * NANOSECONDS) for time in (event.begin, event.end))
    values = [('begin', _stamp(begin)), ('end', _stamp(end))]
    if event.size == event.size:
        values += [('size', f'{event.size:.6g}'), ('unit', event.unit)]
    if event.significance == event.significance:
        values.append(('significance', f'{event.significance:.3g}'))
    level = _LEVELS.get(event.kind, WARN)
    return EventMessage(
        begin, end, level, event.kind, event.sentence, event.subject, tuple(values)
    )


def _stamp(stamp: int) -> str:
    """A stamp [ns] in seconds, exactly."""
    return f'{stamp // NANOSECONDS}.{stamp % NANOSECONDS:09d}'
