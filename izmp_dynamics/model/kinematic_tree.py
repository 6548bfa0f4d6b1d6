"""URDF → KDL tree, rooted at any link.

`kdl_parser_py` is not used: it rotates the centre of mass by the inertial's rpy, drops the
inertia of the root and turns floating and planar joints into fixed ones. Here the centre of mass
is the inertial's xyz, only the tensor is rotated, and the root keeps its inertia.

PyKDL's Tree cannot be walked from Python, so the segments are kept in a list of our own, parents
before children.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from izmp_dynamics.base.errors import MissingDependencyError, UnknownNameError
from izmp_dynamics.model.audit import Problem, audit, floating_root_joint
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
        inertias: link → KDL inertia about its origin, parents first.
        segments: all other links, parents before children.
        urdf: what it was made from.
        problems: warnings of the audit.
    """

    name: str
    root: str
    inertias: Mapping[str, Any]
    segments: tuple[TreeSegment, ...]
    urdf: Urdf
    problems: tuple[Problem, ...]


def build_tree(urdf: Urdf, root: str | None = None) -> KinematicTree:
    """Build the KDL tree of a URDF.

    Args:
        urdf: the parsed URDF.
        root: link to use as floating base; the URDF's own root if None.

    Raises:
        ModelError: if the audit of the URDF finds errors; the message lists them.
        UnknownNameError: if `root` is no link.
    """
    problems = tuple(audit(urdf))
    refuse_errors(problems, f"'{urdf.path}'" if urdf.path else 'The URDF')
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
    walk = tuple(_walk(root, links, joints, {joint.name: joint for joint in joints}))
    inertias = {root: link_inertia(links[root])}
    inertias |= {segment.link: segment.segment.getInertia() for segment in walk}
    return KinematicTree(urdf.robot.name, root, inertias, walk, urdf, problems)


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
