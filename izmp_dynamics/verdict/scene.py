"""What the report needs of an evaluation: computed once, used by all."""

from functools import cached_property
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.diagnosis.forces import delay_of_cop, feet_findings
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.stability.alarm_rule import HOLD
from izmp_dynamics.verdict.posture import Posture
from izmp_dynamics.verdict.timeline import Mask, changes
from izmp_dynamics.verdict.tipping import Averaged, GroundFixed, averaged, ground_fixed

LIKELY = 0.5
"""Probability from which on a fall is likelier than not [-]."""

LANDING = 0.1
"""Time after a touchdown in which its largest force is looked for [s]."""

LABELS = {'mr_ad': 'MR-AD', 'ir_md': 'IR-MD', 'cop': 'CoP'}


def label_of(name: str) -> str:
    """Name a track as the field does; an unknown track keeps its name."""
    return LABELS.get(name, name)


class Scene(Posture):
    """An evaluation: ground coordinates, support and posture, and what counts of the tracks."""

    @cached_property
    def known(self) -> dict[str, Mask]:
        """Name of a track → (K,) where it has a value."""

        def known(wrench: Array) -> Any:
            return self.columns.by_blocks(self._count, lambda rows: finite_rows(wrench[rows]))

        return {name: known(track.wrench) for name, track in self.evaluation.tracks.items()}

    @cached_property
    def judged(self) -> dict[str, Mask]:
        """Name of a track → (K,) where it counts for the verdict: a margin, a polygon, a value.

        Not while the robot lies on the ground: it touches that with more than its soles. Never
        where it stands on a foot of which it is not known where it is.
        """
        judged = {}
        for name, track in self.evaluation.tracks.items():
            judged[name] = np.zeros(self._count, dtype=bool)
            if not self.foot_pose_unknown and (name != 'cop' or self.cop_is_whole):
                may = self.spans_area & self.known[name] & ~self.lies
                judged[name] = may & np.isfinite(track.margin)
        return judged

    @cached_property
    def of_feet(self) -> tuple[Finding, ...]:
        """What contradicts the feet or their sensors."""
        return tuple(feet_findings(self.evaluation, self.stands))

    @cached_property
    def late_cop(self) -> tuple[float, float, float] | None:
        """The delay of the CoP that is most of its distance from the IZMP, see `delay_of_cop`."""
        return delay_of_cop(self.evaluation)

    @cached_property
    def exchanged(self) -> Mask:
        """(K,) instants about those at which a foot lands or lifts off.

        Within `LANDING`, and as far as signals are smoothed.
        """
        timeline = self.timeline
        reach = LANDING + bandwidth(self.evaluation.filter_bandwidth)
        found: Mask = np.zeros(self._count, dtype=np.bool_)
        for foot in self.evaluation.feet:
            for at in timeline.time[changes(timeline.sustained(foot.loaded))].tolist():
                found[timeline.within(at - reach, at + reach)] = True
        return found

    @cached_property
    def ground_fixed(self) -> GroundFixed:
        """Pose of the root in a frame that is fixed to the ground."""
        return ground_fixed(self.evaluation.feet, self.timeline, self.columns)

    @cached_property
    def averaged(self) -> dict[str, Averaged]:
        """Name of a track → it as the tipping of the robot feels it, see `tipping`."""
        return averaged(
            self.evaluation, self.ground_fixed, self.timeline, self.judged, self.averaging_time
        )

    @cached_property
    def fall_risk(self) -> tuple[Array, Mask] | None:
        """(K,) probability of a fall, and whether the alarm is raised; None if not evaluated.

        Nothing is known of a robot, or a human, that walks or runs as the recording begins: before
        steps were seen, it looks as if it fell. That it did not, the rest shows, if there is one.
        """
        probability, raised = self.evaluation.fall_probability, self.evaluation.fall_alarm
        if probability is None or raised is None:
            return None
        begun = self._steps_begin(probability) if self.evaluation.begins else 0
        if begun and not self.lies[self.timeline.time <= self._falls_until(begun)].any():
            probability, raised = probability.copy(), raised.copy()
            probability[:begun] = np.nan
            raised[: begun + int(np.argmin(np.append(raised[begun:], False)))] = False
        return probability, raised

    def _steps_begin(self, probability: Array) -> int:
        """Row from which on no fall is likely for as long as an alarm lasts; 0 without any."""
        time, likely = self.timeline.time, probability >= LIKELY
        if self.timeline.duration < self.falls_for and likely.all():
            return len(probability)
        rows = np.flatnonzero(likely)
        if not len(rows) or np.isfinite(probability[: rows[0]]).any():
            return 0
        pauses = np.flatnonzero(np.diff(time[rows]) > HOLD)
        last = int(rows[pauses[0] if len(pauses) else -1])
        return last + 1 if time[-1] - time[last] > HOLD else 0

    def _falls_until(self, row: int) -> float:
        return float(self.timeline.time[min(row, len(self.timeline.time) - 1)]) + self.falls_for

    def judged_margin(self, name: str) -> Array:
        """(K,) margin of the averaged point [m]; NaN where the track does not count."""
        margin: Array = np.where(self.judged[name], self.averaged[name].margin, np.nan)
        return margin
