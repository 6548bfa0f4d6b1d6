"""The topic `events`: what happened to a running robot, once each, as soon as it is judged."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.nodes.health import diagnostic_array
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.report.events.event import Event
from izmp_dynamics.report.events.message import DEPTH, EventMessage, event_message

QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=DEPTH,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)

HOLD = round(0.5 * NANOSECONDS)
"""What is so new may still go on, or look different when more is known [ns]."""

LEFT_OUT = ('lowest margin',)
"""Kinds that mean a whole recording."""


class EventTopic:
    """Publishes the events of the last seconds, whether anybody subscribes by now or later.

    The same event is found again in each judgement while it lies in the seconds that are judged;
    it is published in the first one after its end.

    Args:
        output: of the topic, with `QOS`.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._until = 0

    def publish(self, events: tuple[Event, ...], first: int, last: int) -> None:
        """Publish those events that are new.

        Args:
            events: of the seconds that are judged; their times count from the first instant.
            first: stamp of the first instant [ns].
            last: stamp of the last one [ns].
        """
        if last < self._until:  # the clock was set back
            self._until = 0
        until = last - HOLD
        for event in events:
            found = event_message(event, first)
            if event.kind not in LEFT_OUT and self._until < found.end <= until:
                self._output.publish(_message(found))
        self._until = max(self._until, until)


def _message(found: EventMessage) -> DiagnosticArray:
    status = DiagnosticStatus(
        level=bytes([found.level]),
        name=found.name,
        message=found.message,
        hardware_id=found.hardware_id,
        values=[KeyValue(key=key, value=value) for key, value in found.values],
    )
    return diagnostic_array(found.begin, status)
