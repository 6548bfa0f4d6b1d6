"""The robot in a Rerun recording, over a level frame with z = 0 where the soles stand."""

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices, Stamps
from izmp_dynamics.base.rotations import matrices_from_quaternions
from izmp_dynamics.export.log import Log
from izmp_dynamics.model.link_transforms import LinkTransforms
from izmp_dynamics.model.motion import Motion
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.report.player.shapes import Shape, robot_shapes
from izmp_dynamics.results.replayed import Replayed, Timed

_COLOUR = (0.62, 0.65, 0.69)
"""Of shapes of which the URDF states none."""


class Robot:
    """Writes the robot: once what it looks like, then span by span where its links are.

    Args:
        log: the recording.
        first: the first span.
        urdf: its URDF.
    """

    def __init__(self, log: Log, first: Replayed, urdf: Urdf) -> None:
        model = load_model(urdf, first.root)
        self._log, self._links = log, LinkTransforms(model)
        fixed = zip(self._links.fixed, self._links.fixed_poses, strict=True)
        for (parent, child), pose in fixed:
            log.fixed_frame(parent, child, pose)
        stamps, positions = np.empty(0, np.int64), np.empty((0, model.dof))
        _draw_shapes(log, model, Motion(model, urdf, stamps, positions))
        for foot, (frame, corners) in first.soles.items():
            outline = log.rerun.LineStrips3D(
                [np.vstack([corners, corners[:1]])], colors=[[128, 128, 128]], radii=[0.002]
            )
            log.still(['soles', foot], outline, frame=frame)

    def move(self, replayed: Replayed) -> None:
        """Write where the links are in a span."""
        stamps, joints = replayed.values('/joint_kinematics')
        if len(stamps):
            positions, *_ = np.hsplit(joints, 3)
            poses = np.moveaxis(self._links.poses(positions), 1, 0)
            for (parent, child), pose in zip(self._links.moving, poses, strict=True):
                self._log.frame(parent, child, stamps, pose)


def _draw_shapes(log: Log, model: RobotModel, motion: Motion) -> None:
    shapes, _ = robot_shapes(motion)
    links = {model.mount(link).body: link for link in reversed(model.frame_names)}
    for k, shape in enumerate(shapes):
        link = links[shape.body]
        vertices, faces, normals = _shaded(shape)
        mount = model.mount(link)
        mesh = log.rerun.Mesh3D(
            vertex_positions=(vertices - mount.p_frame_in_body) @ mount.body_R_frame,
            triangle_indices=faces,
            vertex_normals=normals @ mount.body_R_frame,
            albedo_factor=[round(255 * part) for part in shape.colour or _COLOUR],
        )
        log.still(['robot', link, str(k)], mesh, frame=link)


def _shaded(shape: Shape) -> tuple[Array, Indices, Array]:
    """Vertices, faces and normals; of a shape that is not smooth each face has its own corners."""
    vertices, faces = shape.vertices, shape.faces
    if not shape.smooth:
        vertices, faces = vertices[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3)
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    normals = np.zeros_like(vertices)
    np.add.at(normals, faces, np.cross(b - a, c - a)[:, None])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return vertices, faces, normals / np.where(lengths > 0.0, lengths, 1.0)


GROUND = 'izmp/ground'
"""The frame, called as no link is."""

_BACK = np.array([-1.0, -1.0, -1.0, 1.0])  # from a quaternion to that of the inverse rotation


def height_of_ground(first: Replayed) -> float:
    """Find the median height of the soles in the world in a span [m]; 0 if it is not known."""
    _, heights = soles_at(first.values('/odom'), first.polygons)
    return float(np.median(heights)) if len(heights) else 0.0


def root_over_ground(replayed: Replayed, height: float) -> Timed:
    """Find where the root is: in the world or, if that is not known, in place over the soles.

    Args:
        replayed: the results.
        height: of the ground in the world [m].

    Returns:
        Stamps (K,) [ns], and poses (K, 7) in GROUND: positions [m], quaternions (x, y, z, w).
    """
    if replayed.located:
        stamps, odometry = replayed.values('/odom')
        return stamps, odometry[:, :7] - np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 0.0])
    stamps, level = replayed.level_frame
    poses = np.pad(level * _BACK, ((0, 0), (3, 0)))
    at, heights = soles_at((stamps, poses), replayed.polygons)
    if len(at):
        stamps, poses = at, poses[np.isin(stamps, at)]
        poses[:, 2] = -heights
    return stamps, poses


def soles_at(root: Timed, polygons: tuple[Stamps, list[Array]]) -> Timed:
    """Find the height of the ground: that of the support polygon.

    Args:
        root: stamps (K,) [ns] and poses (K, 7 …) of the root.
        polygons: stamps (P,) [ns], and corners (C, 3) in the root frame [m].

    Returns:
        The stamps (S,) that both have, and heights (S,) in the frame of the poses [m].
    """
    shared, rows, places = np.intersect1d(root[0], polygons[0], return_indices=True)
    upward = matrices_from_quaternions(root[1][rows, 3:7])[:, 2]
    middles = np.array([polygons[1][place].mean(axis=0) for place in places]).reshape(-1, 3)
    return shared, np.einsum('ki,ki->k', upward, middles) + root[1][rows, 2]
