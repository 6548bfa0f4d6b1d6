"""What a node knows about its inputs and outputs, and how it tells it on /diagnostics."""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.sensing.faults import Fault, Faults, Reason

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

SILENT = 1.0
"""Time without a message after which an input counts as missing [s]."""

_SILENT_SENSOR = (
    'Its publisher is there but silent, or offers no reliable delivery although reliable_inputs '
    'is set.'
)
_SILENT_NODE = 'Its node has nothing to say, as its own diagnostics tell, or has just died: '

_WINDOW = 500
"""Latencies that are kept."""

_BURST = 5.0
"""A rate that is so many times the usual one is a burst."""

_USUAL = 8
"""Rates from which the usual one is known."""

_CLOCKS_DIFFER = 10.0
"""Beyond this a latency tells that stamps and clock have nothing to do with each other [s]."""


@dataclass
class Input:
    """A topic that a node listens to.

    Attributes:
        topic: its full name.
        source: who should publish it, and what to do if nobody does.
        required: whether nothing comes out without it.
        sensor: whether it comes from the robot and not from another of these nodes.
        count: messages received.
        last: when the last one was received, by the steady clock [s].
        since: stamp of the first one, or of the first one after a silence [ns].
    """

    topic: str
    source: str
    required: bool = True
    sensor: bool = False
    count: int = 0
    last: float = field(default_factory=time.monotonic)
    since: int = 0
    _before: int = 0
    _rates: deque[float] = field(default_factory=lambda: deque(maxlen=_USUAL))

    def received(self, stamp: int) -> None:
        """Note a message with this stamp [ns]."""
        now = time.monotonic()
        if not self.count or now - self.last > SILENT:
            self.since = stamp
        self.count += 1
        self.last = now

    def take_rate(self, elapsed: float) -> tuple[float, float]:
        """Messages per second since the last call, and how many there usually are."""
        usual = float(np.median(self._rates)) if len(self._rates) > _USUAL // 2 else 0.0
        rate, self._before = (self.count - self._before) / elapsed, self.count
        self._rates.append(rate)
        return rate, usual


class Health:
    """Collects what there is to say about a node.

    Args:
        name: of the node, with its namespace.
        robot: name of the robot.
        publishers: tells how many nodes publish a topic.
    """

    def __init__(self, name: str, robot: str, publishers: Callable[[str], int]) -> None:
        self.name = name
        self.robot = robot
        self.inputs: list[Input] = []
        self.counters: list[Callable[[], Mapping[str, Faults]]] = []
        self.counts: defaultdict[str, Faults] = defaultdict(Counter)
        self.outputs: Counter[str] = Counter()
        self.values: dict[str, str] = {}
        self._publishers = publishers
        self._remarks: dict[str, tuple[bytes, str]] = {}
        self._latencies: deque[float] = deque(maxlen=_WINDOW)
        self._reported: Counter[tuple[str, Fault]] = Counter()
        self._outputs_reported: Counter[str] = Counter()
        self._last = time.monotonic()

    def count(self, signal: str, reason: Reason, part: str = '', number: int = 1) -> None:
        """Count messages or instants that could not be used."""
        self.counts[signal][Fault(reason, part)] += number

    def remark(self, key: str, level: bytes, sentence: str) -> bool:
        """State a condition that lasts; return whether it is new."""
        new = self._remarks.get(key) != (level, sentence)
        self._remarks[key] = (level, sentence)
        return new

    def clear(self, key: str) -> None:
        """Withdraw a condition."""
        self._remarks.pop(key, None)

    def published(self, topic: str, latency: float | None = None) -> None:
        """Note a message that went out, and how old its stamp was [s]."""
        self.outputs[topic] += 1
        if latency is not None and abs(latency) < _CLOCKS_DIFFER:
            self._latencies.append(latency)

    def status(self) -> DiagnosticStatus:
        """Summarize since the last call."""
        now = time.monotonic()
        elapsed, self._last = max(now - self._last, 1e-3), now
        values = dict(self.values)
        findings = [*self._remarks.values(), *self._missing(now)]
        for entry in self.inputs:
            rate, usual = entry.take_rate(elapsed)
            values[f'{entry.topic} in'] = f'{rate:.1f} Hz, {_described(entry, now)}'
            if 0.0 < _BURST * usual < rate:
                sentence = (
                    f'{entry.topic} came in a burst of {rate:.0f} Hz; usual: {usual:.0f} Hz.'
                )
                findings.append((WARN, sentence))
        for topic, count in list(self.outputs.items()):
            rate = (count - self._outputs_reported[topic]) / elapsed
            values[f'{topic} out'] = f'{rate:.1f} Hz, {count} messages'
        self._outputs_reported = self.outputs.copy()
        findings += self._gated(values)
        values |= self._latency()
        level = max((level for level, _ in findings), default=OK)
        worst = [sentence for found, sentence in findings if found == level and level != OK]
        return DiagnosticStatus(
            level=level,
            name=self.name,
            message=worst[0] if worst else 'working' if self.outputs else 'waiting',
            hardware_id=self.robot,
            values=[
                *(KeyValue(key=key, value=value) for key, value in values.items()),
                *(
                    KeyValue(key=f'finding {k + 1}', value=sentence)
                    for k, (_, sentence) in enumerate(findings)
                ),
            ],
        )

    def _missing(self, now: float) -> list[tuple[bytes, str]]:
        found = []
        for entry in self.inputs:
            silence = now - entry.last
            if silence < (SILENT if entry.count else 3.0 * SILENT):
                continue
            since = f'for {silence:.0f} s' if entry.count else 'so far'
            why = f'Nobody publishes it: {entry.source}'
            if self._publishers(entry.topic):
                why = _SILENT_SENSOR if entry.sensor else _SILENT_NODE + entry.source
            level = ERROR if entry.required else WARN
            found.append((level, f'No message on {entry.topic} {since}. {why}'))
        return found

    def _gated(self, values: dict[str, str]) -> list[tuple[bytes, str]]:
        """List what was not used, with the keys of report.json; warn of what is new."""
        counts: Counter[tuple[str, Fault]] = Counter()
        for read in (lambda: self.counts, *self.counters):
            for signal, faults in read().items():
                counts.update({(signal, fault): number for fault, number in faults.items()})
        values |= {
            f'{signal}.{fault.key}': str(number)
            for (signal, fault), number in sorted(
                counts.items(), key=lambda entry: (entry[0][0], entry[0][1].key)
            )
        }
        new = counts - self._reported
        self._reported = counts
        return [
            (WARN, f'{signal}: {fault.text} ({number} times since the last report).')
            for (signal, fault), number in new.most_common()
            if fault.reason is not Reason.INTERPOLATED
        ]

    def _latency(self) -> dict[str, str]:
        if not self._latencies:
            return {}
        ms = 1e3 * np.array(list(self._latencies))
        return {
            'age of the stamps when published': f'median {np.median(ms):.2f} ms, '
            f'p99 {np.percentile(ms, 99):.2f} ms, largest {ms.max():.2f} ms'
        }


def _described(entry: Input, now: float) -> str:
    if not entry.count:
        return 'never a message'
    since = f'{entry.since // NANOSECONDS}.{entry.since % NANOSECONDS:09d}'
    age = now - entry.last
    return f'{entry.count} messages, last {age:.2f} s ago, since stamp {since}'


def diagnostic_array(stamp: int, status: DiagnosticStatus) -> DiagnosticArray:
    """Wrap a status into the message of /diagnostics."""
    message = DiagnosticArray(status=[status])
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, NANOSECONDS)
    return message
