"""The robot as triangles: its visuals where their files are found, else shapes of its inertias."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.model.motion import Motion
from izmp_dynamics.model.robot_model import FrameMount, RobotModel
from izmp_dynamics.model.visuals import (
    Mesh,
    Rgb,
    Visual,
    find_mesh,
    load_mesh,
    simplified,
    solid,
    visuals_of,
)

MOST_FACES = 60_000
"""Triangles of all meshes together."""

_LEAST_AXIS = 0.004  # [m] smallest semi-axis of an ellipsoid that is drawn
_BONE = 0.012  # [m] radius


@dataclass(frozen=True)
class Shape:
    """Triangles that move with a body.

    Attributes:
        body: index of the body.
        vertices: (V, 3) in the body's frame [m].
        faces: (T, 3) indices of vertices.
        colour: red, green, blue from 0 to 1; None where the URDF states none.
        smooth: whether the surface is curved, so that its shading is interpolated.
    """

    body: int
    vertices: Array
    faces: Indices
    colour: Rgb | None
    smooth: bool


def robot_shapes(motion: Motion) -> tuple[list[Shape], str]:
    """Make the shapes of a robot.

    Returns:
        The shapes, and a sentence about what could not be shown as it looks; empty if all could.
    """
    model = motion.model
    visuals = visuals_of(motion.urdf) if motion.urdf is not None else []
    visuals = [visual for visual in visuals if visual.link in model.frame_names]
    shapes, absent = [], {}
    meshes: list[tuple[Visual, Mesh]] = []
    for visual in visuals:
        if visual.kind == 'mesh':
            mesh, reason = _mesh(visual, motion)
            if mesh is None:
                absent[visual.link] = reason
            else:
                meshes.append((visual, mesh))
        else:
            shapes.append(_placed(model, visual, *solid(visual.kind, visual.size)))
    small = simplified([mesh for _, mesh in meshes], MOST_FACES)
    shapes += [
        _placed(model, visual, *mesh) for (visual, _), mesh in zip(meshes, small, strict=True)
    ]
    seen = {visual.link for visual in visuals} - set(absent)
    if not shapes or absent:
        shapes += _from_inertias(model, set(model.frame_names) - seen)
    return shapes, _remark(visuals, absent)


def _remark(visuals: list[Visual], absent: dict[str, str]) -> str:
    if not visuals:
        return 'The URDF states no visuals: the shapes follow from masses and inertias.'
    if not absent:
        return ''
    example = next(iter(absent.values()))
    links = 'one link' if len(absent) == 1 else f'{len(absent)} links'
    return f'The shapes of {links} follow from masses and inertias: {example}.'


def _mesh(visual: Visual, motion: Motion) -> tuple[Mesh | None, str]:
    """Read the mesh of a visual in its own frame [m], or say why not."""
    file = find_mesh(visual.file, motion.urdf.path if motion.urdf is not None else None)
    if file is None:
        return None, f"the mesh '{visual.file}' is not here"
    try:
        vertices, faces = load_mesh(file)
    except (ImportError, OSError, ValueError) as error:
        return None, f"the mesh '{visual.file}' cannot be read ({error})"
    return (vertices * np.array(visual.size), faces), ''


def _placed(model: RobotModel, visual: Visual, vertices: Array, faces: Indices) -> Shape:
    mount = model.mount(visual.link)
    in_link = vertices @ visual.R.T + visual.p
    smooth = visual.kind == 'sphere'
    colour = visual.colour
    if visual.kind == 'mesh' and colour is not None and not any(colour):
        colour = None  # exporters write black where the mesh has colours of its own
    return Shape(mount.body, _in_body(mount, in_link), faces, colour, smooth)


def _in_body(mount: FrameMount, vertices: Array) -> Array:
    placed: Array = vertices @ mount.body_R_frame.T + mount.p_frame_in_body
    return placed


def _from_inertias(model: RobotModel, links: Iterable[str]) -> list[Shape]:
    """Ellipsoids of the masses and inertias of `links`, and bones between their joints."""
    wanted = set(links)
    vertices, faces = solid('sphere', (1.0,))
    shapes = []
    for link in sorted(wanted):
        axes = ellipsoid(model.tree.inertias[link])
        if axes is not None:
            centre, R, lengths = axes
            mount, in_link = model.mount(link), (vertices * lengths) @ R.T + centre
            shapes.append(Shape(mount.body, _in_body(mount, in_link), faces, None, True))
    bodies = {model.mount(link).body for link in wanted}
    for body in range(1, len(model.bodies)):
        parent = model.joint_mount(body)
        length = float(np.linalg.norm(parent.p_frame_in_body))
        if parent.body in bodies and length > _BONE:
            shapes.append(Shape(parent.body, *_bone(parent.p_frame_in_body), None, False))
    return shapes


def _bone(end: Array) -> Mesh:
    """A cylinder from the origin to a point (3,) [m]."""
    length = float(np.linalg.norm(end))
    vertices, faces = solid('cylinder', (_BONE, length))
    z = end / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return vertices @ np.array([x, np.cross(z, x), z]) + end / 2, faces


def ellipsoid(inertia: Any) -> tuple[Array, Array, Array] | None:
    """Find the solid ellipsoid of even density that has a KDL inertia.

    Args:
        inertia: PyKDL.RigidBodyInertia about the link's origin.

    Returns:
        its centre (3,) [m], its axes as the columns of (3, 3) and its semi-axes (3,) [m]; None
        without mass. A semi-axis a has I_b + I_c − I_a = 2/5·m·a².
    """
    mass = inertia.getMass()
    if not mass > 0:
        return None
    centre = np.array([inertia.getCOG()[k] for k in range(3)])
    about = inertia.getRotationalInertia()
    tensor = np.array([about[k] for k in range(9)]).reshape(3, 3)
    tensor -= mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    moments, R = np.linalg.eigh(tensor)
    squares = 2.5 / mass * (moments.sum() - 2.0 * moments)
    lengths = np.sqrt(np.maximum(squares, _LEAST_AXIS**2))
    return centre, R, lengths
