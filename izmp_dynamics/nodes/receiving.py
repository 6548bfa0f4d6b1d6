"""Receives messages with a tenth of the work that rclpy's executor does for each.

That one gathers all entities of its nodes and builds a wait set, a generator and a coroutine for
every message; at a thousand messages a second this is most of what a node does. Here one thread
waits for subscriptions only, with one wait set, and takes messages by itself. Timers, services and
parameters are left to an executor in another thread, which this one's subscriptions refuse.

Where the computer is too slow, messages wait in the queues of the middleware. Once one has waited
too long, all that wait are skipped, on all topics together: whole instants are lost and counted,
and what is computed is fresh. Where several processes need the messages of the same instants,
`KeptSegments` says which.
"""

import gc
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes.health import STARTUP
from izmp_dynamics.nodes.wire import stamp_of_bytes
from izmp_dynamics.signals.stamps import nanoseconds

INSTANTS = 8
"""Periods of the bus in a segment; the longer, the older results are at its end."""


class KeptSegments:
    """The segments of time whose messages are kept while the computer is too slow.

    Processes that skip what they are late for skip different instants; where each of four keeps a
    quarter, hardly an instant is left that all have. So each skips by a grid that all share: time,
    by stamps, is divided into segments, counted from zero. Of messages that have waited too long,
    those in every 2nd segment are kept; after twice the time in every 4th, and so on. What the
    latest of all nodes keeps is then kept by the others as well, without a word between them.

    Args:
        length: of a segment, by stamps [s].
        longest_wait: time up to which all messages are kept [s].
    """

    def __init__(self, length: float, longest_wait: float) -> None:
        self._length, self._longest_wait = nanoseconds(length), nanoseconds(longest_wait)

    def keep(self, stamp: int, wait: int) -> bool:
        """Whether a message at a stamp [ns] is kept that has waited for so long [ns]."""
        if wait <= self._longest_wait:
            return True
        level = (wait // self._longest_wait).bit_length()
        return not (stamp // self._length) % (1 << level)


try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

Callback = Callable[[Any], None]
Lost = Callable[[Reason, int], None]
"""Is given why messages were not received, LOST or SKIPPED, and how many."""

TAKEN_AT_ONCE = 64
"""Messages that are handed out before it is looked again which topics have some."""

REPLACED_AFTER, LONGEST_PAUSE = 5.0, 60.0
"""Time without a message after which a subscription is replaced: at first, and at most [s]."""

LOOK_UP = 0.1
"""Time after which new subscriptions and the end are noticed [s]."""

LONGEST_REST = 0.02
"""Time that messages may be left in their queues where they complete nothing [s]."""


class Reserved(MutuallyExclusiveCallbackGroup):
    """Of subscriptions from which no executor may take."""

    def can_execute(self, entity: Any) -> bool:
        """No."""
        return False


@dataclass(eq=False)
class Reception:
    """A subscription over DDS, and what becomes of its messages.

    What the middleware has lost shows in the numbers of the messages, of which the first may have
    any. Several publishers count each for themselves, and the middleware does not state which is
    which: then nothing is noticed. Nor is it where the middleware gives no numbers (Humble;
    Cyclone DDS).

    Attributes:
        node: subscribes.
        name: of the topic, relative and remappable.
        msgtype: class of the messages.
        callback: is given each message.
        lost: is given the number of messages that were lost or skipped.
        qos: quality of service, which parameters can override.
        raw: whether the callback is given the bytes.
        topic: full name of the topic.
        dead: whether the subscription is to be replaced.
        second: takes the place of the first when a message comes to it; None: there is no doubt.
    """

    node: Node
    name: str
    msgtype: Any
    callback: Callback
    lost: Lost
    qos: QoSProfile
    raw: bool = False
    topic: str = ''
    dead: bool = False
    second: Any = None
    _following: int = -1  # number of the next message if none is missing; negative: not known
    _attempts: int = 0
    _next_attempt: float = 0.0

    def __post_init__(self) -> None:
        self.subscription = self._create()
        self.topic = self.subscription.topic_name

    def _create(self) -> Any:
        """Without rclpy's events of the middleware; the diagnostics report the same."""
        return self.node.create_subscription(
            self.msgtype,
            self.name,
            self.callback,
            self.qos,
            callback_group=Reserved(),
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )

    def declare_dead(self) -> bool:
        """Let the subscription be replaced, unless it has just been; return whether it will be."""
        now = time.monotonic()
        if now < self._next_attempt:
            return False
        self._next_attempt = now + min(REPLACED_AFTER * 2**self._attempts, LONGEST_PAUSE)
        self._attempts += 1
        self.dead = True
        return True

    def subscribe_again(self) -> None:
        """Subscribe again: a connection of the middleware may be dead although both ends live.

        The first subscription stays until one of the two receives something, or messages would be
        lost where nothing had been published so far.
        """
        if self.second is not None:
            self.node.destroy_subscription(self.second)
        self.second = self._create()
        self.dead = False

    def take(self) -> tuple[Any, int] | None:
        """Take the next message and the time at which it was received [ns]; None without one."""
        taken = self.subscription.handle.take_message(self.msgtype, self.raw)
        if self.second is not None:
            taken = self._decide(taken)
        if taken is None:
            return None
        self._attempts = 0
        message, info = taken
        return message, self._see(info)

    def _see(self, info: Mapping[str, Any]) -> int:
        """Note what the middleware states about a message; return when it was received [ns]."""
        number, following = info.get('publication_sequence_number'), self._following
        if number is not None:
            self._following = number + 1
            is_missing = 1 < following < number and self.node.context.ok()
            if is_missing and self.node.count_publishers(self.topic) == 1:
                self.lost(Reason.LOST, number - following)
        received: int = info.get('received_timestamp') or 0
        return received

    def _decide(self, taken: Any) -> Any:
        """Keep the subscription that has a message; return the message."""
        if taken is None:
            taken = self.second.handle.take_message(self.msgtype, self.raw)
            if taken is None:
                return None
            self.subscription, self.second = self.second, self.subscription
            self._following = -1
        self.node.destroy_subscription(self.second)
        self.second = None
        return taken

    def skip(self, until: int) -> int:
        """Skip what was received before `until` [ns]; return how many messages that is."""
        number = 0
        while (taken := self.subscription.handle.take_message(self.msgtype, True)) is not None:
            if self._see(taken[1]) >= until:
                message = taken[0] if self.raw else deserialize_message(taken[0], self.msgtype)
                self.callback(message)
                break
            number += 1
        return number


class Receiver:
    """Hands every message to the callback of its subscription.

    Those that wait are handed out in the order in which they were received, whatever their topic.

    Attributes:
        longest_wait: time in the queue after which a message is too old, and all that wait are
            skipped [s]; None: every message is handed out. What was received in the first seconds
            is handed out in any case.
        segments: which of the messages that have waited too long are kept all the same, of those
            that are bytes with a header; None: none is.
        paused: whether all messages are skipped.
        received: when the message that is handed out was received [ns].
        handed_out: is called after each series of messages that waited together.
        rest_until: when nothing waits, messages are left in their queues until then, by the steady
            clock [s]: to wake for each of them would cost more than to read them.
        awaited: topics whose messages wake the node; those on others are left in their queues
            until then, or for `LONGEST_REST`. None: any message does; empty: none does.
    """

    def __init__(self) -> None:
        self.handed_out: Callable[[], None] = lambda: None
        self.rest_until = 0.0
        self.received = 0
        self.awaited: Collection[str] | None = None
        self._silent = True
        self._receptions: list[Reception] = []
        self._kept: dict[Reception, tuple[int, Any]] = {}  # taken, not handed out yet
        self.paused = False
        self.longest_wait: float | None = None
        self.segments: KeptSegments | None = None
        self._first = 0

    def add(self, reception: Reception) -> None:
        """Receive from one more subscription."""
        self._receptions.append(reception)

    def replace(self, topic: str) -> bool:
        """Replace the subscription of a topic (its full name), as it receives nothing.

        Returns:
            Whether it will be replaced; False if that has just been done.
        """
        return any(r.declare_dead() for r in self._receptions if r.topic == topic)

    def forget(self) -> None:
        """Take no more messages; it is for others to destroy the subscriptions."""
        self._receptions = []
        self._kept.clear()
        self._first = 0

    def spin(self) -> None:
        """Receive until the context is shut down.

        Raises:
            ExternalShutdownException: when it is.
        """
        context: Any = rclpy.get_default_context()
        begun = False
        while context.ok():
            self.replace_dead()
            known = {reception: reception.subscription for reception in self._receptions}
            if self.paused or not known:
                begun = False
                self._idle(known)
                continue
            if not begun:
                begun = True
                self._begin()
            with suppress(InvalidHandle), ExitStack() as stack:
                stack.enter_context(context.handle)
                for subscription in known.values():
                    stack.enter_context(subscription.handle)
                wait_set = _rclpy.WaitSet(len(known), 0, 0, 0, 0, 0, context.handle)
                while context.ok() and not self.paused and self._is_up_to_date(known):
                    self._turn(wait_set, list(known))
        raise ExternalShutdownException

    def _idle(self, known: dict[Reception, Any]) -> None:
        """Skip what comes, so that it does not wait in the middleware."""
        self._kept.clear()
        with suppress(InvalidHandle), ExitStack() as stack:
            for subscription in known.values():
                stack.enter_context(subscription.handle)
            _skip(known)
        time.sleep(LOOK_UP)

    def _begin(self) -> None:
        """Leave out what came while the node started, which is no loss."""
        gc.collect()
        gc.freeze()  # or each thorough collection stops the node for a tenth of a second
        if self.longest_wait is not None:
            _skip(self._receptions)

    def replace_dead(self) -> None:
        """Subscribe again where `replace` asked for it."""
        for reception in self._receptions:
            if reception.dead:
                reception.subscribe_again()

    def _is_up_to_date(self, known: dict[Reception, Any]) -> bool:
        return len(known) == len(self._receptions) and all(
            reception.subscription is subscription and not reception.dead
            for reception, subscription in known.items()
        )

    def _turn(self, wait_set: Any, known: list[Reception]) -> None:
        if self._kept:
            self._silent = not self.take(known)
            return
        rest = self.rest_until - time.monotonic()
        if rest > 0.0:  # then some are there, which takes no wait set to see
            time.sleep(min(rest, self._longest_rest))
            self._silent = not self.take(known)
            return
        wait_set.clear_entities()
        waking, others = self._parted(known)
        if not waking:
            time.sleep(self._longest_rest)
            self._silent = not self.take(others)
            return
        for reception in waking:
            wait_set.add_subscription(reception.subscription.handle)
        wait_set.wait(round((self._longest_rest if others else LOOK_UP) * NANOSECONDS))
        ready = [
            reception
            for k, reception in enumerate(waking)
            if wait_set.is_ready('subscription', k) or reception.second is not None
        ]
        self._silent = not self.take([*others, *ready])

    @property
    def _longest_rest(self) -> float:
        """Time that messages may be left in their queues [s]."""
        if self.longest_wait is None:
            return LONGEST_REST
        return min(LONGEST_REST, 0.5 * self.longest_wait)

    def _parted(self, known: list[Reception]) -> tuple[list[Reception], list[Reception]]:
        """Those whose messages wake the node, and the others; all wake it after a silence."""
        awaited = self.awaited
        if awaited is None or self._silent:
            return known, []
        waking = [reception for reception in known if reception.topic in awaited]
        if not waking and awaited:
            return known, []
        return waking, [reception for reception in known if reception.topic not in awaited]

    def take(self, ready: list[Reception]) -> bool:
        """Hand out messages of these subscriptions; return whether there were any."""
        any_there = self._hand_out(ready)
        if any_there:
            self.handed_out()
        return any_there

    def take_all(self) -> None:
        """Hand out all that has been received by now; nobody else may be receiving."""
        until, self.received = time.time_ns(), 0
        with suppress(InvalidHandle):
            while self.received < until and self._hand_out(self._receptions):
                pass

    def _hand_out(self, ready: list[Reception]) -> bool:
        kept, waiting = self._kept, list[tuple[int, int, Any]]()
        ready = list(dict.fromkeys([*kept, *ready])) if kept else ready
        skipped: Counter[str] = Counter()

        def take_next(k: int) -> None:
            taken = ready[k].take()
            if taken is not None:
                heappush(waiting, (taken[1], k, taken[0]))

        for k, reception in enumerate(ready):
            if reception in kept:
                received, message = kept.pop(reception)
                heappush(waiting, (received, k, message))
            else:
                take_next(k)
        count = 0
        while waiting and count < TAKEN_AT_ONCE:
            received, k, message = heappop(waiting)
            self._first = self._first or received
            starts = received < self._first + STARTUP * NANOSECONDS
            wait = 0 if starts else time.time_ns() - received
            if self.segments is not None and ready[k].raw:
                if not self.segments.keep(stamp_of_bytes(message), wait):
                    skipped[ready[k].topic] += 1
                    take_next(k)
                    continue
            elif self.longest_wait is not None and wait > self.longest_wait * NANOSECONDS:
                taken = Counter(ready[k].topic for _, k, _ in [(received, k, message), *waiting])
                self._count_skipped(taken + _skip(self._receptions))
                return True
            self.received = received
            ready[k].callback(message)
            count += 1
            take_next(k)
        for received, k, message in waiting:
            kept[ready[k]] = received, message
        self._count_skipped(skipped)
        return count > 0 or bool(skipped)

    def _count_skipped(self, numbers: Counter[str]) -> None:
        for reception in self._receptions if numbers else ():
            if numbers[reception.topic]:
                reception.lost(Reason.SKIPPED, numbers[reception.topic])


def _skip(receptions: Iterable[Reception]) -> Counter[str]:
    """Skip all that waits; return topic → how many messages that is."""
    now = time.time_ns()
    return Counter({reception.topic: reception.skip(now) for reception in receptions})
