"""What is wrong with contact forces, measured or of the motion, as the evaluated numbers show it.

`izmp check` asks for the whole of a recording, a running robot for its last seconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, finite_rows, seconds
from izmp_dynamics.base.finding import Finding, list_names, warning
from izmp_dynamics.base.robust import mean as robust_mean
from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.diagnosis.legs import (
    LEAST_LOAD,
    LEAST_SHIFT,
    LEAST_TIME,
    in_air,
    sensors_exchanged,
    usual_step,
)
from izmp_dynamics.diagnosis.turned import EXPLAINED, turn_findings
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.stability.clearance import stays_point
from izmp_dynamics.stability.support_polygon import margins

FORCE_TOLERANCE = 0.05
"""A mean force that deviates by more from the weight is remarked on [-]."""

TILT_TOLERANCE = 10.0
"""Angle between the mean contact force and the ground normal that is remarked on [°]."""

MASS_BELOW = 0.25
"""So far from the weight a sum may be for want of what is below sensors: no other unit [-]."""

CONTRADICTS = 2.0
"""Ratio of measured and required force that neither a load nor a wrong mass explains [-]."""

BEYOND = 0.01
"""So far beyond the feet that are said to carry the IZMP cannot stay [m]."""

UNITS = {
    'kgf': 9.80665,
    'lbf': 4.4482216,
    'kN': 1000.0,
    'mN': 0.001,
}
"""Unit → how many N it is."""

UNIT_TOLERANCE = 0.08
"""Ratio of force and weight that is still taken for that of a unit [-]."""

GAP_TOLERANCE = 0.01
"""Median distance of IZMP and CoP from which on a calibration is suggested [m]."""

LEAST_GAP = 0.001
"""RMS of the distance of IZMP and CoP about its mean from which on a delay may explain it [m]."""

LATE_GAP = 0.005
"""Distance of IZMP and CoP (RMS) from which on a delay between them is looked for [m]."""

DELAYS = 0.005 * np.arange(-20.0, 21.0)
"""Delays of the CoP that are tried [s]."""

BY_DELAY = 0.5
"""Part of the mean square of that distance that a delay leaves if it is most of it [-]."""

EXAMINED = 10_000
"""Instants at the beginning that are tried with each."""

CONSTANT_SHARE = 0.5
"""Part of it that is constant from which on offsets are named rather than a delay [-]."""

_FORCE_FROM = {
    'mr_ad': ('MR-AD', 'scale and mounting of the accelerometers'),
    'ir_md': ('IR-MD', 'position and orientation of the root in the world'),
}
"""Track → its label, and what its mean contact force follows from."""


def motion_findings(evaluation: Evaluation, stands: Flags) -> Iterator[Finding]:
    """Compare mean contact forces of the motion with the weight: their size, their direction.

    The root may turn, so a mean in its axes would be too short.

    Args:
        evaluation: of a recording, or of the last seconds.
        stands: (K,) where the robot stands, so that the ground carries its weight.
    """
    weight, rows = evaluation.weight, np.flatnonzero(stands)
    to_nif = evaluation.nif_R_root(rows)
    for name in (each for each in _FORCE_FROM if each in evaluation.tracks):
        force = rotated(to_nif, evaluation.tracks[name].wrench[rows, :3])
        force = force[finite_rows(force)]
        if not len(force):
            continue
        mean, (label, source) = force.mean(axis=0), _FORCE_FROM[name]
        size = float(np.linalg.norm(mean))
        if abs(size / weight - 1.0) > FORCE_TOLERANCE:
            yield warning(
                'mean_force',
                f'The mean contact force of {label} is {size:.1f} N, the weight {weight:.1f} N. '
                f'The masses cancel in this: check {source}, and gravity.',
                subject=name,
            )
        tilt = float(np.degrees(np.arccos(np.clip(mean[2] / size, -1.0, 1.0))))
        if name == 'mr_ad' and tilt > TILT_TOLERANCE:
            yield warning(
                'tilted_force',
                f'On average the contact force is tilted by {tilt:.0f}° against the ground '
                'normal.',
                'If the ground has no such slope: does imu.frame have the axes of the IMU, and '
                'do the z axes of the soles point up? Feet that touch the ground at a point have '
                'no such axis; state radius in place of polygon.',
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
    weight = evaluation.weight
    yield from dead_sensors(evaluation)
    measured = [foot for foot in feet if np.isfinite(foot.normal_force).any()]
    pulling = [foot for foot in measured if _pulls_all_along(foot, weight / len(feet))]
    if pulling:
        yield from map(_pulls, pulling)
        return
    yield from _moments(evaluation)
    exchanged: list[Finding] = []
    if measured and len(measured) == len(feet):
        if scaled := [*_scaled(evaluation, stands)]:
            yield from scaled
            return
        total = np.sum([foot.normal_force for foot in feet], axis=0)
        scalar = any(foot.sensor is None and foot.measured for foot in feet)
        wrong = [*_against_newton(evaluation, total, stands)]
        usual = weight / CONTRADICTS < robust_mean(total[stands]) < weight * CONTRADICTS
        if not (usual and wrong):
            found = _compare_with_weight(total[stands], weight, unused_wrenches, scalar)
            wrong = [replace(each, data={'certain': bool(wrong)}) for each in found]
        yield from wrong
        exchanged = [*sensors_exchanged(evaluation, total, stands)]
    yield from exchanged or _carry_in_air(evaluation)
    yield from turn_findings(evaluation)
    if feet and not any(foot.loaded.any() for foot in feet):
        yield warning(
            'no_load',
            'No foot ever carries load.',
            'Is ground.contact_force too large, or a force sensor dead?',
        )


def dead_sensors(evaluation: Evaluation) -> Iterator[Finding]:
    """Find feet whose sensors say the same of their load throughout, though the motion does not.

    The chance of a foot is 0 or 1 where its contact sensor is believed: not where none says load,
    as then contact is estimated, so that a verdict can be true. No push keeps the others in the
    air, nor the IZMP beyond them for most of the time.
    """
    step = usual_step(evaluation)
    for foot in evaluation.feet:
        force, stands = bool(np.isfinite(foot.normal_force).any()), foot.loaded.astype(bool)
        nothing = foot.sensor is not None and not force
        if nothing or not foot.measured or foot.chance is None:
            continue
        says, certain = stands if force else foot.chance == 1.0, True
        what, contrary = 'never reports load', 'it carries load'
        if not says.any():
            certain = not stands.any()
            rows = _must_carry(evaluation, foot) if certain else stands
        elif not force:
            what, contrary = 'reports load throughout', 'it is in the air'
            rows = in_air(evaluation, foot) & stands.all()
        else:
            continue
        lasts = step * np.count_nonzero(rows)
        if lasts >= LEAST_TIME:
            yield warning(
                'dead_contact',
                f"The {'force' if force else 'contact'} sensor of foot '{foot.name}' {what}, "
                f'though according to the motion {contrary} for {lasts:.1f} s.',
                'Is it dead, or its topic another one'
                + ('?' if force else f', or feet[{foot.name}].contact.loaded_above wrong? Without '
                'contact in the robot file, contact is estimated.'),
                data={'certain': certain},
            )  # fmt: skip


def _must_carry(evaluation: Evaluation, foot: Foot) -> Flags:
    """(K,) where nothing but a foot can carry the robot.

    All others are in the air; or everywhere, if the IZMP lies beyond them for most of the time and
    within them and it.
    """
    track = evaluation.tracks.get('mr_ad')
    if track is None or len(evaluation.feet) < 2:
        return np.zeros(len(evaluation.stamps), np.bool_)
    others = [other for other in evaluation.feet if other is not foot]
    weight = evaluation.weight
    heavy = _required(evaluation) > 0.5 * weight
    alone = heavy & np.all([in_air(evaluation, other) for other in others], axis=0)
    soles = tuple(each.sole for each in evaluation.feet)
    loaded = np.stack([each.loaded for each in evaluation.feet], axis=1)
    this = np.array([each is foot for each in evaluation.feet])
    counts, both = loaded[:, ~this].any(axis=1), loaded | this
    with_it, without = (
        margins((track.point,), soles, each, evaluation.normal)[0] for each in (both, loaded)
    )
    beyond = heavy & counts & (without < -BEYOND) & (with_it > 0.0)
    most = np.count_nonzero(beyond) > 0.5 * np.count_nonzero(heavy)
    return np.asarray(alone | (beyond & most))


def _pulls_all_along(foot: Foot, share: float) -> bool:
    """Whether a foot pulls with its share of the weight [N], and never pushes: no mere offset."""
    low, high = np.nanpercentile(foot.normal_force, [5.0, 95.0])
    return bool(low < -0.5 * share and high < 0.1 * share)


def _pulls(foot: Foot) -> Finding:
    return warning(
        'foot_pulls',
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
        yield warning(
            'foot_unit',
            f'The feet measure {mean:.4g} on average, the weight is {weight:.1f} N.',
            f'If they count from zero, multiply force.field by {weight / mean:.3g}; without a '
            'unit state contact with loaded_above in place of force.',
        )
        return
    for unit, size in UNITS.items():
        if abs(median * size / weight - 1.0) <= UNIT_TOLERANCE:
            yield warning(
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
    yield warning(
        'mean_foot_force',
        f'The feet measure {mean:.1f} N on average, the weight is {weight:.1f} N.',
        f"{missing}Check the URDF's masses, a payload that it lacks, offsets of the sensors, "
        'and the mass below them (below).',
    )


def _required(evaluation: Evaluation) -> Array:
    """(K,) normal force that the motion requires [N]."""
    force: Array = np.einsum(
        'ki,ki->k', evaluation.normal, evaluation.tracks['mr_ad'].wrench[:, :3]
    )
    return force


def _scaled(evaluation: Evaluation, stands: Flags | slice) -> Iterator[Finding]:
    """Find feet that measure another multiple of their load than the other ones.

    Each by a factor, the normal forces add up to what the motion requires, and by one for all they
    do not. Feet that carry in turn, or to which the load shifts, determine the factors.
    """
    if 'mr_ad' not in evaluation.tracks or len(evaluation.feet) < 2:
        return
    required = _required(evaluation)[stands]
    forces = np.stack([foot.normal_force[stands] for foot in evaluation.feet], axis=1)
    weight = evaluation.weight
    rows = (required > LEAST_LOAD * weight) & np.isfinite(forces).all(axis=1)
    forces, required = forces[rows], required[rows]
    if not (np.abs(forces) > LEAST_LOAD * weight).any(axis=0).all():
        return
    _, known, _ = np.linalg.svd(forces / np.linalg.norm(forces, axis=0), full_matrices=False)
    if known[-1] < LEAST_SHIFT * known[0]:
        return
    factors = np.linalg.lstsq(forces, required, rcond=None)[0]
    total = forces.sum(axis=1)
    common = total * (total @ required) / (total @ total)
    off, left = (float(np.sum((each - required) ** 2)) for each in (common, forces @ factors))
    if left > EXPLAINED * off:
        return
    for foot, factor in zip(evaluation.feet, factors.tolist(), strict=True):
        if not 1.0 / CONTRADICTS <= factor <= CONTRADICTS:
            yield warning(
                'foot_scale',
                f"The force sensor of foot '{foot.name}' measures {1.0 / factor:.3g} times what "
                'it carries according to the motion.',
                f'Correct its driver, or state in feet[{foot.name}] wrench.matrix with '
                f'{factor:.3g} on its diagonal (force.field: times {factor:.3g}).',
            )


def _against_newton(
    evaluation: Evaluation, total: Array, stands: Flags | slice
) -> Iterator[Finding]:
    """Find feet whose normal force (K,) contradicts the motion: of that of a run it is as large.

    For most of the time, as plates measure less where a foot stands beside them.
    """
    if 'mr_ad' not in evaluation.tracks:
        return
    weight = evaluation.weight
    carried = np.any([foot.loaded for foot in evaluation.feet], axis=0)
    both = (_required(evaluation), total)
    force, total = (np.where(carried, each, np.nan)[stands] for each in both)
    force, total = np.stack([force, total])[:, (force > LEAST_LOAD * weight) & np.isfinite(total)]
    if not len(total):
        return
    low, high = np.percentile(total / force, [25.0, 75.0]).tolist()
    if low > CONTRADICTS or high < 1.0 / CONTRADICTS:
        yield warning(
            'forces_contradict',
            f'The feet measure {np.mean(total):.4g} N on average, and the motion requires '
            f'{np.mean(force):.4g} N at the same instants; the weight is {weight:.1f} N.',
            'Check units and scale of the force sensors and of the accelerometers, and whether '
            'something else carries the robot or presses it down.',
        )


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
    late = tuple(delay_findings(delay_of_cop(evaluation)))
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


def delay_of_cop(evaluation: Evaluation) -> tuple[float, float, float] | None:
    """The delay of the CoP that is most of its distance from the IZMP; None if none is.

    Returns:
        The delay [s]; RMS of the distance about its mean without it, and as it is [m].
    """
    tracks = [evaluation.tracks.get(name) for name in ('mr_ad', 'cop')]
    points = [track.point[:EXAMINED] for track in tracks if track is not None]
    if len(points) < 2 or any(stays_point(foot.sole) for foot in evaluation.feet):
        return None
    rows = np.flatnonzero(np.isfinite(points[0] + points[1]).all(axis=1))
    if len(rows) < len(DELAYS):
        return None
    level = evaluation.nif_R_root(rows)[:, :2]
    izmp, cop = (rotated(level, point[rows]) for point in points)
    now = float(np.var(izmp - cop, axis=0).sum())
    if now < LEAST_GAP**2:
        return None
    time, squares = seconds(evaluation.stamps[rows]), np.empty(len(DELAYS))
    for k, delay in enumerate(DELAYS.tolist()):
        moved = [np.interp(time + delay, time, column) for column in cop.T]
        squares[k] = np.var(izmp - np.stack(moved, axis=1), axis=0).sum()
    best = int(np.argmin(squares))
    if squares[best] > BY_DELAY * now:
        return None
    return float(DELAYS[best]), float(np.sqrt(squares[best])), float(np.sqrt(now))


def delay_findings(found: tuple[float, float, float] | None) -> Iterator[Finding]:
    """Name the delay of the CoP that is most of its distance from the IZMP, see `delay_of_cop`."""
    if found is None or found[-1] < LATE_GAP:
        return
    delay, left, before = (1e3 * each for each in found)
    yield Finding(
        'calibration_may_help',
        'note',
        f'The measured CoP is {abs(delay):.0f} ms {"behind" if delay > 0.0 else "ahead of"} the '
        f'IZMP: without that they would be {left:.1f} mm apart in place of {before:.1f} mm (RMS '
        'about their mean). “izmp calibrate BAG --robot ROBOT -o OUT” estimates the delays of all '
        'sensors.',
    )


def _moments(evaluation: Evaluation) -> Iterator[Finding]:
    """Find a CoP that is farther from all soles than the robot is tall: moments in another unit.

    The centre of mass is at about half of the height of a body.
    """
    cop = evaluation.tracks.get('cop')
    above = np.einsum('ki,ki->k', evaluation.normal, evaluation.com - evaluation.ground_point)
    if cop is None or not np.isfinite(cop.margin).any() or not np.isfinite(above).any():
        return
    outside, tall = -float(np.nanmedian(cop.margin)), 2.0 * float(np.nanmedian(above))
    if outside > tall > 0.0:
        yield warning(
            'foot_unit',
            f'The measured CoP is {outside:.1f} m outside the soles (median), farther than the '
            f'robot is tall ({tall:.1f} m): the moments of the force sensors are not in N·m.',
            'Are they in N·mm? Let the drivers publish N and N·m, or state wrench.matrix with '
            '0.001 on the last three places of its diagonal.',
            data={'certain': True},
        )


def _carry_in_air(evaluation: Evaluation) -> Iterator[Finding]:
    """Find feet that carry load where the joints hold them above all others, most of that time.

    A foot that rolls over its toe may rise so, for less than half of the time that it carries.

    An offset of a force sensor is smaller than half of what a foot carries.
    """
    weight = evaluation.weight
    step = usual_step(evaluation)
    for foot in evaluation.feet:
        lifted = in_air(evaluation, foot) & np.isfinite(foot.normal_force)
        lasts = step * np.count_nonzero(lifted)
        most = 2 * np.count_nonzero(lifted & foot.loaded) > np.count_nonzero(foot.loaded)
        carries = most and lasts >= LEAST_TIME
        force = float(np.median(foot.normal_force[lifted])) if carries else 0.0
        if force > 0.5 * weight / len(evaluation.feet):
            yield warning(
                'carries_in_air',
                f"Foot '{foot.name}' measures {force:.1f} N (median) in the {lasts:.1f} s in "
                'which the joints hold it above the soles of all others.',
                f'Is feet[{foot.name}].sole the link and plane that touches the ground, and has '
                'each joint of its leg the right sign and zero? Of feet on stairs no margin is '
                'known.',
            )
