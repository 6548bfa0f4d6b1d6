"""Mesh files that a URDF names: where they are, what is in them, and how to make them smaller."""

import io
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.regular_file import read_regular_file

FORMATS = ('.stl', '.obj', '.dae', '.ply')

_LARGEST = 2**26  # bytes of a file
_UP_AXES = {
    'X': np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    'Y': np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    'Z': np.eye(3),
}  # of Collada: the axis that points up → rotation to z up
_FINEST = 0.001  # [m], first size of the cells that vertices are joined in


def find_mesh(name: str, urdf: Path | None) -> Path | None:
    """Find the file of a mesh.

    Args:
        name: as the URDF states it: package://PACKAGE/PATH, file://PATH, or a path, which may be
            relative to the URDF.
        urdf: where the URDF is.

    Returns:
        An existing file; None without any. A package is looked for among the folders around the
        URDF, on ROS_PACKAGE_PATH and in the ROS installation.
    """
    kind, _, rest = name.partition('://') if '://' in name else ('', '', name)
    rest = unquote(rest) if kind else rest
    folder = urdf.resolve().parent if urdf is not None else None
    if kind in ('package', 'model'):
        package, _, inside = rest.partition('/')
        places = [place / inside for place in _package_folders(package, folder)]
    elif kind in ('', 'file'):
        places = [Path(rest)] if kind or Path(rest).is_absolute() else []
        places += [folder / rest] if folder is not None and not places else []
    else:
        return None
    return next((place for place in places if _is_file(place)), None)


def load_mesh(path: Path) -> tuple[Array, Indices]:
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


def simplified(
    meshes: list[tuple[Array, Indices]], most_faces: int
) -> list[tuple[Array, Indices]]:
    """Join vertices that share a cell, in ever larger cells, until few enough faces remain.

    Args:
        meshes: vertices (V, 3) [m] and faces (T, 3) of each.
        most_faces: of all meshes together.
    """
    cell = _FINEST
    while sum(len(faces) for _, faces in meshes) > most_faces and cell < 1.0:
        meshes = [_joined(vertices, faces, cell) for vertices, faces in meshes]
        cell *= 1.5
    return meshes


def _joined(vertices: Array, faces: Indices, cell: float) -> tuple[Array, Indices]:
    """Replace the vertices of each cell by their mean; faces that vanish are dropped."""
    cells = np.floor((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
    keys = np.ravel_multi_index(tuple(cells.T), tuple(cells.max(axis=0) + 1))
    _, owner, count = np.unique(keys, return_inverse=True, return_counts=True)
    mean = np.zeros((len(count), 3))
    np.add.at(mean, owner, vertices)
    kept = owner[faces]
    kept = kept[(kept != np.roll(kept, 1, axis=1)).all(axis=1)]
    return mean / count[:, None], kept


def _package_folders(package: str, folder: Path | None) -> list[Path]:
    """Folders that may be the package, the nearest first."""
    places = []
    for above in (folder, *folder.parents) if folder is not None else ():
        places += [above] if above.name == package else []
        places.append(above / package)
    for path in os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep):
        places += [Path(path) / package] if path else []
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        places += [Path(prefix) / 'share' / package] if prefix else []
    return places


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or with a NUL
        return False
