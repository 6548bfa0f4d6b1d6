"""Errors and anomalies of a URDF: sentences that name the link or joint and its line."""

import math
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.model.urdf_grammar import LARGEST_NUMBER, Problem, problem, similar

_HEAVIEST_ROBOT = 1000.0  # total mass above which the masses are taken to be in grams [kg]
_LIGHTEST_ROBOT = 1e-6  # total mass below which a robot counts as massless [kg]

LARGEST_GYRATION = 10.0
"""Radius of gyration above which an inertia tensor is taken to be in other units [m]."""

_FARTHEST_JOINT = 10.0  # distance above which a joint's origin is taken to be in millimetres [m]
_MOST_TURNS = 20.0  # position limit of a joint above which it is taken to be in degrees [rad]
_NAMES_LISTED = 10
_TRIANGLE_TOLERANCE = 1e-6
_SMALLEST_MOMENT = 1e-12  # [kg·m²]
_SHORTEST_AXIS = 1e-9

__all__ = ['Problem', 'audit', 'floating_root_joint']


def audit(urdf: Urdf) -> list[Problem]:
    """Examine inertias, joints and the tree of a URDF.

    Returns:
        The problems, errors first.
    """
    if not urdf.robot.links:
        return [problem('no_links', '')]
    found = *_tree(urdf), *_joints(urdf), *_mimics(urdf), *_links(urdf), *_mass(urdf)
    return sorted([*urdf.remarks, *found], key=lambda each: each.severity != 'error')


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


def _tree(urdf: Urdf) -> Iterator[Problem]:
    names = {link.name for link in urdf.robot.links}
    parent_joint: dict[str, Any] = {}
    complete = True
    for joint in urdf.robot.joints:
        where = urdf.where('joint', joint.name)
        for role, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in names:
                complete, meant = False, similar(link, names)
                yield problem('unknown_link', where, role=role, link=link, meant=meant)
        if joint.child in parent_joint:
            other = parent_joint[joint.child].name
            yield problem('second_parent', where, link=joint.child, other=other)
        parent_joint[joint.child] = joint
    if not complete:
        return
    roots = _in_order(urdf, names - parent_joint.keys())
    if len(roots) > 1:
        yield problem('several_roots', urdf.where('link', roots[1]), links=_listed(roots))
    elif roots == ['world'] and floating_root_joint(urdf) is None:
        yield problem('tied_to_world', urdf.where('link', 'world'))
    cycle = _in_order(urdf, names - urdf.reachable(roots))
    if cycle:
        yield problem('cycle', urdf.where('link', cycle[0]), links=_listed(cycle))


def _joints(urdf: Urdf) -> Iterator[Problem]:
    tie = floating_root_joint(urdf)
    for joint in urdf.robot.joints:
        where = urdf.where('joint', joint.name)
        if tie is not None and joint is tie:
            yield problem('root_joint_left_out', where, parent=joint.parent)
        elif joint.type in ('floating', 'planar'):
            yield problem('unsupported_joint_type', where, type=joint.type)
        distance = math.hypot(*joint.origin.xyz) if joint.origin and joint.origin.xyz else 0.0
        if distance > _FARTHEST_JOINT:
            yield problem('far_origin', where, distance=distance)
        if joint.type in ('revolute', 'continuous', 'prismatic'):
            yield from _axis_and_limit(joint, where)


def _axis_and_limit(joint: Any, where: str) -> Iterator[Problem]:
    norm, limit = 1.0 if joint.axis is None else math.hypot(*joint.axis), joint.limit
    if norm < _SHORTEST_AXIS:
        yield problem('axis_without_direction', where, axis=joint.axis)
    elif abs(norm - 1.0) > 1e-3:
        yield problem('axis_not_normalised', where, axis=joint.axis)
    if limit is None:
        return
    if joint.type != 'continuous' and limit.lower > limit.upper:
        yield problem('reversed_limits', where, lower=limit.lower, upper=limit.upper)
    widest = max(abs(limit.lower), abs(limit.upper))
    if joint.type == 'revolute' and _MOST_TURNS < widest <= 720.0:
        yield problem('limits_in_degrees', where, widest=widest)
    if not (limit.velocity > 0 and limit.effort > 0):
        yield problem('limit_not_positive', where)


def _mimics(urdf: Urdf) -> Iterator[Problem]:
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
            ring = ' → '.join([*circle[:_NAMES_LISTED], circle[0]])
            yield problem('mimic_circle', urdf.where('joint', circle[0]), ring=ring)
        for follower in reversed(chain):
            leader, where = leaders[follower], urdf.where('joint', follower)
            multiplier = urdf.robot.joint_map[follower].mimic.multiplier
            gain = gains.get(leader, 1.0) * (1.0 if multiplier is None else multiplier)
            gains[follower] = min(max(gain, -LARGEST_NUMBER), LARGEST_NUMBER)
            if leader not in movable:
                meant = similar(leader, movable)
                yield problem('mimic_of_no_movable_joint', where, leader=leader, meant=meant)
            if abs(gain) > LARGEST_NUMBER:
                yield problem('mimic_gain_too_large', where, gain=gain)


def _links(urdf: Urdf) -> Iterator[Problem]:
    moved = {joint.child for joint in urdf.robot.joints if joint.type != 'fixed'}
    massless, forgotten = [], []
    for link in urdf.robot.links:
        if link.inertial is not None:
            yield from _inertial(link.inertial, urdf.where('link', link.name))
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


def _carries_mass(urdf: Urdf, link: str) -> bool:
    """Whether a massive link is fixed to `link`, which has no <inertial> itself."""
    carried = urdf.reachable([link], 'fixed')
    return any(
        part.inertial is not None and part.inertial.mass
        for part in urdf.robot.links
        if part.name in carried
    )


def _massless(urdf: Urdf, links: list[str], kind: str, one: str, many: str) -> Iterator[Problem]:
    """One problem for all links of a kind that have no mass, with the verbs for one and many."""
    places = [urdf.where('link', link) for link in links]
    if len(links) == 1:
        yield problem(kind, places[0], text=f'it {one} but has no <inertial>: no mass.')
    elif links:
        if len(places) > _NAMES_LISTED:
            places[_NAMES_LISTED:] = [f'{len(links) - _NAMES_LISTED} more']
        named = ', '.join(place.removeprefix('link ') for place in places)
        text = f'links that {many} but have no <inertial>, so no mass: {named}.'
        yield problem(kind, '', text=text)


def _inertial(inertial: Any, where: str) -> Iterator[Problem]:
    mass = inertial.mass
    if mass < 0:
        yield problem('negative_mass', where, mass=mass)
    elif inertial.inertia is None:
        if mass > 0:
            yield problem('mass_without_inertia', where)
    else:
        yield from _tensor(np.array(inertial.inertia.to_matrix(), dtype=float), mass, where)


def _tensor(theta: Array, mass: float, where: str) -> Iterator[Problem]:
    moments, least = np.linalg.eigvalsh(theta), theta.diagonal().min()
    largest = float(np.abs(moments).max())
    if largest < _SMALLEST_MOMENT:
        if mass > 0:
            yield problem('zero_inertia', where)
    elif mass == 0:
        yield problem('inertia_without_mass', where)
    elif least < 0:
        yield problem('negative_moment', where, moment=least)
    else:
        listed = ', '.join(f'{moment:.4g}' for moment in moments)
        if moments[0] < -_TRIANGLE_TOLERANCE * moments[2]:
            yield problem('negative_principal_moment', where, moments=listed)
        elif moments[0] + moments[1] < moments[2] * (1 - _TRIANGLE_TOLERANCE):
            yield problem('triangle_inequality', where, moments=listed)
        if largest > mass * LARGEST_GYRATION**2:
            radius = math.sqrt(largest / mass)
            yield problem('inertia_in_other_units', where, mass=mass, radius=radius)


def _mass(urdf: Urdf) -> Iterator[Problem]:
    masses = (link.inertial.mass for link in urdf.robot.links if link.inertial is not None)
    total = sum(mass for mass in masses if mass > 0)
    if total < _LIGHTEST_ROBOT:
        yield problem('massless_robot', '', mass=total)
    elif total > _HEAVIEST_ROBOT:
        yield problem('mass_in_other_units', '', mass=total)


def _in_order(urdf: Urdf, links: Collection[str]) -> list[str]:
    return [link.name for link in urdf.robot.links if link.name in links]


def _listed(names: list[str]) -> str:
    listed = ', '.join(f"'{name}'" for name in names[:_NAMES_LISTED])
    return f'{listed}, … ({len(names)} in all)' if len(names) > _NAMES_LISTED else listed
