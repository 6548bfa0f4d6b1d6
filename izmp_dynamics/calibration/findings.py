"""What a calibration found: numbers, effects, trade-offs, and what is unobservable."""

from collections.abc import Sequence
from os import PathLike

import numpy as np

from izmp_dynamics.calibration.candidate import Candidate
from izmp_dynamics.calibration.drift import drifts
from izmp_dynamics.calibration.excitation import remarks
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.judged import LEAST_ARM, LEAST_FORCE
from izmp_dynamics.calibration.parameters import LEVEL
from izmp_dynamics.calibration.residuals import points
from izmp_dynamics.calibration.result import CalibrationResult, Effect, Estimate, TradeOff
from izmp_dynamics.calibration.validation import LEAST_MOTION, motion_time
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.rig import Rig

TRADED = 0.9
"""Errors of two numbers that correlate more are reported together."""


def result_of(
    bags: Sequence[str | PathLike[str]],
    model: RobotModel,
    rig: Rig,
    stretches: Sequence[Instants],
    best: Candidate,
    notes: list[str],
) -> CalibrationResult:
    """Put what was found into values.

    Args:
        bags: the recordings.
        model: the robot.
        rig: the same, prepared.
        stretches: the recordings, prepared.
        best: the groups that were chosen.
        notes: sentences to begin with.
    """
    before, after = best.trial.errors() if best.trial else (None, None)
    groups = tuple(dict.fromkeys(p.group for p in best.layout.parameters if p.group != LEVEL))
    estimates = tuple(
        Estimate(
            p.name,
            p.group,
            p.item,
            p.unit,
            float(best.solution.x[k]),
            float(best.sigma[k]),
            float(best.info[k]),
            bool(best.corrected[k]) and best.accepted,
        )
        for k, p in enumerate(best.layout.parameters)
    )
    return CalibrationResult(
        bags=tuple(str(bag) for bag in bags),
        robot=model.name,
        payload_link=best.layout.payload_link.link,
        groups=groups,
        accepted=best.accepted,
        reason=_reason(best, stretches),
        before=before,
        after=after,
        estimates=estimates,
        trade_offs=tuple(_trade_offs(best)),
        effects=_effects(stretches, best) if best.accepted else (),
        notes=(
            *notes,
            *_limits(best, rig),
            *drifts(best.solution.rows, model.total_mass * rig.robot.gravity),
            *remarks(stretches, best.layout, {each.group for each in estimates if each.used}),
        ),
        motion=motion_time(stretches),
    )


def _reason(best: Candidate, stretches: Sequence[Instants]) -> str:
    if best.accepted:
        return ''
    if best.trial is None:
        return (
            f'The robot moves for {motion_time(stretches):.1f} s only; to judge a calibration on '
            f'motion that it has not seen takes {LEAST_MOTION:g} s. Record some steps.'
        )
    if best.nothing_needed:
        return (
            'There is nothing to correct: what sensors and URDF leave over on held-out motion is '
            f'less than can be judged ({1e3 * LEAST_ARM:g} mm of IZMP, {1e3 * LEAST_FORCE:g} ‰ of '
            'the weight). The robot file stays as it is.'
        )
    return (
        'The calibration is refused: on motion that was held out, it does not improve the wrench '
        'and the IZMP. The robot file stays as it is.'
    )


def _trade_offs(best: Candidate) -> list[TradeOff]:
    """Pairs whose errors correlate; of inertias there are too many to list."""
    sigma = np.sqrt(np.maximum(np.diag(best.solution.covariance), 0.0))
    x, names = best.solution.x, best.layout.parameters
    listed = [
        k
        for k, p in enumerate(names)
        if best.free[k] and p.group not in ('inertias', 'ft_matrix', LEVEL) and sigma[k] > 0.0
    ]
    found = []
    for position, i in enumerate(listed):
        for j in listed[position + 1 :]:
            covariance = best.solution.covariance[i, j]
            correlation = float(covariance / (sigma[i] * sigma[j]))
            if abs(correlation) > TRADED:
                factor = -float(covariance / sigma[j] ** 2)
                known = float(sigma[i] * np.sqrt(max(0.0, 1.0 - correlation**2)))
                found.append(
                    TradeOff(
                        names[i].name,
                        names[j].name,
                        correlation,
                        factor,
                        float(x[i] + factor * x[j]),
                        known,
                    )
                )
    return sorted(found, key=lambda pair: -abs(pair.correlation))


def _effects(stretches: Sequence[Instants], best: Candidate) -> tuple[Effect, ...]:
    """How far every group moves IZMP or CoP, the farthest first."""
    if not all(len(part.measured) == len(part.rig.feet) for part in stretches):
        return ()
    x, found = best.solution.x, []
    with_all = [points(part, best.layout, x) for part in stretches]
    groups = dict.fromkeys(p.group for p in best.layout.parameters)
    for group in (group for group in groups if group != LEVEL):
        without = np.where([p.group == group for p in best.layout.parameters], 0.0, x)
        moved = [0.0, 0.0]
        for point in range(2):
            shifts = np.concatenate(
                [
                    (points(part, best.layout, without)[point] - both[point])[part.moving]
                    for part, both in zip(stretches, with_all, strict=True)
                ]
            )
            squares = (shifts**2).sum(axis=1)
            known = np.isfinite(squares)
            moved[point] = float(np.sqrt(squares[known].mean())) if known.any() else 0.0
        found.append(Effect(group, max(moved)))
    return tuple(sorted(found, key=lambda effect: -effect.izmp))


def _limits(best: Candidate, rig: Rig) -> list[str]:
    """What is unobservable or left open."""
    said = []
    if best.unobservable:
        gains = [name for name in best.unobservable if '.matrix.' in name]
        names = ', '.join(name for name in best.unobservable if name not in gains)
        if gains:
            names = f'{names}{", " * bool(names)}{len(gains)} entries of calibration matrices'
        said.append(
            f'Unobservable in this recording, and left alone: {names}. Lift each foot in turn, '
            'with turns of the body.'
        )
    in_air = {name for part in best.solution.rows for name in [part.name] if len(part.values)}
    for foot in rig.feet:
        if foot.sensor is not None and f'swing[{foot.name}]' not in in_air:
            said.append(
                f"Foot '{foot.name}' is never in the air: what its sensor reads without load is "
                'known only from the sum of all feet. Lift it once.'
            )
    if any(foot.normal_only for foot in rig.feet):
        said.append(
            'The feet measure the vertical force alone: neither mass, centre of mass nor gains '
            'can be distinguished from that.'
        )
    if 'ft_matrix' in {p.group for p in best.layout.parameters}:
        said.append(
            'The gains of the force sensors are relative to the masses of the URDF: a wrong mass '
            'there cannot be distinguished from a gain.'
        )
    if rig.accelerometers:
        said.append('The further accelerometers are not calibrated, only the IMU.')
    return said
