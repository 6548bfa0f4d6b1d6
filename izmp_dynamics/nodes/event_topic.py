"""The topic `events`: what happened to a running robot, once each, as soon as it is judged."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.nodes.health import diagnostic_array
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.verdict.events.event import DEPTH, Event, EventMessage, event_message

QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=DEPTH,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)

HOLD = round(0.5 * NANOSECONDS)
"""What is so new may still go on, or look different when more is known [ns]."""

GOES_ON = 2 * NANOSECONDS
"""What has lasted for so long is published though it goes on [ns].

Less than the seconds that are judged, without the time between two judgements: so the begin of
what is published is its own, not that of those seconds.
"""

SAME = round(0.1 * NANOSECONDS)
"""Another judgement may shift an event by so much [ns]."""

LEFT_OUT = ('lowest margin',)
"""Kinds that mean a whole recording."""


class EventTopic:
    """Publishes the events of the last seconds, whether anybody subscribes by now or later.

    The same event is found again in each judgement while it lies in the seconds that are judged.
    It is published in the first one after its end, or while it goes on, if it lasts or nothing
    more arrives.

    Args:
        output: of the topic, with `QOS`.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._era = self._until = self._last = 0
        self._published: list[EventMessage] = []

    def publish(self, events: tuple[Event, ...], first: int, last: int, era: int = 0) -> None:
        """Publish those events that are new.

        Args:
            events: of the seconds that are judged; their times count from the first instant.
            first: stamp of the first instant [ns].
            last: stamp of the last one [ns].
            era: another one begins where the clock was set back.
        """
        if era != self._era:
            self._until, self._last, self._published = 0, 0, []
        until, paused = last - HOLD, last == self._last
        self._published = [earlier for earlier in self._published if earlier.end >= first - SAME]
        new = []
        for event in events:
            found = event_message(event, first)
            stated = paused or found.end <= until or found.end - found.begin >= GOES_ON
            known = self._continue(found) or found.end <= self._until
            if stated and not known and event.kind not in LEFT_OUT:
                self._output.publish(_message(found))
                new.append(found)
        self._published += new
        self._era, self._until, self._last = era, until, last

    def _continue(self, found: EventMessage) -> bool:
        """Whether an earlier judgement published an event; then remember that it goes on."""
        for k, earlier in enumerate(self._published):
            about = earlier.name == found.name and earlier.hardware_id == found.hardware_id
            if about and found.begin <= earlier.end + SAME and earlier.begin <= found.end + SAME:
                self._published[k] = earlier._replace(end=max(earlier.end, found.end))
                return True
        return False


def _message(found: EventMessage) -> DiagnosticArray:
    status = DiagnosticStatus(
        level=bytes([found.level]),
        name=found.name,
        message=found.message,
        hardware_id=found.hardware_id,
        values=[KeyValue(key=key, value=value) for key, value in found.values],
    )
    return diagnostic_array(found.begin, status)
