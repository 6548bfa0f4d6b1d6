"""Processes that are too slow, each for itself, keep the same segments of time.

The graph is simulated: receivers of the package with queues of the test, a clock for each process.
"""

import itertools
import struct
from collections import Counter, defaultdict, deque
from types import SimpleNamespace

import pytest

from izmp_dynamics.nodes import receiving
from izmp_dynamics.nodes.receiving import KeptSegments, Receiver, Reception

MS, BEGIN = 10**6, 10**18
PERIOD = 8 * MS
"""Time between two instants [ns]."""

WAY = MS // 20
"""Time that a message takes from one process to the next [ns]."""

SENSORS = ('joints', 'imu', 'foot')

INPUTS = {
    'acd': ('joints',),
    'angular_acceleration': ('imu', 'acd'),
    'mr_ad': ('acd', 'angular_acceleration'),
    'izmp': ('foot', 'acd', 'angular_acceleration', 'mr_ad'),
}
"""Process → what it needs of an instant; it publishes it under its own name."""


class Queue:
    """A topic as one process subscribes to it: (time of reception [ns], message)."""

    def __init__(self, topic, clock):
        self.topic_name, self.handle, self.clock, self.waiting = topic, self, clock, deque()

    def take_message(self, msgtype, raw):
        if not self.waiting or self.waiting[0][0] > self.clock.now:
            return None
        received, message = self.waiting.popleft()
        return message, {'received_timestamp': received}


class Process:
    """Takes a time for each message, and publishes the instants of which it has got all."""

    def __init__(self, graph, name, load, segments):
        self.graph, self.name, self.now = graph, name, BEGIN
        self.cost = round(load * PERIOD / len(INPUTS[name]))
        self.queues = {topic: Queue(topic, graph) for topic in INPUTS[name]}
        self.seen, self.skipped = defaultdict(set), Counter()
        self.receiver = Receiver()
        self.receiver.longest_wait, self.receiver.segments = 0.1, segments
        self.receiver._receptions = [self.reception(topic) for topic in INPUTS[name]]

    def reception(self, topic):
        def lose(reason, number):
            self.skipped[topic] += number

        node = SimpleNamespace(create_subscription=lambda *_, **__: self.queues[topic])
        return Reception(
            node, topic, None, lambda message: self.take(topic, message), lose, None, raw=True
        )

    def take(self, topic, message):
        seconds, rest = struct.unpack_from('<iI', message, 4)
        stamp = seconds * 10**9 + rest
        self.graph.now += self.cost
        self.seen[stamp].add(topic)
        if len(self.seen[stamp]) == len(INPUTS[self.name]):
            self.graph.publish(self.name, stamp)

    @property
    def next(self):
        """When it has something to do; None: nothing is there."""
        waiting = [queue.waiting[0][0] for queue in self.queues.values() if queue.waiting]
        return max(self.now, min(waiting)) if waiting else None

    def work(self):
        self.graph.now = self.next
        self.receiver.take(self.receiver._receptions)
        self.now = max(self.graph.now, self.now + 1)


class Graph:
    """The processes.

    Attributes:
        now: time of the process that works [ns].
        given: process → instants that it published, and when.
    """

    def __init__(self, loads, share=True):
        self.now, self.end, self.given = BEGIN, BEGIN, defaultdict(dict)
        self.processes = [
            Process(self, name, load, KeptSegments(0.064, 0.05) if share else None)
            for name, load in zip(INPUTS, loads, strict=True)
        ]

    def time_ns(self):
        return self.now

    def monotonic(self):
        return 1e-9 * self.now

    def publish(self, topic, stamp):
        if topic not in SENSORS:
            self.given[topic][stamp] = self.now
        raw = b'\0\1\0\0' + struct.pack('<iI', *divmod(stamp, 10**9))
        for process in self.processes:
            if topic in process.queues:
                process.queues[topic].waiting.append((self.now + WAY, raw))

    def run(self, seconds):
        """Publish samples for so long."""
        for stamp in range(self.end, self.end + round(seconds * 1e9), PERIOD):
            while (first := self.first()) is not None and first.next < stamp:
                first.work()
            self.now = stamp
            for topic in SENSORS:
                self.publish(topic, stamp)
        self.end += round(seconds * 1e9)
        return self

    def first(self):
        """The process that has something to do first."""
        busy = [process for process in self.processes if process.next is not None]
        return min(busy, key=lambda process: process.next, default=None)

    def share(self, after):
        """Part of the instants whose IZMP was given, and the longest time without one [s]."""
        stamps = sorted(stamp for stamp in self.given['izmp'] if stamp > BEGIN + after * 1e9)
        last = max(self.given['acd'])
        times = [BEGIN + round(after * 1e9), *stamps, last]
        gap = max(after - before for before, after in itertools.pairwise(times))
        return len(stamps) * PERIOD / (times[-1] - times[0]), 1e-9 * gap


@pytest.fixture
def graph(monkeypatch):
    def make(*arguments, **options):
        made = Graph(*arguments, **options)
        monkeypatch.setattr(receiving, 'time', made)
        return made

    return make


SETTLED = 12.0
"""Time after which the start is over [s]."""


@pytest.mark.parametrize('loads', [(4, 4, 4, 4), (1.2, 3, 1.5, 4), (1.1, 1.1, 1.1, 6)])
def test_slow_processes_keep_instants_that_all_have(graph, loads):
    share, gap = graph(loads).run(26.0).share(SETTLED)
    assert share > 0.7 / max(loads)
    assert gap < 0.6
    alone, _ = graph(loads, share=False).run(26.0).share(SETTLED)
    assert alone < 0.01


def test_nothing_is_left_out_where_the_computer_is_fast_enough(graph):
    fast = graph((0.8, 0.8, 0.8, 0.8)).run(10.0)
    assert fast.share(0.0)[0] > 0.99
    assert not any(process.skipped for process in fast.processes)


def test_nothing_is_left_out_any_more_when_the_computer_is_fast_again(graph):
    slow = graph((4, 4, 4, 4)).run(10.0)
    for process in slow.processes:
        process.cost //= 6
    slow.run(2.0)
    skipped = [process.skipped.copy() for process in slow.processes]
    slow.run(5.0)
    assert [process.skipped for process in slow.processes] == skipped


def test_every_message_is_handed_out_or_counted(graph):
    slow = graph((3, 3, 3, 3)).run(10.0)
    for process in slow.processes:
        for topic in set(SENSORS) & set(INPUTS[process.name]):
            handed_out = sum(topic in seen for seen in process.seen.values())
            waiting = len(process.queues[topic].waiting)
            assert handed_out + process.skipped[topic] + waiting == 10 * 125, topic


def test_what_is_kept_after_a_longer_wait_is_kept_after_a_shorter_one():
    segments, before = KeptSegments(0.064, 0.1), None
    for wait, share in ((0, 1), (100, 1), (101, 2), (200, 4), (399, 4), (400, 8), (6400, 128)):
        kept = {k for k in range(4096) if segments.keep(BEGIN + 8 * MS * k, wait * MS)}
        assert len(kept) == 4096 // share
        assert before is None or kept <= before
        before = kept
