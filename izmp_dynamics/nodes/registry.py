"""The nodes by name."""

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path

from izmp_dynamics.errors import UnknownNameError

NODES = {
    'composed': 'nodes.composed:Composed',
    'acd': 'nodes.acd:Acd',
    'angular_acceleration': 'nodes.angular_acceleration:AngularAcceleration',
    'mr_ad': 'nodes.mr_ad:MrAd',
    'ir_md': 'nodes.ir_md:IrMd',
    'localizer': 'nodes.localizer:Localizer',
    'izmp': 'nodes.izmp:Izmp',
    'recorder': 'nodes.recorder:Recorder',
    'player': 'nodes.player:Player',
    'motion': 'nodes.motion:Motion',
    'simulation': 'nodes.simulation:Simulation',
    'seesaw': 'seesaw.nodes.plant:Seesaw',
    'balance': 'seesaw.nodes.balance:Balance',
}
"""Node → module in the package and class."""


def node_class(name: str) -> type:
    """Import the class of a node."""
    if name not in NODES:
        raise UnknownNameError('node', name, NODES)
    module, _, class_name = NODES[name].partition(':')
    found: type = getattr(importlib.import_module(f'izmp_dynamics.{module}'), class_name)
    return found


def purpose(name: str) -> str:
    """What a node does, as its module says, which is not imported: that needs ROS."""
    module, _, _ = NODES[name].partition(':')
    spec = find_spec(f'izmp_dynamics.{module}')
    assert spec is not None
    assert spec.origin is not None
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding='utf-8')))
    return text or name
