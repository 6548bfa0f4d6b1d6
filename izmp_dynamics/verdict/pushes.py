"""Pushes in the report: time, magnitude and direction of external forces on the robot."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, finite_rows
from izmp_dynamics.estimation.push import LEAST_PART, find_forces
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.verdict.errors import LEAST_SIGMA, significance
from izmp_dynamics.verdict.events.contact import LANDING
from izmp_dynamics.verdict.events.event import from_where
from izmp_dynamics.verdict.formatting import instant, newtons, plain, seconds, times
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.timeline import Mask, changes

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
    """

    start: float
    duration: float
    forward: float
    left: float
    up: float
    significance: float
    uncertainty: float
    time_sigma: float

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


@dataclass(frozen=True)
class ExternalForces:
    """What was found between the contact force of the motion and that of the feet.

    Attributes:
        pushes: those that stand out of the errors, in the order of time.
        errors: forces as long and as large as a push that do not.
    """

    pushes: tuple[PushStatistics, ...] = ()
    errors: tuple[PushStatistics, ...] = ()

    @property
    def largest_error(self) -> float:
        """Magnitude of the largest force that is no push [N]; 0 without one."""
        return max((force.size for force in self.errors), default=0.0)

    def about(self, scene: Scene) -> Mask:
        """(K,) instants within the tipping time constant of a push: no background of errors."""
        time, reach = scene.timeline.time, scene.time_constant
        about: Mask = np.zeros(len(time), dtype=np.bool_)
        for push in self.pushes:
            end = push.start + push.duration + reach
            about[slice(*np.searchsorted(time, [push.start - reach, end]).tolist())] = True
        return about

    def largest_within(self, begin: float, end: float) -> PushStatistics | None:
        """The largest push that acted between two instants [s]; None without one."""
        near = (p for p in self.pushes if p.start <= end and begin <= p.start + p.duration)
        return max(near, key=lambda push: push.size, default=None)


def external_forces(scene: Scene) -> ExternalForces:
    """Find the pushes of an evaluation, and what only looks like one.

    Not while the robot lies: then the ground acts on more than the feet. Nor where it stands on a
    foot of which it is not known where it is.
    """
    force, stamps = scene.evaluation.external_force, scene.evaluation.stamps
    if force is None or scene.foot_pose_unknown:
        return ExternalForces()
    known = scene.known('mr_ad') & scene.known('cop') & ~scene.lies

    def seen(rows: slice) -> Array:
        return np.where(known[rows, None], scene.seen_upright(force[rows], rows), np.nan)

    level = scene.columns.by_blocks(len(stamps), seen)
    found, rest = find_forces(
        stamps, level, scene.weight, bandwidth(scene.evaluation.filter_bandwidth)
    )
    level -= rest  # what a tilted IMU or an offset leaves throughout
    events = []
    for push in found:
        first, stop = np.searchsorted(stamps, [push.start, push.end]).tolist()
        events.append((first, max(stop, first + 1)))
    sizes, stands_out = significance(
        scene.timeline.time, level, events, LEAST_PART * scene.weight / LEAST_SIGMA
    )
    exchanged = _exchanges(scene)
    for k, rows in enumerate(slice(*event) for event in events):
        stands_out[k] &= not _is_of_contact(level[rows], exchanged[rows])
    forces = [
        PushStatistics(
            (push.start - int(stamps[0])) / NANOSECONDS,
            push.duration,
            float(push.force[0]),
            float(push.force[1]),
            float(push.force[2]),
            float(size),
            _between_halves(level[slice(*event)]) + 2.0 * push.size / float(size),
            push.time_sigma,
        )
        for push, size, event in zip(found, sizes, events, strict=True)
    ]
    pushes, errors = (
        tuple(force for force, is_push in zip(forces, stands_out, strict=True) if is_push == one)
        for one in (True, False)
    )
    return ExternalForces(pushes, errors)


def _between_halves(force: Array) -> float:
    """By how much the means of both halves of a force (T, 3) differ from its mean [N]."""
    known = force[finite_rows(force)]
    middle = (len(known) + 1) // 2
    one, other = known[:middle].mean(axis=0), known[-middle:].mean(axis=0)
    return float(np.linalg.norm(one - other)) / 2.0


def _exchanges(scene: Scene) -> Mask:
    """(K,) instants at which a foot lands or lifts off, and those within `LANDING` of it."""
    timeline = scene.timeline
    found: Mask = np.zeros(len(timeline.time), dtype=np.bool_)
    for foot in scene.evaluation.feet:
        for at in timeline.time[changes(timeline.sustained(foot.loaded))].tolist():
            found[timeline.within(at - LANDING, at + LANDING)] = True
    return found


def _is_of_contact(force: Array, exchanged: Mask) -> bool:
    """Whether a force (T, 3) is vertical and mostly there while load is exchanged (T,).

    A foot that lands hard shakes structure and sensors: what is left over is no push.
    """
    forward, left, up = np.nanmean(force, axis=0)
    calm = force[~exchanged & finite_rows(force), 2]
    return bool(abs(up) > np.hypot(forward, left) and abs(calm.sum()) <= 0.5 * len(calm) * abs(up))


def push_remarks(pushes: tuple[PushStatistics, ...]) -> tuple[str, ...]:
    """Say in sentences what pushed."""
    largest = sorted(pushes, key=lambda push: -push.size)[:_LISTED]
    remarks = tuple(
        f'An external force pushed the robot {push.described} (± '
        f'{newtons(push.uncertainty)}) for {seconds(push.duration)} at '
        f'{instant(push.start)}, {plain(push.significance, 0)} times the standard deviation of '
        'the unexplained force in the rest of the log.'
        for push in sorted(largest, key=lambda push: push.start)
    )
    if len(pushes) > _LISTED:
        remarks += (
            f'External forces acted {times(len(pushes))}; the largest '
            f'{_LISTED} are listed. That many may also be errors of model or force sensors.',
        )
    return remarks
