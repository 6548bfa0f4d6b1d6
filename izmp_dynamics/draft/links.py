"""Which links are the soles, and which belong to a sensor: by where they are and their names."""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.bags.stamped import Stamped
from izmp_dynamics.conventions import Array
from izmp_dynamics.model.body_layout import PARENT
from izmp_dynamics.model.robot_model import RobotModel

LEVEL = 0.08
"""Ends of the tree that are no higher above the lowest one are feet [m]."""

UPRIGHT = np.cos(np.radians(20.0))
"""Cosine of the angle up to which the z axis of a sole may lean in the mean posture."""

SOLE_NAMES = ('sole', 'foot', 'ankle')
"""What is in the name of the link of a sole, the best first."""


def find_soles(model: RobotModel, q: Array, up: Array) -> list[tuple[str, bool]]:
    """Find the links of the soles.

    Args:
        model: of the robot.
        q: (n,) joint positions while it stands [rad] or [m].
        up: (3,) unit vector in the root frame.

    Returns:
        The links, in the order of the URDF, each with whether its z axis points up.
    """
    parents = set(model.joints[1:, PARENT].tolist())
    ends: dict[int, list[tuple[str, float, bool]]] = {}
    for link in model.frame_names:
        body = model.mount(link).body
        if body > 0 and body not in parents and 'imu' not in link.lower():
            R, p = model.frame_pose(link, q)
            is_upright = bool(up @ R[:, 2] > UPRIGHT)
            ends.setdefault(body, []).append((link, float(up @ p), is_upright))
    if not ends:
        return []
    lowest = min(height for links in ends.values() for _, height, _ in links)
    soles = []
    for links in ends.values():
        if min(height for _, height, _ in links) < lowest + LEVEL:
            link, _, is_upright = min(links, key=_unlikely)
            soles.append((link, is_upright))
    return soles


def heaviest_link(model: RobotModel, link: str) -> str:
    """The link with most mass among those fixed to a link: of an IMU's, the pelvis."""
    body = model.mount(link).body
    masses = {model.root: model.tree.root_inertia.getMass()}
    masses |= {each.link: each.segment.getInertia().getMass() for each in model.tree.segments}
    fixed = [name for name in model.frame_names if model.mount(name).body == body]
    return max(fixed, key=masses.__getitem__)


def _unlikely(link: tuple[str, float, bool]) -> tuple[bool, int, float]:
    """Key that is least for the link that most likely is the sole."""
    name, height, is_upright = link
    rank = next((k for k, word in enumerate(SOLE_NAMES) if word in name.lower()), len(SOLE_NAMES))
    return not is_upright, rank, height


def link_of(messages: Stamped, links: Sequence[str]) -> str | None:
    """The link that messages name, with or without a prefix such as robot1/; None if none is."""
    frame = (messages.frame_id or '').lstrip('/')
    return next((name for name in (frame, frame.rpartition('/')[2]) if name in links), None)


_SIDES = {'left': 'l', 'right': 'r', 'front': 'f', 'rear': 'h', 'hind': 'h', 'back': 'h'}
_LEGS = {'l', 'r', 'fl', 'fr', 'rl', 'rr', 'hl', 'hr', 'lf', 'rf', 'lh', 'rh', 'bl', 'br'}


def words(name: str) -> set[str]:
    """The words of a name; 'left' and 'l', 'front_left' and 'FL' give the same ones."""
    found = set()
    for part in name.lower().replace('/', '_').split('_'):
        if part in _LEGS:
            is_rear = part in ('rl', 'rr', 'bl', 'br')
            found |= {'h' if is_rear else part[0], *part[1:]}
        elif part:
            found.add(_SIDES.get(part, part))
    return found


def matching(name: str, others: Sequence[str]) -> str | None:
    """The only one of `others` that shares most words with a name; None if several do, or none."""
    shared = {other: len(words(name) & words(other)) for other in others}
    most = max(shared.values(), default=0)
    best = [other for other, count in shared.items() if count == most]
    return best[0] if most and len(best) == 1 else None
