"""A single node in this process: one thread at a time changes it."""

import threading

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

import rclpy
from rclpy.parameter import Parameter

from izmp_dynamics.nodes.mr_ad import MrAd
from izmp_dynamics.sensing.faults import Reason

from .node_processes import ROBOT, free_domain


@pytest.fixture
def node():
    """The node mr_ad, without the others."""
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    node = MrAd(overrides=[Parameter('robot', value=str(ROBOT))])
    yield node
    node.destroy_node()
    rclpy.shutdown()


def in_another_thread(function):
    """What it returns there."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def is_free(lock):
    """Whether another thread, like the one that receives, could go on."""

    def try_it():
        if not lock.acquire(blocking=False):
            return False
        lock.release()
        return True

    return in_another_thread(try_it)


def test_searches_and_diagnostics_exclude_the_thread_that_receives(node):
    """They replace and read what that thread changes; afterwards it goes on."""
    free = {'search': [], 'inspect': [], 'counters': []}

    def look(name):
        free[name].append(is_free(node._lock))

    def search():
        look('search')
        return len(free['search']) > 1

    node.search(search)  # at the start, before any message is received
    node.inspect = lambda: look('inspect')
    node.health.counters.append(lambda: look('counters') or {})
    node.look_after(report=True)
    assert free == {'search': [True, False], 'inspect': [False], 'counters': [False]}
    assert is_free(node._lock)


def test_losses_are_counted_when_the_diagnostics_are_not_being_made(node):
    entry = node.health.inputs[0]
    with node._lock:
        thread = threading.Thread(target=node._lose, args=(entry, Reason.LOST, 3))
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        assert not node.health.counts
    thread.join(5.0)
    assert list(node.health.counts[entry.signal].values()) == [3]
