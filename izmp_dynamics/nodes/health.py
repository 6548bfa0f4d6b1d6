"""What a node knows about its inputs and outputs, and its status for /diagnostics."""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.finding import LEVELS, Finding, Level
from izmp_dynamics.nodes.messages import header

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

SILENT, AT_FIRST = 1.0, 3.0
"""Time without a message after which an input counts as missing: later, and at the start [s]."""

_SILENT_SENSOR = (
    'It has a publisher, which publishes nothing, or offers no reliable delivery although '
    'reliable_inputs is set.'
)
_SILENT_NODE = 'The node {} has no results; its diagnostics say why.'
_STARTING = 'The node {} starts, and compiles if no cache has its kernels.'

AWAITED = 30.0
"""Time of work up to which an input that has never come may still be starting, and time after
which it is a warning that the publisher of /clock has gone [s]."""

AGE_LIMIT = 0.1
"""Results that are older when they are published are late [s]."""

STARTUP = 2.0
"""Time in which a node may catch up with what came while it learned the rates [s]."""

_LATE = (
    'the computer or the network is too slow. {} the rates of the sensors or rates.bus, or stop '
    'other programs; if a sensor comes from another computer, synchronise the clocks.'
)

_WINDOW = 500
"""Latencies that are kept."""

UNKNOWN = '_NODE_NAME_UNKNOWN_'
"""Name that the middleware gives a node of which it knows no more than a topic yet."""

WORKING, WAITING = 'working', 'waiting'
"""Messages of a status with and without results, where nothing else is to be said."""

LEASE = 25.0
"""Time after which nodes of the same name are two, and not one that was killed and started again
[s]: DDS forgets a killed one after its lease of 20 s."""

_CLOCKS_DIFFER = 10.0
"""Beyond this age, stamps and clock have nothing to do with each other [s]."""


_LEVELS: dict[Level, bytes] = {'note': OK, 'warning': WARN, 'error': ERROR}

_ERRORS = (Reason.RAISED, Reason.SKIPPED)
"""What is more than a warning when it is counted."""


@dataclass
class Input:
    """A topic that a node subscribes to.

    Attributes:
        topic: its full name.
        source: what to do if it has no publisher; of a result, the node that computes it.
        required: whether nothing comes out without it.
        sensor: whether it comes from the robot and not from another of these nodes.
        signal: its name in the counters.
        publishers: how many nodes may publish it.
        count: messages received.
        last: when the last one was received, by the steady clock [s].
        replaced: how often the subscription was replaced as nothing came.
        since: stamp of the first one, or of the first one after a pause [ns].
        newest: stamp of the last one [ns].
    """

    topic: str
    source: str
    required: bool = True
    sensor: bool = False
    signal: str = ''
    publishers: int = 1
    count: int = 0
    last: float = field(default_factory=time.monotonic)
    replaced: int = 0
    since: int = 0
    newest: int = 0
    _first: int = 0

    def received(self, stamp: int) -> None:
        """Note a message with this stamp [ns]."""
        now = time.monotonic()
        if not self.count or now - self.last > SILENT:
            self.since, self._first = stamp, self.count
        self.count += 1
        self.last, self.newest = now, stamp

    @property
    def usual_step(self) -> float:
        """Mean time between the stamps since the last pause [ns]; 0 before there are two."""
        return (self.newest - self.since) / max(self.count - self._first - 1, 1)

    def skipped(self, number: int) -> None:
        """Note messages that came but were too old to be processed."""
        self.count += number
        self.last = time.monotonic()


class Health:
    """Collects the findings about a node.

    Args:
        count: counts the publishers of a topic.
        publishers: lists the nodes that publish a topic; asked where there are too many.
        runs: whether a node of the graph is there, ready or not.
        age_limit: age of results beyond which they are late [s].
        composed: whether the whole graph is one node, as is advised where it is too slow.

    Attributes:
        faults: gives, by signal, what the evaluator could not use.
        logged: a sentence that the log has already, so that a report does not repeat it there.
        ahead: whether results are handed out before their time, in a pause; when their time
            comes, they are not published again.
        now: the time [ns]; of a simulation the newest stamp, or results would be late with it.
    """

    def __init__(
        self,
        name: str,
        robot: str,
        count: Callable[[str], int],
        publishers: Callable[[str], Collection[str]] = lambda topic: (),
        age_limit: float = AGE_LIMIT,
        composed: bool = False,
        runs: Callable[[str], bool] = lambda node: False,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self.name = name
        self.robot = robot
        self.age_limit = age_limit
        self.inputs: list[Input] = []
        self.faults: Callable[[], Mapping[str, Faults]] = dict
        self.counts: defaultdict[str, Faults] = defaultdict(Counter)
        self.outputs: Counter[str] = Counter()
        self.values: dict[str, str] = {}
        self.logged, self.ahead = '', False
        self._count, self._publishers = count, publishers
        self._runs, self.now = runs, now
        self._published = 0
        self._late_because = _LATE.format('Lower' if composed else 'Set composed:=true, lower')
        self._remarks: dict[str, Finding] = {}
        self._errors: dict[str, str] = {}
        self._latencies: deque[float] = deque(maxlen=_WINDOW)
        self._new_latencies = 0
        self._first_result: float | None = None
        self._reported: Counter[tuple[str, Fault]] = Counter()
        self._doubled: dict[str, float] = {}
        self._numbers: Counter[str] = Counter()  # messages in and out, at the last report
        self._last = self._begin = self._moved = time.monotonic()
        self._stamp = 0

    def begin(self) -> None:
        """Count the time from now on, as the node begins to take messages."""
        self._begin = time.monotonic()
        for entry in self.inputs:
            entry.last = self._begin

    @contextmanager
    def ahead_of_time(self) -> Iterator[None]:
        """Results are published ahead of their time meanwhile."""
        before, self.ahead = self.ahead, True
        try:
            yield
        finally:
            self.ahead = before

    @property
    def absent(self) -> Level:
        """Level of the absence of what has never come: at first it may still come."""
        return 'note' if time.monotonic() - self._begin < AWAITED else 'error'

    @property
    def silent(self) -> list[str]:
        """Topics that are needed, on which messages came but nothing comes any more."""
        now = time.monotonic()
        return [
            entry.topic
            for entry in self.inputs
            if entry.required and entry.count and now - entry.last >= SILENT
        ]

    def see_clock(self, stamp: int) -> None:
        """Note the time of /clock [ns]; 0: it is not used, or there has been none.

        When simulation time advances again, silence is counted on from where it was paused.
        """
        if stamp and stamp == self._stamp:
            return
        now = time.monotonic()
        stood = now - self._moved if self._stamp else 0.0
        if stood >= SILENT:
            for entry in self.inputs:
                entry.last = min(entry.last + stood, now)
        self._stamp, self._moved = stamp, now

    @property
    def _halted(self) -> float:
        """How long /clock has not advanced, and no sensor has published [s]."""
        sensors = (entry.last for entry in self.inputs if entry.sensor)
        return time.monotonic() - max((self._moved, *sensors)) if self._stamp else 0.0

    def pause(self, entry: Input) -> float:
        """Time for which nothing has come on a topic [s].

        While simulation time is paused it does not count: no message is missing then, nor after a
        recording.
        """
        return time.monotonic() - self._halted - entry.last

    def count(self, signal: str, reason: Reason, part: str = '', number: int = 1) -> None:
        """Count messages or instants that could not be used."""
        self.counts[signal][Fault(reason, part)] += number

    def fail(self, signal: str, sentence: str) -> None:
        """Count a message that could not be processed because of an error."""
        self._errors[signal] = sentence
        self.count(signal, Reason.RAISED)

    def remark(self, key: str, level: Level, sentence: str, absent: str = '') -> bool:
        """State a condition that lasts, or that it is over; return whether it is new.

        Args:
            key: identifies it in the diagnostics, e.g. 'rate' or 'feet_exchanged'.
            level: how grave it is.
            sentence: for a person; none withdraws the condition.
            absent: the topic on which nothing comes, if that is the condition.
        """
        if not sentence:
            self.clear(key)
            return False
        found = Finding(key, level, sentence, data={'absent': absent} if absent else {})
        before, self._remarks[key] = self._remarks.get(key), found
        return before != self._remarks[key]

    def holds(self, key: str) -> bool:
        """Whether a condition is stated."""
        return key in self._remarks

    def clear(self, key: str) -> None:
        """Withdraw a condition."""
        self._remarks.pop(key, None)

    def published(self, topic: str, stamp: int) -> None:
        """Count a result of an instant [ns], and note the age of the instant's first one."""
        self.outputs[topic] += 1
        if stamp != self._published:
            self._published = stamp
            self.aged((self.now() - stamp) / NANOSECONDS)

    def aged(self, latency: float) -> None:
        """Note how old an instant was when its first result went out [s]."""
        if abs(latency) < _CLOCKS_DIFFER:
            if self._first_result is None:
                self._first_result = time.monotonic()
            self._latencies.append(latency)
            self._new_latencies += 1

    def status(self) -> DiagnosticStatus:
        """Summarize since the last call."""
        now = time.monotonic()
        elapsed, self._last = max(now - self._last, 1e-3), now
        values = dict(self.values)
        findings = list(self._remarks.values())
        findings += [*self._stopped(), *self._missing(), *self._mixed()]
        numbers = {f'{e.topic} in': (e.count, _described(e, now)) for e in self.inputs}
        numbers |= {f'{t} out': (n, f'{n} messages') for t, n in list(self.outputs.items())}
        for key, (number, text) in numbers.items():
            values[key] = f'{(number - self._numbers[key]) / elapsed:.1f} Hz, {text}'
            self._numbers[key] = number
        findings += [*self._gated(values), *self._late()]
        values |= self._latency()
        worst = min(findings, key=lambda found: LEVELS.index(found.level), default=None)
        level = OK if worst is None else _LEVELS[worst.level]
        return DiagnosticStatus(
            level=level,
            name=self.name,
            message=_in_one(worst, findings)
            if worst is not None and (level != OK or 'absent' in worst.data)
            else WORKING
            if self.outputs and self._halted < SILENT
            else WAITING,
            hardware_id=self.robot,
            values=[
                *(KeyValue(key=key, value=value) for key, value in values.items()),
                *(KeyValue(key=f'finding {f.key}', value=f.sentence) for f in findings),
            ],
        )

    def _stopped(self) -> list[Finding]:
        halted = self._halted
        if halted < SILENT:
            return []
        level: Level = 'note'
        why = 'a simulation is paused, or a recording is over.'
        if not self._count('/clock'):
            why = 'it has no publisher any more. Start the simulation or the player again.'
            level = 'warning' if halted >= AWAITED else 'note'
        return [Finding('clock', level, f'/clock has not advanced for {halted:.0f} s: {why}')]

    def _missing(self) -> list[Finding]:
        found = []
        for entry in self.inputs:
            pause = self.pause(entry)
            if pause < (SILENT if entry.count else AT_FIRST):
                continue
            since = f'for {pause:.0f} s' if entry.count else 'so far'
            absent = 'error' if entry.count else self.absent
            remedy = entry.source if entry.sensor else f'start the node {entry.source}.'
            why = f'It has no publisher: {remedy}'
            if self._count(entry.topic):
                why = _SILENT_SENSOR if entry.sensor else _SILENT_NODE.format(entry.source)
                if entry.replaced:
                    why += f' The node has subscribed again ({entry.replaced} times so far).'
            elif not entry.sensor and not entry.count and self._runs(entry.source):
                why, absent = _STARTING.format(entry.source), 'note'
            level = absent if entry.required or absent == 'note' else 'warning'
            sentence = f'No message on {entry.topic} {since}. {why}'
            data = {'absent': entry.topic}
            found.append(Finding('no_message', level, sentence, subject=entry.topic, data=data))
        return found

    def _mixed(self) -> Iterator[Finding]:
        """Name topics of this node that others publish as well."""
        most = dict.fromkeys(self.outputs, 1) | {e.topic: e.publishers for e in self.inputs}
        results = {entry.topic for entry in self.inputs if not entry.sensor}.union(self.outputs)
        for topic, number in most.items():
            names = self._publishers(topic) if self._count(topic) > number else ()
            nodes = [name for name in names if UNKNOWN not in name]
            if len(nodes) <= number:
                self._doubled.pop(topic, None)
                continue
            since = self._doubled.setdefault(topic, time.monotonic())
            if len(set(nodes)) <= number and time.monotonic() - since < LEASE:
                continue
            remedy = ', or set results_namespace:=izmp' if topic in results else ''
            sentence = (
                f'{len(nodes)} nodes publish {topic}, and what they publish is mixed: '
                f'{", ".join(nodes)}. Stop all but one{remedy}.'
            )
            yield Finding('publishers', 'warning', sentence, subject=topic)

    def _gated(self, values: dict[str, str]) -> list[Finding]:
        """List what was not used, with the keys of report.json; findings are what is new."""
        counts: Counter[tuple[str, Fault]] = Counter()
        for each in (self.counts, self.faults()):
            for signal, faults in each.items():
                counts.update({(signal, fault): number for fault, number in faults.items()})
        values |= {
            f'{signal}.{fault.key}': str(number)
            for (signal, fault), number in sorted(
                counts.items(), key=lambda entry: (entry[0][0], entry[0][1].key)
            )
        }
        new = counts - self._reported
        self._reported = counts
        begins = {
            entry.signal
            for entry in self.inputs
            if entry.newest - entry.since < STARTUP * NANOSECONDS
        }
        return [
            self._counted(signal, fault, number)
            for (signal, fault), number in new.most_common()
            if fault.reason is not Reason.INTERPOLATED
            and not (fault.reason is Reason.NO_SAMPLE and signal in begins)
        ]

    def _counted(self, signal: str, fault: Fault, number: int) -> Finding:
        sentence = f'{signal}: {fault.text} ({number} times since the last report).'
        if fault.reason is Reason.RAISED and signal in self._errors:
            sentence = f'{sentence} {self._errors[signal]}'
        level: Level = 'error' if fault.reason in _ERRORS else 'warning'
        return Finding(f'{signal}.{fault.key}', level, sentence)

    def _late(self) -> list[Finding]:
        count, self._new_latencies = min(self._new_latencies, _WINDOW), 0
        if not count or time.monotonic() - (self._first_result or 0.0) < STARTUP:
            return []
        age = float(np.median(list(self._latencies)[-count:]))
        if age <= self.age_limit:
            return []
        sentence = (
            f'Results are {age:.2f} s old (limit: {self.age_limit:g} s): {self._late_because}'
        )
        return [Finding('late', 'error', sentence)]

    def _latency(self) -> dict[str, str]:
        if not self._latencies:
            return {}
        ms = 1e3 * np.array(list(self._latencies))
        return {
            'age of the stamps when published': f'median {np.median(ms):.2f} ms, '
            f'p99 {np.percentile(ms, 99):.2f} ms, largest {ms.max():.2f} ms'
        }


def _in_one(worst: Finding, findings: list[Finding]) -> str:
    """The worst sentence; if it is that a topic is absent, one that names all that are."""
    absent = [found.data['absent'] for found in findings if 'absent' in found.data]
    if 'absent' not in worst.data or len(absent) == 1:
        return worst.sentence
    return (
        f"No message on {', '.join(absent)}: start what publishes them (the robot's drivers, the "
        'other nodes), or compare the names with those of ros2 topic list. /diagnostics has a '
        'sentence about each.'
    )


def _described(entry: Input, now: float) -> str:
    if not entry.count:
        return 'never a message'
    since = f'{entry.since // NANOSECONDS}.{entry.since % NANOSECONDS:09d}'
    age = now - entry.last
    return f'{entry.count} messages, last {age:.2f} s ago, since stamp {since}'


def diagnostic_array(stamp: int, status: DiagnosticStatus) -> DiagnosticArray:
    """Wrap a status into the message of /diagnostics."""
    return DiagnosticArray(header=header(stamp, ''), status=[status])
