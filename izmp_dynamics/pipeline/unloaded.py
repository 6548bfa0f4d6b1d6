"""What the force sensors read while their feet are in the air: how far their offsets have drifted.

A foot in the air feels nothing but what holds and moves the mass below its sensor; what is left of
the reading is an offset that the robot file does not state. Height decides whether a foot is in
the air, as one without load may well be on the ground.
"""

import time
from collections import deque
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.stamps import nanoseconds
from izmp_dynamics.stability.clearance import CLEARANCE, clearances
from izmp_dynamics.stability.ground_plane import Sole

SPAN = 2.0
"""Time that is kept [s]."""

SPACING = 0.02
"""Instants that follow each other in less time are not all kept [s]."""

EDGE = 0.06
"""Time about lift-off and touch-down in which late or filtered forces mix load and none [s]."""

SHORTEST = 0.1
"""Time in the air from which on a swing counts [s]."""

LOADED = 0.2
"""A foot that carries more, as part of the weight, stands, however high it is [-]."""

STALE = 1.0
"""Instants that were taken longer ago say nothing about now, by the steady clock [s]."""


class FeetSeen(NamedTuple):
    """F feet at K instants, those with sensors.

    Attributes:
        stamps: (K,) [ns].
        q: (K, n) joint positions.
        soles: with their normal forces.
        readings: (K, F, 6) in the frames of the sensors, corrected [N, N·m].
        wrenches: (K, F, 6) on the feet, with what the mass below the sensors takes, about the
            root in its axes.
    """

    stamps: Stamps
    q: Array
    soles: tuple[Sole, ...]
    readings: Array
    wrenches: Array


@dataclass(frozen=True)
class Swing:
    """A foot in the air.

    Attributes:
        excess: (6,) median of what the sensor reads without load, corrected, in the axes of its
            frame [N, N·m].
        duration: time that it is the median of [s].
        lasts: whether the foot is still in the air.
    """

    excess: Array
    duration: float
    lasts: bool


@dataclass(frozen=True)
class Stance:
    """A foot at the last instant.

    Attributes:
        height: of its lowest corner above the other soles [m].
        load: normal force, offsets included [N].
    """

    height: float
    load: float


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

    def see(self, seen: FeetSeen) -> None:
        """Take instants; if a clock was set back, they are the first."""
        if not len(seen.stamps):
            return
        self._taken_at = time.monotonic()
        if self._seen:
            elapsed = int(seen.stamps[0] - self._seen[-1].stamps[-1])
            if 0 < elapsed < nanoseconds(SPACING) and len(seen.stamps) == 1:
                return
            if elapsed <= 0:
                self._seen.clear()
        self._seen.append(seen)
        while self._seen[0].stamps[-1] < seen.stamps[-1] - nanoseconds(SPAN):
            self._seen.popleft()

    def update(self) -> None:
        """Look at what was taken."""
        self.stances = {}
        self.swings = {name: replace(swing, lasts=False) for name, swing in self.swings.items()}
        if not self._seen or time.monotonic() - self._taken_at > STALE:
            return
        seen = _joined(self._seen)
        heights = clearances(seen.soles)
        for k, foot in enumerate(self.rig.feet):
            load = np.asarray(seen.soles[k].normal_force)
            self.stances[foot.name] = Stance(float(heights[-1, k]), float(load[-1]))
            air = (heights[:, k] > CLEARANCE) & (load < LOADED * self.weight)
            swing = self._swing(seen, k, air)
            if swing is not None:
                self.swings[foot.name] = swing

    def _swing(self, seen: FeetSeen, k: int, air: npt.NDArray[np.bool_]) -> Swing | None:
        """The last swing of a foot, which is in the air at (K,) instants; None without one."""
        rows = np.flatnonzero(air)
        if not len(rows):
            return None
        breaks = np.flatnonzero(np.diff(rows) > 1)
        run = rows[breaks[-1] + 1 :] if len(breaks) else rows
        lasts = bool(run[-1] + 1 == len(air))
        begin = seen.stamps[run[0]] + nanoseconds(EDGE)
        end = seen.stamps[run[-1]] - (0 if lasts else nanoseconds(EDGE))
        run = run[(seen.stamps[run] >= begin) & (seen.stamps[run] <= end)]
        excess = self._excess(seen, k, run)
        if not len(excess) or end - begin < nanoseconds(SHORTEST):
            return None
        return Swing(np.median(excess, axis=0), float(end - begin) / NANOSECONDS, lasts)

    def _excess(self, seen: FeetSeen, k: int, rows: npt.NDArray[np.intp]) -> Array:
        """(L, 6) what a sensor reads beyond what the mass below it takes, where that is known."""
        foot, excess = self.rig.feet[k], seen.readings[rows, k]
        if foot.below is not None and foot.sensor is not None:
            R, p = self.rig.model.frame_pose(foot.sensor, seen.q[rows])
            back = np.swapaxes(R, 1, 2)
            contact = ContactWrench.from_array(seen.wrenches[rows, k])
            excess = contact.transformed(back, -np.einsum('tij,tj->ti', back, p)).as_array()
        known: Array = excess[np.isfinite(excess).all(axis=1)]
        return known


def _joined(parts: deque[FeetSeen]) -> FeetSeen:
    """All instants as one."""
    soles = tuple(
        Sole(
            np.concatenate([sole.R for sole in of_foot]),
            np.concatenate([sole.p for sole in of_foot]),
            np.concatenate([sole.corners for sole in of_foot]),
            np.concatenate([np.asarray(sole.normal_force) for sole in of_foot]),
        )
        for of_foot in zip(*(part.soles for part in parts), strict=True)
    )
    stamps, q, readings, wrenches = (
        np.concatenate([part[column] for part in parts]) for column in (0, 1, 3, 4)
    )
    return FeetSeen(stamps, q, soles, readings, wrenches)
