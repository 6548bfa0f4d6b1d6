"""The nodes by name."""

import ast
import importlib
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from izmp_dynamics.base.errors import UnknownNameError

NODES = {
    'composed': 'izmp_dynamics.nodes.composed:Composed',
    'acd': 'izmp_dynamics.nodes.acd:Acd',
    'angular_acceleration': 'izmp_dynamics.nodes.angular_acceleration:AngularAcceleration',
    'mr_ad': 'izmp_dynamics.nodes.mr_ad:MrAd',
    'ir_md': 'izmp_dynamics.nodes.ir_md:IrMd',
    'localizer': 'izmp_dynamics.nodes.localizer:Localizer',
    'izmp': 'izmp_dynamics.nodes.izmp:Izmp',
    'recorder': 'izmp_dynamics.nodes.recorder:Recorder',
    'player': 'izmp_dynamics.nodes.player:Player',
    **{found.name: found.value for found in entry_points(group='izmp_dynamics.nodes')},
}
"""Node → module and class; other packages add theirs by the entry points of this name."""


def node_class(name: str) -> type:
    """Import the class of a node."""
    if name not in NODES:
        raise UnknownNameError('node', name, NODES)
    module, _, class_name = NODES[name].partition(':')
    found: type = getattr(importlib.import_module(module), class_name)
    return found


def purpose(name: str) -> str:
    """What a node does, as its module says, which is not imported: that needs ROS."""
    module, _, _ = NODES[name].partition(':')
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding='utf-8')))
    return text or name
