"""What a robot looks like: the primitive shapes that its URDF draws."""

from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.model.urdf import Urdf

_GREY = (0.7, 0.7, 0.7, 1.0)


@dataclass(frozen=True)
class Visual:
    """One drawn shape.

    Attributes:
        link: the link that it belongs to.
        shape: 'box', 'cylinder' or 'sphere'.
        size: full edges, (radius, length along z) or (radius,) [m].
        link_R_visual: (3, 3).
        p_visual_in_link: (3,) its centre [m].
        rgba: colour, 0 … 1.
    """

    link: str
    shape: str
    size: tuple[float, ...]
    link_R_visual: Array
    p_visual_in_link: Array
    rgba: tuple[float, ...]


def visuals(urdf: Urdf) -> list[Visual]:
    """Return the primitive shapes of all links; meshes are left out.

    Args:
        urdf: the parsed URDF (its text has been checked when it was read).
    """
    root = ElementTree.fromstring(urdf.text.encode())
    known = colours(root)
    return [
        visual
        for link in root.iter('link')
        for element in link.findall('visual')
        if (visual := _visual(str(link.get('name')), element, known)) is not None
    ]


def colours(robot: ElementTree.Element) -> dict[str, tuple[float, ...]]:
    """Return the colours (red, green, blue, alpha; 0 … 1) of a URDF's materials by name."""
    return {
        str(material.get('name')): _numbers(colour.get('rgba'))
        for material in robot.iter('material')
        if (colour := material.find('color')) is not None
    }


def _visual(
    link: str, element: ElementTree.Element, known: dict[str, tuple[float, ...]]
) -> Visual | None:
    geometry = element.find('geometry')
    shape = None if geometry is None or len(geometry) == 0 else geometry[0]
    if shape is None or shape.tag not in ('box', 'cylinder', 'sphere'):
        return None
    size = (
        _numbers(shape.get('size'))
        if shape.tag == 'box'
        else tuple(float(shape.get(key, 0)) for key in ('radius', 'length') if shape.get(key))
    )
    origin, material = element.find('origin'), element.find('material')
    xyz = _numbers(origin.get('xyz')) if origin is not None else ()
    rpy = _numbers(origin.get('rpy')) if origin is not None else ()
    colour = known.get(str(material.get('name'))) if material is not None else None
    return Visual(
        link=link,
        shape=shape.tag,
        size=size,
        link_R_visual=frozen(Rotation.from_euler('xyz', rpy or np.zeros(3)).as_matrix()),
        p_visual_in_link=frozen(xyz or np.zeros(3)),
        rgba=colour or _GREY,
    )


def _numbers(text: str | None) -> tuple[float, ...]:
    return tuple(float(number) for number in (text or '').split())
