"""Errors and anomalies of a URDF: sentences that name the link or joint and its line."""

import math
from collections.abc import Iterator
from typing import Any

from izmp_dynamics.model.inertia_audit import audit_inertias
from izmp_dynamics.model.problem import Problem
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.model.urdf_grammar import LARGEST_NUMBER, similar

__all__ = ['Problem', 'audit', 'floating_root_joint']

FARTHEST_JOINT = 10.0
"""Distance above which a joint's origin is taken to be in millimetres [m]."""

MOST_TURNS = 20.0
"""Position limit of a joint above which it is taken to be in degrees [rad]."""

_SHORTEST_AXIS = 1e-9
_NAMES_LISTED = 10
_MOVING = ('revolute', 'continuous', 'prismatic')


def audit(urdf: Urdf) -> list[Problem]:
    """Examine inertias, joints and the tree of a URDF.

    Returns:
        The problems, errors first.
    """
    if not urdf.robot.links:
        return [Problem('error', 'no_links', '', 'the URDF has no links.')]
    problems = [
        *urdf.remarks,
        *_audit_tree(urdf),
        *_audit_joints(urdf),
        *_audit_mimics(urdf),
        *audit_inertias(urdf),
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
    parent_joint: dict[str, Any] = {}
    complete = True
    for joint in urdf.robot.joints:
        where = urdf.where('joint', joint.name)
        for role, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in links:
                complete = False
                question = similar(link, links)
                yield Problem(
                    'error',
                    'unknown_link',
                    where,
                    f"its {role} link '{link}' does not exist.{question}",
                )
        if joint.child in parent_joint:
            other = parent_joint[joint.child].name
            yield Problem(
                'error',
                'second_parent',
                where,
                f"link '{joint.child}' is already the child of joint '{other}'; closed kinematic "
                'chains are not supported: a link has one parent.',
            )
        parent_joint[joint.child] = joint
    if complete:
        yield from _audit_roots(urdf, links, parent_joint)


def _audit_roots(urdf: Urdf, links: set[str], parent_joint: dict[str, Any]) -> Iterator[Problem]:
    roots = [link.name for link in urdf.robot.links if link.name not in parent_joint]
    if len(roots) > 1:
        yield Problem(
            'error',
            'several_roots',
            urdf.where('link', roots[1]),
            f'the links {_listed(roots)} have no parent; a robot has exactly one such link.',
        )
    elif roots == ['world'] and floating_root_joint(urdf) is None:
        yield Problem(
            'warning',
            'tied_to_world',
            urdf.where('link', 'world'),
            "the robot is tied to a link 'world'; it is taken to float all the same. Name the "
            'link that carries the IMU as its root.',
        )
    in_cycle = links - urdf.reachable(roots)
    if in_cycle:
        ordered = [link.name for link in urdf.robot.links if link.name in in_cycle]
        yield Problem(
            'error',
            'cycle',
            urdf.where('link', ordered[0]),
            f'the joints form a cycle through the links {_listed(ordered)}; they must form a '
            'tree.',
        )


def _audit_joints(urdf: Urdf) -> Iterator[Problem]:
    tie = floating_root_joint(urdf)
    for joint in urdf.robot.joints:
        where = urdf.where('joint', joint.name)
        if tie is not None and joint is tie:
            yield Problem(
                'warning',
                'root_joint_left_out',
                where,
                f"this floating joint and its parent '{joint.parent}' are left out: the root "
                'floats anyway.',
            )
        elif joint.type in ('floating', 'planar'):
            yield Problem(
                'error',
                'unsupported_joint_type',
                where,
                f'{joint.type} joints inside the robot are not supported; use revolute, '
                'continuous, prismatic or fixed joints.',
            )
        distance = math.hypot(*joint.origin.xyz) if joint.origin and joint.origin.xyz else 0.0
        if distance > FARTHEST_JOINT:
            yield Problem(
                'warning',
                'far_origin',
                where,
                f'its origin is {distance:.4g} m from the parent; URDF has metres, not '
                'millimetres.',
            )
        if joint.type in _MOVING:
            yield from _audit_axis(joint, where)
            yield from _audit_limit(joint, where)


def _audit_axis(joint: Any, where: str) -> Iterator[Problem]:
    norm = 1.0 if joint.axis is None else math.hypot(*joint.axis)
    if norm < _SHORTEST_AXIS:
        yield Problem(
            'error', 'axis_without_direction', where, f'its axis {joint.axis} has no direction.'
        )
    elif abs(norm - 1.0) > 1e-3:
        yield Problem(
            'warning',
            'axis_not_normalised',
            where,
            f'its axis {joint.axis} is not a unit vector; normalised.',
        )


def _audit_limit(joint: Any, where: str) -> Iterator[Problem]:
    limit = joint.limit
    if limit is None:
        return
    if joint.type != 'continuous':
        if limit.lower > limit.upper:
            yield Problem(
                'warning',
                'reversed_limits',
                where,
                f'its limits are reversed ({limit.lower} > {limit.upper}); exchanged.',
            )
        widest = max(abs(limit.lower), abs(limit.upper))
        if joint.type == 'revolute' and MOST_TURNS < widest <= 720.0:
            yield Problem(
                'warning',
                'limits_in_degrees',
                where,
                f'it turns by up to {widest:.4g} rad; URDF has radians, not degrees.',
            )
    if not (limit.velocity > 0 and limit.effort > 0):
        yield Problem(
            'warning',
            'limit_not_positive',
            where,
            'its velocity or effort limit is not positive; taken as unlimited.',
        )


def _audit_mimics(urdf: Urdf) -> Iterator[Problem]:
    tie = floating_root_joint(urdf)
    movable = {
        joint.name for joint in urdf.robot.joints if joint.type != 'fixed' and joint is not tie
    }
    leaders = {joint.name: joint.mimic.joint for joint in urdf.robot.joints if joint.mimic}
    gains: dict[str, float] = {}  # of a mimic joint against the independent one
    for name in leaders:
        chain: dict[str, None] = {}
        while name in leaders and name not in gains and name not in chain:
            chain[name] = None
            name = leaders[name]
        if name in chain:
            circle = [*chain][[*chain].index(name) :]
            where = urdf.where('joint', circle[0])
            ring = ' → '.join([*circle[:_NAMES_LISTED], circle[0]])
            yield Problem('error', 'mimic_circle', where, f'the mimics form a circle: {ring}.')
        for follower in reversed(chain):
            multiplier = urdf.robot.joint_map[follower].mimic.multiplier
            gain = gains.get(leaders[follower], 1.0) * (1.0 if multiplier is None else multiplier)
            gains[follower] = min(max(gain, -LARGEST_NUMBER), LARGEST_NUMBER)
            yield from _audit_mimic(urdf, follower, leaders[follower], movable, gain)


def _audit_mimic(
    urdf: Urdf, name: str, leader: str, movable: set[str], gain: float
) -> Iterator[Problem]:
    where = urdf.where('joint', name)
    if leader not in movable:
        question = similar(leader, movable)
        yield Problem(
            'error',
            'mimic_of_no_movable_joint',
            where,
            f"it mimics '{leader}', which is no movable joint.{question}",
        )
    if abs(gain) > LARGEST_NUMBER:
        yield Problem(
            'error',
            'mimic_gain_too_large',
            where,
            f'the multipliers of its mimics make {gain:.3g} in all.',
        )


def _listed(names: list[str]) -> str:
    listed = ', '.join(f"'{name}'" for name in names[:_NAMES_LISTED])
    return f'{listed}, … ({len(names)} in all)' if len(names) > _NAMES_LISTED else listed
