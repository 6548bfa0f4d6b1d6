"""Receives messages with a tenth of the work that rclpy's executor does for each.

That one gathers all entities of its nodes and builds a wait set, a generator and a coroutine for
every message; at a thousand messages a second this is most of what a node does. Here one thread
waits for subscriptions only, with one wait set, and takes messages by itself. Timers, services and
parameters are left to an executor in another thread, which this one's subscriptions refuse.
"""

import time
from collections.abc import Callable, Sized
from contextlib import ExitStack
from functools import partial
from typing import Any

import rclpy
from rclpy.callback_groups import CallbackGroup
from rclpy.executors import ExternalShutdownException
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.nodes.losses import Losses

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

Callback = Callable[[Any], None]
Lost = Callable[[int], None]
"""Is told how many messages were lost."""

TAKEN_AT_ONCE = 64
"""Messages of a sensor that are taken before it is the turn of the next topic."""

LOOK_UP = 0.1
"""Time after which new subscriptions and the end are noticed [s]."""


class Receiver:
    """Subscribes, and hands every message to the callback of its subscription.

    The messages of the sensors are taken in bulk: they are many, cheap, and the instants of the
    joints wait for them.

    Args:
        later: what else is to be done; empty if there is nothing.
        work: is called when no message is there but something to be done; does a part of it.
    """

    def __init__(self, later: Sized = (), work: Callable[[], None] = lambda: None) -> None:
        self._later = later
        self._work = work
        self._group = _Reserved()
        self._subscriptions: list[tuple[Any, Any, Callback, Losses, int]] = []

    def subscribe(
        self,
        node: Node,
        topic: str,
        msgtype: Any,
        callback: Callback,
        lost: Lost,
        qos: QoSProfile,
        *,
        sensor: bool,
    ) -> None:
        """Subscribe over DDS with a quality of service that parameters can override.

        Without rclpy's events of the middleware; what they would tell is in the diagnostics.
        """
        subscription = node.create_subscription(
            msgtype,
            topic,
            callback,
            qos,
            callback_group=self._group,
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )
        publishers = partial(node.count_publishers, subscription.topic_name)
        losses = Losses(publishers, lost)
        at_once = TAKEN_AT_ONCE if sensor else 1
        self._subscriptions.append((subscription, msgtype, callback, losses, at_once))

    def spin(self) -> None:
        """Receive until the context is shut down.

        Raises:
            ExternalShutdownException: when it is.
        """
        context: Any = rclpy.get_default_context()
        while context.ok():
            with ExitStack() as stack:
                stack.enter_context(context.handle)
                known = list(self._subscriptions)
                if not known:
                    time.sleep(LOOK_UP)
                    continue
                for subscription, *_ in known:
                    stack.enter_context(subscription.handle)
                wait_set = _rclpy.WaitSet(len(known), 0, 0, 0, 0, 0, context.handle)
                while context.ok() and len(known) == len(self._subscriptions):
                    if not self._turn(wait_set, known, 0.0 if self._later else LOOK_UP):
                        self._work()
        raise ExternalShutdownException

    def _turn(
        self,
        wait_set: Any,
        known: list[tuple[Any, Any, Callback, Losses, int]],
        patience: float,
    ) -> bool:
        """Hand out what is there, or comes in this time [s]; return whether there was anything."""
        wait_set.clear_entities()
        for subscription, *_ in known:
            wait_set.add_subscription(subscription.handle)
        wait_set.wait(round(patience * NANOSECONDS))
        took = False
        for index, (subscription, msgtype, callback, losses, at_once) in enumerate(known):
            if not wait_set.is_ready('subscription', index):
                continue
            for _ in range(at_once):
                taken = subscription.handle.take_message(msgtype, False)
                if taken is None:
                    break
                losses.see(taken[1])
                callback(taken[0])
                took = True
        return took


class _Reserved(CallbackGroup):
    """No executor may take from it."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass
