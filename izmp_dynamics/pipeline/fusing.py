"""The fused estimate of an evaluator's instants: see `estimation.fusion`."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from izmp_dynamics.base.conventions import Array, skew
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.estimation.fusion import CELL, Fused, Fusion, Seen, Swing
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.uncertainty import filtered_covariance, point_covariance
from izmp_dynamics.pipeline.unloaded import UnloadedFeet


class FusionStage:
    """Adds the fused estimate to instants, in the order of time.

    Args:
        rig: a robot whose feet all measure their whole wrench, see `suits`.
    """

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.reset()

    @staticmethod
    def suits(rig: Rig) -> bool:
        """Whether every foot of a robot measures its whole wrench."""
        return bool(rig.feet) and all(foot.sensor and not foot.normal_only for foot in rig.feet)

    def reset(self) -> None:
        """Forget all instants."""
        weight = self.rig.model.total_mass * self.rig.robot.gravity
        self._fusion = Fusion(weight, len(self.rig.feet))
        self._unloaded = UnloadedFeet(self.rig)
        self._cell, self._last = 0, 0
        self._ends = {foot.name: 0 for foot in self.rig.feet}

    def push(self, evaluator: Evaluator, results: Evaluated) -> Evaluated:
        """Add the estimate to what an evaluator computed at K instants.

        If a clock was set back, they are the first.
        """
        if not len(results.stamps) or results.ground.feet.total is None:
            return results
        if results.stamps[0] <= self._last:
            self.reset()
        self._last = int(results.stamps[-1])
        cells = results.stamps // CELL
        starts = [0, *(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(cells)]
        maps, parts = self._maps(results.joints.positions), []
        for first, stop in pairwise(starts):
            rows = slice(first, stop)
            if cells[first] != self._cell:
                self._cell = int(cells[first])
                predicted = self._covariance(evaluator, results.select(slice(first, first + 1)))
                self._fusion.turn(predicted, maps[first], self._swings())
            moved, feet = results.wrenches['mr_ad'][rows], results.ground.feet.wrenches[rows]
            parts.append(self._fusion.fuse(Seen(results.stamps[rows], moved, feet, maps[rows])))
            self._unloaded.see(results, rows)
        fused = Fused.joined(parts)
        results = results.with_wrench('fusion', fused.contact)
        of_point = point_covariance(results, fused.covariance, 'fusion')
        return replace(results, fused=replace(fused, point_covariance=of_point))

    def _covariance(self, evaluator: Evaluator, instant: Evaluated) -> Array:
        """(12, 12) covariance of `_WithFeet` at an instant; NaN where it is not known."""
        wrench, half_width = _WithFeet(self.rig, evaluator.mr_ad), self.rig.robot.filter.half_width
        covariance: Array = filtered_covariance(
            evaluator, instant, None, half_width, mr_ad=wrench
        )[0]
        return covariance

    def _maps(self, q: Array) -> Array:
        """(K, F, 6, 6) of wrenches in the frames of the sensors to the root's."""
        maps = np.zeros((len(q), len(self.rig.feet), 6, 6))
        for k, foot in enumerate(self.rig.feet):
            R, p = self.rig.model.frame_pose(foot.sensor or '', q)
            maps[:, k, :3, :3] = maps[:, k, 3:, 3:] = R
            maps[:, k, 3:, :3] = skew(p) @ R
        return maps

    def _swings(self) -> Iterator[tuple[int, Swing]]:
        """Those that ended since the last call."""
        self._unloaded.find()
        for k, foot in enumerate(self.rig.feet):
            swing = self._unloaded.swings.get(foot.name)
            if swing is not None and not swing.lasts and swing.end > self._ends[foot.name]:
                self._ends[foot.name] = swing.end
                yield k, swing


class _WithFeet(MrAd):
    """MR-AD, and beside it what the mass below the sensors of the feet takes of the wrench."""

    def __init__(self, rig: Rig, mr_ad: MrAd) -> None:
        self._mr_ad = mr_ad
        self._below = [MrAd(foot.below) for foot in rig.feet if foot.below is not None]

    def of_states(self, states: Array, units: Array | None = None) -> tuple[Array, Array]:
        """(T, 12) wrenches of the robot and of that mass, and the centres of mass (T, 3)."""
        wrench, com = self._mr_ad.of_states(states, units)
        below = sum((part.of_states(states)[0] for part in self._below), np.zeros_like(wrench))
        return np.hstack([wrench, below]), com
