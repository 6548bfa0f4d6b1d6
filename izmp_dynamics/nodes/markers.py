"""Markers for rviz and Foxglove: IZMP, CoP, support polygon, contact force, centre of mass."""

import numpy as np
from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.nodes.messages import header, point
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.signals.stamps import nanoseconds

PERIOD = 1.0 / 25.0
"""Time between two pictures [s]."""

_RED, _BLUE, _GREY = (
    ColorRGBA(r=red, g=green, b=blue, a=1.0)
    for red, green, blue in ((0.84, 0.15, 0.16), (0.12, 0.47, 0.71), (0.4, 0.4, 0.4))
)
_BALL = 0.03  # [m]
_WEIGHT_LENGTH = 0.5
"""Length of the arrow of the contact force when it equals the weight [m]."""


class Markers:
    """Draws an instant now and then, in the frame of the root."""

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
        outline: Array | None,
        wrench: Array,
    ) -> None:
        """Draw; what is None is deleted.

        Args:
            stamp: [ns].
            q: (n,) joint positions.
            izmp: (3,) in the root frame [m].
            cop: (3,) likewise.
            outline: (C, 3) corners of the support polygon [m].
            wrench: (6,) contact wrench about the root origin.
        """
        self._last = stamp
        length = force_length(self._model)
        arrow = None if izmp is None else [izmp, izmp + length * wrench[:3]]
        edge = None if outline is None else [*outline, outline[0]]
        marks = {
            'izmp': _ball(_RED, izmp),
            'cop': _ball(_BLUE, cop),
            'com': _ball(_GREY, self._model.com(q)),
            'support_polygon': _lines(Marker.LINE_STRIP, _GREY, edge, 0.008),
            'contact_force': _lines(Marker.ARROW, _RED, arrow, 0.01, 0.025, 0.04),
        }
        for name, mark in marks.items():
            mark.header, mark.ns = header(stamp, self._root), name
        self._output(lambda stamp: MarkerArray(markers=list(marks.values())), stamp)


def force_length(model: RobotModel) -> float:
    """Length of the arrow of a force of 1 N [m/N]."""
    return _WEIGHT_LENGTH / (9.81 * model.total_mass)


def _ball(colour: ColorRGBA, centre: Array | None) -> Marker:
    if centre is None:
        return Marker(action=Marker.DELETE)
    scale = Vector3(x=_BALL, y=_BALL, z=_BALL)
    mark = Marker(type=Marker.SPHERE, color=colour, scale=scale)
    mark.pose.position = point(centre)
    return mark


def _lines(kind: int, colour: ColorRGBA, corners: list[Array] | None, *widths: float) -> Marker:
    """Lines from corner to corner, or an arrow; it has widths of its shaft and its head [m]."""
    if corners is None:
        return Marker(action=Marker.DELETE)
    scale = Vector3(**dict(zip('xyz', widths, strict=False)))
    points = [point(corner) for corner in corners]
    return Marker(type=kind, color=colour, scale=scale, points=points)
