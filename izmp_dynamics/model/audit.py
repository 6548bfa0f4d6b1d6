"""What is wrong or odd about a URDF, as sentences that name the link or joint and its line."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.model.urdf import Urdf

HEAVIEST_ROBOT = 1000.0
"""Total mass above which the masses are taken to be in grams [kg]."""

_TRIANGLE_TOLERANCE = 1e-6
_SMALLEST_MOMENT = 1e-12  # [kg·m²]


@dataclass(frozen=True)
class Problem:
    """One finding.

    Attributes:
        severity: 'error' makes the model unusable, 'warning' does not.
        where: the link or joint with its line.
        message: what is wrong and what would be right.
    """

    severity: Literal['error', 'warning']
    where: str
    message: str

    def __str__(self) -> str:
        return f'{self.where}: {self.message}' if self.where else self.message


def audit(urdf: Urdf) -> list[Problem]:
    """Examine inertias, joints and the tree of a URDF.

    Returns:
        The problems, errors first.
    """
    problems = [
        *_audit_tree(urdf),
        *_audit_joints(urdf),
        *_audit_mimics(urdf),
        *_audit_inertias(urdf),
        *_audit_mass(urdf),
    ]
    return sorted(problems, key=lambda problem: problem.severity != 'error')


def floating_root_joint(urdf: Urdf) -> Any | None:
    """Return the floating joint that only ties a massless root to the robot, if there is one.

    Many URDFs hang the robot on a link 'world' by a floating joint; the floating base is implied
    here, so that joint and its parent are left out.
    """
    children = {joint.child for joint in urdf.robot.joints}
    roots = [link for link in urdf.robot.links if link.name not in children]
    if len(roots) != 1 or (roots[0].inertial and roots[0].inertial.mass):
        return None
    joints = [joint for joint in urdf.robot.joints if joint.parent == roots[0].name]
    return joints[0] if len(joints) == 1 and joints[0].type == 'floating' else None


def _audit_tree(urdf: Urdf) -> Iterator[Problem]:
    links = {link.name for link in urdf.robot.links}
    if not links:
        yield Problem('error', '', 'the URDF has no links.')
        return
    parent_of: dict[str, Any] = {}
    for joint in urdf.robot.joints:
        where = urdf.where('joint', joint.name)
        for role in ('parent', 'child'):
            if getattr(joint, role) not in links:
                yield Problem(
                    'error', where, f"its {role} link '{getattr(joint, role)}' does not exist."
                )
        if joint.child in parent_of:
            other = parent_of[joint.child].name
            yield Problem(
                'error',
                where,
                f"link '{joint.child}' is already the child of joint '{other}'; closed kinematic "
                'chains are not supported: a link has one parent.',
            )
        parent_of[joint.child] = joint
    yield from _audit_roots(urdf, links, parent_of)


def _audit_roots(urdf: Urdf, links: set[str], parent_of: dict[str, Any]) -> Iterator[Problem]:
    roots = sorted(links - parent_of.keys())
    if len(roots) > 1:
        names = ', '.join(f"'{name}'" for name in roots)
        yield Problem(
            'error',
            urdf.where('link', roots[1]),
            f'the links {names} have no parent; a robot has exactly one such link.',
        )
    reached = set(roots)
    frontier = list(roots)
    while frontier:
        link = frontier.pop()
        for child, joint in parent_of.items():
            if joint.parent == link and child not in reached:
                reached.add(child)
                frontier.append(child)
    in_cycle = sorted(links - reached)
    if in_cycle:
        names = ', '.join(f"'{name}'" for name in in_cycle)
        yield Problem(
            'error',
            urdf.where('link', in_cycle[0]),
            f'the joints form a cycle through the links {names}; they must form a tree.',
        )


def _audit_joints(urdf: Urdf) -> Iterator[Problem]:
    tie = floating_root_joint(urdf)
    for joint in urdf.robot.joints:
        where = urdf.where('joint', joint.name)
        if tie is not None and joint.name == tie.name:
            yield Problem(
                'warning',
                where,
                f"this floating joint and its parent '{joint.parent}' are left out: the root "
                'floats anyway.',
            )
        elif joint.type in ('floating', 'planar'):
            yield Problem(
                'error',
                where,
                f'{joint.type} joints inside the robot are not supported; use revolute, '
                'continuous, prismatic or fixed joints.',
            )
        if not _finite(joint.origin and [*(joint.origin.xyz or []), *(joint.origin.rpy or [])]):
            yield Problem('error', where, 'its origin is not finite.')
        yield from _audit_axis(joint, where)
        limit = joint.limit
        if limit is not None and joint.type in ('revolute', 'prismatic'):
            if not limit.lower <= limit.upper:
                yield Problem(
                    'warning', where, f'its limits are reversed ({limit.lower} > {limit.upper}).'
                )
            if not (limit.velocity > 0 and limit.effort > 0):
                yield Problem('warning', where, 'its velocity or effort limit is not positive.')


def _audit_axis(joint: Any, where: str) -> Iterator[Problem]:
    if joint.type not in ('revolute', 'continuous', 'prismatic') or joint.axis is None:
        return
    norm = float(np.linalg.norm(joint.axis))
    if not (np.isfinite(norm) and norm > 1e-9):
        yield Problem('error', where, f'its axis {joint.axis} has no direction.')
    elif abs(norm - 1.0) > 1e-3:
        yield Problem('warning', where, f'its axis {joint.axis} is not a unit vector; normalised.')


def _audit_mimics(urdf: Urdf) -> Iterator[Problem]:
    joints = {joint.name: joint for joint in urdf.robot.joints}
    for joint in urdf.robot.joints:
        where = urdf.where('joint', joint.name)
        seen = [joint.name]
        leader = joint
        while leader.mimic is not None:
            target = leader.mimic.joint
            if target not in joints or joints[target].type == 'fixed':
                yield Problem('error', where, f"it mimics '{target}', which is no movable joint.")
                break
            if target in seen:
                yield Problem('error', where, f'its mimics form a circle: {" → ".join(seen)}.')
                break
            seen.append(target)
            leader = joints[target]
        factors = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else ()
        if not _finite([factor for factor in factors if factor is not None]):
            yield Problem('error', where, 'its mimic multiplier or offset is not finite.')


def _audit_inertias(urdf: Urdf) -> Iterator[Problem]:
    moved = {joint.child for joint in urdf.robot.joints if joint.type != 'fixed'}
    for link in urdf.robot.links:
        where = urdf.where('link', link.name)
        if link.inertial is None:
            if link.name in moved and not _carries_mass(urdf, link.name):
                yield Problem('warning', where, 'it moves but has no <inertial>: no mass.')
            continue
        yield from _audit_inertial(link.inertial, where)


def _audit_inertial(inertial: Any, where: str) -> Iterator[Problem]:
    mass = inertial.mass
    origin = inertial.origin
    if not _finite([mass, *(origin.xyz or []), *(origin.rpy or [])] if origin else [mass]):
        yield Problem('error', where, 'its mass or inertial origin is not finite.')
        return
    if mass < 0:
        yield Problem('error', where, f'its mass is negative ({mass} kg).')
        return
    if inertial.inertia is None:
        if mass > 0:
            yield Problem('warning', where, 'it has a mass but no <inertia>; taken as zero.')
        return
    theta = np.array(inertial.inertia.to_matrix(), dtype=float)
    if not np.all(np.isfinite(theta)):
        yield Problem('error', where, 'its inertia tensor is not finite.')
        return
    yield from _audit_tensor(theta, mass, where)


def _audit_tensor(theta: Array, mass: float, where: str) -> Iterator[Problem]:
    moments = np.linalg.eigvalsh(theta)
    if np.abs(moments).max() < _SMALLEST_MOMENT:
        if mass > 0:
            yield Problem('warning', where, 'its inertia tensor is zero: a point mass.')
    elif moments[0] < -_TRIANGLE_TOLERANCE * moments[2]:
        yield Problem(
            'error',
            where,
            f'its inertia tensor has a negative principal moment ({moments[0]:.3g} kg·m²).',
        )
    elif moments[0] + moments[1] < moments[2] * (1 - _TRIANGLE_TOLERANCE):
        yield Problem(
            'warning',
            where,
            f'its principal moments {np.array2string(moments, precision=4)} kg·m² break the '
            'triangle inequality: no body has this inertia.',
        )
    elif mass == 0:
        yield Problem('warning', where, 'it has an inertia tensor but no mass.')


def _audit_mass(urdf: Urdf) -> Iterator[Problem]:
    masses = [link.inertial.mass for link in urdf.robot.links if link.inertial is not None]
    total = sum(masses)
    if not total:
        yield Problem('error', '', 'the robot has no mass: no link has an <inertial> with mass.')
    elif total > HEAVIEST_ROBOT:
        yield Problem('warning', '', f'the robot weighs {total:.0f} kg; are the masses in grams?')


def _carries_mass(urdf: Urdf, link: str) -> bool:
    """Whether a link without <inertial> has a massive link fixed to it."""
    frontier = [link]
    seen = {link}
    while frontier:
        name = frontier.pop()
        carried = urdf.robot.link_map.get(name)
        if carried is not None and carried.inertial is not None and carried.inertial.mass:
            return True
        for joint_name, child in urdf.robot.child_map.get(name, ()):
            if urdf.robot.joint_map[joint_name].type == 'fixed' and child not in seen:
                seen.add(child)
                frontier.append(child)
    return False


def _finite(values: Any) -> bool:
    return bool(np.all(np.isfinite(np.array(values or [0.0], dtype=float))))
