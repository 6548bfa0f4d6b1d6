"""The ground under the robot at the instants of the joints: plane, loaded feet, its own frame."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Flags, Indices, all_finite
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.rotations import matrices_from_quaternions
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.feet import FootImuStage
from izmp_dynamics.pipeline.feet_kernel import FeetState
from izmp_dynamics.pipeline.limits import LARGEST_POSE
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.world import WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.stage import Stage, Streams
from izmp_dynamics.signals.stream import SampleStream
from izmp_dynamics.stability.clearance import is_point
from izmp_dynamics.stability.ground_plane import (
    GroundFrame,
    GroundPlane,
    Sole,
    Soles,
    level_plane,
    plane_of_foot_imus,
    plane_under,
)
from izmp_dynamics.stability.support_polygon import outlines, write_margins
from izmp_dynamics.stability.zmp import least_force, write_points, zero_moment_points


@dataclass(frozen=True)
class Ground(Record):
    """The ground at K instants, in the root frame; NaN where it is not known.

    Attributes:
        plane: n·(x − p0) = 0.
        feet: their soles, loads and wrenches.
        minimum_force: normal force below which there is no ZMP [N].
        frame: the ground's own frame; None unless the ground is that of a frame.
    """

    plane: GroundPlane
    feet: FeetState
    minimum_force: float
    frame: GroundFrame | None = None

    @classmethod
    def unknown(cls, count: int) -> 'Ground':
        """No ground and no feet at `count` instants."""
        nowhere, nobody = np.full((count, 3), np.nan), np.zeros((count, 0))
        feet = FeetState(
            Soles.of((), count), nobody.astype(np.bool_), np.zeros(count, np.intp),
            np.zeros((count, 0, 6)), None, nobody, nobody,
        )  # fmt: skip
        return cls(GroundPlane(nowhere, nowhere), feet, 0.0)

    @property
    def is_known(self) -> bool:
        """Whether the plane is known at all instants."""
        return all_finite(self.plane.normal) and all_finite(self.plane.point)

    @property
    def soles(self) -> tuple[Sole, ...]:
        """One per foot."""
        return self.feet.soles.each

    def outline(self) -> Array | None:
        """(C, 3) corners of the support polygon at the first instant [m]; None without one."""
        corners, counts = self.outlines()
        return corners[0, : counts[0]] if counts[0] else None

    def outlines(self) -> tuple[Array, Indices]:
        """The support polygons at all K instants, see `support_polygon.outlines`."""
        soles = tuple(sole.corners for sole in self.soles)
        return outlines(soles, self.feet.loaded, self.plane.normal, self.plane.point)

    def zmp(self, wrench: Array) -> Array:
        """(K, 3) ZMP of contact wrenches (K, 6) about the root origin [m]; NaN in flight."""
        plane = self.plane
        return zero_moment_points(wrench, plane.normal, plane.point, self.minimum_force)

    def judge(self, wrenches: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        """Give ZMPs (K, 3) of contact wrenches (K, 6) and their margins (K,) [m], by name.

        Args:
            wrenches: about the root origin [N, N·m].

        Returns:
            As `zmp`; the distances from the edge of the support polygon, from the line or the
            point that one or two points are; NaN without a loaded foot.
        """
        together = np.array([*wrenches.values()])
        points, distances = np.empty((*together.shape[:2], 3)), np.empty(together.shape[:2])
        normal, point = (
            np.ascontiguousarray(part) for part in (self.plane.normal, self.plane.point)
        )
        _judge(
            together, normal, point, least_force(self.minimum_force), self.feet.soles.corners,
            self.feet.soles.foot, self.feet.loaded, points, distances,
        )  # fmt: skip
        return dict(zip(wrenches, points, strict=True)), dict(
            zip(wrenches, distances, strict=True)
        )


@kernel
def _judge(
    wrenches: Array,
    normals: Array,
    places: Array,
    minimum_force: float,
    corners: Array,
    foot: Indices,
    loaded: Flags,
    points: Array,
    distances: Array,
) -> None:
    for p in range(len(wrenches)):
        write_points(wrenches[p], normals, places, minimum_force, points[p])
    write_margins(points, corners, foot, loaded, normals, 1, distances)


def require_orientation(robot: RobotFile) -> None:
    """Refuse a ground that depends on the orientation of the root, as nothing measures it.

    Raises:
        SensingError: if `ground.source` needs it.
    """
    source = robot.ground.source
    if source in ('gravity', 'feet_imus'):
        raise SensingError(
            f'ground.source is {source}, which needs the orientation of the root, but the IMU '
            'publishes none (orientation_covariance[0] is −1); use ground.source: sole, or give '
            'a pose topic under position.',
            kind='no_orientation', source=source,
        )  # fmt: skip


class GroundStage(Stage):
    """Finds the ground plane; its source is chosen in the robot file.

    Args:
        rig: the robot.
        streams: of its signals.

    Attributes:
        pose: (7,) position [m] and quaternion x y z w of a ground that moves; None if it does
            not.
        imus: foot → its IMU, if the ground is theirs.
    """

    def __init__(self, rig: Rig, streams: Streams) -> None:
        self.rig = rig
        ground = rig.robot.ground
        self.pose: SampleStream | None = None
        if ground.moves:
            self.pose = streams.make('ground', 7, largest=LARGEST_POSE, quaternion=3)
        self.imus = {
            foot.name: FootImuStage(rig, foot, streams)
            for foot in rig.feet
            if foot.sole_R_imu is not None and ground.source == 'feet_imus'
        }
        self.parts = tuple(self.imus.values())
        self._has_points = any(is_point(foot.polygon) for foot in rig.feet)
        super().__init__(() if self.pose is None else (self.pose,), streams.patience)

    def normals(self, joints: JointKinematics, world: WorldState) -> Array | None:
        """(K, 3) normal of the ground under points, where it is not for these to say."""
        if not self._has_points:
            return None
        if self.rig.robot.ground.source == 'gravity':
            return world.R[:, 2, :]
        frame = self._frame(joints, world)
        return None if frame is None else frame.plane(self.rig.robot.ground.height).normal

    def evaluate(self, joints: JointKinematics, world: WorldState, feet: FeetState) -> Ground:
        """Find the ground at decided instants.

        Args:
            joints: at K instants.
            world: pose of the root, as far as it is known.
            feet: in the root frame.
        """
        frame = self._frame(joints, world)
        plane = self._plane(feet, joints, world, frame)
        return Ground(plane, feet, self.rig.minimum_force, frame)

    def _plane(
        self,
        feet: FeetState,
        joints: JointKinematics,
        world: WorldState,
        frame: GroundFrame | None,
    ) -> GroundPlane:
        ground = self.rig.robot.ground
        if frame is not None:
            return frame.plane(ground.height)
        if not self.rig.feet:
            raise SensingError(
                'The robot file lists no feet, so the ground is not known; add feet, or name a '
                'link in the plane of the ground with ground.source: frame.',
                kind='no_feet',
            )
        if ground.source == 'sole':
            return plane_under(feet.soles, feet.most)
        soles, up = feet.soles.each, world.R[:, 2, :]
        if ground.source == 'feet_imus':
            unknown = np.full((len(joints), 3), np.nan)
            imus = (self.imus.get(foot.name) for foot in self.rig.feet)
            ups = tuple(imu.evaluate(joints.stamps) if imu else unknown for imu in imus)
            plane = plane_of_foot_imus(soles, feet.most, ups, up)
            self._count_contradictions(plane, feet.most, up)
            return plane
        return level_plane(soles, feet.most, up)

    def _count_contradictions(
        self, plane: GroundPlane, foot: npt.NDArray[np.intp], up_in_root: Array
    ) -> None:
        """Count the instants at which the IMU of the foot that carries most leaves no plane."""
        placed = np.isfinite(plane.point).all(axis=1) & np.isfinite(up_in_root).all(axis=1)
        refused = placed & ~np.isfinite(plane.normal).all(axis=1)
        for k, sole in enumerate(self.rig.feet):
            if sole.name in self.imus:
                number = int(np.count_nonzero(refused & (foot == k)))
                self.imus[sole.name].stream.count(Reason.IMU_CONTRADICTS, number)

    def _frame(self, joints: JointKinematics, world: WorldState) -> GroundFrame | None:
        """The ground's own frame, seen from the root; None if the ground is not that of one."""
        ground, model, q = self.rig.robot.ground, self.rig.model, joints.positions
        if ground.source != 'frame' or ground.frame is None:
            return None
        if self.pose is None:
            return GroundFrame(*model.frame_pose(ground.frame, q))
        poses = self.pose.at(joints.stamps).values
        R, p = matrices_from_quaternions(np.ascontiguousarray(poses[:, 3:])), poses[:, :3]
        reference = self.rig.ground_reference
        if reference is None:
            return GroundFrame.from_world(R, p, world.R, world.p)
        return GroundFrame.from_link(R, p, *model.frame_pose(reference, q))
