"""Units on other links that are turned, or exchanged: root and joints say how their links turn."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.base.finding import Finding, warning
from izmp_dynamics.base.rotations import angles, to_rpy
from izmp_dynamics.sensing.sensor_check import rotation_between

ENOUGH = 50
"""Instants at which all units are known."""

LEAST_OFF = 0.2
"""Difference of angular velocities from which on it is judged, a root mean square [rad/s]."""

EXPLAINED = 0.3
"""Part of its square that another mounting may leave [-]."""

TURNED = float(np.radians(15.0))
"""A smaller turn is left to the calibration [rad]."""


def unit_findings(links: Sequence[str], measured: Array, expected: Array) -> Iterator[Finding]:
    """Compare what units measure with what root and joints say, in each rotation.

    Args:
        links: that carry the S units.
        measured: (K, S, 3) vectors, e.g. angular velocities [rad/s]; rows that are not finite do
            not count.
        expected: (K, S, 3) those of the links, in the same axes.
    """
    joined = np.concatenate([measured, expected], axis=1)
    known = finite_rows(joined.reshape(len(joined), 6 * len(links)))
    if not links or np.count_nonzero(known) < ENOUGH:
        return
    measured, expected = measured[known].swapaxes(0, 1), expected[known].swapaxes(0, 1)
    turns = np.array([[rotation_between(m, e) for e in expected] for m in measured])
    turned = np.einsum('ijab,ika->ijkb', turns.swapaxes(2, 3), measured)
    left = ((turned - expected) ** 2).sum(axis=3).mean(axis=2)
    stated = ((measured - expected) ** 2).sum(axis=2).mean(axis=1)
    exchanged = set[int]()
    for i, j in combinations(range(len(links)), 2):
        own, other = left[i, i] + left[j, j], left[i, j] + left[j, i]
        if own > LEAST_OFF**2 and other < EXPLAINED * own:
            exchanged |= {i, j}
            yield warning(
                'units_exchanged',
                f"The units on '{links[i]}' and '{links[j]}' seem to be exchanged: each turns as "
                'the link of the other does by the joints.',
                'Exchange their topics under segments in the robot file.',
            )
    for k, link in enumerate(links):
        Q = turns[k, k]
        off = stated[k] > LEAST_OFF**2 and left[k, k] < EXPLAINED * stated[k]
        if k not in exchanged and off and angles(Q[None])[0] > TURNED:
            rpy = ', '.join(f'{angle:.0f}' for angle in np.degrees(to_rpy(Q)).round() + 0.0)
            yield warning(
                'unit_turned',
                f"The unit on '{link}' is turned by roll, pitch, yaw {rpy}° against what the "
                'robot file states, as the joints show.',
                '“izmp calibrate BAG --robot ROBOT -o OUT” finds how units are mounted.',
                link,
                {'turn': Q},
            )
