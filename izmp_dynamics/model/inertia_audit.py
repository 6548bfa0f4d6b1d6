"""Errors and anomalies in the masses and inertia tensors of a URDF."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.problem import Problem
from izmp_dynamics.model.urdf import Urdf

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
