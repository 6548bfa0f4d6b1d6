"""Parameters that were given to a node and that it does not have: usually a typing error."""

import difflib
from typing import Any

from izmp_dynamics.nodes.parameters import setting_parameters
from izmp_dynamics.nodes.tasks import TASKS

ELSEWHERE = frozenset(
    (
        *('robot', 'urdf', 'robot_description', 'robot_description_topic', 'reliable_inputs'),
        *('result_age_limit', 'autostart', 'frame_prefix', 'world_frame', 'publish_tf'),
        *('evaluation_frame', 'use_sim_time'),
    )
)
"""Parameters of some nodes, beside the settings; a file for all nodes may hold them."""


def warn_of_unknown_parameters(node: Any) -> None:
    """Warn of each given parameter that neither this node nor another one of the graph has.

    Args:
        node: has declared all of its parameters.
    """
    known = ELSEWHERE | {item.name for item in setting_parameters(TASKS['composed'].settings)}
    for name in sorted(getattr(node, '_parameter_overrides', ())):
        if node.has_parameter(name) or name in known or name.startswith('qos_overrides.'):
            continue
        own = sorted(known.union(node.get_parameters_by_prefix('')))
        near = difflib.get_close_matches(name, own, n=1)
        hint = f"did you mean '{near[0]}'?" if near else 'ros2 param list shows what there is.'
        node.get_logger().warning(f"There is no parameter '{name}', so it has no effect; {hint}")
