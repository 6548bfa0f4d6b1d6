"""Pushes in the report: time, magnitude and direction of external forces on the robot."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.dynamics.external_wrench import LEAST_PART, find_forces
from izmp_dynamics.verdict.errors import LEAST_SIGMA, significance
from izmp_dynamics.verdict.events.event import from_where
from izmp_dynamics.verdict.formatting import instant, newtons, plain, seconds, times
from izmp_dynamics.verdict.scene import Scene

_LISTED = 3
"""Pushes that are listed one by one, the largest; all are counted."""


@dataclass(frozen=True)
class PushStatistics:
    """One push.

    Attributes:
        start: [s] after the first instant.
        duration: [s].
        forward: mean force ahead, along x of the frame nif [N].
        left: to the left, along y [N].
        up: along the ground normal [N].
        significance: its size in standard deviations of the mean force that is left unexplained
            over as long a time, by the covariance of the gap between MR-AD and the feet.
    """

    start: float
    duration: float
    forward: float
    left: float
    up: float
    significance: float

    @property
    def force(self) -> Array:
        """(3,) mean force in nif [N]."""
        return np.array([self.forward, self.left, self.up])

    @property
    def size(self) -> float:
        """Magnitude of the mean force [N]."""
        return float(np.linalg.norm(self.force))


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


def external_forces(scene: Scene) -> ExternalForces:
    """Find the pushes of an evaluation, and what only looks like one.

    Not while the robot lies: then the ground acts on more than the feet. Nor where it stands on a
    foot of which it is not known where it is.
    """
    force, stamps = scene.evaluation.external_force, scene.evaluation.stamps
    if force is None or scene.astray:
        return ExternalForces()
    settled = scene.settled('mr_ad') & scene.settled('cop') & ~scene.lies

    def seen(rows: slice) -> Array:
        in_nif = rotated(scene.evaluation.nif_R_root(rows), force[rows])
        return np.where(settled[rows, None], in_nif, np.nan)

    in_nif = scene.columns.by_blocks(len(stamps), seen)
    found = find_forces(stamps, in_nif, scene.weight)
    events = []
    for push in found:
        first, stop = np.searchsorted(stamps, [push.start, push.end]).tolist()
        events.append((first, max(stop, first + 1)))
    sizes, stands_out = significance(
        scene.timeline.time, in_nif, events, LEAST_PART * scene.weight / LEAST_SIGMA
    )
    forces = [
        PushStatistics(
            (push.start - int(stamps[0])) / NANOSECONDS,
            push.duration,
            *_xyz(push.force),
            float(size),
        )
        for push, size in zip(found, sizes, strict=True)
    ]
    chosen = list(zip(forces, stands_out.tolist(), strict=True))
    return ExternalForces(
        tuple(force for force, pushed in chosen if pushed),
        tuple(force for force, pushed in chosen if not pushed),
    )


def _xyz(force: Array) -> tuple[float, float, float]:
    return float(force[0]), float(force[1]), float(force[2])


def push_remarks(pushes: tuple[PushStatistics, ...]) -> tuple[str, ...]:
    """Say in sentences what pushed."""
    largest = sorted(pushes, key=lambda push: -push.size)[:_LISTED]
    remarks = tuple(
        f'An external force pushed the robot {from_where(push.force)} with '
        f'{newtons(push.size)} for {seconds(push.duration)} at {instant(push.start)}, '
        f'{plain(push.significance, 0)} σ of what is otherwise unexplained.'
        for push in sorted(largest, key=lambda push: push.start)
    )
    if len(pushes) > _LISTED:
        remarks += (
            f'External forces acted {times(len(pushes))}; the largest '
            f'{_LISTED} are listed. So many may also be errors of model or force sensors.',
        )
    return remarks
