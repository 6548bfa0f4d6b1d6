"""Errors and anomalies of a URDF: sentences that name the link or joint and its line."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.model.urdf_grammar import LARGEST_NUMBER, Problem, similar

HEAVIEST_ROBOT = 1000.0
"""Total mass above which the masses are taken to be in grams [kg]."""

LIGHTEST_ROBOT = 1e-6
"""Total mass below which a robot counts as massless [kg]."""

LARGEST_GYRATION = 10.0
"""Radius of gyration above which an inertia tensor is taken to be in other units [m]."""

_NAMES_LISTED = 10
_TRIANGLE_TOLERANCE = 1e-6
_SMALLEST_MOMENT = 1e-12  # [kg·m²]


def audit_inertias(urdf: Urdf) -> Iterator[Problem]:
    """Examine the masses and inertia tensors of the links and the mass of the robot."""
    yield from _audit_links(urdf)
    yield from _audit_mass(urdf)


def _audit_links(urdf: Urdf) -> Iterator[Problem]:
    moved = {joint.child for joint in urdf.robot.joints if joint.type != 'fixed'}
    massless, forgotten = [], []
    for link in urdf.robot.links:
        where = urdf.where('link', link.name)
        if link.inertial is not None:
            yield from _audit_inertial(link.inertial, where)
        elif _is_forgotten(urdf, link.name):
            forgotten.append(link.name)
        elif link.name in moved and not _carries_mass(urdf, link.name):
            massless.append(link.name)
    body = 'visual or collision shapes and moving children'
    yield from _massless(urdf, forgotten, 'no_inertial', f'has {body}', f'have {body}')
    yield from _massless(urdf, massless, 'moving_without_mass', 'moves', 'move')


def _is_forgotten(urdf: Urdf, link: str) -> bool:
    """Whether a link without <inertial> is a body: it has a shape, and joints move on it.

    It is none where its mass may be stated elsewhere: by the link that it is fixed to, or by one
    without a shape that is fixed to it, as KDL wants it for the root.
    """
    robot = urdf.robot
    above = robot.parent_map.get(link)
    if link not in urdf.shaped or (above and robot.joint_map[above[0]].type == 'fixed'):
        return False
    below = [(robot.joint_map[joint], child) for joint, child in robot.child_map.get(link, ())]
    stated = [
        robot.link_map[child].inertial
        for joint, child in below
        if joint.type == 'fixed' and child in robot.link_map and child not in urdf.shaped
    ]
    moves = any(joint.type != 'fixed' for joint, _ in below)
    return moves and not any(inertial and inertial.mass for inertial in stated)


def _massless(urdf: Urdf, links: list[str], kind: str, one: str, many: str) -> Iterator[Problem]:
    """One problem for all links of a kind that have no mass, with the verbs for one and many."""
    if len(links) == 1:
        where = urdf.where('link', links[0])
        yield Problem('warning', kind, where, f'it {one} but has no <inertial>: no mass.')
    elif links:
        places = [urdf.where('link', link).removeprefix('link ') for link in links]
        if len(places) > _NAMES_LISTED:
            places[_NAMES_LISTED:] = [f'{len(links) - _NAMES_LISTED} more']
        message = f'links that {many} but have no <inertial>, so no mass: {", ".join(places)}.'
        yield Problem('warning', kind, '', message)


def _audit_inertial(inertial: Any, where: str) -> Iterator[Problem]:
    mass = inertial.mass
    if mass < 0:
        yield Problem('error', 'negative_mass', where, f'its mass is negative ({mass} kg).')
    elif inertial.inertia is None:
        if mass > 0:
            yield Problem(
                'warning',
                'mass_without_inertia',
                where,
                'it has a mass but no <inertia>; taken as zero.',
            )
    else:
        yield from _audit_tensor(np.array(inertial.inertia.to_matrix(), dtype=float), mass, where)


def _audit_tensor(theta: Array, mass: float, where: str) -> Iterator[Problem]:
    moments: Array = np.linalg.eigvalsh(theta).astype(np.float64)
    largest = float(np.abs(moments).max())
    if largest < _SMALLEST_MOMENT:
        if mass > 0:
            yield Problem(
                'warning', 'zero_inertia', where, 'its inertia tensor is zero: a point mass.'
            )
    elif mass == 0:
        yield Problem(
            'warning',
            'inertia_without_mass',
            where,
            'it has an inertia tensor but no mass; both are ignored.',
        )
    elif theta.diagonal().min() < 0:
        yield Problem(
            'error',
            'negative_moment',
            where,
            f'it has a negative moment of inertia ({theta.diagonal().min()} kg·m²).',
        )
    else:
        yield from _audit_moments(moments, where)
        if largest > mass * LARGEST_GYRATION**2:
            radius = math.sqrt(largest / mass)
            yield Problem(
                'warning',
                'inertia_in_other_units',
                where,
                f'its moments of inertia are those of {mass:g} kg at a distance of '
                f'{radius:.3g} m; URDF has kg·m².',
            )


def _audit_moments(moments: Array, where: str) -> Iterator[Problem]:
    """Look at the principal moments, in ascending order."""
    listed = ', '.join(f'{moment:.4g}' for moment in moments)
    if moments[0] < -_TRIANGLE_TOLERANCE * moments[2]:
        yield Problem(
            'warning',
            'negative_principal_moment',
            where,
            f'its principal moments {listed} kg·m² are not all positive: no body has this '
            'inertia; its products of inertia are too large.',
        )
    elif moments[0] + moments[1] < moments[2] * (1 - _TRIANGLE_TOLERANCE):
        yield Problem(
            'warning',
            'triangle_inequality',
            where,
            f'its principal moments {listed} kg·m² break the triangle inequality: no body has '
            'this inertia.',
        )


def _audit_mass(urdf: Urdf) -> Iterator[Problem]:
    masses = (link.inertial.mass for link in urdf.robot.links if link.inertial is not None)
    total = sum(mass for mass in masses if mass > 0)
    if total < LIGHTEST_ROBOT:
        yield Problem(
            'error',
            'massless_robot',
            '',
            f'the robot has no mass: its <inertial> elements make {total:g} kg.',
        )
    elif total > HEAVIEST_ROBOT:
        yield Problem(
            'warning',
            'mass_in_other_units',
            '',
            f'the robot weighs {total:.0f} kg; are the masses in grams?',
        )


def _carries_mass(urdf: Urdf, link: str) -> bool:
    """Whether a massive link is fixed to `link`, which has no <inertial> itself."""
    carried = urdf.reachable([link], 'fixed')
    return any(
        part.inertial is not None and part.inertial.mass
        for part in urdf.robot.links
        if part.name in carried
    )


__all__ = ['Problem', 'audit', 'floating_root_joint']

FARTHEST_JOINT = 10.0
"""Distance above which a joint's origin is taken to be in millimetres [m]."""

MOST_TURNS = 20.0
"""Position limit of a joint above which it is taken to be in degrees [rad]."""

_SHORTEST_AXIS = 1e-9
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
            f"it mimics '{leader}', which is not a movable joint.{question}",
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
