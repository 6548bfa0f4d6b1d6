"""Markers for rviz and Foxglove: IZMP, CoP, support polygon, contact force, centre of mass."""

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.nodes.messages import header, point
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.stability.support_polygon import Outline

PERIOD = 1.0 / 25.0
"""Time between two pictures [s]."""

_RED, _BLUE, _GREY = (0.84, 0.15, 0.16), (0.12, 0.47, 0.71), (0.4, 0.4, 0.4)
_BALL = 0.03  # [m]
_WEIGHT_LENGTH = 0.5
"""Length of the arrow of the contact force when it equals the weight [m]."""


class Markers:
    """Draws an instant now and then.

    Args:
        output: topic of the MarkerArray.
        model: the robot's model.
        root: name of the root's frame in messages.
    """

    def __init__(self, output: Output, model: RobotModel, root: str) -> None:
        self._output = output
        self._model = model
        self._root = root
        self._last = 0
        with announced_compilation():  # not when the first picture is due
            model.com(np.zeros(model.dof))

    def due(self, stamp: int) -> bool:
        """Whether an instant [ns] is to be drawn."""
        soon = 0 <= stamp - self._last < nanoseconds(PERIOD)
        return not soon and self._output.wanted

    def show(
        self,
        stamp: int,
        q: Array,
        izmp: Array | None,
        cop: Array | None,
        outline: Outline | None,
        wrench: Array,
    ) -> None:
        """Draw; what is None is deleted.

        Args:
            stamp: [ns].
            q: (n,) joint positions.
            izmp: (3,) in the root frame [m].
            cop: (3,) likewise.
            outline: the support polygon.
            wrench: (6,) contact wrench about the root origin.
        """
        self._last = stamp
        length = _WEIGHT_LENGTH / (9.81 * self._model.total_mass)
        arrow = None if izmp is None else [izmp, izmp + length * wrench[:3]]
        edge = None if outline is None else [*outline.corners, outline.corners[0]]
        markers = [
            self._ball(stamp, 'izmp', _RED, izmp),
            self._ball(stamp, 'cop', _BLUE, cop),
            self._ball(stamp, 'com', _GREY, self._model.com(q)),
            self._lines(stamp, 'support_polygon', Marker.LINE_STRIP, 0.008, _GREY, edge),
            self._lines(stamp, 'contact_force', Marker.ARROW, 0.01, _RED, arrow),
        ]
        self._output(lambda stamp: MarkerArray(markers=markers), stamp)

    def _ball(
        self, stamp: int, name: str, colour: tuple[float, float, float], centre: Array | None
    ) -> Marker:
        marker = self._marker(stamp, name, colour)
        if centre is None:
            marker.action = Marker.DELETE
            return marker
        marker.type = Marker.SPHERE
        marker.scale.x = marker.scale.y = marker.scale.z = _BALL
        marker.pose.position = point(centre)
        return marker

    def _lines(
        self,
        stamp: int,
        name: str,
        kind: int,
        width: float,
        colour: tuple[float, float, float],
        corners: list[Array] | None,
    ) -> Marker:
        marker = self._marker(stamp, name, colour)
        if corners is None:
            marker.action = Marker.DELETE
            return marker
        marker.type = kind
        marker.scale.x = width
        if kind == Marker.ARROW:
            marker.scale.y, marker.scale.z = 2.5 * width, 4.0 * width
        marker.points = [Point(x=x, y=y, z=z) for x, y, z in np.array(corners).tolist()]
        return marker

    def _marker(self, stamp: int, name: str, colour: tuple[float, float, float]) -> Marker:
        red, green, blue = colour
        return Marker(
            header=header(stamp, self._root),
            ns=name,
            color=ColorRGBA(r=red, g=green, b=blue, a=1.0),
        )
