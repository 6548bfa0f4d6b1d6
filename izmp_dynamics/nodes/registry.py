"""The nodes by name."""

import ast
import importlib
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.nodes.tasks import TASKS

NODES = {
    **dict.fromkeys(TASKS, 'izmp_dynamics.nodes.graph_node:GraphNode'),
    'recorder': 'izmp_dynamics.nodes.recorder:Recorder',
    'player': 'izmp_dynamics.nodes.player:Player',
    **{found.name: found.value for found in entry_points(group='izmp_dynamics.nodes')},
}
"""Node → module and class; other packages add theirs by the entry points of this name."""


def node_class(name: str) -> Callable[..., Any]:
    """Import the class of a node; of one of the graph, for its task."""
    if name not in NODES:
        raise UnknownNameError('node', name, NODES)
    module, _, class_name = NODES[name].partition(':')
    found: type = getattr(importlib.import_module(module), class_name)
    return partial(found, TASKS[name]) if name in TASKS else found


def purpose(name: str) -> str:
    """What a node does, as its task or its module says, which is not imported: that needs ROS."""
    if name in TASKS:
        return f'Node {name}: {TASKS[name].purpose}'
    module, _, _ = NODES[name].partition(':')
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding='utf-8')))
    return text or name
