"""What the report needs of an evaluation: computed once, used by all.

The point is judged as the robot's tipping feels it: averaged over half of the tipping time
constant. A robot of COM height h tips with T = √(h/g). A point that is outside the support polygon
by d for the time t throws the capture point d·t/T outwards; half of the room for T/2 is what can
just tip it. So what happens within less than T/2 cannot tip a robot, and the point is judged after
an average over that time: a triangle of this width at half its height, in a frame that is fixed to
the ground. Noise of the sensors falls meanwhile to a tenth and less, so that the verdict hardly
depends on a filter before.

That frame follows from the feet alone: the sole that carries does not move. In it the points of
different instants can be averaged although the robot walks. It needs neither a localizer nor an
orientation; over some tenths of a second its drift does not matter.

The support polygon of an instant is here that of all soles that carry load within the average,
each where it stands: a foot in the air counts where it lifts off or lands, whichever is nearer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from izmp_dynamics.base.columns import Column
from izmp_dynamics.base.conventions import Array, Flags, cross, finite_rows, mean_of_corners
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.base.rotations import rotated, rotated_back
from izmp_dynamics.diagnosis.forces import delay_of_cop, feet_findings
from izmp_dynamics.results.evaluation import Foot
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.stability.alarm_rule import HOLD
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.verdict.posture import Posture
from izmp_dynamics.verdict.support import by_rows
from izmp_dynamics.verdict.timeline import Indices, changes, running_sum

LIKELY = 0.5
"""Probability from which on a fall is likelier than not [-]."""

LANDING = 0.1
"""Time after a touchdown in which its largest force is looked for [s]."""

LEAST_FILLED = 0.7
"""Share of the usual number of instants without which an average is none: at an end, in a hole."""

LABELS = {'mr_ad': 'MR-AD', 'ir_md': 'IR-MD', 'cop': 'CoP'}


def label_of(name: str) -> str:
    """Name a track as the field does; an unknown track keeps its name."""
    return LABELS.get(name, name)


@dataclass(frozen=True)
class GroundFixed:
    """Pose of the root in the frame that is fixed to the ground.

    Attributes:
        R: (K, 3, 3) ground_R_root; NaN where no foot carries load.
        p: (K, 3) position of the root [m].
        segment: (K,) number of the segment in which the frame is the same one; −1 without one.
    """

    R: Array
    p: Array
    segment: Indices

    def place(self, points: Array, rows: slice | Indices) -> Array:
        """Bring points (S, 3) at the instants `rows` from the root frame to this one."""
        return np.asarray(rotated(self.R[rows], points) + self.p[rows])

    def into_root(self, points: Array, rows: slice | Indices) -> Array:
        """Bring points (S, 3) at the instants `rows` from this frame to the root frame."""
        return np.asarray(rotated_back(self.R[rows], points - self.p[rows]))


@dataclass(frozen=True)
class Averaged:
    """A track after the average.

    Attributes:
        point: (K, 3) in the root frame [m]; NaN where there is none.
        margin: (K,) signed distance from the edge of the support polygon [m].
    """

    point: Array
    margin: Array


def sole_frame(foot: Foot, rows: slice) -> tuple[Array, Array]:
    """Axes that are fixed to a sole, and its middle.

    A point shows no axes of its own: those of the foot, which for a ball are the ground's, turn
    about the vertical with the root. For the fractions of a second over which they are used that
    matters little.

    Args:
        foot: with the sole.
        rows: at which S of the instants.

    Returns:
        (S, 3, 3) axes of the sole in the root frame, as columns: x along the first edge, z along
        the normal, up or down by the order of the corners; (S, 3) mean of the corners [m]. NaN
        where the sole is not known; no axes if its first three corners lie on a line.
    """
    corners = foot.sole[rows]
    R = np.full((len(corners), 3, 3), np.nan)
    if corners.shape[1] < 3:
        if not corners.shape[1] or foot.axes is None:
            return R, np.full((len(corners), 3), np.nan)
        return foot.axes[rows], mean_of_corners(corners)
    first = corners[:, 1] - corners[:, 0]
    normal = cross(first, corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(first, axis=1), np.linalg.norm(normal, axis=1)
    there = (sizes[0] > 0) & (sizes[1] > 0)
    with np.errstate(invalid='ignore', divide='ignore'):
        x, z = first / sizes[0][:, None], normal / sizes[1][:, None]
    R[there] = np.stack([x, cross(z, x), z], axis=2)[there]
    return R, np.where(there[:, None], mean_of_corners(corners), np.nan)


class Scene(Posture):
    """An evaluation: ground coordinates, support and posture, and what counts of the tracks."""

    @by_rows
    def known(self, rows: slice) -> dict[str, Flags]:
        """Name of a track → (K,) where it has a value."""
        tracks = self.evaluation.tracks
        return {name: finite_rows(track.wrench[rows]) for name, track in tracks.items()}

    @cached_property
    def judged(self) -> dict[str, Flags]:
        """Name of a track → (K,) where it counts for the verdict: a margin, a polygon, a value.

        Not while the robot lies on the ground: it touches that with more than its soles. Never
        where it stands on a foot of which it is not known where it is.
        """
        judged = {}
        for name, track in self.evaluation.tracks.items():
            judged[name] = np.zeros(self.count, dtype=bool)
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
    def exchanged(self) -> Flags:
        """(K,) instants about those at which a foot lands or lifts off.

        Within `LANDING`, and as far as signals are smoothed.
        """
        timeline = self.timeline
        reach = LANDING + bandwidth(self.evaluation.filter_bandwidth)
        found: Flags = np.zeros(self.count, dtype=np.bool_)
        for foot in self.evaluation.feet:
            for at in timeline.time[changes(timeline.sustained(foot.loaded))].tolist():
                found[timeline.within(at - reach, at + reach)] = True
        return found

    @cached_property
    def ground_fixed(self) -> GroundFixed:
        """Pose of the root in a frame that is fixed to the ground.

        It follows the root over the feet that carry; each keeps its place while it does. A segment
        ends where no foot carries, where kinematics are unknown and at a gap of the recording.
        """
        feet, columns = [f for f in self.evaluation.feet if f.sole.ndim == 3], self.columns
        if not self.count or not feet:
            nothing = np.full((self.count, 3), np.nan)
            poses = np.full((self.count, 3, 3), np.nan)
            return GroundFixed(poses, nothing, np.full(self.count, -1))
        found = Column(columns), Column(columns), Column(columns)

        def is_known(rows: slice) -> Flags:
            return np.stack([finite_rows(sole_frame(foot, rows)[1]) for foot in feet], axis=1)

        known = columns.by_blocks(self.count, is_known)
        carries: Flags = np.stack([foot.loaded for foot in feet], axis=1) & known
        number, foot = -1, -1
        anchor_R, anchor_p = np.eye(3), np.zeros(3)
        R, p = np.empty((0, 3, 3)), np.empty((0, 3))
        for begin, end, joined in self._segments(carries):
            carrying = np.flatnonzero(carries[begin])
            continued = joined and foot >= 0
            if len(carrying):
                if not continued or foot not in carrying:
                    foot = int(carrying[0])
                    if continued and known[begin - 1, foot]:
                        sole_R, sole_p = sole_frame(feet[foot], slice(begin - 1, begin))
                        anchor_R, anchor_p = R[-1] @ sole_R[0], R[-1] @ sole_p[0] + p[-1]
                    else:
                        number, anchor_R, anchor_p = number + 1, np.eye(3), np.zeros(3)
                sole_R, sole_p = sole_frame(feet[foot], slice(begin, end))
                R = anchor_R @ np.swapaxes(sole_R, 1, 2)
                p = anchor_p - rotated(R, sole_p)
            else:
                foot = -1
                R, p = np.full((end - begin, 3, 3), np.nan), np.full((end - begin, 3), np.nan)
            segment = np.full(end - begin, number if len(carrying) else -1)
            for column, values in zip(found, (R, p, segment), strict=True):
                column.extend(values)
            if end % columns.block == 0:
                columns.release()
        return GroundFixed(*(column.rows for column in found))

    def _segments(self, carries: Flags) -> Iterator[tuple[int, int, bool]]:
        """Begin and end of the runs with the same carrying feet, and whether the next joins on.

        A run also ends after each block of rows.
        """
        gap_after, block = self.timeline.gap_after, self.columns.block
        changed: Flags = np.asarray((carries[1:] != carries[:-1]).any(axis=1)) | gap_after[:-1]
        changed[block - 1 :: block] = True
        edges = [0, *(np.flatnonzero(changed) + 1).tolist(), len(carries)]
        for begin, end in pairwise(edges):
            yield begin, end, begin > 0 and not gap_after[begin - 1]

    @cached_property
    def averaged(self) -> dict[str, Averaged]:
        """Name of a track → its point as the tipping of the robot feels it."""
        window = self._window(self.averaging_time)
        points = {name: self._averaged_point(name, *window) for name in self.names}
        first, stop = self._window(2.0 * self.averaging_time)
        carrying = [np.flatnonzero(foot.loaded) for foot in self.evaluation.feet]

        def margin(rows: slice) -> tuple[Array, ...]:
            within = first[rows], stop[rows]
            stands = [
                self._sole_within(foot, on, within, rows)
                for foot, on in zip(self.evaluation.feet, carrying, strict=True)
            ]
            soles = tuple(sole for sole, _ in stands)
            loaded = np.stack([on for _, on in stands], axis=1) if stands else np.empty(0, bool)
            here = tuple(point[rows] for point in points.values())
            return margins(here, soles, loaded, self.evaluation.normal[rows])

        found = self.columns.by_blocks(self.count, margin)
        pairs = zip(points.items(), found, strict=True)
        return {name: Averaged(point, distance) for (name, point), distance in pairs}

    def _averaged_point(self, name: str, first: Indices, stop: Indices) -> Array:
        """Average the points (K, 3) of a track; NaN where a window has too few that count."""
        track, ground = self.evaluation.tracks[name], self.ground_fixed
        by_blocks, step = self.columns.by_blocks, self.timeline.usual_step
        least = LEAST_FILLED * (max(self.averaging_time / step, 1.0) if step > 0 else 1.0)
        there: Flags = self.judged[name] & (ground.segment >= 0) & by_blocks(
            self.count, lambda rows: finite_rows(track.point[rows])
        )  # fmt: skip

        def placed(rows: slice) -> tuple[Array, ...]:
            place = ground.place(track.point[rows], rows)
            return tuple(np.where(there[rows, None], place, 0.0).T)

        counts = running_sum(there)
        number = counts[stop] - counts[first]
        means = []
        for values in by_blocks(self.count, placed):
            for _ in range(2):  # a rectangle twice is a triangle
                sums = running_sum(np.where(there, values, 0.0))
                values = (sums[stop] - sums[first]) / np.maximum(number, 1)
            means.append(values)
        full = there & (number >= least)

        def seen(rows: slice) -> Array:
            mean = np.stack([axis[rows] for axis in means], axis=1)
            return np.where(full[rows, None], ground.into_root(mean, rows), np.nan)

        return np.asarray(by_blocks(self.count, seen))

    def _window(self, width: float) -> tuple[Indices, Indices]:
        """First and one-past-last row of those within half of `width` [s] that share the frame."""
        time, half = self.timeline.time, width / 2 + 1e-9
        borders = changes(self.ground_fixed.segment)
        lengths = np.diff(borders, prepend=0, append=len(time))
        begins, ends = (
            np.repeat(edges, lengths)
            for edges in (np.append(0, borders), np.append(borders, len(time)))
        )
        first = np.maximum(np.searchsorted(time, time - half, side='left'), begins)
        return first, np.minimum(np.searchsorted(time, time + half, side='right'), ends)

    def _sole_within(
        self, foot: Foot, carrying: Indices, within: tuple[Indices, Indices], rows: slice
    ) -> tuple[Array, Flags]:
        """Where a foot stands (S, V, 3) in the root frame, and whether it does within a window.

        While it is in the air its sole is that of the nearest of the instants `carrying`, at which
        it carries load, kept in place on the ground.
        """
        indices, time = np.arange(rows.start, rows.stop), self.timeline.time
        if not len(carrying):
            return foot.sole[rows], np.zeros(len(indices), dtype=np.bool_)
        next_one = np.searchsorted(carrying, indices)
        before = carrying[np.maximum(next_one - 1, 0)]
        after = carrying[np.minimum(next_one, len(carrying) - 1)]
        reached = [(at >= within[0]) & (at < within[1]) for at in (before, after)]
        away = [
            np.where(on, np.abs(time[at] - time[rows]), np.inf)
            for on, at in zip(reached, (before, after), strict=True)
        ]
        nearest = np.where(away[1] <= away[0], after, before)
        loaded: Flags = reached[0] | reached[1]
        sole = np.array(foot.sole[rows])
        moved = np.flatnonzero(loaded & (nearest != indices))
        at, here = nearest[moved], indices[moved]
        for corner in range(sole.shape[1]):
            placed = self.ground_fixed.place(foot.sole[at, corner], at)
            sole[moved, corner] = self.ground_fixed.into_root(placed, here)
        return sole, loaded

    @cached_property
    def fall_risk(self) -> tuple[Array, Flags] | None:
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
        return np.asarray(np.where(self.judged[name], self.averaged[name].margin, np.nan))
