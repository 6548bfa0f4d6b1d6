"""What is wrong with the force sensors of the feet, as far as the evaluated numbers show it."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.diagnosis.in_air import in_air
from izmp_dynamics.model.robot_file import FootWrench, RobotFile
from izmp_dynamics.results.evaluation import Evaluation, Foot

FORCE_TOLERANCE = 0.05
"""Measured normal force against the weight from which on it is remarked on [-]."""

UNITS = {
    'kgf': 9.80665,
    'lbf': 4.4482216,
    'kN': 1000.0,
    'mN': 0.001,
}
"""Unit → how many N it is."""

UNIT_TOLERANCE = 0.08
"""Ratio of force and weight that is still taken for that of a unit [-]."""

LEAST_TIME = 0.3
"""Time in the air that is needed to judge a foot [s]."""

LARGE_SHARE = 0.7
"""A foot in the air cannot measure this share of what it and a foot on the ground measure [-]."""

LEAST_LOAD = 0.1
"""Share of the load that these two must measure, or one of them may be about to step [-]."""

AGAINST = -0.7
"""Correlation of the feet's shares and the place of the IZMP that means exchanged feet [-]."""

LEAST_SHIFT = 0.03
"""Standard deviation of the shares from which on that correlation means something [-]."""

Flags = npt.NDArray[np.bool_]


def judge_feet(
    evaluation: Evaluation,
    robot: RobotFile,
    stands: Flags | None = None,
    unused_wrenches: Sequence[str] = (),
) -> Iterator[Finding]:
    """Find wrong signs, units and topics; what follows from another finding is left out.

    Args:
        evaluation: of a recording, or of the last seconds.
        robot: robot file.
        stands: (K,) where the robot stands, so that the feet carry its weight; everywhere if not
            given.
        unused_wrenches: topics of force sensors that no foot takes.
    """
    weight = evaluation.total_mass * evaluation.gravity
    measured = [foot for foot in evaluation.feet if np.isfinite(foot.normal_force).any()]
    pulling = [foot for foot in measured if np.nanmedian(foot.normal_force) < -0.05 * weight]
    if pulling:
        yield from (_pulls(foot, _wrench_of(robot, foot.name)) for foot in pulling)
        return
    if measured and len(measured) == len(evaluation.feet):
        total = np.sum([foot.normal_force for foot in measured], axis=0)
        standing = total if stands is None else total[stands]
        yield from _judge_total(standing, weight, unused_wrenches)
    swapped = _exchanged(evaluation, measured)
    if swapped is not None:
        yield swapped
    if evaluation.feet and not any(foot.loaded.any() for foot in evaluation.feet):
        yield Finding(
            'warning',
            'no_load',
            'No foot ever carries load.',
            'Is ground.contact_force too large, or a force sensor dead?',
        )


def _wrench_of(robot: RobotFile, foot: str) -> FootWrench | None:
    return next((stated.wrench for stated in robot.feet if stated.name == foot), None)


def _pulls(foot: Foot, stated: FootWrench | None) -> Finding:
    sign = stated.sign if stated is not None else 1
    return Finding(
        'warning',
        'foot_pulls',
        f"Foot '{foot.name}' pulls at the ground: its median force is "
        f'{np.nanmedian(foot.normal_force):.1f} N.',
        f'wrench.sign is {sign}; set wrench.sign: {-sign}, or wrench.rotation if the sensor is '
        'mounted upside down. The z axis of its sole must be up.',
    )


def _judge_total(total: Array, weight: float, unused_wrenches: Sequence[str]) -> Iterator[Finding]:
    """Compare the sum of the normal forces (K,) with the weight [N]."""
    total = total[np.isfinite(total)]
    if not len(total):
        return
    mean, median = float(np.mean(total)), float(np.median(total))
    if abs(mean / weight - 1.0) <= FORCE_TOLERANCE:
        return
    for unit, size in UNITS.items():
        if abs(median * size / weight - 1.0) <= UNIT_TOLERANCE:
            yield Finding(
                'warning',
                'foot_unit',
                f'The feet measure {mean:.4g} on average, the weight is {weight:.1f} N: that is '
                f'the weight in {unit}.',
                f'Let the drivers publish N and N·m, or state wrench.matrix with {size:.6g} on '
                'its diagonal.',
            )
            return
    missing = ''
    if mean < weight and unused_wrenches:
        missing = (
            'Is a foot missing from the robot file? It does not use '
            f'{list_names(unused_wrenches)}. '
        )
    yield Finding(
        'warning',
        'mean_foot_force',
        f'The feet measure {mean:.1f} N on average, the weight is {weight:.1f} N.',
        f"{missing}Check the URDF's masses, a load that it does not have, offsets of the sensors, "
        'and the mass below them (wrench.below).',
    )


def _exchanged(evaluation: Evaluation, feet: Sequence[Foot]) -> Finding | None:
    """Find two feet whose sensors are each other's: by steps, or by the shift of weight.

    Steps show it of robots with any number of feet, if joints and flat soles show which foot is in
    the air; the shift of weight only of bipeds, as the place of the IZMP does not determine how
    more than two feet share the load.
    """
    if len(feet) != len(evaluation.feet):
        return None
    total = np.sum([foot.normal_force for foot in feet], axis=0)
    aloft = {foot.name: in_air(evaluation, foot) for foot in feet}
    stepped, found = False, None
    for pair in combinations(feet, 2):
        shares = {}
        for one, other in permutations(pair):
            both = one.normal_force + other.normal_force
            with np.errstate(invalid='ignore'):
                rows = aloft[one.name] & ~aloft[other.name] & (both > LEAST_LOAD * total)
            if np.count_nonzero(rows) * _step(evaluation) >= LEAST_TIME:
                share = np.median(one.normal_force[rows] / both[rows])
                shares[one.name, other.name] = float(share)
        stepped |= bool(shares)
        if shares and min(shares.values()) >= 1.0 - LARGE_SHARE:
            (names, most) = max(shares.items(), key=lambda entry: entry[1])
            if most >= LARGE_SHARE and (found is None or most > found[1]):
                found = names, most
    if found is not None:
        (name, of), most = found
        why = (
            f"while foot '{name}' is in the air, its sensor measures {most:.0%} of what both "
            'measure'
        )
        return _exchange(name, of, why)
    if not stepped and len(feet) == 2 and _shifts_against(evaluation, *feet):
        why = 'their load shifts against the IZMP'
        return _exchange(feet[0].name, feet[1].name, why)
    return None


def _step(evaluation: Evaluation) -> float:
    """Time between instants [s]; 0 if there are too few."""
    steps = np.diff(evaluation.stamps)
    return float(np.median(steps)) / NANOSECONDS if len(steps) else 0.0


def _exchange(one: str, other: str, why: str) -> Finding:
    return Finding(
        'warning',
        'feet_exchanged',
        f'The force sensors of the feet {one} and {other} seem to be exchanged: {why}.',
        f'Exchange feet[{one}].wrench.topic and feet[{other}].wrench.topic (and frame), if their '
        'legs are not exchanged in the URDF.',
    )


def _shifts_against(evaluation: Evaluation, one: Foot, other: Foot) -> bool:
    """Whether the IZMP moves towards the foot whose force decreases."""
    track = evaluation.tracks.get('mr_ad')
    if track is None:
        return False
    across = one.sole.mean(axis=1) - other.sole.mean(axis=1)
    length = np.einsum('ki,ki->k', across, across)
    place = np.einsum('ki,ki->k', track.point - other.sole.mean(axis=1), across) / length
    share = one.normal_force / (one.normal_force + other.normal_force)
    known = np.isfinite(place + share) & (np.abs(share) < 10.0)
    if np.count_nonzero(known) < 10 or np.std(share[known]) < LEAST_SHIFT:
        return False
    return bool(np.corrcoef(place[known], share[known])[0, 1] < AGAINST)
