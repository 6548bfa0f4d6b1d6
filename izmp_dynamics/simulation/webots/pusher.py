"""Pushes on a robot in Webots, by the supervisor's functions."""

from collections.abc import Callable, Sequence
from typing import Any

from izmp_dynamics.simulation.physics import Push


class Pusher:
    """Pushes solids of the robot.

    Args:
        robot: controller.Supervisor.
        pushes: what to push when, since the start of the motion; links are solids' DEF names.
        warn: is told in a sentence if that is not possible.
    """

    def __init__(
        self, robot: Any, pushes: Sequence[Push], time_step: float, warn: Callable[[str], None]
    ) -> None:
        self._pushes: list[tuple[int, int, list[float], Any]] = []
        if not pushes:
            return
        if not robot.getSupervisor():
            warn(
                f"The robot '{robot.getName()}' in Webots cannot be pushed: it is no supervisor; "
                'set its field supervisor to TRUE.'
            )
            return
        for push in pushes:
            whole = robot.getSelf()
            find = whole.getFromProtoDef if whole.isProto() else robot.getFromDef
            solid = find(push.link)
            if solid is None:
                warn(f"There is no solid with the DEF name '{push.link}' to be pushed in Webots.")
            else:
                self._pushes.append((*push.steps(time_step), push.force.tolist(), solid))

    def push(self, step: int) -> None:
        """Add the forces of the step that comes; they last for that step only.

        Args:
            step: number of steps since the start of the motion.
        """
        for first, end, force, solid in self._pushes:
            if first <= step < end:
                solid.addForce(force, False)
