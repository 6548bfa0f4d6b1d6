"""Whether a robot falls within the next second: how probable that is, and an alarm.

The capture point ξ is compared with the set V from which it can be brought to rest
(`fall_probability`): by the ankles, as long as it is inside the polygon of the feet on the ground,
or by the steps to come if the robot goes on walking as it did (`gait`). Outside V it runs away
whatever the feet do, by a known law; so the distance outside says when the robot will have fallen
(`offset_of_fall`). That distance over its standard deviation gives the probability. The alarm is
raised from the probability on at which to wait would cost more than a false alarm (`alarm_rule`).

Nothing is learned from falls: what is estimated is the state, and by how much it may be wrong.
After Koolen et al. (2012) and Kalyanakrishnan & Goswami (2011), see docs/references.md.
"""

from dataclasses import dataclass, replace

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Indices, Stamps
from izmp_dynamics.stability.alarm_rule import HORIZON, AlarmRule, Flags, threshold
from izmp_dynamics.stability.fall_probability import SEEN, changes, judge, look
from izmp_dynamics.stability.gait import NUMBERS, Gait


@dataclass(frozen=True)
class Balance:
    """What the alarm is computed from, at K instants, in the root frame; NaN where unknown.

    Attributes:
        stamps: (K,) [ns].
        up: (K, 3) unit vector against gravity.
        com: (K, 3) centre of mass [m].
        velocity: (K, 3) its velocity against the ground [m/s].
        corners: (K, C, 3) corners of all soles, foot by foot [m].
        foot: (C,) which of the F feet each corner belongs to.
        loaded: (K, F) which feet carry load.
        noise: (K, 3, 3) covariance of the noise of the velocity [m²/s²].
        assumed: (K,) whether `up` is not that of a measured orientation.
    """

    stamps: Stamps
    up: Array
    com: Array
    velocity: Array
    corners: Array
    foot: Indices
    loaded: Flags
    noise: Array
    assumed: Flags


@dataclass(frozen=True)
class FallRisk(Record):
    """Whether the robot is about to fall, at K instants.

    Attributes:
        probability: (K,) that the trunk is tilted by 45° within a second; NaN: unknown.
        alarm: (K,) whether it is so large that the alarm is raised.
        margin: (K,) by how much the capture point is inside the set from which it can be brought
            to rest, negative outside, where it most probably leaves it [m].
        deviation: (K,) standard deviation of the margin [m].
        direction: (K, 2) where that is: ahead and to the left.
        stepping: (K,) whether the steps of its walk are counted on.
        assumed: (K,) whether the vertical is not that of a measured orientation.
        unknown: why nothing is known at any instant; empty: something may be.
    """

    probability: Array
    alarm: Flags
    margin: Array
    deviation: Array
    direction: Array
    stepping: Flags
    assumed: Flags
    unknown: str = ''

    @classmethod
    def nothing(cls, count: int, why: str) -> 'FallRisk':
        """Of so many instants nothing is known, and why."""
        nowhere, none = np.full(count, np.nan), np.zeros(count, dtype=np.bool_)
        return cls(nowhere, none, nowhere, nowhere, np.full((count, 2), np.nan), none, none, why)

    def sentence(self, row: int = 0) -> str:
        """Say why."""
        if not np.isfinite(self.probability[row]):
            why = self.unknown or (
                'no foot carries load, or joints, gyroscope or the direction of gravity are '
                'unknown'
            )
            return f'Cannot say whether the robot is about to fall: {why}.'
        alone = 'feet on the ground, without a step,'
        by = 'ankles and the next steps' if self.stepping[row] else alone
        side = 'outside' if self.margin[row] < 0.0 else 'inside'
        return (
            f'The capture point is {1e3 * abs(self.margin[row]):.0f} ± '
            f'{1e3 * self.deviation[row]:.0f} mm {side} the set from which the {by} can bring '
            f'the robot to rest, {_where(self.direction[row])}: it falls within '
            f'{HORIZON:g} s with a probability of {100.0 * self.probability[row]:.0f} %.'
            f'{without_orientation() if self.assumed[row] else ""}'
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
        times, count = balance.stamps / NANOSECONDS, len(balance.stamps)
        seen, places = np.empty((count, SEEN)), np.empty((count, *balance.loaded.shape[1:], 2))
        soles = np.empty((*balance.corners.shape[:2], 2))
        low = np.empty(balance.loaded.shape, dtype=np.bool_)
        look(
            balance.up, balance.com, balance.velocity, balance.corners, balance.foot,
            balance.loaded, balance.noise, self._gravity, seen, soles, places, low,
        )  # fmt: skip
        gaits, changed = self._follow(times, places, balance.loaded)
        probability, margin, deviation = (np.empty(count) for _ in range(3))
        direction, stepping = np.empty((count, 2)), np.empty(count, dtype=np.bool_)
        judge(
            times, seen, soles, places, balance.foot, balance.loaded, low, gaits,
            changed, self._carried, probability, margin, deviation, direction, stepping,
        )  # fmt: skip
        alarm = self._rule.push(times, probability, overlap)
        return FallRisk(
            probability, alarm, margin, deviation, direction, stepping, balance.assumed
        )

    def push_unknown(self, stamps: Stamps, why: str) -> FallRisk:
        """Take the next instants (K,) [ns], of which nothing is known, and why."""
        risk = FallRisk.nothing(len(stamps), why)
        alarm = self._rule.push(stamps / NANOSECONDS, risk.probability, 0.0)
        return replace(risk, alarm=alarm)

    def _follow(self, times: Array, places: Array, loaded: Flags) -> tuple[Array, Flags]:
        """The gaits (S, 10) one after the other, and (K,) from which instants the next one holds.

        A gait changes only when a foot lands or lifts off. There is none unless there are two.
        """
        changed = np.empty(len(times), dtype=np.bool_)
        if self._gait is None:
            return np.empty((0, NUMBERS)), changed
        changes(places, loaded, self._gait.loaded, changed)
        gaits = [self._gait.numbers]
        for row in changed.nonzero()[0].tolist():
            self._gait.see(float(times[row]), places[row], loaded[row])
            gaits.append(self._gait.numbers)
        return np.array(gaits), changed


def without_orientation(lasting: str = '') -> str:
    """What to add to a probability without a measured orientation, `lasting` e.g. ' for 3 s'."""
    return (
        f' No orientation of the root is known{lasting}: the vertical follows from gyroscope '
        'and accelerometer, or from the soles, so the probability may be far too high while the '
        'robot rocks, and too low while it leans.'
    )


def _where(direction: Array) -> str:
    """Name a direction (2,) as the robot faces."""
    names = ('ahead', 'ahead and to the left', 'to the left', 'behind and to the left', 'behind',
             'behind and to the right', 'to the right', 'ahead and to the right')  # fmt: skip
    return names[round(float(np.arctan2(direction[1], direction[0])) / (np.pi / 4.0)) % 8]
