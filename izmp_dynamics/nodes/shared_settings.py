"""Settings of the robot file by node; those that several nodes have hold for the whole graph.

Composed, one node has them all. Where the nodes are processes of their own, a shared setting
cannot be changed on one of them: the others would go on with the old value.
"""

from collections.abc import Iterable

SECTIONS = {
    'acd': ('acd', 'rates', 'filter.half_width', 'low_pass', 'pairing'),
    'angular_acceleration': (
        *('angular_acceleration', 'noise.accelerometer', 'filter.half_width', 'low_pass'),
        *('pairing', 'gravity'),
    ),
    'mr_ad': ('gravity',),
    'localizer': (
        *('gravity', 'ir_md.difference', 'filter.half_width', 'low_pass', 'pairing'),
        *('noise.gyroscope', 'noise.orientation', 'noise.position'),
    ),
    'ir_md': ('gravity', 'ir_md', 'acd.max_gap'),
    'izmp': ('fall_alarm', 'gravity', 'ground', 'filter.half_width', 'low_pass', 'pairing'),
}
"""Node → sections of the robot file, or single settings, that are its parameters."""

OF_COMPOSED = (
    *('acd', 'angular_acceleration', 'fall_alarm', 'filter.half_width', 'gravity', 'ground'),
    *('ir_md', 'low_pass', 'noise', 'pairing', 'rates', 'root_acceleration'),
)
"""Those of the node that is the whole graph: all, so that there is one value of each."""


def refusal(node: str, settings: Iterable[str]) -> str:
    """State which of these settings other nodes have as well, and the way to set them.

    Args:
        node: on which they are to be changed.
        settings: e.g. 'low_pass.cutoff'.

    Returns:
        Empty if no other node has them.
    """
    if node not in SECTIONS:
        return ''
    for setting in settings:
        others = [other for other in SECTIONS if other != node and has(other, setting)]
        if others:
            return (
                f'{setting} holds for the whole graph, also for {", ".join(others)}, which run in '
                'processes of their own: set it in the robot file and restart the nodes, or run '
                'them in one process (composed:=true), where it is a parameter of the node '
                'izmp_dynamics and takes effect at once.'
            )
    return ''


def has(node: str, setting: str) -> bool:
    """Whether a setting is a parameter of a node."""
    return not {setting, setting.partition('.')[0]}.isdisjoint(SECTIONS[node])
