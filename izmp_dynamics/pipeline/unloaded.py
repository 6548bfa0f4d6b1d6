"""What the force sensors read while their feet are in the air: how far their offsets have drifted.

A foot in the air feels nothing but what holds and moves the mass below its sensor; what is left of
the reading is an offset that the robot file does not state. Whether a foot is in the air is
decided without its own sensor: by its height, as a foot without load may well be on the ground,
and by what the other feet carry of the wrench that the motion takes, as one that is higher than
the others may stand on a step.
"""

import time
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Flags, Stamps
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.estimation.fusion import Swing
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.signals.buffer import reach_of
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.stability.clearance import CLEARANCE_WITH_FORCES, clearances
from izmp_dynamics.stability.ground_plane import Soles

SPAN = 2.0
"""Time that is kept [s]."""

SPACING = 0.01
"""Instants that follow each other in less time are not all kept [s]."""

EDGE = 0.06
"""Time about lift-off and touch-down in which late or filtered forces mix load and none [s]."""

SHORTEST = 0.1
"""Time in the air from which on a swing counts [s]."""

LOADED = 0.15
"""A foot to which the others leave more, as part of the weight, stands, however high it is [-].

In swings of walking robots they leave up to this, as accelerations and impacts are not exact.
"""

AVERAGED = 0.2
"""Time of which the median of what the others leave counts [s]."""

HANGS = 0.5
"""Feet that together carry less than this part of the robot do not stand: it hangs [-]."""

STALE = 1.0
"""Instants that were taken longer ago say nothing about now, by the steady clock [s]."""


Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class FeetSeen(Record):
    """F feet at K instants, those with sensors.

    Attributes:
        stamps: (K,) [ns].
        q: (K, n) joint positions [rad] or [m].
        force: (K, 3) contact force by MR-AD, in root axes [N].
        soles: with their normal forces.
        wrenches: (K, F, 6) on the feet, with what the mass below the sensors takes, about the
            root in its axes.
    """

    stamps: Stamps
    q: Array
    force: Array
    soles: Soles
    wrenches: Array


@dataclass(frozen=True)
class Stance:
    """A foot at the last instant.

    Attributes:
        height: of its lowest corner above the other soles [m].
        load: what the other feet leave to it [N], see `loads`.
        reading: normal force by its own sensor, offsets included [N].
    """

    height: float
    load: float
    reading: float

    @property
    def is_known(self) -> bool:
        """Whether all values are."""
        return bool(np.isfinite([self.height, self.load, self.reading]).all())


class UnloadedFeet:
    """Remembers the last seconds of feet of which all have sensors.

    Args:
        rig: the robot.

    Attributes:
        swings: foot → its last swing, as `update` found it.
        stances: foot → where it is, as `update` found it; empty if nothing was taken lately.
    """

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.weight = rig.model.total_mass * rig.robot.gravity
        self.swings: dict[str, Swing] = {}
        self.stances: dict[str, Stance] = {}
        self._seen: deque[FeetSeen] = deque()
        self._taken_at = 0.0

    def __deepcopy__(self, memo: object) -> 'UnloadedFeet':
        """What is handed out ahead of its time, in a pause, is not to be seen twice."""
        return UnloadedFeet(self.rig)

    def see(self, results: Evaluated, rows: slice = slice(None)) -> None:
        """Take some of K instants; if a clock was set back, they are the first."""
        feet, stamps = results.ground.feet, results.stamps[rows]
        if not len(stamps) or feet.total is None:
            return
        self._taken_at = time.monotonic()
        if self._seen and stamps[0] <= self._seen[-1].stamps[-1]:
            self._seen.clear()
        last, kept = int(self._seen[-1].stamps[-1]) if self._seen else None, []
        for row, stamp in enumerate(stamps.tolist(), start=rows.start or 0):
            if last is None or stamp - last >= nanoseconds(SPACING):
                last = stamp
                kept.append(row)
        if not kept:
            return
        force, q = results.wrenches['mr_ad'][kept, :3], results.joints.positions[kept]
        soles, wrenches = feet.soles.select(np.array(kept)), feet.wrenches[kept]
        self._seen.append(FeetSeen(results.stamps[kept], q, force, soles, wrenches))
        while self._seen[0].stamps[-1] < stamps[-1] - nanoseconds(SPAN):
            self._seen.popleft()

    def update(self) -> None:
        """Look at what was taken, unless that was long ago."""
        if time.monotonic() - self._taken_at > STALE:
            self._forget()
        else:
            self.find()

    def find(self) -> None:
        """Look at what was taken, whenever that was."""
        self._forget()
        if not self._seen:
            return
        seen = FeetSeen.joined(self._seen)
        seen = seen.select(seen.stamps >= seen.stamps[-1] - nanoseconds(SPAN))
        heights = clearances(seen.soles.each)
        loads = self.loads(seen)
        for k, foot in enumerate(self.rig.feet):
            self.stances[foot.name] = Stance(
                float(heights[-1, k]), float(loads[-1, k]), float(seen.soles.forces[-1, k])
            )
            known = np.isfinite(heights[:, k] + loads[:, k] + seen.wrenches[:, k].sum(axis=1))
            swing = self._swing(seen, k, np.flatnonzero(known), heights[:, k], loads[:, k])
            if swing is not None:
                self.swings[foot.name] = swing

    def _forget(self) -> None:
        self.stances = {}
        self.swings = {name: replace(swing, lasts=False) for name, swing in self.swings.items()}

    def loads(self, seen: FeetSeen) -> Array:
        """(K, F) the part of MR-AD's contact force, along it, that the other feet leave to each.

        Zero for a robot that hangs, whose force no foot carries; NaN where it is not known.
        """
        size = np.maximum(np.linalg.norm(seen.force, axis=1), np.finfo(np.float64).tiny)[:, None]
        carried = np.einsum('kfi,ki->kf', seen.wrenches[:, :, :3], seen.force / size)
        together = carried.sum(axis=1)[:, None]
        return np.where(together < HANGS * size, 0.0, size - together + carried)

    def _swing(
        self, seen: FeetSeen, k: int, known: Indices, heights: Array, loads: Array
    ) -> Swing | None:
        """The last swing of a foot, of (K,) heights and loads at known rows; None without one."""
        stamps = seen.stamps[known]
        if len(stamps) < 2:
            return None
        period = float(np.median(np.diff(stamps))) / NANOSECONDS
        reach = nanoseconds(reach_of(self.rig.robot.pairing.max_gap, period))
        newest = bool(seen.stamps[-1] - stamps[-1] <= reach)
        high = _last_run(stamps, heights[known] > CLEARANCE_WITH_FORCES, reach)
        lasts = newest and len(high) > 0 and high[-1] + 1 == len(known)
        high = high[stamps[high] >= stamps[high[:1]] + nanoseconds(EDGE)]
        if not lasts:
            high = high[stamps[high] <= stamps[high[-1:]] - nanoseconds(EDGE)]
        if not len(high):
            return None
        load = _medians(loads[known[high]], round(0.5 * AVERAGED / period))
        air = high[_last_run(stamps[high], load < LOADED * self.weight, reach)]
        duration = len(air) * period
        if duration < SHORTEST:
            return None
        excess = self._excess(seen, k, known[air])
        if not len(excess):
            return None
        usual = np.median(excess, axis=0)
        about, end = excess - usual, int(stamps[air[-1]])
        scatter = about.T @ about / len(excess)
        width = self.rig.robot.filter.half_width or 0.0
        count = max(1.0, duration / max(period, 2.0 * width))
        lasts = bool(lasts and air[-1] == high[-1])
        return Swing(usual, duration, lasts, scatter, 0.5 * np.pi / count * scatter, end)

    def _excess(self, seen: FeetSeen, k: int, rows: Indices) -> Array:
        """(L, 6) what a sensor reads beyond what the mass below it takes, where that is known."""
        R, p = self.rig.model.frame_pose(self.rig.feet[k].sensor or '', seen.q[rows])
        excess = ContactWrench.from_array(seen.wrenches[rows, k]).seen_from(R, p).as_array()
        return np.asarray(excess[np.isfinite(excess).all(axis=1)])


def _last_run(stamps: Stamps, flags: Flags, reach: int) -> Indices:
    """Indices of the last of (K,) flags that are set one after the other, without a gap [ns]."""
    rows = np.flatnonzero(flags)
    breaks = np.flatnonzero((np.diff(rows) > 1) | (np.diff(stamps[rows]) > reach))
    return rows[breaks[-1] + 1 :] if len(breaks) else rows


def _medians(values: Array, around: int) -> Array:
    """(K,) medians of each of K values with so many before and after it."""
    padded = np.pad(values, around, mode='symmetric')
    return np.asarray(np.median(sliding_window_view(padded, 2 * around + 1), axis=1))
