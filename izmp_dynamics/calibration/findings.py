"""What a calibration found: numbers, effects, and what the recording does not show."""

from collections.abc import Collection, Iterator, Sequence
from os import PathLike

import numpy as np
import scipy.stats

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.choice import SIGNIFICANT, Candidate
from izmp_dynamics.calibration.held_out import LEAST_MOTION, motion_time
from izmp_dynamics.calibration.parameters import DEFAULT_GROUPS, LEVEL, Layout
from izmp_dynamics.calibration.residuals import Rows, Terms, zmp_and_cop
from izmp_dynamics.calibration.result import CalibrationResult, Effect, Estimate
from izmp_dynamics.calibration.segments import RATE, RECORD_IMU, Instants
from izmp_dynamics.calibration.solver import SEGMENT
from izmp_dynamics.diagnosis.forces import GAP_TOLERANCE
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.rig import Rig

_ENOUGH_MOTION = 10.0  # less motion gets a remark [s]

ENOUGH_FOR_MATRIX = 20.0
"""And less than this if calibration matrices come from it, 36 numbers for each sensor [s]."""

_ENOUGH_TURN = 45.0  # a robot that turns by less walks straight [°]
_ENOUGH_LEAN = 5.0  # a root that leans by less shows gravity in one direction only [°]
_LEAST_SWINGS = 4  # fewer swings show no drift

LEAST_DRIFT = 0.01
"""Drift of the force over a recording, as part of the weight, from which on it is reported [-]."""

RECORD = (
    'Record 20 s of walking in which nobody pushes the robot, each foot leaves the ground and the '
    'robot turns.'
)
"""What to do where a calibration is refused."""


def result_of(
    bags: Sequence[str | PathLike[str]],
    model: RobotModel,
    rig: Rig,
    segments: Sequence[Instants],
    best: Candidate,
    notes: list[str],
) -> CalibrationResult:
    """Put what was found into values.

    Args:
        bags: the recordings.
        model: the robot.
        rig: the same, prepared.
        segments: the recordings, prepared.
        best: the groups that were chosen.
        notes: sentences to begin with.
    """
    before, after = best.trial.errors() if best.trial else (None, None)
    estimates = tuple(
        Estimate(**vars(parameter), value=value, sigma=sigma, info=info, used=used)
        for parameter, value, sigma, info, used in zip(
            best.layout.parameters, best.solution.x.tolist(), best.sigma.tolist(),
            best.info.tolist(), (best.corrected & best.accepted).tolist(), strict=True,
        )
    )  # fmt: skip
    return CalibrationResult(
        bags=tuple(str(bag) for bag in bags),
        robot=model.name,
        payload_link=best.layout.payload_link.link,
        groups=_groups(best),
        accepted=best.accepted,
        agrees=_agree(best, rig.robot.gravity),
        reason=_reason(best, segments, rig.robot.gravity),
        before=before,
        after=after,
        estimates=estimates,
        effects=_effects(segments, best) if best.accepted else (),
        notes=(
            *notes,
            *_limits(best, rig),
            *drifts(best.solution.rows, model.total_mass * rig.robot.gravity),
            *remarks(segments, best.layout, {each.group for each in estimates if each.used}),
        ),
        motion=motion_time(segments),
    )


def _agree(best: Candidate, gravity: float) -> bool:
    """Whether nothing is to be corrected, and what is left over is little."""
    if best.trial is None or best.corrected.any():
        return False
    left, _ = best.trial.errors()
    return (left.gap if np.isfinite(left.gap) else left.rest / gravity) < GAP_TOLERANCE


def _reason(best: Candidate, segments: Sequence[Instants], gravity: float) -> str:
    """Why nothing is corrected; empty if something is."""
    if best.accepted:
        return ''
    if best.trial is None:
        return (
            f'The robot moves for only {motion_time(segments):.1f} s; testing a calibration on '
            f'held-out motion takes {LEAST_MOTION:g} s. {RECORD}'
        )
    left, after = best.trial.errors()
    record = RECORD
    if segments[0].rig.robot.imu.from_position and after.rest / gravity > GAP_TOLERANCE:
        tilt = np.degrees(after.rest / gravity)
        record = (
            'The pose is too noisy for that: while a foot rests, the specific force derived from '
            f'it is {after.rest:.2g} m/s² (RMS) off, as by a tilt of {tilt:.2g}°. {RECORD_IMU}'
        )
    between = 'IZMP and CoP' if np.isfinite(left.gap) else 'legs and accelerometer'
    size = f'{1e3 * left.gap:.2g} mm' if np.isfinite(left.gap) else f'{left.rest:.2g} m/s²'
    if _agree(best, gravity):
        return (
            f'Your sensors agree to {size}: {between} differ by that (RMS) on motion that was '
            'held out. There is nothing to correct, and the robot file stays as it is.'
        )
    if not best.corrected.any():
        return (
            f'The calibration is refused: {between} are {size} apart (RMS), and nothing that '
            f'this recording shows explains it. The robot file stays as it is. {record}'
        )
    names = {'force': 'residual force', 'moment': 'residual moment', 'izmp': 'distance of IZMP '
             'and CoP', 'rest': 'specific force of feet at rest'}  # fmt: skip
    worse = ' and the '.join(names[name] for name in best.trial.worse)
    what = f'the {worse} would become worse' if worse else 'wrench and IZMP would not improve'
    return (
        f'The calibration is refused: on motion that was held out, {what}. The robot file stays '
        f'as it is. {record}'
    )


def _groups(best: Candidate) -> tuple[str, ...]:
    return tuple(dict.fromkeys(p.group for p in best.layout.parameters if p.group != LEVEL))


def _effects(segments: Sequence[Instants], best: Candidate) -> tuple[Effect, ...]:
    """How far every group moves IZMP or CoP, the farthest first."""
    if not all(part.all_measured for part in segments):
        return ()

    def points(x: Array) -> Array:
        """(2, M, 3) IZMP and CoP while the robot moves."""
        both = [zmp_and_cop(part, Terms.of(part, best.layout, x)) for part in segments]
        return np.concatenate(
            [np.array(two)[:, part.moving] for two, part in zip(both, segments, strict=True)],
            axis=1,
        )

    x, found = best.solution.x, []
    with_all = points(x)
    for group in (name for name in _groups(best) if not name.startswith('unit')):
        shifts = points(np.where(best.layout.of_group(group), 0.0, x)) - with_all
        squares = [each[np.isfinite(each)] for each in (shifts**2).sum(axis=2)]
        moved = max(float(np.sqrt(each.mean())) if len(each) else 0.0 for each in squares)
        found.append(Effect(group, moved))
    return tuple(sorted(found, key=lambda effect: -effect.izmp))


def _limits(best: Candidate, rig: Rig) -> Iterator[str]:
    """What is unobservable or left open."""
    if best.unobservable:
        gains = [name for name in best.unobservable if '.matrix.' in name]
        names = ', '.join(name for name in best.unobservable if name not in gains)
        if gains:
            names = f'{names}{", " * bool(names)}{len(gains)} entries of calibration matrices'
        yield (
            f'Not observable in this recording and left unchanged: {names}. Lift each foot in '
            'turn, with turns of the body.'
        )
    in_air = {part.name for part in best.solution.rows if len(part.values)}
    for foot in rig.feet:
        if foot.sensor is not None and f'swing[{foot.name}]' not in in_air:
            yield (
                f"Foot '{foot.name}' is never in the air: what its sensor reads without load is "
                'known only from the sum of all feet. Lift it once.'
            )
    if any(foot.normal_only for foot in rig.feet):
        yield (
            'The feet measure the vertical force alone: neither mass, centre of mass nor gains '
            'can be distinguished from that.'
        )
    if best.layout.of_group('ft_matrix').any():
        yield (
            'The gains of the force sensors are relative to the masses of the URDF: a wrong mass '
            'there cannot be distinguished from a gain.'
        )
    if rig.accelerometers:
        yield 'Only the IMU is calibrated, not the additional accelerometers.'


def remarks(
    segments: Sequence[Instants], layout: Layout, corrected: Collection[str] = ()
) -> Iterator[str]:
    """Which motion the recording lacks, in sentences.

    Args:
        segments: the recording, with its contacts decided.
        layout: what is estimated.
        corrected: groups of which something is corrected.
    """
    groups = {parameter.group for parameter in layout.parameters}
    moving = motion_time(segments)
    if 'ft_matrix' in corrected and moving < ENOUGH_FOR_MATRIX:
        yield (
            'The calibration matrices of the force sensors have 36 numbers each and come from '
            f'{moving:.1f} s of motion; {ENOUGH_FOR_MATRIX:g} s of steps with turns are enough. '
            'Do not rely on them for motion unlike that of the recording; --only '
            f'{",".join(DEFAULT_GROUPS)} leaves them out.'
        )
    elif moving < _ENOUGH_MOTION:
        yield (
            f'The robot moves for only {moving:.1f} s. Twenty seconds of stepping would reduce '
            'the uncertainty.'
        )
    if 'imu_rotation' in groups and (turn := _turn(segments)) < _ENOUGH_TURN:
        yield (
            f'The robot turns by only {turn:.0f}°: a tilted floor cannot be distinguished from a '
            'tilted IMU. Let it turn about once while it walks.'
        )
    both = {'imu_rotation', 'accelerometer_bias'} <= groups
    if both and (lean := _lean(segments)) < _ENOUGH_LEAN:
        yield (
            f'The root leans by only {lean:.1f}°: tilt of the IMU and bias of the accelerometer '
            'can hardly be distinguished. Let it lean by 10° forwards and sideways.'
        )


def _turn(segments: Sequence[Instants]) -> float:
    """Range of the heading within a segment, the largest of all [°]."""
    ranges = [0.0]
    for part in segments:
        up = np.mean([sole.R[:, :, 2] for sole in part.soles], axis=0)
        omega = part.imu.at(part.times)[:, :3] @ part.rig.imu.R.T
        heading = np.cumsum(np.einsum('ti,ti->t', omega, up)) / RATE
        ranges.append(float(np.ptp(heading)) if len(heading) else 0.0)
    return float(np.degrees(max(ranges)))


def _lean(segments: Sequence[Instants]) -> float:
    """Largest angle between the vertical in the root and its mean, while feet rest [°]."""
    found: list[Array] = [
        sole.R[part.rest[:, k], :, 2] for part in segments for k, sole in enumerate(part.soles)
    ]
    verticals = np.concatenate([np.empty((0, 3)), *found])
    if not len(verticals):
        return 0.0
    mean = verticals.mean(axis=0)
    cosines = verticals @ (mean / np.linalg.norm(mean))
    return float(np.degrees(np.arccos(np.clip(cosines.min(), -1.0, 1.0))))


def drifts(rows: Sequence[Rows], weight: float) -> Iterator[str]:
    """Sentences about the sensors whose force drifts, for a recording in one segment.

    Args:
        rows: residuals at the solution.
        weight: of the robot [N].
    """
    for part in rows:
        if part.kind != 'swing' or not len(part) or np.ptp(part.label // SEGMENT):
            continue
        ends = np.flatnonzero(np.diff(part.row) > 1) + 1
        swings = np.split(np.arange(len(part.row)), ends)
        if len(swings) < _LEAST_SWINGS:
            continue
        foot = part.name.removeprefix('swing[').removesuffix(']')
        times = np.array([part.row[rows].mean() / RATE for rows in swings])
        forces = part.values[:, part.vectors[0]]
        force = np.array([np.median(forces[rows], axis=0) for rows in swings])
        t = times - times.mean()
        slope = t @ force / (t @ t)
        left = force - force.mean(axis=0) - t[:, None] * slope
        sigma = np.sqrt((left**2).sum() / (left.shape[1] * (len(t) - 2)) / (t @ t))
        size = float(np.linalg.norm(slope))
        axes, unknown = left.shape[1], left.shape[1] * (len(t) - 2)
        least = axes * scipy.stats.f.ppf(SIGNIFICANT, axes, unknown)
        if size * np.ptp(times) > LEAST_DRIFT * weight and size**2 > least * sigma**2:
            yield (
                f"The offset of the force sensor of foot '{foot}' drifts by {60.0 * size:.2g} ± "
                f'{60.0 * sigma:.1g} N a minute. Only its mean is corrected: make shorter '
                'recordings, or tare the sensor while the robot runs (service tare).'
            )
