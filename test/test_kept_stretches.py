"""Processes that are too slow, each for itself, keep the same stretches of time.

The graph is simulated: receivers of the package with queues of the test, a clock for each process.
"""

import itertools
import struct
from collections import Counter, defaultdict, deque

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

from izmp_dynamics.nodes import receiving
from izmp_dynamics.nodes.kept_stretches import LARGEST_LEVEL, LOOK_EVERY, KeptStretches
from izmp_dynamics.nodes.losses import Losses
from izmp_dynamics.nodes.receiving import Receiver, Reception

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

    def __init__(self, graph, name, load, stretches):
        self.graph, self.name, self.now = graph, name, BEGIN
        self.cost = round(load * PERIOD / len(INPUTS[name]))
        self.queues = {topic: Queue(topic, graph) for topic in INPUTS[name]}
        self.seen, self.skipped = defaultdict(set), Counter()
        self.receiver = Receiver()
        self.receiver.longest_wait, self.receiver.stretches = 0.1, stretches
        self.receiver._receptions = [self.reception(topic) for topic in INPUTS[name]]

    def reception(self, topic):
        def lose(reason, number):
            self.skipped[topic] += number

        return Reception(
            lambda: self.queues[topic],
            lambda queue: None,
            None,
            lambda message: self.take(topic, message),
            Losses(lambda: 1, lambda number: None),
            lose,
            raw=True,
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
            Process(self, name, load, KeptStretches(0.064, 0.1) if share else None)
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
"""Time after which all levels are found [s]."""


@pytest.mark.parametrize('loads', [(4, 4, 4, 4), (1.2, 3, 1.5, 4), (1.1, 1.1, 1.1, 6)])
def test_slow_processes_keep_instants_that_all_have(graph, loads):
    share, gap = graph(loads).run(30.0).share(SETTLED)
    assert share > 0.7 / max(loads)
    assert gap < 0.6
    alone, _ = graph(loads, share=False).run(30.0).share(SETTLED)
    assert alone < 0.01


def test_nothing_is_left_out_where_the_computer_is_fast_enough(graph):
    fast = graph((0.8, 0.8, 0.8, 0.8)).run(10.0)
    assert fast.share(0.0)[0] > 0.99
    assert not any(process.skipped for process in fast.processes)


def test_all_stretches_are_kept_again_when_the_computer_is_fast_again(graph):
    slow = graph((4, 4, 4, 4)).run(15.0)
    levels = [process.receiver.stretches.level for process in slow.processes]
    assert max(levels) == 2
    for process in slow.processes:
        process.cost //= 6
    slow.run(15.0)
    assert not any(process.receiver.stretches.level for process in slow.processes)


def test_every_message_is_handed_out_or_counted(graph):
    slow = graph((3, 3, 3, 3)).run(10.0)
    for process in slow.processes:
        for topic in set(SENSORS) & set(INPUTS[process.name]):
            handed_out = sum(topic in seen for seen in process.seen.values())
            waiting = len(process.queues[topic].waiting)
            assert handed_out + process.skipped[topic] + waiting == 10 * 125, topic


def kept(level, wait=0):
    """Which of many messages, one in each stretch, are kept."""
    stretches = KeptStretches(0.064, 0.1)
    stretches.level = level
    return {k for k in range(4096) if stretches.keeps(BEGIN + 64 * MS * k, wait)}


def test_stretches_of_a_higher_level_are_kept_at_all_lower_levels():
    for level in range(LARGEST_LEVEL + 1):
        assert len(kept(level)) == 4096 >> level
        assert kept(level) <= kept(max(level - 1, 0))


def test_of_messages_that_have_waited_too_long_those_of_a_higher_level_are_kept():
    for level, longest in ((0, 100), (1, 128), (3, 512)):
        assert kept(level, longest * MS) == kept(level)
        for times in (1, 2, 4, 8):
            further = times.bit_length()
            assert kept(level, times * longest * MS + 1) == kept(level + further)


def test_a_level_is_found_by_what_is_skipped_and_how_long_messages_wait():
    stretches, now = KeptStretches(0.064, 0.1), 0.0

    def look(wait, late=0):
        """Show it messages of all stretches, of which some have waited too long."""
        nonlocal now
        for k in range(10240):
            too_late = k % 100 < late
            stretches.keeps(64 * MS * k, 10**18 if too_late else round(1e9 * wait))
        now += 2 * LOOK_EVERY
        stretches.look(now)
        return stretches.level

    assert look(0.05, late=18) == 0
    assert look(0.05, late=25) == 1
    assert stretches.longest_wait == 128 * MS
    assert look(0.05, late=25) == 2
    assert look(0.01, late=5) == 2
    assert look(0.03) == 2  # a stretch of 64 ms takes 124 ms: not twice as many
    assert look(0.01) == 1
    assert look(0.02) == 1
    assert look(0.001) == 0
    assert stretches.longest_wait == 100 * MS
