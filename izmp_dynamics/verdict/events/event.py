"""An event: when, what, how large, how sure; in words, and as a ROS message.

The topic `events` has a diagnostic_msgs/DiagnosticArray with one status for each: the standard
type with a level, a sentence and named values, which every ROS tool shows; the header has the
stamp of the begin. The bag and the nodes fill it from here.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.verdict.formatting import instant

KINDS = {
    'excursion': 'the averaged IZMP left the support polygon',
    'push': 'a force from outside acted on the robot',
    'slip': 'a sole that carried load slid',
    'touchdown': 'a foot began to carry load',
    'lift-off': 'a foot ceased to carry load',
    'flight': 'no foot carried load',
    'fall': 'the robot fell',
    'point of no return': 'the centre of mass left the support polygon for good',
    'fall alarm': 'the fall alarm was raised',
    'impact': 'the body hit the ground',
    'sensor fault': 'a signal could not be used, or was wrong',
    'lowest margin': 'the averaged IZMP was nearest to the edge',
}
"""Kind of an event → what it means."""

STEPS = ('touchdown', 'lift-off')
"""Kinds of which a walk has so many that a list of the rest is easier to read."""

NONE = float('nan')
"""Size or significance of an event that has none."""

TOPIC = 'events'
MSGTYPE = 'diagnostic_msgs/msg/DiagnosticArray'

DEPTH = 1000
"""Events that the topic keeps for those who subscribe later."""

OK, WARN, ERROR = 0, 1, 2
"""Levels of diagnostic_msgs/DiagnosticStatus."""

_LEVELS = dict.fromkeys((*STEPS, 'lowest margin'), OK)
_LEVELS |= dict.fromkeys(('fall', 'fall alarm', 'point of no return', 'impact'), ERROR)

_DIAGONAL = np.tan(np.radians(22.5))

_FROM = (('behind', 'the front'), ('the right', 'the left'), ('below', 'above'))
_TO = (('forward', 'back'), ('to the left', 'to the right'), ('up', 'down'))
_EDGES = (('front', 'rear'), ('left', 'right'))


@dataclass(frozen=True)
class Event:
    """One event.

    Attributes:
        begin: [s] after the first instant.
        end: [s]; the same for an instant.
        kind: a key of `KINDS`.
        sentence: what happened, without the time.
        subject: the foot, topic or track that it is about; '' for the robot.
        size: how large, in `unit`; NaN where there is no such number.
        unit: 'm', 'N', 's', 'm/s' or '' (a probability).
        significance: how far it stands out, in standard deviations of what is no event; NaN
            where nothing is compared.
        time_sigma: standard deviation of a push's begin and end [s].
        force: of a push forward, to the left and up [N].
    """

    begin: float
    end: float
    kind: str
    sentence: str
    subject: str = ''
    size: float = NONE
    unit: str = ''
    significance: float = NONE
    time_sigma: float = NONE
    force: tuple[float, ...] = ()

    @property
    def line(self) -> str:
        """The time and what happened."""
        return f'{instant(self.begin)}: {self.sentence}'


class EventMessage(NamedTuple):
    """What a message holds.

    Attributes:
        begin: [ns], for the header.
        end: [ns].
        level: of the status.
        name: the kind of the event.
        message: the sentence.
        hardware_id: the foot, topic or track that it is about.
        values: (key, value) of each number: begin, end and what the event has of size, unit,
            significance, time_sigma and force (forward, left, up).
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
    if event.time_sigma == event.time_sigma:
        values.append(('time_sigma', f'{event.time_sigma:.3g}'))
    values += [
        (key, f'{part:.6g}')
        for key, part in zip(('forward', 'left', 'up'), event.force, strict=False)
    ]
    level = _LEVELS.get(event.kind, WARN)
    return EventMessage(
        begin, end, level, event.kind, event.sentence, event.subject, tuple(values)
    )


def _stamp(stamp: int) -> str:
    """A stamp [ns] in seconds, exactly."""
    return f'{stamp // NANOSECONDS}.{stamp % NANOSECONDS:09d}'


def from_where(force: Array) -> str:
    """Say where a force (3,) comes from: 'from behind', 'from the left', 'from below'."""
    return f'from {_in_words(force, _FROM)}'


def where_to(way: Array) -> str:
    """Say where a way (2,) or (3,) leads: 'forward', 'to the left', 'back and to the right'."""
    return _in_words(way, _TO)


def edge_towards(way: Array) -> str:
    """Name the edge of the support polygon that lies in the direction (2,), e.g. 'left'."""
    axis = int(np.argmax(np.abs(way[:2])))
    return _EDGES[axis][0 if way[axis] > 0 else 1]


def _in_words(vector: Array, words: tuple[tuple[str, str], ...]) -> str:
    """The largest component, and the other horizontal one unless it is much smaller."""
    size = np.abs(vector)
    axis = int(np.argmax(size))
    named = [axis]
    if axis < 2 and size[1 - axis] > _DIAGONAL * size[axis]:
        named = [0, 1]
    return ' and '.join(words[k][0 if vector[k] > 0 else 1] for k in named)
