"""What the report needs of an evaluation: computed once, used by all."""

from functools import cached_property

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.base.robust import median
from izmp_dynamics.verdict.posture import Posture
from izmp_dynamics.verdict.timeline import Mask
from izmp_dynamics.verdict.tipping import Averaged, GroundFixed, averaged, ground_fixed

LABELS = {'mr_ad': 'MR-AD', 'ir_md': 'IR-MD', 'cop': 'CoP'}

_BRIDGED = 0.05  # [s] a longer hole in a track ends a segment of the filter


def label_of(name: str) -> str:
    """Name a track as the field does; an unknown track keeps its name."""
    return LABELS.get(name, name)


class Scene(Posture):
    """An evaluation: ground coordinates, support and posture, and what counts of the tracks."""

    def settled(self, name: str) -> Mask:
        """(K,) where a value of a track is not that of a filter which is still settling."""
        return self._settled[name]

    @cached_property
    def _settled(self) -> dict[str, Mask]:
        return {name: self._settled_of(name) for name in self.names}

    def _settled_of(self, name: str) -> Mask:
        settle, time = self.evaluation.settle_time, self.timeline.time
        wrench = self.evaluation.tracks[name].wrench
        there: Mask = self.columns.by_blocks(self._count, lambda rows: finite_rows(wrench[rows]))
        if not settle > 0.0 or not there.any():
            return there
        known = time[there]
        bridged = max(_BRIDGED, 3.0 * median(self.timeline.span))
        broken = np.flatnonzero(np.diff(known) > bridged)
        begins = known[np.append(0, broken + 1)]
        ends = known[np.append(broken, len(known) - 1)]
        segment = np.searchsorted(begins, time, side='right') - 1
        near = np.minimum(time - begins[segment], ends[segment] - time)
        settled: Mask = there & (near >= settle)
        return settled

    def judged(self, name: str) -> Mask:
        """(K,) where a track counts for the verdict: a margin, a polygon, a settled filter.

        Not while the robot lies on the ground: it touches that with more than its soles. Never
        where it stands on a foot of which it is not known where it is.
        """
        return self._judged[name]

    @cached_property
    def _judged(self) -> dict[str, Mask]:
        judged = {}
        for name, track in self.evaluation.tracks.items():
            judged[name] = np.zeros(self._count, dtype=bool)
            if not self.foot_pose_unknown and (name != 'cop' or self.cop_is_whole):
                may = self.spans_area & self.settled(name) & ~self.lies
                judged[name] = may & np.isfinite(track.margin)
        return judged

    @cached_property
    def ground_fixed(self) -> GroundFixed:
        """Pose of the root in a frame that is fixed to the ground."""
        return ground_fixed(self.evaluation.feet, self.timeline, self.columns)

    def averaged(self, name: str) -> Averaged:
        """A track as the tipping of the robot feels it, see `tipping`."""
        return self._averaged[name]

    @cached_property
    def _averaged(self) -> dict[str, Averaged]:
        return averaged(
            self.evaluation,
            self.ground_fixed,
            self.timeline,
            {name: self.judged(name) for name in self.names},
            self.averaging_time,
        )

    def judged_margin(self, name: str) -> Array:
        """(K,) margin of the averaged point [m]; NaN where the track does not count."""
        margin: Array = np.where(self.judged(name), self.averaged(name).margin, np.nan)
        return margin
