"""The shapes that a URDF gives its links, to look at or to collide: primitives and mesh files."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from lxml import etree

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.rotations import from_rpy
from izmp_dynamics.files.place import read_regular_file
from izmp_dynamics.model.packages import find_in_package, is_file
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.model.urdf import Urdf

Rgb = tuple[float, float, float]
Mesh = tuple[Array, Indices]
"""Vertices (V, 3) [m] and faces (T, 3), counter-clockwise seen from outside."""

FORMATS = ('.stl', '.obj', '.dae', '.ply')

_LARGEST = 2**26  # bytes of a file
_UP_AXES = {
    'X': np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    'Y': np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    'Z': np.eye(3),
}  # of Collada: the axis that points up → rotation to z up
_FINEST = 0.001  # [m], first size of the cells that vertices are joined in
_SECTIONS = 24  # of a circle


@dataclass(frozen=True)
class Visual:
    """One <visual> or <collision>.

    Attributes:
        link: name of its link.
        R: (3, 3) link_R_visual.
        p: (3,) its origin in the link [m].
        kind: 'box', 'cylinder', 'sphere' or 'mesh'.
        size: of a box (x, y, z), of a cylinder (radius, length), of a sphere (radius,) [m]; scale
            (x, y, z) of a mesh.
        file: name of the mesh as the URDF states it; empty for a primitive.
        colour: red, green, blue from 0 to 1; None where there is none.
    """

    link: str
    R: Array
    p: Array
    kind: str
    size: tuple[float, ...]
    file: str
    colour: Rgb | None


def visuals_of(urdf: Urdf, kind: str = 'visual') -> list[Visual]:
    """Read the shapes of every link; one that breaks the grammar of URDF is left out.

    Args:
        urdf: of the robot.
        kind: 'visual' or 'collision'.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    root = etree.fromstring(urdf.text.encode(), parser)
    colours = {
        material.get('name', ''): colour
        for material in root.iterfind('material')
        if (colour := _colour(material)) is not None
    }
    found: list[Visual] = []
    for link in root.iterfind('link'):
        for element in link.iterfind(kind):
            try:
                found += _visuals(link.get('name', '').strip(), element, colours)
            except ValueError:  # a number that is none
                continue
    return found


def shapes_at(model: RobotModel, urdf: Urdf, frame: str, kind: str) -> Iterator[tuple[str, Array]]:
    """Read the shapes of all links that are fixed to a frame.

    Args:
        model: of the robot.
        urdf: of the robot.
        frame: name of a link.
        kind: 'visual' or 'collision'.

    Returns:
        Link and vertices (V, 3) in the frame [m] of each shape; (0, 3) if its file is not there.
    """
    mount = model.mount(frame)
    for shape in visuals_of(urdf, kind):
        if shape.link not in model.frame_names or model.mount(shape.link).body != mount.body:
            continue
        if shape.kind == 'mesh':
            file = find_mesh(shape.file, urdf.path)
            try:
                vertices = load_mesh(file)[0] if file is not None else np.zeros((0, 3))
            except (ImportError, OSError, ValueError):
                vertices = np.zeros((0, 3))
            vertices = vertices * np.array(shape.size)
        else:
            vertices, _ = solid(shape.kind, shape.size)
        link = model.mount(shape.link)
        in_body = (vertices @ shape.R.T + shape.p) @ link.body_R_frame.T + link.p_frame_in_body
        yield shape.link, (in_body - mount.p_frame_in_body) @ mount.body_R_frame


def _visuals(link: str, element: Any, colours: dict[str, Rgb]) -> Iterator[Visual]:
    geometry = element.find('geometry')
    shape = next(iter(geometry), None) if geometry is not None else None
    if shape is None:
        return
    size: tuple[float, ...]
    if shape.tag == 'box':
        size = _numbers(shape.get('size', ''), 3)
    elif shape.tag == 'cylinder':
        size = (*_numbers(shape.get('radius', ''), 1), *_numbers(shape.get('length', ''), 1))
    elif shape.tag == 'sphere':
        size = _numbers(shape.get('radius', ''), 1)
    elif shape.tag == 'mesh':
        size = _numbers(shape.get('scale', '1 1 1'), 3)
    else:
        return
    origin = element.find('origin')
    xyz, rpy = ('0 0 0', '0 0 0') if origin is None else (
        origin.get('xyz', '0 0 0'), origin.get('rpy', '0 0 0')
    )  # fmt: skip
    material = element.find('material')
    colour = None
    if material is not None:
        colour = _colour(material) or colours.get(material.get('name', ''))
    yield Visual(
        link, from_rpy(_numbers(rpy, 3)), np.array(_numbers(xyz, 3)), shape.tag, size,
        shape.get('filename', '').strip(), colour,
    )  # fmt: skip


def _colour(material: Any) -> Rgb | None:
    element = material.find('color')
    if element is None:
        return None
    try:
        red, green, blue, _ = _numbers(element.get('rgba', ''), 4)
    except ValueError:
        return None
    return red, green, blue


def _numbers(text: str, count: int) -> tuple[float, ...]:
    """Read `count` finite numbers, or raise ValueError."""
    numbers = tuple(float(word) for word in text.split())
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise ValueError(text)
    return numbers


def find_mesh(name: str, urdf: Path | None) -> Path | None:
    """Find the file of a mesh.

    Args:
        name: as the URDF states it: package://PACKAGE/PATH, file://PATH, or a path, which may be
            relative to the URDF.
        urdf: where the URDF is.

    Returns:
        An existing file; None without any. Packages: `packages.find_in_package`.
    """
    folder = urdf.resolve().parent if urdf is not None else None
    kind, sign, rest = name.partition('://')
    if sign and kind in ('package', 'model'):
        return find_in_package(name, folder)
    if sign and kind != 'file':
        return None
    path = Path(unquote(rest) if sign else name)
    if not path.is_absolute():
        if folder is None:
            return None
        path = folder / path
    return path if is_file(path) else None


def load_mesh(path: Path) -> Mesh:
    """Read a mesh.

    Returns:
        vertices (V, 3) and faces (T, 3); of a Collada file, which states its axis and unit, z up
        and in metres.

    Raises:
        ImportError: a library for this format is not installed.
        ValueError: there is no mesh in the file, or it cannot be read.
        OSError: the file cannot be read.
    """
    import trimesh

    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"'{suffix}' is none of {', '.join(FORMATS)}")
    data = read_regular_file(path, _LARGEST)
    if data.startswith(b'PK'):  # a library would unpack it, however large it becomes
        raise ValueError('it is a zip archive')
    try:
        loaded: Any = trimesh.load(
            io.BytesIO(data), file_type=suffix[1:], force='mesh', process=False
        )
        vertices, faces = np.asarray(loaded.vertices), np.asarray(loaded.faces)
    except (ImportError, OSError):
        raise
    except Exception as error:  # the libraries raise many kinds, all about the content
        raise ValueError(f'not readable as {suffix}: {error}') from error
    if not len(faces) or not np.isfinite(vertices).all():
        raise ValueError('there is no mesh in it')
    if suffix == '.dae':
        vertices = vertices @ _collada_axes(data).T
    return vertices.astype(np.float64), faces.astype(np.int64)


def _collada_axes(data: bytes) -> Array:
    """(3, 3) that takes the coordinates of a Collada file to metres with z up."""
    axis = re.search(rb'<up_axis>\s*(\w)_UP', data)
    unit = re.search(rb'<unit\b[^>]*?\bmeter\s*=\s*["\']([0-9.eE+-]+)', data)
    axes = _UP_AXES.get(axis[1].decode() if axis else 'Y', np.eye(3))
    return axes * (float(unit[1]) if unit else 1.0)


def solid(kind: str, size: tuple[float, ...]) -> Mesh:
    """Make a primitive about its origin.

    Args:
        kind: 'box', 'cylinder' (along z) or 'sphere'.
        size: as in `Visual` [m].
    """
    vertices, faces = _unit_solid(kind)
    scale = {'cylinder': (size[0], size[0], size[-1]), 'sphere': 3 * size}.get(kind, size)
    return vertices * np.array(scale), faces


@cache
def _unit_solid(kind: str) -> Mesh:
    """Rings of points about z, joined by triangles, and a point at the middle of either end."""
    turn = 2.0 * np.pi * np.arange(_SECTIONS) / _SECTIONS
    round_z, levels = np.stack([np.cos(turn), np.sin(turn)], axis=1), [(1.0, -0.5), (1.0, 0.5)]
    if kind == 'box':
        round_z = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    elif kind == 'sphere':
        levels = [(np.sin(a), -np.cos(a)) for a in turn[1 : _SECTIONS // 2]]
    rings = [np.insert(radius * round_z, 2, z, axis=1) for radius, z in levels]
    ends = [[0.0, 0.0, z] for z in ((-1.0, 1.0) if kind == 'sphere' else (-0.5, 0.5))]
    at = np.arange(len(levels) * len(round_z)).reshape(len(levels), -1)
    beside, below = np.roll(at, -1, axis=1), np.full_like(at[0], at.size)
    faces = np.concatenate([
        np.stack([at[:-1], beside[:-1], beside[1:]], axis=2).reshape(-1, 3),
        np.stack([at[:-1], beside[1:], at[1:]], axis=2).reshape(-1, 3),
        np.stack([beside[0], at[0], below], axis=1),
        np.stack([at[-1], beside[-1], below + 1], axis=1),
    ])  # fmt: skip
    return np.concatenate([*rings, ends]), faces


def simplified(meshes: list[Mesh], most_faces: int) -> list[Mesh]:
    """Join vertices that share a cell, in ever larger cells, until few enough faces remain.

    Args:
        meshes: vertices [m] and faces of each.
        most_faces: of all meshes together.
    """
    cell = _FINEST
    while sum(len(faces) for _, faces in meshes) > most_faces and cell < 1.0:
        import trimesh

        joined = [trimesh.Trimesh(cell * np.round(v / cell), f) for v, f in meshes]
        for mesh in joined:
            mesh.update_faces(mesh.unique_faces() & mesh.nondegenerate_faces())
            mesh.remove_unreferenced_vertices()
        meshes = [(np.asarray(mesh.vertices), np.asarray(mesh.faces)) for mesh in joined]
        cell *= 1.5
    return meshes
