"""The shapes that a URDF gives its links: primitives and meshes, to look at or to collide."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.rotations import from_rpy
from izmp_dynamics.model.urdf import Urdf

Rgb = tuple[float, float, float]


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
