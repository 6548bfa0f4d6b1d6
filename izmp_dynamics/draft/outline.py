"""The outline of a sole: by the shapes of its link, or by where the force acted."""

from dataclasses import dataclass

import numpy as np
import shapely.geometry

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.draft.links import heaviest_link
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.report.player.visuals import Visual, find_mesh, load_mesh, solid, visuals_of
from izmp_dynamics.stability.clearance import is_point

CONTACT = 0.01
"""What is no higher above the lowest point of a foot belongs to its sole [m]."""

POINT_FOOT = np.array([[0.005, 0.0], [-0.0025, 0.004], [-0.0025, -0.004]])
"""Corners of a foot that touches the ground with a point [m]."""

_COARSE = 0.002  # corners of a mesh are left out as long as the outline stays this close [m]
_LEAST_CORNERS = 3
_LOADED = 0.2  # part of the weight from which a CoP counts


@dataclass(frozen=True)
class Outline:
    """Of a sole.

    Attributes:
        corners: (V, 2) in the frame of the sole [m].
        z: of the lowest points in that frame [m].
        is_point: whether the foot touches the ground with a point.
        origin: what it follows from, for a comment.
    """

    corners: Array
    z: float
    is_point: bool
    origin: str


def outline_of_shapes(model: RobotModel, urdf: Urdf, sole: str) -> Outline | None:
    """Find what of a foot touches the ground, by its collision shapes, else by its visuals.

    Args:
        model: of the robot.
        urdf: its URDF; meshes are looked for beside it and in ROS packages.
        sole: link whose z axis points out of the ground.

    Returns:
        None where the link of the sole and the heaviest one fixed to it have no shapes, or the
        files of their meshes are not there.
    """
    links = {sole, heaviest_link(model, sole)}
    mount = model.mount(sole)
    for kind in ('collision', 'visual'):
        shapes = [shape for shape in visuals_of(urdf, kind) if shape.link in links]
        parts = [
            ((points - mount.p_frame_in_body) @ mount.body_R_frame)
            for shape in shapes
            if len(points := _in_body(model, urdf, shape))
        ]
        if parts:
            points = np.concatenate(parts)
            lowest = float(points[:, 2].min())
            hull = _hull(points[points[:, 2] < lowest + CONTACT, :2])
            if hull is not None:
                if is_point(hull):
                    centre = hull.mean(axis=0)
                    return Outline(POINT_FOOT + centre, lowest, True, f'its {kind} shape')
                return Outline(hull, lowest, False, f'its {kind} shape')
    return None


def _in_body(model: RobotModel, urdf: Urdf, shape: Visual) -> Array:
    """(V, 3) vertices of a shape in the frame of its body [m]; (0, 3) if its file is not there."""
    if shape.kind == 'mesh':
        file = find_mesh(shape.file, urdf.path)
        try:
            vertices = load_mesh(file)[0] if file is not None else np.zeros((0, 3))
        except (ImportError, OSError, ValueError):
            vertices = np.zeros((0, 3))
        vertices = vertices * np.array(shape.size)
    else:
        vertices, _ = solid(shape.kind, shape.size)
    mount = model.mount(shape.link)
    in_link = vertices @ shape.R.T + shape.p
    placed: Array = in_link @ mount.body_R_frame.T + mount.p_frame_in_body
    return placed


def outline_of_forces(wrenches: Array, weight: float) -> Outline | None:
    """Find the box around the CoP, which the sole is larger than.

    Args:
        wrenches: (T, 6) about the origin of the sole in its axes [N, N·m], of either sign.
        weight: of the robot [N].

    Returns:
        None where the foot hardly carries anything, or the CoP hardly moves.
    """
    force = wrenches[:, 2]
    loaded = wrenches[np.abs(force) > _LOADED * weight]  # NaN compares as False
    if len(loaded) < _LEAST_CORNERS:
        return None
    cop = np.stack([-loaded[:, 4], loaded[:, 3]], axis=1) / loaded[:, 2:3]
    (x0, y0), (x1, y1) = np.percentile(cop, (1.0, 99.0), axis=0)
    if min(x1 - x0, y1 - y0) < CONTACT:
        return None
    corners = np.array([[x1, y1], [x0, y1], [x0, y0], [x1, y0]])
    return Outline(corners, 0.0, False, 'where the force acted, which is less than the sole')


def _hull(points: Array) -> Array | None:
    """(V, 2) corners, counter-clockwise; None of points on a line."""
    hull = shapely.geometry.MultiPoint(points).convex_hull
    if hull.geom_type != 'Polygon':
        return None
    simple = hull.simplify(_COARSE)
    ring = simple if simple.geom_type == 'Polygon' and simple.area > 0.0 else hull
    corners: Array = np.array(shapely.geometry.polygon.orient(ring).exterior.coords)[:-1]
    return corners
