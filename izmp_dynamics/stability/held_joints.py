"""Feet whose position is not known, as a joint above them has no publisher and is held at zero."""

from collections.abc import Collection, Mapping

from izmp_dynamics.base.finding import list_names
from izmp_dynamics.model.robot_model import RobotModel

REMEDY = (
    'Record all joints between the root and the feet, under their names in the URDF. '
    'Joints that cannot move should be fixed there.'
)


def held_joints(
    model: RobotModel, published: Collection[int], soles: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Joints between the root and each sole that can move and have no publisher.

    Args:
        model: the robot's model.
        published: columns of q that are published.
        soles: foot → link of its sole.

    Returns:
        Foot → its joints; without the feet that have none.
    """
    absent = [
        name
        for k, name in enumerate(model.joint_names)
        if k not in published and model.position_lower[k] < model.position_upper[k]
    ]
    parents = {segment.link: segment for segment in model.tree.segments}
    held = {}
    for foot, link in soles.items():
        above = set()
        while link in parents:
            above.add(parents[link].driver)
            link = parents[link].parent
        names = tuple(name for name in absent if name in above)
        if names:
            held[foot] = names
    return held


def unknown_foot(foot: str, joints: Collection[str]) -> str:
    """Say, without a full stop, that the position of a foot is not known for lack of joints."""
    return (
        f"the position of foot '{foot}' is not known: there is no publisher of "
        f'{list_names(joints)}, between root and sole'
    )
