"""Which parts of a robot's tree are folded away: hands with dozens of finger joints."""

from collections.abc import Mapping
from dataclasses import dataclass

from izmp_dynamics.model.kinematic_tree import TreeSegment
from izmp_dynamics.model.robot_model import RobotModel

MANY_JOINTS = 4
"""So many joints beyond a link are folded away, if they carry little."""

MANY_ENDS = 8
"""More massless links than these at one link are folded away (the patches of a skin)."""

LITTLE_MASS = 0.02
"""What they carry at most, as part of the mass of the robot [-]."""


@dataclass(frozen=True)
class Fold:
    """What is folded away beyond a link.

    Attributes:
        joints: names of the joints that move.
        links: names of all links.
        mass: of all of them [kg].
    """

    joints: tuple[str, ...]
    links: frozenset[str]
    mass: float

    @property
    def text(self) -> str:
        """E.g. '… 19 joints, 0.213 kg' or '… 22 massless links'."""
        if not self.joints:
            return f'… {len(self.links)} massless links'
        return f'… {len(self.joints)} joints, {self.mass:.3g} kg'


def folds(model: RobotModel) -> dict[str, Fold]:
    """Link → what is folded away beyond it; the outermost ones only."""
    children: dict[str, list[TreeSegment]] = {}
    for segment in model.tree.segments:
        children.setdefault(segment.parent, []).append(segment)
    found: dict[str, Fold] = {}
    hidden: set[str] = set()
    for link in (model.root, *(segment.link for segment in model.tree.segments)):
        if link in hidden or link not in children:
            continue
        beyond: list[TreeSegment] = []
        pending = list(children[link])
        while pending:
            segment = pending.pop(0)
            beyond.append(segment)
            pending += children.get(segment.link, [])
        joints = tuple(segment.joint for segment in beyond if segment.kind != 'fixed')
        mass = sum(segment.segment.getInertia().getMass() for segment in beyond)
        if len(joints) >= MANY_JOINTS and mass <= LITTLE_MASS * model.total_mass:
            links = frozenset(segment.link for segment in beyond)
            found[link] = Fold(joints, links, mass)
            hidden |= links
    for link, segments in children.items():
        ends = frozenset(s.link for s in segments if _is_bare_end(s, children))
        if len(ends) > MANY_ENDS and link not in hidden and link not in found:
            found[link] = Fold((), ends, 0.0)
    return found


def hidden_links(folded: Mapping[str, Fold]) -> frozenset[str]:
    """All links that are folded away."""
    return frozenset().union(*(fold.links for fold in folded.values()))


def _is_bare_end(segment: TreeSegment, children: Mapping[str, list[TreeSegment]]) -> bool:
    """Whether a link is fixed, without mass, and carries nothing."""
    massless = not segment.segment.getInertia().getMass()
    return segment.kind == 'fixed' and massless and segment.link not in children
