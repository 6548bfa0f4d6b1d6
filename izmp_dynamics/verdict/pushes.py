"""Pushes in the report: time, magnitude and direction of external forces on the robot."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Flags, Stamps, finite_rows
from izmp_dynamics.base.conventions import seconds as seconds_of
from izmp_dynamics.base.robust import MAD_TO_SIGMA, mean, median
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.estimation.push import LEAST_PART, find_forces
from izmp_dynamics.results.evaluation import LinkPoses
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.verdict.errors import LEAST_SIGMA, means_of, significance
from izmp_dynamics.verdict.events.event import from_where
from izmp_dynamics.verdict.formatting import instant, mm, newtons, plain, seconds, times
from izmp_dynamics.verdict.scene import LANDING, Scene
from izmp_dynamics.verdict.statistics import TrackStatistics

MOST_OFF = 0.25
"""Largest 2 σ with which the line of action of a push is stated [m]."""

AT_FEET = 0.15
"""So near to the ground, of the height of the centre of mass, a force acts at the feet [-]."""

_SIDES = (('ahead of', 'behind'), ('to the left of', 'to the right of'), ('above', 'below'))

_Line = tuple[tuple[float, float, float], float]
"""Where a force comes nearest to the centre of mass, and the standard deviation of that [m]."""

_LISTED = 3
"""Pushes that are listed one by one, the largest; all are counted."""


@dataclass(frozen=True)
class PushStatistics:
    """One push.

    Attributes:
        start: [s] after the first instant.
        duration: [s].
        forward: mean force ahead, by the x axes of the soles, else of the root [N].
        left: to the left [N].
        up: against gravity, where that is not known along the ground normal [N].
        significance: its size in standard deviations of the mean force that is left unexplained
            over as long a time, by the covariance of the gap between MR-AD and the feet.
        uncertainty: of the magnitude [N]: by how much the means of its halves differ from it, and
            two of these standard deviations.
        time_sigma: standard deviation of its start and of its end [s].
        point: (3,) where its line of action comes nearest to the centre of mass: ahead, to the
            left and above it [m]; NaN where it is not known.
        point_sigma: standard deviation of that [m].
        link: the link of the robot file in whose frame it is stated; empty without one.
        on_link: (3,) where its line of action comes nearest to the centre of mass of that link's
            body, in the frame of the link [m].
        on_link_sigma: standard deviation of that [m].
    """

    start: float
    duration: float
    forward: float
    left: float
    up: float
    significance: float
    uncertainty: float
    time_sigma: float
    point: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    point_sigma: float = np.nan
    link: str = ''
    on_link: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    on_link_sigma: float = np.nan

    @property
    def force(self) -> Array:
        """(3,) mean force forward, to the left and up [N]."""
        return np.array([self.forward, self.left, self.up])

    @property
    def size(self) -> float:
        """Magnitude of the mean force [N]."""
        return float(np.linalg.norm(self.force))

    @property
    def described(self) -> str:
        """Where it came from and how large it was, e.g. 'from behind with 42.0 N'."""
        return f'{from_where(self.force)} with {newtons(self.size)}'

    @property
    def line(self) -> str:
        """Where its line of action passes, e.g. ', along a line 0.12 m above the centre of mass'.

        Empty where that is not known within `MOST_OFF`.
        """
        error, sides = 2.0 * self.point_sigma, zip(self.point, _SIDES, strict=True)
        if not error < MOST_OFF:
            return ''
        least = max(error, 0.25 * float(np.linalg.norm(self.point)))
        away = [side for side in sides if abs(side[0]) > least]
        words = [f'{mm(abs(part))} {names[part < 0]}' for part, names in away]
        where = f'along a line {" and ".join(words)}' if words else 'through'
        return f', {where} the centre of mass (± {mm(error)})'

    @property
    def place(self) -> str:
        """Where its line of action is nearest to the link, e.g.

        ', at x 0, y −12, z 310 mm in the frame of torso (± 9.0 mm)'.

        Empty where that is not known within `MOST_OFF`.
        """
        error = 2.0 * self.on_link_sigma
        if not error < MOST_OFF:
            return ''
        parts = zip('xyz', self.on_link, strict=True)
        where = ', '.join(f'{axis} {plain(1e3 * part, 0)}' for axis, part in parts)
        return f', at {where} mm in the frame of {self.link} (± {mm(error)})'


@dataclass(frozen=True)
class ExternalForces:
    """What was found between the contact force of the motion and that of the feet.

    Attributes:
        pushes: those that stand out of the errors, in the order of time.
        errors: forces as long and as large as a push that do not, but are no noise, as what motion
            of a like kind leaves unexplained is; with the mean of the gap meanwhile.
    """

    pushes: tuple[PushStatistics, ...] = ()
    errors: tuple[PushStatistics, ...] = ()

    def about(self, scene: Scene) -> Flags:
        """(K,) instants within the tipping time constant of a push: no background of errors."""
        timeline, reach = scene.timeline, scene.time_constant
        about: Flags = np.zeros(len(timeline.time), dtype=np.bool_)
        for push in self.pushes:
            about[timeline.within(push.start - reach, push.start + push.duration + reach)] = True
        return about

    def largest_within(self, begin: float, end: float) -> PushStatistics | None:
        """The largest push that acted between two instants [s]; None without one."""
        near = (p for p in self.pushes if p.start <= end and begin <= p.start + p.duration)
        return max(near, key=lambda push: push.size, default=None)


class Gap(NamedTuple):
    """What motion and feet differ by at K instants, forward, to the left and up; NaN: not known.

    Attributes:
        stamps: (K,) [ns].
        force: (K, 3) [N].
        moment: (K, 3) about the centre of mass, by the delay of the feet that explains most of
            what their CoP differs by from the IZMP, where one does [N·m].
        on_link: (K, 6) both about the centre of `Evaluation.link` in the axes of that link; None
            without one.
        exchanged: (K,) `Scene.exchanged`.
        motion: (K,) `Posture.motion` [m/s].
    """

    stamps: Stamps
    force: Array
    moment: Array
    on_link: Array | None
    exchanged: Flags
    motion: Array

    @classmethod
    def of(cls, scene: Scene) -> 'Gap | None':
        """That of an evaluation.

        Nothing is known while the robot lies: then the ground acts on more than the feet. None
        where it stands on a foot of which it is not known where it is, or without whole wrenches.
        """
        evaluation = scene.evaluation
        force, tracks, link = evaluation.external_force, evaluation.tracks, evaluation.link
        if force is None or not scene.compares_forces:
            return None
        known = scene.known['mr_ad'] & scene.known['cop'] & ~scene.lies
        motion, feet = (tracks[name].wrench for name in ('mr_ad', 'cop'))
        if late := scene.late_cop:
            time, nan = seconds_of(evaluation.stamps), np.nan
            axes = [np.interp(time + late[0], time, axis, nan, nan) for axis in feet.T]
            feet = np.stack(axes, axis=1)

        def seen(rows: slice) -> tuple[Array, ...]:
            gap = motion[rows] - feet[rows]
            moment = gap[:, 3:] - np.cross(evaluation.com[rows], gap[:, :3])
            found = [scene.seen_upright(each, rows) for each in (force[rows], moment)]
            if link is not None:
                R, wrench = link.R[rows], ContactWrench.from_array(gap)
                found.append(wrench.seen_from(R, link.p[rows] + R @ link.center).as_array())
            return tuple(np.where(known[rows, None], each, np.nan) for each in found)

        forces, moments, *more = scene.columns.by_blocks(len(known), seen)
        on_link = more[0] if more else None
        return cls(evaluation.stamps, forces, moments, on_link, scene.exchanged, scene.motion)

    def after(self, earlier: 'Gap | None', span: float) -> 'Gap':
        """This one behind what an earlier one has of the time [s] before its end."""
        if earlier is None:
            return self
        since = self.stamps[-1] - round(span * NANOSECONDS)
        kept = (earlier.stamps < self.stamps[0]) & (earlier.stamps >= since)
        if self.on_link is not None and earlier.on_link is None:
            earlier = earlier._replace(on_link=np.full((len(kept), 6), np.nan))
        return Gap._make(
            None if a is None or b is None else np.concatenate([a[kept], b])
            for a, b in zip(earlier, self, strict=True)
        )


def external_forces(scene: Scene, gap: Gap | None = None) -> ExternalForces:
    """Find the pushes of an evaluation, and what only looks like one.

    Args:
        scene: the evaluation.
        gap: its `Gap`, maybe behind earlier instants; None: that of the scene.
    """
    gap = gap or Gap.of(scene)
    if gap is None or not len(gap.stamps):
        return ExternalForces()
    stamps, force, first = gap.stamps, gap.force, int(scene.evaluation.stamps[0])
    half_width = bandwidth(scene.evaluation.filter_bandwidth)
    found, rest = find_forces(stamps, force, scene.weight, half_width)
    force = force - rest  # what a tilted IMU or an offset leaves throughout
    events = []
    for push in found:
        begin, stop = np.searchsorted(stamps, [push.start, push.end]).tolist()
        events.append((begin, max(stop, begin + 1)))
    lines = list(_lines(force, gap.moment, events))
    above = _above_feet(lines, median(scene.height))
    floor = LEAST_PART * scene.weight / LEAST_SIGMA
    sizes, stands_out = significance(
        seconds_of(stamps), force, events, floor,
        speed=gap.motion, reach=half_width, errors=~above,
    )  # fmt: skip
    places = _places(scene.evaluation.link, gap.on_link, events)
    pushes: list[PushStatistics] = []
    errors: list[PushStatistics] = []
    for push, event, size, large, line, place in zip(
        found, events, sizes.tolist(), stands_out.tolist(), lines, places, strict=True
    ):
        rows = slice(*event)
        brief = push.duration < LANDING + 2.0 * half_width
        is_push = large and not _is_of_contact(force[rows], gap.exchanged[rows], brief)
        # only of a push it is known that it is constant
        ahead, left, up = push.force.tolist() if is_push else map(mean, force[rows].T)
        one = PushStatistics(
            (push.start - first) / NANOSECONDS,
            push.duration,
            ahead,
            left,
            up,
            size,
            _between_halves(force[rows]) + 2.0 * push.size / size,
            push.time_sigma,
            *line,
            *place,
        )
        if push.end >= first and (is_push or not size < LEAST_SIGMA):
            (pushes if is_push else errors).append(one)
    return ExternalForces(tuple(pushes), tuple(errors))


def _above_feet(lines: list[_Line], height: float) -> Flags:
    """Whether forces (E,) act above the feet, of a centre of mass at a height [m].

    A push at the feet tips nobody; errors of their sensors along the ground act there. They are
    errors that pushes are compared with. Where the line of action is uncertain, those count as
    well that may be there and are nearer to the feet than to the centre of mass.
    """
    reach = [min(AT_FEET * height + 2.0 * sigma, 0.5 * height) for _, sigma in lines]
    off = [abs(point[2] + height) for point, _ in lines]
    return np.asarray(~(np.array(off) < reach))


def _lines(force: Array, moment: Array, events: list[tuple[int, int]]) -> Iterator[_Line]:
    """Where the line of action of each event comes nearest to the centre of mass, and its σ [m].

    Args:
        force: (K, 3) above its level [N].
        moment: (K, 3) about the centre of mass [N·m].
        events: first and one-past-last row of each.
    """
    if not events:
        return
    rest = _at_rest(moment, events)
    level = np.array([median(axis) for axis in rest.T])
    for event in events:
        rows = slice(*event)
        both = np.where(finite_rows(moment[rows])[:, None], [force[rows], moment[rows]], np.nan)
        F, M = (np.array([*map(mean, each.T)]) for each in both)
        off = np.abs(means_of(rest, event[1] - event[0]) - level)
        sigma = np.linalg.norm([MAD_TO_SIGMA * median(axis) for axis in off.T])
        x, y, z = (np.cross(F, M - level) / (F @ F)).tolist()
        yield (x, y, z), float(sigma / np.linalg.norm(F))


def _places(
    link: LinkPoses | None, gap: Array | None, events: list[tuple[int, int]]
) -> Iterator[tuple[str, tuple[float, float, float], float] | tuple[()]]:
    """Name of the link, and where on it each event acts in its frame, with its σ [m]."""
    if link is None or gap is None:
        yield from [()] * len(events)
        return
    force, moment = gap[:, :3], gap[:, 3:]
    level = np.array([median(axis) for axis in _at_rest(force, events).T])
    for point, sigma in _lines(force - level, moment, events):
        x, y, z = (link.center + point).tolist()
        yield link.name, (x, y, z), sigma


def _at_rest(values: Array, events: list[tuple[int, int]]) -> Array:
    """Values (K, 3) without those of events."""
    rest = np.array(values)
    for event in events:
        rest[slice(*event)] = np.nan
    return rest


def _between_halves(force: Array) -> float:
    """By how much the means of both halves of a force (T, 3) differ from its mean [N]."""
    known = force[finite_rows(force)]
    middle = (len(known) + 1) // 2
    one, other = known[:middle].mean(axis=0), known[-middle:].mean(axis=0)
    return float(np.linalg.norm(one - other)) / 2.0


def _is_of_contact(force: Array, exchanged: Flags, brief: bool) -> bool:
    """Whether a force (T, 3) is vertical and mostly there while load is exchanged (T,).

    A foot that lands hard shakes structure and sensors: what is left over is no push. Of what is
    no longer than that, most of the impulse must be there; what is longer must be smaller else.
    """
    known = finite_rows(force)
    forward, left, up = force[known].sum(axis=0)
    calm = force[known & ~exchanged, 2]
    share = 1.0 if brief else len(calm) / max(1, int(known.sum()))
    return bool(abs(up) > np.hypot(forward, left) and abs(calm.sum()) <= 0.5 * share * abs(up))


def push_remarks(pushes: tuple[PushStatistics, ...]) -> tuple[str, ...]:
    """Say in sentences what pushed."""
    largest = sorted(pushes, key=lambda push: -push.size)[:_LISTED]
    remarks = tuple(
        f'An external force pushed the robot {push.described} (± '
        f'{newtons(push.uncertainty)}) for {seconds(push.duration)} at '
        f'{instant(push.start)}{push.line}{push.place}, '
        f'{plain(push.significance, 0)} times the standard deviation of the unexplained force in '
        'the rest of the log.'
        for push in sorted(largest, key=lambda push: push.start)
    )
    if len(pushes) > _LISTED:
        remarks += (
            f'External forces acted {times(len(pushes))}; the largest '
            f'{_LISTED} are listed. That many may also be errors of model or force sensors.',
        )
    return remarks


def depth_during(
    scene: Scene, track: TrackStatistics, push: PushStatistics, reach: float | None = None
) -> float:
    """How far outside the point lies on average while something pushes, less its error [m].

    Each instant by the soles that carry at it: a push may lift a foot, so that the point is where
    this stood just before, and the robot on the edge of the other one. With a `reach` [s] by all
    that carry from so long before the push to so long after it.
    """
    evaluation, end = scene.evaluation, push.start + push.duration
    rows, found = scene.timeline.within(push.start, end), evaluation.tracks[track.name]
    margin = np.where(scene.judged[track.name], found.margin, np.nan)[rows]
    if reach is not None:
        near = scene.timeline.within(push.start - reach, end + reach)
        carries = [foot.loaded[near].any() for foot in evaluation.feet]
        soles = tuple(foot.sole[rows] for foot in evaluation.feet)
        counts = np.tile(carries, (len(margin), 1))
        (margin,) = margins((found.point[rows],), soles, counts, evaluation.normal[rows])
    if not np.isfinite(margin).any():
        return -np.inf
    depth = -float(np.nanmean(margin))
    return depth - float(np.hypot(track.error.scatter, np.nan_to_num(track.error.slow)))
