"""What is published about the fall alarm: the alarm, its probability, and the sentence why."""

import math
import time

import numpy as np
from std_msgs.msg import Bool, Float64

from izmp_dynamics.base.finding import list_names
from izmp_dynamics.nodes.health import SILENT
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.stability.fall_alarm import FallRisk


class FallOutputs:
    """Publishes alarm and probability, and states the reason in the diagnostics.

    Args:
        node: publishes.
        events: the topic that lists alarms that were raised.
        risk: of probability and alarm with the stamp of their instant.
    """

    def __init__(self, node: TopicNode, events: Output, risk: Output) -> None:
        self._health, self._log = node.health, node.get_logger()
        self._alarm = node.advertise('fall_alarm', Bool)
        self._probability = node.advertise('fall_probability', Float64)
        self._risk = risk
        self._outputs = (self._alarm, self._probability, risk, events)
        self._latest: FallRisk | None = None
        self._put_at = time.monotonic()
        self._reason = ''
        node.health.judges.append(self._state)

    @property
    def wanted(self) -> bool:
        """Whether anybody subscribes."""
        return any(output.wanted for output in self._outputs)

    def put(self, stamp: int, risk: FallRisk) -> None:
        """Publish what is known of an instant [ns]; while nothing is, an alarm and its end."""
        probability, alarm = float(risk.probability[0]), bool(risk.alarm[0])
        known = math.isfinite(probability)
        if known:
            self._probability.numbers(stamp, '', np.array([probability]))
            self._risk.numbers(stamp, '', np.array([probability, float(alarm), 0.0]))
        ends = not alarm and self._latest is not None and bool(self._latest.alarm[0])
        if known or alarm or ends:
            self._alarm(_message, stamp, alarm)
        if alarm and not self._reason:
            self._reason = f'Fall alarm: {risk.sentence()}'
            self._health.logged = self._reason
            self._log.error(self._reason, throttle_duration_sec=1.0)
        elif not alarm:
            self._reason = ''
        self._latest, self._put_at = risk, time.monotonic()

    def _state(self) -> None:
        """Bring the diagnostics up to date."""
        if self._latest is not None and not self.wanted:  # nothing is evaluated any more
            self._latest, self._reason = None, ''
            self._health.values.pop('fall probability', None)
            self._health.values.pop('fall', None)
            self._health.clear('fall_alarm')
        if self._latest is None:
            return
        if self._latest.alarm[0] and time.monotonic() - self._put_at >= SILENT:
            self._run_out()
        probability = float(self._latest.probability[0])
        known = math.isfinite(probability)
        self._health.values['fall probability'] = f'{probability:.4f}' if known else 'unknown'
        self._health.values['fall'] = self._latest.sentence()
        if self._reason:
            self._health.remark('fall_alarm', 'error', self._reason)
        else:
            self._health.clear('fall_alarm')

    def _run_out(self) -> None:
        """End an alarm that no instant has confirmed for so long that it says nothing any more."""
        silent = self._health.silent
        why = f'nothing comes on {list_names(silent)}' if silent else 'no instant is evaluated'
        self._latest, self._reason = FallRisk.nothing(1, f'{why} any more'), ''
        if self._alarm.wanted:  # at no new stamp, so not as a result
            self._alarm.publish(Bool(data=False))


def _message(_: int, alarm: bool) -> Bool:
    return Bool(data=alarm)
