"""The robot file, the inertials and the URDF that follow from a result."""

import dataclasses
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.base.rotations import from_rpy, to_rpy
from izmp_dynamics.calibration.inertias import tensor, transformation
from izmp_dynamics.calibration.parameters import LAG, Layout
from izmp_dynamics.calibration.residuals import force_offset, inertia_changes
from izmp_dynamics.model.robot_file import Foot, FootWrench, Imu, RobotFile
from izmp_dynamics.signals.correction import offset_without

DIGITS = 9
"""Significant digits that are written."""

MOMENTS = {'ixx': (0, 0), 'iyy': (1, 1), 'izz': (2, 2), 'ixy': (0, 1), 'ixz': (0, 2),
           'iyz': (1, 2)}  # fmt: skip
"""Names in a URDF → place in the tensor."""


def corrected_robot(robot: RobotFile, layout: Layout, x: Array) -> RobotFile:
    """The robot file with what was estimated, on top of what it stated."""
    return dataclasses.replace(
        robot,
        imu=_imu(robot.imu, layout, x),
        feet=tuple(_foot(foot, layout, x) for foot in robot.feet),
    )


def corrected_inertials(layout: Layout, x: Array) -> dict[str, Array]:
    """Link → (10,) parameters in its frame, of the links that change."""
    links = {link.link: link for link in (*layout.inertias, layout.payload_link)}
    changes = inertia_changes(layout, x)
    return {link: links[link].theta + change for link, change in changes.items() if change.any()}


def _imu(imu: Imu, layout: Layout, x: Array) -> Imu:
    turn = Rotation.from_rotvec(layout.value(x, 'imu.rotation', 3)).as_matrix()
    return dataclasses.replace(
        imu,
        delay=_number(imu.delay + layout.value(x, 'imu.delay', 1)[0]),
        gyroscope_delay=_number(imu.gyroscope_delay + layout.value(x, LAG, 1)[0]),
        rotation=_numbers(to_rpy(from_rpy(imu.rotation) @ turn)),
        gyroscope_bias=_numbers(
            np.add(imu.gyroscope_bias, layout.value(x, 'imu.gyroscope_bias', 3))
        ),
        accelerometer_bias=_numbers(
            np.add(imu.accelerometer_bias, layout.value(x, 'imu.accelerometer_bias', 3))
        ),
    )


def _foot(foot: Foot, layout: Layout, x: Array) -> Foot:
    if foot.wrench is None:
        return foot
    wrench, name = foot.wrench, f'feet[{foot.name}].wrench'
    change = force_offset(layout, x, name)
    turn = Rotation.from_rotvec(layout.value(x, f'{name}.rotation', 3)).as_matrix()
    rotation = turn @ from_rpy(wrench.rotation)
    return dataclasses.replace(
        foot,
        wrench=dataclasses.replace(
            wrench,
            delay=_number(wrench.delay + layout.value(x, f'{name}.delay', 1)[0]),
            offset=_numbers(offset_without(wrench, change)),
            rotation=_numbers(to_rpy(rotation)),
            matrix=_matrix(wrench, rotation, layout, x, name),
        ),
    )


def _matrix(wrench: FootWrench, rotation: Array, layout: Layout, x: Array, name: str) -> Any:
    """The calibration matrix in the axes of the sensor; None if it is identity."""
    scale = 1.0 + layout.value(x, f'{name}.scale', 1)[0]
    gains = scale * np.eye(6) + layout.value(x, f'{name}.matrix', 36).reshape(6, 6) * scale
    before = np.eye(6) if wrench.matrix is None else np.array(wrench.matrix)
    turn = np.kron(np.eye(2), rotation)
    matrix = turn.T @ gains @ turn @ before
    if np.allclose(matrix, np.eye(6), atol=1e-12):
        return wrench.matrix
    return tuple(_numbers(row) for row in matrix)


def _number(value: float) -> float:
    return float(f'{value:.{DIGITS}g}')


def _numbers(values: Any) -> Any:
    """A tuple of as many numbers."""
    return tuple(_number(float(value)) for value in values)


def with_inertials(text: str, inertials: Mapping[str, Array]) -> str:
    """Replace the inertials of links.

    Args:
        text: of the URDF.
        inertials: link → (10,) parameters in the frame of the link, see `inertias`.

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
    moments = {name: f'{about_com[place]:.9g}' for name, place in MOMENTS.items()}
    place = ' '.join(f'{value:.9g}' for value in com)
    for tag, attributes in (
        ('origin', {'xyz': place, 'rpy': '0 0 0'}),
        ('mass', {'value': f'{mass:.9g}'}),
        ('inertia', moments),
    ):
        ElementTree.SubElement(inertial, tag, attributes).tail = indent
