"""What a running graph remembers does not grow with the time that it runs."""

import gc
import types
from collections import deque

import numpy as np
import pytest

from .node_processes import GRAPH, StandingRobot
from .played_graph import COMPOSED, PlayedGraph
from .simulated_time import Sensors, clock  # noqa: F401 -- a fixture
from .test_node_frames import parameters

RATE = 4
"""Samples of each sensor in a second; what keeps some seconds is full as soon as with more."""

FULL = 35
"""Time after which whatever keeps some seconds has as much as it ever will [s]."""

OWN = ('izmp_dynamics', 'builtins', 'collections', 'functools', 'numpy')
"""Packages of what belongs to a node."""

pytestmark = pytest.mark.usefixtures('ros')


def remembered(node):
    """Type → how many objects of it a node holds, and those hold; 'elements' of all of them."""
    seen, found, todo = set(), {'elements': 0}, [vars(node)]
    while todo:
        thing = todo.pop()
        kind = type(thing)
        shared = isinstance(thing, types.ModuleType | type | types.BuiltinFunctionType)
        if shared or id(thing) in seen or kind.__module__.partition('.')[0] not in OWN:
            continue
        seen.add(id(thing))
        if isinstance(thing, int | float):  # those of counters differ by their size
            continue
        found[kind.__name__] = found.get(kind.__name__, 0) + 1
        if isinstance(thing, np.ndarray):
            found['elements'] += thing.size
            todo.append(thing.base)
        elif isinstance(thing, list | tuple | dict | set | deque):
            found['elements'] += len(thing)
            todo += gc.get_referents(thing)
        elif isinstance(thing, types.FunctionType):
            todo += [thing.__closure__, thing.__defaults__]
        else:
            todo += gc.get_referents(thing)
    return found


TURN = 3
"""Samples that a node skips, before another one does."""


def stand(graph, robot, clock, seconds):  # noqa: F811
    """Let the robot stand for so long; the nodes report every second.

    Where there are several, one after the other skips what comes, so each lacks other instants.
    """
    for count in range(RATE * seconds):
        slow = count // TURN % (2 * len(GRAPH)) // 2
        graph.late = {GRAPH[slow]} if graph.names == GRAPH and count // TURN % 2 else frozenset()
        clock.stamp += 10**9 // RATE
        robot.sample(clock.stamp)
        graph.deliver()
        for node in graph.nodes if count % RATE == 0 else ():
            node.look_after(report=True)


@pytest.mark.parametrize('names', [COMPOSED, GRAPH], ids=['composed', 'separate'])
def test_what_is_remembered_does_not_grow(names, biped31, clock):  # noqa: F811
    with PlayedGraph(biped31, parameters(), names) as graph:
        robot = StandingRobot(Sensors(graph.give), biped31)
        stand(graph, robot, clock, FULL)
        before = [remembered(node) for node in graph.nodes]
        stand(graph, robot, clock, FULL)
        share = 0.95 if names == COMPOSED else 0.3
        assert len(graph.messages['/mr_ad/izmp']) > share * 2 * RATE * FULL
        for node, first in zip(graph.nodes, before, strict=True):
            for kind, number in remembered(node).items():
                assert number <= 1.02 * first.get(kind, 0) + 20, (node.get_name(), kind)
