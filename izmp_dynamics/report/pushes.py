"""Pushes in the report: time, magnitude and direction of external forces on the robot."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.dynamics.external_wrench import find_forces
from izmp_dynamics.report.formatting import instant, newtons, seconds, times
from izmp_dynamics.report.scene import Scene

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
    """

    start: float
    duration: float
    forward: float
    left: float
    up: float

    @property
    def size(self) -> float:
        """Magnitude of the mean force [N]."""
        return float(np.linalg.norm([self.forward, self.left, self.up]))


def push_statistics(scene: Scene) -> tuple[PushStatistics, ...]:
    """Find the pushes of an evaluation, in the order of time."""
    force, stamps = scene.evaluation.external_force, scene.evaluation.stamps
    if force is None:
        return ()
    in_nif = np.einsum('kij,kj->ki', scene.nif_R_root, force)
    return tuple(
        PushStatistics((push.start - int(stamps[0])) / NANOSECONDS, push.duration, *push.force)
        for push in find_forces(stamps, in_nif, scene.weight)
    )


def push_remarks(pushes: tuple[PushStatistics, ...]) -> tuple[str, ...]:
    """Say in sentences what pushed."""
    largest = sorted(pushes, key=lambda push: -push.size)[:_LISTED]
    remarks = tuple(
        f'An external force pushed the robot {_direction(push)} with '
        f'{newtons(push.size)} for {seconds(push.duration)} at {instant(push.start)}.'
        for push in sorted(largest, key=lambda push: push.start)
    )
    if len(pushes) > _LISTED:
        remarks += (
            f'External forces acted {times(len(pushes))}; the largest '
            f'{_LISTED} are listed. So many may also be errors of model or force sensors.',
        )
    return remarks


def _direction(push: PushStatistics) -> str:
    """The main direction as text."""
    names = (('forward', 'back'), ('to the left', 'to the right'), ('up', 'down'))
    components = (push.forward, push.left, push.up)
    axis = int(np.argmax(np.abs(components)))
    return names[axis][0 if components[axis] > 0 else 1]
