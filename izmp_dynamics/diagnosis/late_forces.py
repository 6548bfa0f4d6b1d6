"""By how much force sensors are late.

The feet together measure the force that the motion requires, mass times specific force, and the
CoP is where the IZMP is. The delay at which both differ least, each component weighed by what is
left of it, is taken into account where the components, and parts of the time, agree on it within
`SURE`. The CoP of each part of the time must come closer to the IZMP by the delay that the others
show. It is that of slow motion: both pass the filter of the trial, and then that of the results.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.diagnosis.filter_choice import Trial, later
from izmp_dynamics.diagnosis.forces import DELAYS, LATE_GAP, squares_by_delay
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.rig import FootRig
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.signals.matched_filter import matched_means
from izmp_dynamics.stability.support_polygon import plane_axes

PARTS = 4
"""Of the time; each is left out once, and so is each component of the force."""

SURE = 3.0
"""Standard deviations from which on a delay is one [-]."""

BETTER = 0.97
"""Part of what it was that the distance of CoP and IZMP must fall below [-]."""


@dataclass(frozen=True)
class LateForces:
    """A delay of all force sensors of the feet.

    Attributes:
        delay: their stamps are so much later than the instants that were measured [s].
        sigma: its standard deviation [s].
        before: distance of IZMP and CoP (RMS about its mean) [m].
        after: the same in each part of the time by the delay that the others show [m].
    """

    delay: float
    sigma: float
    before: float
    after: float

    @property
    def text(self) -> str:
        """What was found and done, as a sentence."""
        return (
            f'The force sensors are {1e3 * self.delay:.0f} ± {1e3 * self.sigma:.0f} ms late, '
            'which is corrected: forces and CoP show it. By the delay of the other quarters of '
            f'the time, the CoP is {1e3 * self.after:.1f} instead of {1e3 * self.before:.1f} mm '
            'from the IZMP (RMS about the mean). For the nodes, state '
            f'delay: {self.delay:.4f} beside the topic of each wrench in the robot file; '
            '“izmp calibrate BAG --robot ROBOT -o OUT” estimates the delays of all sensors.'
        )


def adopt_delay(recording: Recording, trial: Trial | None) -> LateForces | None:
    """Take the delay of a recording's force sensors into account, if they are surely late.

    It is looked for where all feet measure six axes, and no delay is stated.

    Args:
        recording: the recording.
        trial: of it; made if it is needed and not given.
    """
    robot, feet = recording.robot, recording.rig.feet
    if recording.only_ir_md or _states_delay(robot):
        return None
    if not feet or not all(_measures(foot) for foot in feet):
        return None
    trial = trial or Trial.of(recording)
    found = late_forces(trial, robot.filter.half_width, robot.pairing.max_gap)
    if found is not None:
        recording.set_wrench_delay(found.delay)
    return found


def late_forces(trial: Trial, half_width: float | None, max_gap: float) -> LateForces | None:
    """Estimate the delay; None if there is none, or if it is not sure.

    Args:
        trial: the beginning of the recording.
        half_width: of the filter that the results pass [s].
        max_gap: longest time between two instants that is filtered across [s].
    """
    parts = [part for part in trial.parts if {'mr_ad', 'cop'} <= part.points.keys()]
    if not parts:
        return None
    stamps = np.concatenate([part.stamps for part in parts])
    normal = np.concatenate([part.ground.plane.normal for part in parts])
    level = np.concatenate([plane_axes(normal), normal[:, None]], axis=1)
    both = []
    for name in ('mr_ad', 'cop'):
        force = np.concatenate([part.wrenches[name][:, :3] for part in parts])
        point = np.concatenate([part.points[name] for part in parts])
        both.append(np.hstack([(level @ v[..., None])[..., 0] for v in (force, point)])[:, :5])
    known = finite_rows(np.hstack(both)) & later(stamps)
    stamps, both = stamps[known], [signal[known] for signal in both]
    if half_width is not None:
        means = [matched_means(stamps, v, half_width, max_gap, second=False) for v in both]
        stamps, both = stamps[means[0].valid], [each.value[each.valid] for each in means]
    if len(stamps) < PARTS * len(DELAYS):
        return None
    rows = np.array_split(np.arange(len(stamps)), PARTS)
    now = [np.var((both[0] - both[1])[k, 3:], axis=0).sum() for k in rows]
    before = float(np.sqrt(np.mean(now)))
    if before <= LATE_GAP:
        return None
    squares = np.stack([squares_by_delay(stamps[k], *(v[k] for v in both)) for k in rows])
    delay, sigma, others = _estimate(squares)
    apart = squares[:, :, 3:].sum(axis=2)
    held_out = [np.interp(*pair) for pair in zip(others, [DELAYS] * PARTS, apart, strict=True)]
    after = float(np.sqrt(np.mean(held_out)))
    sure = delay > SURE * sigma and after < BETTER * before
    return LateForces(delay, sigma, before, after) if sure else None


def _estimate(squares: Array) -> tuple[float, float, list[float]]:
    """The delay [s] that fits best, its standard deviation, and the delay without each part.

    NaN if it is beyond `DELAYS`. The standard deviation is that of one part, or one component, by
    the jackknife: parts that differ show a delay that changes, whatever their mean.

    Args:
        squares: (P, D, m) of what is left in each part of the time and component.
    """
    least = squares.mean(axis=0).min(axis=0)
    known = least > 0.0  # a component without any error, as simulated ones are, says nothing
    weights = np.divide(1.0, least, out=np.zeros_like(least), where=known)
    costs = squares * weights
    left_out = [
        [
            _least(np.delete(costs, k, axis).mean(axis=0).sum(axis=1))
            for k in range(costs.shape[axis])
        ]
        for axis in (0, 2)
    ]
    spread = [np.sqrt(len(some) * (len(some) - 1.0)) * np.std(some) for some in left_out]
    return _least(costs.mean(axis=0).sum(axis=1)), float(np.hypot(*spread)), left_out[0]


def _least(costs: Array) -> float:
    """Where costs (D,) of `DELAYS` are least, by a parabola; NaN at an end [s]."""
    k = int(np.argmin(costs))
    if not 0 < k < len(costs) - 1:
        return float('nan')
    before, at, after = costs[k - 1 : k + 2]
    shift = 0.5 * (before - after) / (before - 2.0 * at + after)
    return float(DELAYS[k] + shift * (DELAYS[1] - DELAYS[0]))


def _measures(foot: FootRig) -> bool:
    return foot.sensor is not None and not foot.normal_only


def _states_delay(robot: RobotFile) -> bool:
    delays = [robot.imu.delay, *(foot.wrench.delay for foot in robot.feet if foot.wrench)]
    return any(delay is not None for delay in delays)
