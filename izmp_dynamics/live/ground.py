"""Feet and ground at one instant of the joints: what the points and margins are measured by."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.feet import FeetStage
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.sensing.foot_imu import FootTilt
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.foot_imu_plane import plane_of_foot_imus
from izmp_dynamics.stability.ground_frame import GroundFrame
from izmp_dynamics.stability.ground_plane import (
    GroundPlane,
    Sole,
    level_plane,
    loaded_feet,
    plane_of_soles,
)
from izmp_dynamics.stability.support_polygon import margin, plane_axes, support_polygon
from izmp_dynamics.stability.zmp import zero_moment_point

_MOVING = FootTilt(np.full((1, 3), np.nan), np.zeros(1, dtype=np.bool_))
_NO_TILTS: Mapping[str, FootTilt] = MappingProxyType({})


@dataclass(frozen=True)
class Ground:
    """The ground at one instant, in the root frame.

    Attributes:
        normal: (3,) unit normal.
        point: (3,) a point of the plane [m].
        soles: one per foot, with one row.
        loaded: (F,) which feet carry load.
        feet_wrench: (6,) sum of the measured contact wrenches about the root origin; None if one
            is not known.
        minimum_force: normal force below which there is no ZMP [N].
        frame: the ground's own frame, one instant; None unless the ground is that of a frame.
    """

    normal: Array
    point: Array
    soles: tuple[Sole, ...]
    loaded: npt.NDArray[np.bool_]
    feet_wrench: Array | None
    minimum_force: float
    frame: GroundFrame | None = None

    def zmp(self, wrench: Array) -> Array | None:
        """(3,) ZMP of a contact wrench (6,) about the root origin; None in flight."""
        contact = ContactWrench.from_array(wrench)
        point = zero_moment_point(contact, self.normal, self.point, self.minimum_force)
        return point if np.isfinite(point).all() else None

    def outline(self) -> 'Outline | None':
        """The support polygon; None if no foot carries load."""
        corners = [sole.corners[0] for sole, on in zip(self.soles, self.loaded, strict=True) if on]
        if not corners:
            return None
        axes = plane_axes(self.normal)
        hull = support_polygon(np.concatenate(corners) @ axes.T)
        if hull is None:
            return None
        height = float(self.normal @ self.point)
        outline = np.array(hull.exterior.coords)[:-1] @ axes + height * self.normal
        return Outline(outline, axes, hull)


@dataclass(frozen=True)
class Outline:
    """A support polygon.

    Attributes:
        corners: (C, 3) in the root frame [m].
        axes: (2, 3) of the ground plane.
        hull: in these axes.
    """

    corners: Array
    axes: Array
    hull: Any

    def margin(self, point: Array) -> float:
        """Signed distance of a point (3,) from the edge [m], negative outside."""
        return margin(self.hull, self.axes @ point)


class LiveGround:
    """Places the feet and finds the ground, an instant at a time.

    Args:
        rig: the robot made ready.

    Attributes:
        needs_orientation: whether it depends on the orientation of the root: level ground, the
            feet's IMUs, or feet without sensors, which carry load if they are low enough.
    """

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self._stage = FeetStage(rig, Conditioning(rig.robot, {}))
        blind = any(foot.sensor is None for foot in rig.feet)
        self.needs_orientation = blind or rig.robot.ground.source in ('gravity', 'feet_imus')

    def evaluate(
        self,
        joints: JointKinematics,
        root: RootState,
        measured: tuple[Array | None, ...],
        world_R_root: Array | None,
        tilts: Mapping[str, FootTilt] = _NO_TILTS,
        frame: GroundFrame | None = None,
    ) -> Ground | None:
        """Evaluate one instant.

        Args:
            joints: one instant.
            root: the same instant.
            measured: (6,) wrench of each foot's sensor, NaN where unknown; None without sensor.
            world_R_root: (3, 3); None where it is not known.
            tilts: foot → what its IMU tells, one instant.
            frame: of a ground that moves, one instant; None where it is not known.

        Returns:
            None if the ground is not known.
        """
        feet = self._stage.place(
            joints, root, tuple(None if row is None else row[None] for row in measured)
        )
        up = root.proper_acceleration if world_R_root is None else world_R_root[None, 2]
        loaded = loaded_feet(feet.soles, up, self.rig.contact_force)
        if not self.rig.robot.ground.moves:
            frame = self._link_frame(joints)
        plane = self._plane(feet.soles, up, world_R_root, tilts, frame)
        if plane is None or not np.isfinite(plane.normal).all():
            return None
        wrench = None if feet.wrench is None else feet.wrench.as_array()[0]
        return Ground(
            plane.normal[0],
            plane.point[0],
            feet.soles,
            loaded[0],
            wrench if wrench is not None and np.isfinite(wrench).all() else None,
            self.rig.minimum_force,
            frame,
        )

    def _link_frame(self, joints: JointKinematics) -> GroundFrame | None:
        """The frame of the link whose x-y plane is the ground; None if it is not a link's."""
        ground = self.rig.robot.ground
        if ground.source != 'frame' or ground.frame is None:
            return None
        return GroundFrame(*self.rig.model.frame_pose(ground.frame, joints.positions))

    def _plane(
        self,
        soles: tuple[Sole, ...],
        up: Array,
        world_R_root: Array | None,
        tilts: Mapping[str, FootTilt],
        frame: GroundFrame | None,
    ) -> GroundPlane | None:
        ground = self.rig.robot.ground
        if ground.source == 'frame':
            return None if frame is None else frame.plane(ground.height)
        if ground.source in ('gravity', 'feet_imus') and world_R_root is None:
            return None
        if ground.source == 'gravity' and world_R_root is not None:
            return level_plane(soles, up, world_R_root[None])
        if ground.source == 'feet_imus':
            known = tuple(tilts.get(foot.name, _MOVING) for foot in self.rig.feet)
            return plane_of_foot_imus(soles, known, up)
        return plane_of_soles(soles, up)
