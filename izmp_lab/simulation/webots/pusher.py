"""Pushes on a robot in Webots, by the supervisor's functions."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from izmp_dynamics.base.errors import IzmpError, SimulationError
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import read_urdf
from izmp_lab.simulation.physics import Push
from izmp_lab.simulation.webots.def_names import def_names


class Pusher:
    """Pushes solids of the robot.

    Args:
        robot: controller.Supervisor.
        pushes: what to push when, since the start of the motion.
        urdf: the robot's; a push acts on the solid that carries the link and is moved by a joint.
        warn: takes a sentence if that is not possible.
    """

    def __init__(
        self,
        robot: Any,
        pushes: Sequence[Push],
        urdf: Path,
        time_step: float,
        warn: Callable[[str], None],
    ) -> None:
        self._pushes: list[tuple[int, int, list[float], Any]] = []
        if not pushes:
            return
        if not robot.getSupervisor():
            warn(
                f"The robot '{robot.getName()}' in Webots cannot be pushed: it is not a "
                'supervisor; set its field supervisor to TRUE.'
            )
            return
        solids = _Solids(robot, urdf)
        for push in pushes:
            try:
                solid = solids.carrying(push.link)
            except IzmpError as error:
                warn(str(error))
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


class _Solids:
    """The solids of the robot by the links that they carry."""

    def __init__(self, robot: Any, urdf: Path) -> None:
        self.robot = robot
        read = read_urdf(urdf)
        self.model = load_model(read)
        self.parents = {segment.link: segment.parent for segment in self.model.tree.segments}
        self.defs = def_names([link.name for link in read.robot.links])

    def carrying(self, link: str) -> Any:
        """Return the solid that carries a link.

        Raises:
            UnknownNameError: if there is no such link.
            SimulationError: if there is no such solid in Webots.
        """
        body = self.model.mount(link).body
        while link != self.model.root and self.model.mount(self.parents[link]).body == body:
            link = self.parents[link]
        whole = self.robot.getSelf()
        if link == self.model.root:
            return whole
        find = whole.getFromProtoDef if whole.isProto() else self.robot.getFromDef
        solid = find(self.defs[link])
        if solid is None:
            raise SimulationError(
                f"There is no solid with the DEF name '{self.defs[link]}' in Webots to push.",
                kind='no_solid',
                link=link,
            )
        return solid
