"""URDF → KDL tree, rooted at any link.

`kdl_parser_py` is not used: it rotates the centre of mass by the inertial's rpy, drops the
inertia of the root and turns floating and planar joints into fixed ones. Here the centre of mass
is the inertial's xyz, only the tensor is rotated, and the root keeps its inertia.

PyKDL's Tree cannot be walked from Python, so the segments are kept in a list of our own, parents
before children; `KinematicTree.kdl()` makes the Tree from it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from izmp_dynamics.base.errors import MissingDependencyError, UnknownNameError
from izmp_dynamics.model.audit import audit, floating_root_joint
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.model.urdf_grammar import refuse_errors

try:
    import PyKDL as kdl
except ImportError as error:
    raise MissingDependencyError(
        'PyKDL',
        'The robot model',
        'sudo apt install python3-pykdl (it is not on PyPI; a virtual environment sees it with '
        '--system-site-packages)',
    ) from error

__all__ = ['kdl']


@dataclass(frozen=True)
class TreeSegment:
    """A link with the joint that moves it against its parent.

    Attributes:
        link: name of the link.
        parent: name of the parent link in this (possibly re-rooted) tree.
        joint: name of the URDF joint between the two.
        kind: 'revolute', 'prismatic' or 'fixed'.
        segment: KDL segment; `segment.pose(q)` is the link's frame in its parent's frame, its
            inertia is about the link's origin in link axes.
        driver: the independent joint whose position moves this one (itself unless it mimics).
        multiplier: position of this joint = multiplier · position of the driver + offset [-].
        offset: [rad] or [m].
        urdf_joint: urdf_parser_py's joint, for limits.
    """

    link: str
    parent: str
    joint: str
    kind: str
    segment: Any
    driver: str
    multiplier: float
    offset: float
    urdf_joint: Any


@dataclass(frozen=True)
class KinematicTree:
    """The links of a robot as KDL segments.

    Attributes:
        name: name of the robot.
        root: name of the root link, the floating base.
        root_inertia: KDL inertia of the root link about its origin.
        segments: all other links, parents before children.
        urdf: what it was made from.
    """

    name: str
    root: str
    root_inertia: Any
    segments: tuple[TreeSegment, ...]
    urdf: Urdf

    def kdl(self) -> Any:
        """Return the PyKDL.Tree (KDL keeps no inertia for the root itself: `root_inertia`)."""
        tree = kdl.Tree(self.root)
        for segment in self.segments:
            tree.addSegment(segment.segment, segment.parent)
        return tree

    def inertia_at_rest(self) -> Any:
        """Return KDL's inertia of the whole robot about its root, all independent joints at 0."""
        frame = {self.root: kdl.Frame()}
        total = self.root_inertia
        for link in self.segments:
            frame[link.link] = frame[link.parent] * link.segment.pose(link.offset)
            total = total + frame[link.link] * link.segment.getInertia()
        return total


def build_tree(urdf: Urdf, root: str | None = None) -> KinematicTree:
    """Build the KDL tree of a URDF.

    Args:
        urdf: the parsed URDF.
        root: link to use as floating base; the URDF's own root if None.

    Raises:
        ModelError: if the audit of the URDF finds errors; the message lists them.
        UnknownNameError: if `root` is no link.
    """
    refuse_errors(audit(urdf), f"'{urdf.path}'" if urdf.path else 'The URDF')
    tie = floating_root_joint(urdf)
    links = {link.name: link for link in urdf.robot.links}
    joints = list(urdf.robot.joints)
    if tie is not None:
        del links[tie.parent]
        joints.remove(tie)
    own = next(iter(links.keys() - {joint.child for joint in joints}))
    root = own if root is None else root
    if root not in links:
        raise UnknownNameError(
            'link',
            root,
            links,
            f"in robot '{urdf.robot.name}' (named by root)",
            f"The URDF's own root is '{own}'; 'izmp model' with the URDF alone shows all links.",
        )
    walk = _walk(root, links, joints, {joint.name: joint for joint in joints})
    return KinematicTree(urdf.robot.name, root, link_inertia(links[root]), tuple(walk), urdf)


def link_inertia(link: Any) -> Any:
    """Return KDL's RigidBodyInertia of a URDF link about the link's origin, in link axes."""
    if link.inertial is None or not link.inertial.mass:
        return kdl.RigidBodyInertia(0.0)
    pose = _frame(link.inertial.origin)
    stated = link.inertial.inertia
    moments = stated.to_matrix() if stated is not None else [[0.0] * 3] * 3
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = moments
    about_com = kdl.RotationalInertia(xx, yy, zz, xy, xz, yz)
    in_inertial_axes = kdl.RigidBodyInertia(link.inertial.mass, kdl.Vector(), about_com)
    return pose * in_inertial_axes


def _walk(
    root: str, links: dict[str, Any], joints: list[Any], by_name: dict[str, Any]
) -> Iterator[TreeSegment]:
    """Yield the segments seen from `root`, parents first, in the URDF's order of joints."""
    neighbours: dict[str, list[Any]] = {name: [] for name in links}
    for joint in joints:
        neighbours[joint.parent].append(joint)
        neighbours[joint.child].append(joint)
    seen = {root}
    stack = [(joint, root) for joint in reversed(neighbours[root])]
    while stack:
        joint, parent = stack.pop()
        link = joint.child if joint.parent == parent else joint.parent
        if link in seen:
            continue
        seen.add(link)
        yield _segment(joint, parent, links[link], by_name)
        stack.extend((neighbour, link) for neighbour in reversed(neighbours[link]))


def _segment(joint: Any, parent: str, link: Any, by_name: dict[str, Any]) -> TreeSegment:
    """Turn a URDF joint into a KDL segment; from child to parent if the tree was re-rooted.

    Forwards the pose is T · J(q), backwards J(−q) · T⁻¹, where T is the joint's origin and J the
    motion along its axis.
    """
    origin = _frame(joint.origin)
    axis = kdl.Vector(*(joint.axis or (1.0, 0.0, 0.0)))
    axis.Normalize()
    kind = {'continuous': 'revolute'}.get(joint.type, joint.type)
    if joint.parent == parent:
        place, direction, tip = origin.p, origin.M * axis, origin
    else:
        place, direction, tip = kdl.Vector(), -axis, origin.Inverse()
    kdl_type = {
        'revolute': kdl.Joint.RotAxis,
        'prismatic': kdl.Joint.TransAxis,
        'fixed': kdl.Joint.Fixed,
    }[kind]
    kdl_joint = (
        kdl.Joint(joint.name, kdl_type)
        if kind == 'fixed'
        else kdl.Joint(joint.name, place, direction, kdl_type)
    )
    driver, multiplier, offset = _driver(joint, by_name)
    return TreeSegment(
        link=link.name,
        parent=parent,
        joint=joint.name,
        kind=kind,
        segment=kdl.Segment(link.name, kdl_joint, tip, link_inertia(link)),
        driver=driver,
        multiplier=multiplier,
        offset=offset,
        urdf_joint=joint,
    )


def _driver(joint: Any, by_name: dict[str, Any]) -> tuple[str, float, float]:
    """Follow the mimics of a joint to the independent one."""
    multiplier, offset = 1.0, 0.0
    while joint.mimic is not None:
        factor = 1.0 if joint.mimic.multiplier is None else joint.mimic.multiplier
        offset += multiplier * (joint.mimic.offset or 0.0)
        multiplier *= factor
        joint = by_name[joint.mimic.joint]
    return joint.name, multiplier, offset


def _frame(origin: Any) -> Any:
    if origin is None:
        return kdl.Frame()
    return kdl.Frame(
        kdl.Rotation.RPY(*(origin.rpy or (0.0, 0.0, 0.0))),
        kdl.Vector(*(origin.xyz or (0.0, 0.0, 0.0))),
    )
