"""A URDF with other inertials; everything else stays as it is written."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.calibration.regressor import tensor, transformation

MOMENTS = ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')


def with_inertials(text: str, inertials: Mapping[str, Array]) -> str:
    """Replace the inertials of links.

    Args:
        text: of the URDF.
        inertials: link → (10,) parameters in the frame of the link, see `regressor`.

    Raises:
        UnknownNameError: if there is no such link.
    """
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.fromstring(text, parser)
    links = {link.get('name', ''): link for link in root.iter('link')}
    for name, theta in inertials.items():
        if name not in links:
            raise UnknownNameError('link', name, links, 'in the URDF')
        _write(links[name], theta)
    return ElementTree.tostring(root, encoding='unicode', xml_declaration=True)


def _write(link: ElementTree.Element, theta: Array) -> None:
    mass, com = float(theta[0]), theta[1:4] / theta[0]
    about_com = tensor((transformation(np.eye(3), -com) @ theta)[4:])
    inertial = link.find('inertial')
    if inertial is None:
        inertial = ElementTree.Element('inertial')
        link.insert(0, inertial)
    tail, indent = inertial.tail, inertial.text
    inertial.clear()
    inertial.text, inertial.tail = indent, tail
    rows, columns = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
    moments = {
        name: f'{about_com[i, j]:.9g}' for name, i, j in zip(MOMENTS, rows, columns, strict=True)
    }
    place = ' '.join(f'{value:.9g}' for value in com)
    for tag, attributes in (
        ('origin', {'xyz': place, 'rpy': '0 0 0'}),
        ('mass', {'value': f'{mass:.9g}'}),
        ('inertia', moments),
    ):
        ElementTree.SubElement(inertial, tag, attributes).tail = indent
