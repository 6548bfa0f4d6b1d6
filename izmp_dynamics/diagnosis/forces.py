"""What is wrong with contact forces, measured or of the motion, as the evaluated numbers show it.

`izmp check` asks for the whole of a recording, a running robot for its last seconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.base.robust import mean as robust_mean
from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.stability.clearance import (
    CLEARANCE_BY_JOINTS,
    lowest_above,
    shows_plane,
    stays_point,
)

FORCE_TOLERANCE = 0.05
"""A mean normal force that deviates by more from the weight is remarked on [-]."""

TILT_TOLERANCE = 10.0
"""Angle between the mean contact force and the ground normal that is remarked on [°]."""

MASS_BELOW = 0.25
"""So far from the weight a sum may be for want of what is below sensors: no other unit [-]."""

CONTRADICTS = 2.0
"""Ratio of measured and required force that neither a load nor a wrong mass explains [-]."""

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

GAP_TOLERANCE = 0.01
"""Median distance of IZMP and CoP from which on a calibration is suggested [m]."""

LATE_GAP = 0.005
"""Distance of IZMP and CoP (RMS) from which on a delay between them is looked for [m]."""

DELAYS = 0.005 * np.arange(-20, 21)
"""Delays of the CoP that are tried [s]."""

BY_DELAY = 0.5
"""Part of the mean square of that distance that a delay leaves if it is most of it [-]."""

EXAMINED = 10_000
"""Instants at the beginning that are tried with each."""

LEAST_SWAY = 0.002
"""Difference of horizontal forces, as part of the weight, from which on it means something [-]."""

TURNED = 45.0
"""Angle about the vertical between these from which on the mounting of a sensor is doubted [°]."""

EXPLAINED = 0.2
"""Share of the square of that difference that may be left after they are turned [-]."""

OVER, LONGEST = 0.05, int(60e9)
"""Half-width of the triangle over which they are averaged [s]; time that is looked at [ns]."""

CONSTANT_SHARE = 0.5
"""Part of it that is constant from which on offsets are named rather than a delay [-]."""

Flags = npt.NDArray[np.bool_]


def motion_findings(evaluation: Evaluation, stands: Flags) -> Iterator[Finding]:
    """Compare the mean contact force of MR-AD with the weight: its size, its direction.

    The root may turn, so a mean in its axes would be too short. On a slope the component along
    the ground normal is.

    Args:
        evaluation: of a recording, or of the last seconds.
        stands: (K,) where the robot stands, so that the ground carries its weight.
    """
    force = np.where(stands[:, None], evaluation.tracks['mr_ad'].wrench[:, :3], np.nan)
    known = np.isfinite(evaluation.normal) & np.isfinite(force)
    if not known.all(axis=1).any():
        return
    weight = evaluation.total_mass * evaluation.gravity
    mean = np.nanmean(evaluation.in_nif(force), axis=0)
    size = float(np.linalg.norm(mean))
    if abs(size / weight - 1.0) > FORCE_TOLERANCE:
        yield Finding(
            'mean_force',
            'warning',
            f'The mean contact force of MR-AD is {size:.1f} N, the weight {weight:.1f} N.',
            'The masses cancel in this: check the scale of the accelerometers and the frames '
            'that they measure in.',
        )
    tilt = float(np.degrees(np.arccos(np.clip(mean[2] / size, -1.0, 1.0))))
    if tilt > TILT_TOLERANCE:
        yield Finding(
            'tilted_force',
            'warning',
            f'On average the contact force is tilted by {tilt:.0f}° against the ground normal.',
            'If the ground has no such slope: does imu.frame have the axes of the IMU, and do the '
            'z axes of the soles point up? Feet that touch the ground at a point have no such '
            'axis; state radius in place of polygon.',
            data={'tilt': tilt},
        )


def feet_findings(
    evaluation: Evaluation,
    stands: Flags | slice = slice(None),
    unused_wrenches: Sequence[str] = (),
) -> Iterator[Finding]:
    """Find wrong signs, units and topics; what follows from another finding is left out.

    Args:
        evaluation: of a recording, or of the last seconds.
        stands: (K,) where the robot stands, so that the feet carry its weight; everywhere if not
            given.
        unused_wrenches: topics of force sensors that no foot takes.
    """
    feet = evaluation.feet
    weight = evaluation.total_mass * evaluation.gravity
    yield from dead_contacts(evaluation)
    measured = [foot for foot in feet if np.isfinite(foot.normal_force).any()]
    pulling = [foot for foot in measured if _pulls_all_along(foot, weight / len(feet))]
    if pulling:
        yield from map(_pulls, pulling)
        return
    if measured and len(measured) == len(feet):
        total = np.sum([foot.normal_force for foot in feet], axis=0)
        scalar = any(foot.sensor is None and foot.measured for foot in feet)
        wrong = [*_against_newton(evaluation, total, stands)]
        usual = weight / CONTRADICTS < robust_mean(total[stands]) < weight * CONTRADICTS
        if not (usual and wrong):
            found = _compare_with_weight(total[stands], weight, unused_wrenches, scalar)
            wrong = [replace(each, data={'certain': bool(wrong)}) for each in found]
        yield from wrong
        yield from _exchanged(evaluation, total, stands)
        yield from _turned(evaluation)
    if feet and not any(foot.loaded.any() for foot in feet):
        yield Finding(
            'no_load',
            'warning',
            'No foot ever carries load.',
            'Is ground.contact_force too large, or a force sensor dead?',
        )


def dead_contacts(evaluation: Evaluation) -> Iterator[Finding]:
    """Find contact sensors that say the same throughout, though the motion says otherwise.

    The chance of a foot is 0 or 1 where its sensor is believed: not where none says load, as then
    contact is estimated.
    """
    steps = np.diff(evaluation.stamps)
    step = float(np.median(steps)) / NANOSECONDS if len(steps) else 0.0
    for foot in evaluation.feet:
        has_force = foot.sensor is not None or np.isfinite(foot.normal_force).any()
        if has_force or not foot.measured or foot.chance is None:
            continue
        stands, says = foot.loaded.astype(bool), foot.chance == 1.0
        seconds = step * np.count_nonzero(stands)
        what, contrary = 'never reports load', 'it carries load'
        if says.any():
            what, contrary = 'reports load throughout', 'it is in the air'
            seconds = step * np.count_nonzero(in_air(evaluation, foot)) * stands.all()
        if seconds >= LEAST_TIME:
            yield Finding(
                'dead_contact',
                'warning',
                f"The contact sensor of foot '{foot.name}' {what}, though according to the "
                f'motion {contrary} for {seconds:.1f} s.',
                f'Is it dead, or feet[{foot.name}].contact.loaded_above wrong? Without contact in '
                'the robot file, contact is estimated.',
                data={'says': float(says.any())},
            )


def _pulls_all_along(foot: Foot, share: float) -> bool:
    """Whether a foot pulls with its share of the weight [N], and never pushes: no mere offset."""
    low, high = np.nanpercentile(foot.normal_force, [5.0, 95.0])
    return bool(low < -0.5 * share and high < 0.1 * share)


def _pulls(foot: Foot) -> Finding:
    return Finding(
        'foot_pulls',
        'warning',
        f"Foot '{foot.name}' pulls at the ground: its median force is "
        f'{np.nanmedian(foot.normal_force):.1f} N.',
        f'wrench.sign is {foot.sign}; set wrench.sign: {-foot.sign}, or wrench.rotation if the '
        'sensor is mounted upside down. The z axis of its sole must be up.'
        if foot.sensor is not None or not foot.measured
        else 'Multiply force.field by −1.',
    )


def _compare_with_weight(
    total: Array, weight: float, unused_wrenches: Sequence[str], scalar: bool
) -> Iterator[Finding]:
    """Compare the sum of the normal forces (T,) with the weight [N]; scalar: they are numbers."""
    total = total[np.isfinite(total)]
    if not len(total) or weight <= 0.0:
        return
    mean, median = float(np.mean(total)), float(np.median(total))
    if abs(mean / weight - 1.0) <= FORCE_TOLERANCE:
        return
    if scalar and mean > 0.0 and abs(mean / weight - 1.0) > MASS_BELOW:
        yield Finding(
            'foot_unit',
            'warning',
            f'The feet measure {mean:.4g} on average, the weight is {weight:.1f} N.',
            f'If they count from zero, multiply force.field by {weight / mean:.3g}; without a '
            'unit state contact with loaded_above in place of force.',
        )
        return
    for unit, size in UNITS.items():
        if abs(median * size / weight - 1.0) <= UNIT_TOLERANCE:
            yield Finding(
                'foot_unit',
                'warning',
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
        'mean_foot_force',
        'warning',
        f'The feet measure {mean:.1f} N on average, the weight is {weight:.1f} N.',
        f"{missing}Check the URDF's masses, a payload that it lacks, offsets of the sensors, "
        'and the mass below them (below).',
    )


def _against_newton(
    evaluation: Evaluation, total: Array, stands: Flags | slice
) -> Iterator[Finding]:
    """Find feet whose normal force (K,) contradicts the motion: of that of a run it is as large.

    For most of the time, as plates measure less where a foot stands beside them.
    """
    if 'mr_ad' not in evaluation.tracks:
        return
    weight = evaluation.total_mass * evaluation.gravity
    force = np.einsum('ki,ki->k', evaluation.normal, evaluation.tracks['mr_ad'].wrench[:, :3])
    carried = np.any([foot.loaded for foot in evaluation.feet], axis=0)
    force, total = (np.where(carried, each, np.nan)[stands] for each in (force, total))
    force, total = np.stack([force, total])[:, (force > LEAST_LOAD * weight) & np.isfinite(total)]
    if not len(total):
        return
    low, high = np.percentile(total / force, [25.0, 75.0]).tolist()
    if low > CONTRADICTS or high < 1.0 / CONTRADICTS:
        yield Finding(
            'forces_contradict',
            'warning',
            f'The feet measure {np.mean(total):.4g} N on average, and the motion requires '
            f'{np.mean(force):.4g} N at the same instants; the weight is {weight:.1f} N.',
            'Check units and scale of the force sensors and of the accelerometers, and whether '
            'something else carries the robot or presses it down.',
        )


def _exchanged(evaluation: Evaluation, total: Array, stands: Flags | slice) -> Iterator[Finding]:
    """Find two feet whose sensors are each other's: by steps, or by the shift of weight.

    Steps show it of robots with any number of feet, if joints and flat soles show which foot is in
    the air; the shift of weight only of bipeds, as the place of the IZMP does not determine how
    more than two feet share the load, and only while the robot stands: one that falls over an
    edge may shift it either way.
    """
    feet = evaluation.feet
    steps = np.diff(evaluation.stamps)
    step = float(np.median(steps)) / NANOSECONDS if len(steps) else 0.0
    raised = {foot.name: in_air(evaluation, foot) for foot in feet}
    stepped, found = False, ('', '', 0.0)
    for pair in combinations(feet, 2):
        shares = []
        for one, other in permutations(pair):
            both = one.normal_force + other.normal_force
            with np.errstate(invalid='ignore'):
                rows = raised[one.name] & ~raised[other.name] & (both > LEAST_LOAD * total)
            if np.count_nonzero(rows) * step >= LEAST_TIME:
                share = float(np.median(one.normal_force[rows] / both[rows]))
                shares.append((one.name, other.name, share))
        stepped |= bool(shares)
        if shares and min(share for _, _, share in shares) >= 1.0 - LARGE_SHARE:
            largest = max(shares, key=lambda entry: entry[2])
            if largest[2] >= LARGE_SHARE and largest[2] > found[2]:
                found = largest
    name, of, most = found
    if name:
        why = (
            f"while foot '{name}' is in the air, its sensor measures {most:.0%} of what both "
            'measure'
        )
    follows = _load_follows(evaluation, *feet, stands) if len(feet) == 2 else float('nan')
    if name and follows > 0.0:
        return  # a heel that rises is no foot in the air
    if not name and not stepped and follows < AGAINST:
        name, of = (foot.name for foot in feet)
        why = 'their load shifts against the IZMP'
    if not name:
        return
    yield Finding(
        'feet_exchanged',
        'warning',
        f'The force sensors of the feet {name} and {of} seem to be exchanged: {why}.',
        f'Exchange feet[{name}].wrench.topic and feet[{of}].wrench.topic (and frame), if their '
        'legs are not exchanged in the URDF.',
        data={'feet': (name, of), 'follows': follows},
    )


def _turned(evaluation: Evaluation) -> Iterator[Finding]:
    """Find an IMU that is turned about the vertical, or force sensors that all are.

    Of the motion's force, what the specific force φ of the root has in it, m φ, is the rest after
    m c̈, by the joints. The feet must read the same, so the turn between both, of a Procrustes
    problem in the plane, is that of a sensor. Their means are left out, as tilt and offsets make
    them; all are means over the same triangle.
    """
    rows = slice(int(np.searchsorted(evaluation.stamps, evaluation.stamps[0] + LONGEST)))
    stamps, mass = evaluation.stamps[rows], evaluation.total_mass
    if evaluation.external_force is None or len(stamps) < 2:
        return
    step = float(np.median(np.diff(stamps))) / NANOSECONDS
    n = max(1, round(OVER / step))
    window = np.convolve(np.ones(n), np.ones(n)) / n**2
    external, moved = (
        np.stack([np.convolve(axis, window, 'valid') for axis in force[rows].T], axis=1)
        for force in (evaluation.external_force, evaluation.tracks['mr_ad'].wrench[:, :3])
    )
    c = evaluation.com[rows]
    if len(c) <= 2 * n:
        return
    bend = (c[2 * n :] - 2.0 * c[n:-n] + c[: -2 * n]) / (n * step) ** 2
    level = evaluation.nif_R_root(slice(n, len(c) - n))[:, :2]
    by_imu = np.einsum('kij,kj->ki', level, moved[1:-1] - mass * bend)
    by_feet = by_imu - np.einsum('kij,kj->ki', level, external[1:-1])
    known = np.isfinite(by_imu + by_feet).all(axis=1)
    known &= np.abs((stamps[2 * n :] - stamps[: -2 * n]) / (2e9 * n * step) - 1.0) < 0.1
    if not known.any():
        return
    x, y = (force[known] - force[known].mean(axis=0) for force in (by_imu, by_feet))
    along = float(np.sum(x * y))
    across = float(np.sum(x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]))
    both = float(np.sum(x * x + y * y))
    off, left = both - 2.0 * along, both - 2.0 * float(np.hypot(along, across))
    turn, weight = float(np.degrees(np.arctan2(across, along))), mass * evaluation.gravity
    if off < len(x) * (LEAST_SWAY * weight) ** 2 or left > EXPLAINED * off or abs(turn) < TURNED:
        return
    yield Finding(
        'imu_turned',
        'warning',
        'The horizontal specific force of the IMU agrees with that of the feet if it is turned by '
        f'{turn:.0f}° about the vertical.',
        'Is the IMU turned against imu.frame, or are all force sensors (wrench.frame, '
        'wrench.rotation)?',
    )


def in_air(evaluation: Evaluation, foot: Foot) -> Flags:
    """(K,) whether the joints hold a foot above the soles of all others.

    Not known, so False, where the others touch the ground with points that have no plane, and
    where a joint between the root and a sole is not known.
    """
    others = [
        (other.sole, other.axes)
        for other in evaluation.feet
        if other is not foot
        and other.axes is not None
        and shows_plane(other.sole)
        and not (other.held_joints or foot.held_joints)
    ]

    def above_all(rows: slice) -> Flags:
        above = np.full(rows.stop - rows.start, bool(others))
        for sole, axes in others:
            height = lowest_above(foot.sole[rows], sole[rows].mean(axis=1), axes[rows, :, 2])
            with np.errstate(invalid='ignore'):
                above &= height > CLEARANCE_BY_JOINTS
        return above

    found: Flags = evaluation.columns.by_blocks(len(evaluation.stamps), above_all)
    return found


def _load_follows(evaluation: Evaluation, one: Foot, other: Foot, stands: Flags | slice) -> float:
    """Correlation of the feet's shares and the place of the IZMP between them; NaN if unknown."""
    track = evaluation.tracks.get('mr_ad')
    if track is None:
        return float('nan')
    across = one.sole.mean(axis=1) - other.sole.mean(axis=1)
    length = np.einsum('ki,ki->k', across, across)
    with np.errstate(invalid='ignore', divide='ignore'):
        place = np.einsum('ki,ki->k', track.point - other.sole.mean(axis=1), across) / length
        share = one.normal_force / (one.normal_force + other.normal_force)
    place, share = place[stands], share[stands]
    known = np.isfinite(place + share) & (np.abs(share) < 10.0)
    if np.count_nonzero(known) < 10 or np.std(share[known]) < LEAST_SHIFT:
        return float('nan')
    return float(np.corrcoef(place[known], share[known])[0, 1])


def agreement_findings(evaluation: Evaluation) -> Iterator[Finding]:
    """Suggest a calibration where IZMP and CoP disagree for most of the time.

    Feet that touch the ground with points are not calibrated.
    """
    mr_ad, cop = evaluation.tracks.get('mr_ad'), evaluation.tracks.get('cop')
    if mr_ad is None or cop is None or any(stays_point(foot.sole) for foot in evaluation.feet):
        return
    gap = mr_ad.point - cop.point
    gap = gap[np.isfinite(gap).all(axis=1)]
    if not len(gap):
        return
    typical = float(np.median(np.linalg.norm(gap, axis=1)))
    constant = float(np.linalg.norm(np.median(gap, axis=0)))
    late = tuple(delay_findings(evaluation))
    if typical < GAP_TOLERANCE or (late and constant < CONSTANT_SHARE * typical):
        yield from late
        return
    yield Finding(
        'calibration_may_help',
        'note',
        f'IZMP and CoP are {1e3 * typical:.0f} mm apart (median), {1e3 * constant:.0f} mm of it '
        'constant: mounting, offsets or masses.',
        'If the robot walks here: izmp calibrate (above all imu_rotation,accelerometer_bias,'
        'ft_offsets,payload).',
    )


def squares_by_delay(stamps: Stamps, one: Array, other: Array) -> Array:
    """Mean square (D, m) of the difference of two signals, for each of `DELAYS` of the other.

    Args:
        stamps: (K,) instants [ns].
        one: (K, m).
        other: (K, m); constant differences do not count.
    """
    time, squares = (stamps - stamps[0]) / NANOSECONDS, np.empty((len(DELAYS), one.shape[1]))
    for k, delay in enumerate(DELAYS.tolist()):
        moved = [np.interp(time + delay, time, column) for column in other.T]
        squares[k] = np.var(one - np.stack(moved, axis=1), axis=0)
    return squares


def delay_findings(evaluation: Evaluation) -> Iterator[Finding]:
    """Name the delay of the CoP that is most of its distance from the IZMP."""
    tracks = [evaluation.tracks.get(name) for name in ('mr_ad', 'cop')]
    points = [track.point[:EXAMINED] for track in tracks if track is not None]
    if len(points) < 2 or any(stays_point(foot.sole) for foot in evaluation.feet):
        return
    rows = np.flatnonzero(np.isfinite(points[0] + points[1]).all(axis=1))
    if len(rows) < len(DELAYS):
        return
    level = evaluation.nif_R_root(rows)[:, :2]
    izmp, cop = (rotated(level, point[rows]) for point in points)
    squares = squares_by_delay(evaluation.stamps[rows], izmp, cop).sum(axis=1).tolist()
    best, zero = int(np.argmin(squares)), len(DELAYS) // 2
    if squares[zero] < LATE_GAP**2 or squares[best] > BY_DELAY * squares[zero]:
        return
    left, before = (1e3 * np.sqrt(squares[k]) for k in (best, zero))
    yield Finding(
        'calibration_may_help',
        'note',
        f'The measured CoP is {1e3 * abs(DELAYS[best]):.0f} ms '
        f'{"behind" if DELAYS[best] > 0.0 else "ahead of"} the IZMP: without that they would be '
        f'{left:.1f} mm apart in place of {before:.1f} mm (RMS about their mean). “izmp calibrate '
        'BAG --robot ROBOT -o OUT” estimates the delays of all sensors.',
    )
