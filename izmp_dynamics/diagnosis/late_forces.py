"""The lag of force sensors: a delay, or a first-order low-pass.

The feet together measure the force that the motion requires, mass times specific force, and the
CoP is where the IZMP is. The delay, or the time constant, at which both differ least, each
component weighed by what is left of it, is taken into account where the components, and parts of
the time, agree on it within `SURE`. The CoP of each part of the time must come closer to the IZMP
by the value that the others show. Of both, where both are sure, the one counts that leaves less:
drivers that smooth forces are late in slow changes by their time constant, and less in fast ones,
so slow motion alone hardly tells them apart. All pass the filter of the trial, and then that of
the results.
"""

from dataclasses import dataclass
from itertools import chain

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps, finite_rows, seconds
from izmp_dynamics.diagnosis.filter_choice import Trial, later
from izmp_dynamics.diagnosis.forces import DELAYS, LATE_GAP
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.signals.matched_filter import matched_means
from izmp_dynamics.stability.support_polygon import plane_axes
from izmp_dynamics.stability.zmp import zero_moment_points

TRIED: dict[str, Array] = {'delay': DELAYS, 'time_constant': 0.005 * np.arange(-4.0, 41.0)}
"""What may make forces late → its values that are tried [s]; drivers that predict are early."""

STEP = 1e7
"""Time between instants that are looked at, at least [ns]."""

PARTS = 4
"""Of the time; each is left out once, and so is each component of the force."""

LEAST = PARTS * len(DELAYS)
"""Instants that are needed."""

SURE = 3.0
"""Standard deviations from which on a delay is one [-]."""

BETTER = 0.97
"""Part of what it was that the distance of CoP and IZMP must fall below [-]."""


@dataclass(frozen=True)
class LateForces:
    """What makes all force sensors of the feet late.

    Attributes:
        setting: 'delay': their stamps are later than the instants that were measured;
            'time_constant': a first-order low-pass makes slow changes late by that.
        value: of it [s].
        sigma: its standard deviation [s].
        before: distance of IZMP and CoP (RMS about its mean) [m].
        after: the same in each part of the time by what the others show [m].
        cost: mean square of what is left of force and CoP, each component by the least of it [-].
    """

    setting: str
    value: float
    sigma: float
    before: float
    after: float
    cost: float

    @property
    def sure(self) -> bool:
        """Whether there surely is such a thing."""
        better = self.before > LATE_GAP and self.after < BETTER * self.before
        return better and self.value > SURE * self.sigma

    @property
    def what(self) -> str:
        """What was found, as the beginning of a sentence."""
        size = f'{1e3 * self.value:.0f} ± {1e3 * self.sigma:.0f} ms'
        if self.setting == 'delay':
            return f'The force sensors are {size} late'
        cutoff = 1.0 / (2.0 * np.pi * self.value)
        return (
            'The force sensors have the lag of a first-order low-pass with a time constant of '
            f'{size} ({cutoff:.1f} Hz)'
        )

    @property
    def text(self) -> str:
        """What was found and done, in sentences."""
        return (
            f'{self.what}, which is corrected: forces and CoP show it. By that of the other '
            f'quarters of the time, the CoP is {1e3 * self.after:.1f} instead of '
            f'{1e3 * self.before:.1f} mm from the IZMP (RMS about the mean). For the nodes, state '
            f'{self.setting}: {self.value:.4f} beside the topic of each wrench in the robot file; '
            '“izmp calibrate BAG --robot ROBOT -o OUT” estimates the delays of all sensors.'
        )


def adopt_delay(trial: Trial) -> LateForces | None:
    """Take what makes the force sensors of a recording late into account, if they surely are.

    It is looked for where all feet measure six axes, and no delay is stated.
    """
    recording = trial.recording
    robot, feet = recording.robot, recording.rig.feet
    lags = ((each.wrench.delay, each.wrench.time_constant) for each in robot.feet if each.wrench)
    stated = any(lag is not None for lag in (robot.imu.delay, *chain.from_iterable(lags)))
    six_axes = all(foot.sensor is not None and not foot.normal_only for foot in feet)
    if recording.only_ir_md or stated or not feet or not six_axes:
        return None
    found = late_forces(trial, robot.filter.half_width, robot.pairing.max_gap)
    if found is not None:
        recording.set_wrenches(**{found.setting: found.value})
    return found


def late_forces(trial: Trial, half_width: float | None, max_gap: float) -> LateForces | None:
    """Estimate what makes force sensors late; None if they are not, or if it is not sure.

    Args:
        trial: the beginning of the recording.
        half_width: of the filter that the results pass [s].
        max_gap: longest time between two instants that is filtered across [s].
    """
    _, results, _ = trial.results
    if results is None or not {'mr_ad', 'cop'} <= results.points.keys():
        return None
    feet = _Feet.of(results, half_width, max_gap)
    if len(feet.stamps) < LEAST:
        return None
    now = feet.motion - feet.measured('delay', 0.0)
    apart = now[finite_rows(now), 3:]
    if len(apart) < LEAST or np.sqrt(apart.var(axis=0).sum()) <= LATE_GAP:
        return None
    off = {
        setting: np.stack([feet.motion - feet.measured(setting, v) for v in values.tolist()])
        for setting, values in TRIED.items()
    }
    known = np.isfinite(np.concatenate([*off.values()])).all(axis=(0, 2))  # whatever is tried
    if np.count_nonzero(known) < LEAST:
        return None
    rows = np.array_split(np.flatnonzero(known), PARTS)
    squares = {
        setting: np.stack([each[:, some].var(axis=1) for some in rows])
        for setting, each in off.items()
    }
    least = np.min([each.mean(axis=0).min(axis=0) for each in squares.values()], axis=0)
    exact = least > 0.0  # a component without any error, as simulated ones are, says nothing
    weights = np.divide(1.0, least, out=np.zeros_like(least), where=exact)
    found = (_estimated(each, squares[each], weights) for each in TRIED)
    return min((each for each in found if each.sure), key=lambda each: each.cost, default=None)


@dataclass(frozen=True)
class _Feet:
    """What a trial says of K instants, 100 or more a second, as its filter leaves no more.

    Attributes:
        stamps: (K,) [ns].
        motion: (K, 5) level force that the motion requires, and where the IZMP is [N, m].
        level: (K, 3, 3) level axes in those of the root.
        plane: (K, 2, 3) normal and a point of the ground.
        R: (K, F, 3, 3) root_R_sole.
        p: (K, F, 3) origins of the soles [m].
        wrenches: (K, F, 12) in the soles about their origins, and their derivatives.
        minimum_force: below which there is no CoP [N].
    """

    stamps: Stamps
    motion: Array
    level: Array
    plane: Array
    R: Array
    p: Array
    wrenches: Array
    minimum_force: float

    @classmethod
    def of(cls, results: Evaluated, half_width: float | None, max_gap: float) -> '_Feet':
        """Those of the results of a trial, by the filter of the results of the recording."""
        stamps, ground = results.stamps, results.ground
        normal, place = ground.plane.normal, ground.plane.point
        level = np.concatenate([plane_axes(normal), normal[:, None]], axis=1)
        poses = ground.feet.soles.poses
        R, p = poses[..., :9].reshape(*poses.shape[:2], 3, 3), poses[..., 9:]
        felt = ContactWrench.from_array(ground.feet.wrenches).seen_from(R, p).as_array()
        felt = felt.reshape(len(felt), -1)
        force, point = results.wrenches['mr_ad'][:, :3], results.points['mr_ad']
        motion = np.hstack([(level @ v[..., None])[..., 0] for v in (force, point)])[:, :5]
        rows = np.flatnonzero(finite_rows(np.hstack([motion, felt])) & later(stamps))
        stamps, motion, felt = stamps[rows], motion[rows], felt[rows]
        if half_width is not None:
            signals = np.hstack([motion, felt])
            means = matched_means(stamps, signals, half_width, max_gap, second=False)
            rows, stamps = rows[means.valid], stamps[means.valid]
            motion, felt = np.split(means.value[means.valid], [motion.shape[1]], axis=1)
        if len(stamps) < 2:
            return cls(stamps[:0], *(np.empty(0),) * 6, 0.0)
        slopes = np.gradient(felt, seconds(stamps), axis=0)
        shape = (len(stamps), R.shape[1], 6)
        both = np.concatenate([felt.reshape(shape), slopes.reshape(shape)], axis=2)
        plane = np.stack([normal, place], axis=1)
        some = slice(None, None, max(1, int(STEP / np.median(np.diff(stamps)))))
        level, plane, R, p = (each[rows][some] for each in (level, plane, R, p))
        shown = stamps[some], motion[some], level, plane, R, p, both[some]
        return cls(*shown, ground.minimum_force)

    def measured(self, setting: str, value: float) -> Array:
        """(K, 5) level force and CoP if the sensors are late in that way by so much [s].

        What makes them late is undone in their own axes: a CoP that rests on the ground moves in
        those of a root that walks.
        """
        wrenches = self.wrenches[..., :6]
        if setting == 'delay':
            time, flat = seconds(self.stamps), wrenches.reshape(len(wrenches), -1)
            moved = [np.interp(time + value, time, column) for column in flat.T]
            wrenches = np.stack(moved, axis=1).reshape(wrenches.shape)
        else:
            wrenches = wrenches + value * self.wrenches[..., 6:]
        on_root = ContactWrench.from_array(wrenches).transformed(self.R, self.p).as_array()
        total = on_root.sum(axis=1)
        normal, place = self.plane[:, 0], self.plane[:, 1]
        cop = zero_moment_points(total, normal, place, self.minimum_force)
        level = [(self.level @ v[..., None])[..., 0] for v in (total[:, :3], cop)]
        return np.hstack(level)[:, :5]


def _estimated(setting: str, squares: Array, weights: Array) -> LateForces:
    """The value that fits best, NaN if it is beyond those tried.

    Its standard deviation is that of one part, or one component, by the jackknife: parts that
    differ show a delay that changes, whatever their mean.

    Args:
        setting: what is tried.
        squares: (P, D, m) of what is left in each part of the time and component.
        weights: (m,) of the components.
    """
    values, costs = TRIED[setting], squares * weights
    left_out = [
        [
            _least(values, np.delete(costs, k, axis).mean(axis=0).sum(axis=1))
            for k in range(costs.shape[axis])
        ]
        for axis in (0, 2)
    ]
    spread = [np.sqrt(len(some) * (len(some) - 1.0)) * np.std(some) for some in left_out]
    total, apart = costs.mean(axis=0).sum(axis=1), squares[:, :, 3:].sum(axis=2)
    before = float(np.sqrt(apart[:, np.argmin(np.abs(values))].mean()))
    pairs = zip(left_out[0], [values] * PARTS, apart, strict=True)
    after = float(np.sqrt(np.mean([np.interp(*pair) for pair in pairs])))
    best, sigma = round(_least(values, total), 4), float(np.hypot(*spread))
    return LateForces(setting, best, sigma, before, after, float(total.min()))


def _least(values: Array, costs: Array) -> float:
    """Where costs (D,) of evenly spaced values are least, by a parabola; NaN at an end."""
    k = int(np.argmin(costs))
    if not 0 < k < len(costs) - 1:
        return float('nan')
    before, at, after = costs[k - 1 : k + 2]
    shift = 0.5 * (before - after) / (before - 2.0 * at + after)
    return float(values[k] + shift * (values[1] - values[0]))
