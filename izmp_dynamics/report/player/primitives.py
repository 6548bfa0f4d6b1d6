"""Triangles of a box and of surfaces of revolution, as trimesh takes long to import."""

from itertools import product

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices

Mesh = tuple[Array, Indices]
"""Vertices (V, 3) [m] and faces (T, 3), counter-clockwise seen from outside."""

_BOX_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
_SPHERE_RINGS = 12


def box(size: tuple[float, ...]) -> Mesh:
    """A box of this size (x, y, z) [m] about the origin."""
    vertices = np.array(list(product((-0.5, 0.5), repeat=3))) * np.array(size)
    faces = [triangle for a, b, c, d in _BOX_FACES for triangle in ((a, b, c), (a, c, d))]
    return vertices, np.array(faces, dtype=np.int64)


def cylinder(radius: float, length: float, sections: int = 24) -> Mesh:
    """A cylinder along z about the origin [m]."""
    half = length / 2
    return _revolved(np.array([[0, -half], [radius, -half], [radius, half], [0, half]]), sections)


def sphere(radius: float) -> Mesh:
    """A sphere about the origin [m]."""
    angle = np.linspace(0.0, np.pi, _SPHERE_RINGS + 1)
    profile = radius * np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    profile[[0, -1], 0] = 0.0
    return _revolved(profile, 2 * _SPHERE_RINGS)


def bone(end: Array, radius: float) -> Mesh:
    """A cylinder from the origin to a point (3,) [m]."""
    length = float(np.linalg.norm(end))
    vertices, faces = cylinder(radius, length, sections=12)
    z = end / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return vertices @ np.array([x, np.cross(z, x), z]) + end / 2, faces


def _revolved(profile: Array, sections: int) -> Mesh:
    """Turn a profile (P, 2) of radii and heights, from below to above, about z."""
    angle = 2.0 * np.pi * np.arange(sections) / sections
    radius, height = profile.T
    vertices = np.stack(
        [
            np.outer(radius, np.cos(angle)),
            np.outer(radius, np.sin(angle)),
            np.repeat(height[:, None], sections, axis=1),
        ],
        axis=2,
    )
    here = np.arange(len(profile) * sections).reshape(len(profile), sections)
    beside = np.roll(here, -1, axis=1)
    lower = np.stack([here[:-1], beside[:-1], beside[1:]], axis=2)[radius[:-1] > 0]
    upper = np.stack([here[:-1], beside[1:], here[1:]], axis=2)[radius[1:] > 0]
    return vertices.reshape(-1, 3), np.concatenate([lower, upper]).reshape(-1, 3)
