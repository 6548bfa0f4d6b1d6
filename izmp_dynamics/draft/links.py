"""Which links are the soles, and which belong to a sensor: by where they are and their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from izmp_dynamics.bags.messages import Stamped
from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.body_layout import PARENT
from izmp_dynamics.model.robot_model import RobotModel

LEVEL = 0.08
"""Ends of the tree that are no higher above the lowest one are feet [m]."""

UPRIGHT = np.cos(np.radians(20.0))
"""Cosine of the angle up to which the z axis of a sole may lean in the mean posture."""

SOLE_NAMES = ('sole', 'foot', 'ankle')
"""What is in the name of the link of a sole, the best first."""


@dataclass(frozen=True)
class Sole:
    """The link of a sole.

    Attributes:
        link: its name.
        is_upright: whether its z axis points up.
        height: of its origin above that of the root [m].
        toe: link of a toe, which moves against it; None without toes.
    """

    link: str
    is_upright: bool
    height: float
    toe: str | None = None


def find_soles(model: RobotModel, q: Array, up: Array) -> list[Sole]:
    """Find the links of the soles.

    Args:
        model: of the robot.
        q: (n,) joint positions while it stands [rad] or [m].
        up: (3,) unit vector in the root frame.
    """
    parents = model.joints[:, PARENT]
    bodies: dict[int, list[Sole]] = {}
    for link in model.frame_names:
        body = model.mount(link).body
        if body > 0:
            R, p = model.frame_pose(link, q)
            is_upright = bool(up @ R[:, 2] > UPRIGHT)
            bodies.setdefault(body, []).append(Sole(link, is_upright, float(up @ p)))
    ends = [body for body in bodies if body not in parents[1:]]
    lowest = {body: min(link.height for link in links) for body, links in bodies.items()}
    soles = []
    for body in ends:
        if lowest[body] < min(lowest[end] for end in ends) + LEVEL:
            sole = min(bodies[body], key=_unlikely)
            above = min(bodies.get(parents[body], [sole]), key=_unlikely)
            is_toe = 'toe' in sole.link.lower() or 'sole' in above.link.lower()
            soles.append(replace(above, toe=sole.link) if is_toe and above != sole else sole)
    known = {sole.link for sole in soles}
    others = {mirrored(link) for link in known} - known  # of a leg that was in the air
    soles += [link for body in ends for link in bodies[body] if link.link in others]
    found = {sole.link: sole for sole in reversed(soles)}  # each once, however many toes it has
    return sorted(found.values(), key=lambda sole: model.frame_names.index(sole.link))


def heaviest_link(model: RobotModel, link: str) -> str:
    """The link with most mass among those rigidly attached to a link: of an IMU's, the pelvis."""
    body = model.mount(link).body
    fixed = [name for name in model.frame_names if model.mount(name).body == body]
    return max(fixed, key=lambda name: model.tree.inertias[name].getMass())


def _unlikely(sole: Sole) -> tuple[bool, bool, int, float]:
    """Key that is least for the link that most likely is the sole."""
    name = sole.link.lower()
    rank = next((k for k, word in enumerate(SOLE_NAMES) if word in name), len(SOLE_NAMES))
    return not sole.is_upright, 'imu' in name, rank, sole.height


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


_MIRRORED = re.compile(r'left|right|(?<![a-z])(?:[fhrb]?[lr]|[lr][fh])(?![a-z])', re.IGNORECASE)


def mirrored(name: str) -> str:
    """The name of the same part on the other side; the same one if it has no side."""

    def other(found: re.Match[str]) -> str:
        word = found[0]
        if word.lower() in ('left', 'right'):
            swapped = 'right' if word.lower() == 'left' else 'left'
            case = str.upper if word.isupper() else str.title if word[0].isupper() else str
            return case(swapped)
        begins = word[0].lower() in 'lr' and word[1:].lower() in ('', 'f', 'h')
        swap = word.translate(str.maketrans('lrLR', 'rlRL'))
        return swap[0] + word[1:] if begins else word[:-1] + swap[-1]

    return _MIRRORED.sub(other, name, count=1)
