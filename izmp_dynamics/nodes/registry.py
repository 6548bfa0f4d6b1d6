"""The nodes by name."""

import importlib

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
