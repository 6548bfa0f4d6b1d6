"""Whether a robot falls within the next second: how probable that is, and an alarm.

The capture point ξ is compared with the set V from which it can be brought to rest
(`recoverable`): by the ankles, as long as it is inside the polygon of the feet on the ground, or
by the steps to come if the robot goes on walking as it did (`gait`). Outside V it runs away
whatever the feet do, by a known law; so the distance outside says when the robot will have fallen
(`offset_of_fall`). That distance over its standard deviation gives the probability. The alarm is
raised from the probability on at which to wait would cost more than a false alarm (`alarm_rule`).

Nothing is learned from falls: what is estimated is the state, and by how much it may be wrong.
After Koolen et al. (2012) and Kalyanakrishnan & Goswami (2011), see docs/references.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from izmp_dynamics.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.stability.alarm_rule import HORIZON, AlarmRule, Flags, threshold
from izmp_dynamics.stability.capture_point import capture_point, offset_of_fall, pendulum_rate
from izmp_dynamics.stability.gait import PHASES, Gait
from izmp_dynamics.stability.recoverable import ALL_AROUND, reach, reach_of_feet, weights
from izmp_dynamics.stability.support_polygon import plane_axes

FALLEN = np.pi / 4.0
"""Tilt of the trunk from which on a robot has fallen [rad]."""

LOW = 0.05
"""A foot that is no higher above the ground can be put down in time [m]."""

SWING = 0.5
"""So can one of more than two feet that was lifted later: a trot lifts two at once [s]."""

COM_ERROR = 0.01
"""Standard deviation of the centre of mass of the model, along each axis [m]."""

RATE_ERROR = 0.1
"""Relative standard deviation of ω: the robot is no pendulum with a point mass."""

STEP_ERROR = 0.03
"""Standard deviation of V by steps, as a robot that is pushed does not land as it is used to [m];
chosen on walks that are not those of docs/experiments.md."""


@dataclass(frozen=True)
class Balance:
    """What the alarm is computed from, at K instants, in the root frame; NaN where unknown.

    Attributes:
        stamps: (K,) [ns].
        up: (K, 3) unit vector against gravity.
        com: (K, 3) centre of mass [m].
        velocity: (K, 3) its velocity against the ground [m/s].
        corners: for each of F feet (K, V, 3) corners of the sole [m].
        loaded: (K, F) which feet carry load.
        noise: (K, 3, 3) covariance of the noise of the velocity [m²/s²].
    """

    stamps: Stamps
    up: Array
    com: Array
    velocity: Array
    corners: Sequence[Array]
    loaded: Flags
    noise: Array


@dataclass(frozen=True)
class FallRisk:
    """Whether the robot is about to fall, at K instants.

    Attributes:
        probability: (K,) that the trunk is tilted by 45° within a second; NaN: unknown.
        alarm: (K,) whether it is so large that the alarm is raised.
        margin: (K,) by how much the capture point is inside the set from which it can be brought
            to rest, negative outside, where it most probably leaves it [m].
        deviation: (K,) standard deviation of the margin [m].
        direction: (K, 2) where that is: ahead and to the left.
        stepping: (K,) whether the steps of its walk are counted on.
        unknown: why nothing is known at any instant; empty: something may be.
    """

    probability: Array
    alarm: Flags
    margin: Array
    deviation: Array
    direction: Array
    stepping: Flags
    unknown: str = ''

    @classmethod
    def nothing(cls, count: int, why: str) -> 'FallRisk':
        """Of so many instants nothing is known, and why."""
        nowhere, none = np.full(count, np.nan), np.zeros(count, dtype=np.bool_)
        return cls(nowhere, none, nowhere, nowhere, np.full((count, 2), np.nan), none, why)

    def select(self, rows: Flags | slice) -> 'FallRisk':
        """Return the instants that a mask or a slice selects."""
        return FallRisk(
            self.probability[rows], self.alarm[rows], self.margin[rows], self.deviation[rows],
            self.direction[rows], self.stepping[rows], self.unknown,
        )  # fmt: skip

    def sentence(self, row: int = 0) -> str:
        """Say why."""
        if not np.isfinite(self.probability[row]):
            why = self.unknown or (
                'no foot carries load, or joints, gyroscope or the direction of gravity are '
                'unknown'
            )
            return f'Cannot say whether the robot is about to fall: {why}.'
        by = 'ankles and the next steps' if self.stepping[row] else 'feet on the ground'
        side = 'outside' if self.margin[row] < 0.0 else 'inside'
        return (
            f'The capture point is {1e3 * abs(self.margin[row]):.0f} ± '
            f'{1e3 * self.deviation[row]:.0f} mm {side} the set from which the {by} can bring '
            f'the robot to rest, {_where(self.direction[row])}: it falls within '
            f'{HORIZON:g} s with a probability of {100.0 * self.probability[row]:.0f} %.'
        )


@dataclass(frozen=True)
class _Seen:
    """K instants along two level axes, ahead and to the left.

    Attributes:
        feet: for each foot (K, V, 2) corners of its sole [m].
        height: (K,) of the centre of mass above the ground [m].
        rate: (K,) ω of the pendulum [1/s].
        point: (K, 2) capture point [m].
        velocity: (K, 2) of the centre of mass [m/s].
        noise: (K, 2, 2) covariance of the noise of the velocity [m²/s²].
        low: (K, F) which feet carry load or soon do if they are put down.
    """

    feet: tuple[Array, ...]
    height: Array
    rate: Array
    point: Array
    velocity: Array
    noise: Array
    low: Flags

    @property
    def variance(self) -> Array:
        """(K, U) of ċ/ω in all directions, by the errors of ω and the noise of ċ [m²]."""
        along = (self.velocity @ ALL_AROUND.T) ** 2
        noise = np.einsum('ui,kij,uj->ku', ALL_AROUND, self.noise, ALL_AROUND)
        variance: Array = (RATE_ERROR**2 * along + noise) / self.rate[:, None] ** 2
        return variance

    @classmethod
    def of(cls, balance: Balance, gravity: float) -> '_Seen':
        """Project what is known along gravity."""
        up, loaded = balance.up, np.asarray(balance.loaded)
        known: Flags = np.asarray(np.isfinite(up).all(axis=1))
        axes = plane_axes(np.where(known[:, None], up, [0.0, 0.0, 1.0]))
        heights = np.stack(
            [np.einsum('ki,kvi->kv', up, sole).min(axis=1) for sole in balance.corners], axis=1
        )
        ground = np.where(loaded, heights, np.inf).min(axis=1)
        height = np.einsum('ki,ki->k', up, balance.com) - ground
        rate = pendulum_rate(height, gravity)
        com = np.einsum('kai,ki->ka', axes, balance.com)
        velocity = np.einsum('kai,ki->ka', axes, balance.velocity)
        return cls(
            feet=tuple(np.einsum('kai,kvi->kva', axes, sole) for sole in balance.corners),
            height=height,
            rate=rate,
            point=capture_point(com, velocity, rate),
            velocity=velocity,
            noise=axes @ balance.noise @ axes.transpose(0, 2, 1),
            low=loaded | (heights <= ground[:, None] + LOW),
        )


class FallAlarm:
    """Judges instants one after the other; pieces of any length give the same results.

    Args:
        gravity: [m/s²].
        feet: number of feet.
        missed_fall: what a missed fall costs, in false alarms.
    """

    def __init__(self, gravity: float, feet: int, missed_fall: float = 1.0) -> None:
        self._rule = AlarmRule(threshold(missed_fall))
        self._gravity = gravity
        self._gait = Gait() if feet == 2 else None
        self._carried = np.empty(feet)
        self.reset()

    def reset(self) -> None:
        """Forget gait and alarm."""
        if self._gait is not None:
            self._gait.reset()
        self._carried[:] = -np.inf
        self._rule.reset()

    def push(self, balance: Balance, overlap: float = 0.0) -> FallRisk:
        """Judge the next instants.

        Args:
            balance: what is known there.
            overlap: time for which velocities have samples, and so errors, in common [s].
        """
        times, seen = balance.stamps / NANOSECONDS, _Seen.of(balance, self._gravity)
        sizes = np.stack([reach(foot) for foot in seen.feet], axis=1)
        own = COM_ERROR**2 + seen.variance
        low = seen.low
        if len(self._carried) > 2:
            low = low | (times[:, None] - self._last_carried(times, balance.loaded) < SWING)
        standing = reach_of_feet(sizes, low, np.zeros((*low.shape, 2)))
        offset = offset_of_fall(seen.height, seen.rate, FALLEN, HORIZON)
        best = _nearest(standing, seen.point, own, offset)
        stepping = np.zeros(len(times), dtype=np.bool_)
        if self._gait is not None:
            walking, errors = self._steps(self._gait, times, seen, balance.loaded, sizes)
            other = _nearest(walking, seen.point, own + errors, offset)
            stepping = np.less(other.risk, best.risk)
            best = other.where(stepping, best)
        probability = _normal(best.risk)
        alarm = self._rule.push(times, probability, overlap)
        return FallRisk(probability, alarm, best.margin, best.deviation, best.direction, stepping)

    def push_unknown(self, stamps: Stamps, why: str) -> FallRisk:
        """Take the next instants (K,) [ns], of which nothing is known, and why."""
        risk = FallRisk.nothing(len(stamps), why)
        alarm = self._rule.push(stamps / NANOSECONDS, risk.probability, 0.0)
        return replace(risk, alarm=alarm)

    def _last_carried(self, times: Array, loaded: Flags) -> Array:
        """When (K, F) each foot carried load for the last time [s]."""
        carried = np.where(loaded, times[:, None], -np.inf)
        last: Array = np.maximum.accumulate(np.vstack([self._carried, carried]), axis=0)[1:]
        if len(last):
            self._carried = last[-1].copy()
        return last

    def _steps(
        self, gait: Gait, times: Array, seen: _Seen, loaded: Flags, sizes: Array
    ) -> tuple[Array, Array]:
        """Support functions (K, U) of V by walking on, −∞ where it does not, and variances."""
        count = len(times)
        places = np.stack([foot.mean(axis=1) for foot in seen.feet], axis=1)
        ends, carries = np.zeros((count, PHASES - 1)), np.zeros((count, PHASES, 2), np.bool_)
        moved, landing = np.zeros((count, PHASES, 2, 2)), np.zeros((count, 2))
        scatter = np.zeros((count, 2))
        for k in np.flatnonzero(np.isfinite(places).all(axis=(1, 2))).tolist():
            gait.see(times[k], places[k], loaded[k])
            footing = gait.footing(times[k], places[k])
            if footing is not None:
                ends[k], carries[k], moved[k] = footing.ends, footing.carries, footing.moved
                landing[k], scatter[k] = footing.landing, footing.scatter
        share = weights(ends, seen.rate)
        walks = carries.any(axis=(1, 2))
        each = reach_of_feet(sizes[:, None], carries, moved)
        hull = np.full(each.shape[::2], -np.inf)
        hull[walks] = np.einsum('kp,kpu->ku', share[walks], each[walks])
        later = share[:, 2:].sum(axis=1, keepdims=True)
        by_time = seen.rate[:, None] * scatter[:, 1:] * (landing @ ALL_AROUND.T)
        return hull, STEP_ERROR**2 + later**2 * (scatter[:, :1] ** 2 + by_time**2)


@dataclass(frozen=True)
class _Nearest:
    """Where a point leaves a set most probably: see `FallRisk`.

    Attributes:
        margin: (K,) [m].
        deviation: (K,) [m].
        direction: (K, 2).
        risk: (K,) how far it is beyond what is a fall, in standard deviations.
    """

    margin: Array
    deviation: Array
    direction: Array
    risk: Array

    def where(self, rows: Flags, other: '_Nearest') -> '_Nearest':
        """Take these rows, and the others of another one."""
        return _Nearest(
            np.where(rows, self.margin, other.margin),
            np.where(rows, self.deviation, other.deviation),
            np.where(rows[:, None], self.direction, other.direction),
            np.where(rows, self.risk, other.risk),
        )


def _nearest(hull: Array, point: Array, variance: Array, offset: Array) -> _Nearest:
    """Compare points (K, 2) with hulls (K, U) of variances (K, U); a fall is an offset (K,).

    The direction is that of the largest risk: where the variance is larger, a margin that is not
    the least one may be more probably overrun.
    """
    margins, deviations = hull - point @ ALL_AROUND.T, np.sqrt(variance)
    risks = (-margins - offset[:, None]) / deviations
    most = np.argmax(np.where(np.isfinite(risks), risks, -np.inf), axis=1)
    rows = np.arange(len(point))
    return _Nearest(
        margins[rows, most], deviations[rows, most], ALL_AROUND[most], risks[rows, most]
    )


def _normal(deviations: Array) -> Array:
    """Normal distribution (K,) at so many standard deviations; SciPy would take long to load."""
    return np.array([0.5 * math.erfc(-each / math.sqrt(2.0)) for each in deviations.tolist()])


def _where(direction: Array) -> str:
    """Name a direction (2,) as the robot faces."""
    names = ('ahead', 'ahead and to the left', 'to the left', 'behind and to the left', 'behind',
             'behind and to the right', 'to the right', 'ahead and to the right')  # fmt: skip
    return names[round(float(np.arctan2(direction[1], direction[0])) / (np.pi / 4.0)) % 8]
