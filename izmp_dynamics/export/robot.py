"""The robot in a Rerun recording: its links over time, their shapes, its soles."""

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.export.log import Log
from izmp_dynamics.export.replayed import Replayed
from izmp_dynamics.model.link_transforms import LinkTransforms
from izmp_dynamics.model.motion import Motion
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.report.player.shapes import Shape, robot_shapes

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
