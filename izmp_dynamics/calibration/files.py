"""The files of a calibration: robot file, URDF and report, all of them or none."""

import dataclasses
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.base.rotations import from_rpy, to_rpy
from izmp_dynamics.calibration.inertias import tensor, transformation
from izmp_dynamics.calibration.parameters import LAG, POSE_DELAY, Layout
from izmp_dynamics.calibration.residuals import force_offset, inertia_changes
from izmp_dynamics.calibration.result import CalibrationResult, render_html, render_json
from izmp_dynamics.model.feet import Foot, FootWrench
from izmp_dynamics.model.packages import PACKAGE
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.sensors import Imu, SegmentUnit
from izmp_dynamics.model.settings import stated
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.results.files import result_folder

ROBOT, URDF = 'robot.calibrated.yaml', 'robot.calibrated.urdf'
HTML, JSON = 'report.html', 'report.json'
NAMES = (ROBOT, URDF, HTML, JSON)

_DIGITS = 9  # significant digits that are written
MOMENTS = {'ixx': (0, 0), 'iyy': (1, 1), 'izz': (2, 2), 'ixy': (0, 1), 'ixz': (0, 2),
           'iyz': (1, 2)}  # fmt: skip
"""Names in a URDF → place in the tensor."""


@dataclass(frozen=True)
class Calibration:
    """What `estimate_corrections` gives.

    Attributes:
        result: as values for the report.
        robot: the corrected robot file; as it was if the result is not accepted.
        inertials: link → (10,) corrected parameters; empty if none are.
        urdf: the robot's URDF.
    """

    result: CalibrationResult
    robot: RobotFile
    inertials: dict[str, Array]
    urdf: Urdf


def corrected_robot(robot: RobotFile, layout: Layout, x: Array) -> RobotFile:
    """The robot file with what was estimated, on top of what it stated."""
    position = robot.position
    if position is not None:
        delay = _number(position.delay + layout.value(x, POSE_DELAY, 1)[0])
        position = dataclasses.replace(position, delay=delay)
    return dataclasses.replace(
        robot,
        position=position,
        imu=_imu(robot.imu, layout, x),
        feet=tuple(_foot(foot, layout, x) for foot in robot.feet),
        segments=tuple(_unit(unit, layout, x) for unit in robot.segments),
    )


def corrected_inertials(layout: Layout, x: Array) -> dict[str, Array]:
    """Link → (10,) parameters in its frame, of the links that change."""
    changes = inertia_changes(layout, x)
    return {link: layout.payload_link.theta + change for link, change in changes.items()}


def _unit(unit: SegmentUnit, layout: Layout, x: Array) -> SegmentUnit:
    name = f'segments[{unit.link}]'
    shift = from_rpy(unit.rotation) @ layout.value(x, f'{name}.xyz', 3)
    return dataclasses.replace(
        unit,
        **_mounting(unit, layout, x, name),
        xyz=_numbers(np.add(unit.xyz, shift)),
    )


def _mounting(sensor: Imu | SegmentUnit, layout: Layout, x: Array, name: str) -> dict[str, Any]:
    """Rotation and delay."""
    turn = Rotation.from_rotvec(layout.value(x, f'{name}.rotation', 3)).as_matrix()
    return {
        'delay': _delay(sensor.delay, layout.value(x, f'{name}.delay', 1)[0]),
        'rotation': _numbers(to_rpy(from_rpy(sensor.rotation) @ turn)),
    }


def _imu(imu: Imu, layout: Layout, x: Array) -> Imu:
    return dataclasses.replace(
        imu,
        **_mounting(imu, layout, x, 'imu'),
        gyroscope_delay=_number(imu.gyroscope_delay + layout.value(x, LAG, 1)[0]),
        **{
            key: _numbers(np.add(getattr(imu, key), layout.value(x, f'imu.{key}', 3)))
            for key in ('gyroscope_bias', 'accelerometer_bias')
        },
    )


def _delay(stated: float | None, change: float) -> float | None:
    """One that was not stated and does not change stays open."""
    return _number((stated or 0.0) + change) if change else stated


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
            delay=_delay(wrench.delay, layout.value(x, f'{name}.delay', 1)[0]),
            offset=_numbers(np.add(wrench.offset, change)),
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
    return float(f'{value:.{_DIGITS}g}')


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


def write_calibration(
    calibration: Calibration, folder: Path, overwrite: bool = False
) -> CalibrationResult:
    """Write the results of a calibration.

    Args:
        calibration: what was found.
        folder: where they go: robot.calibrated.yaml and, if inertials were corrected,
            robot.calibrated.urdf (neither if the calibration is refused); report.html,
            report.json. A relative path to the URDF becomes one from there.
        overwrite: replace an earlier result in `folder`.

    Returns:
        The result, with the places of its files.

    Raises:
        ReplayError: if the folder is taken or cannot be written to.
    """
    result = calibration.result
    texts: dict[str, str] = {}
    if result.accepted:
        urdf = calibration.robot.urdf
        if not (urdf.startswith(PACKAGE) or os.path.isabs(urdf)):
            urdf = os.path.relpath(calibration.robot.urdf_path.resolve(), folder.resolve())
        if calibration.inertials:
            urdf = URDF
            texts[URDF] = with_inertials(calibration.urdf.text, calibration.inertials)
        robot = dataclasses.replace(calibration.robot, urdf=urdf)
        texts[ROBOT] = robot_text(robot, result)
    result = dataclasses.replace(
        result, files={name: folder / name for name in (*texts, HTML, JSON)}
    )
    texts[HTML], texts[JSON] = render_html(result), render_json(result)
    with result_folder(folder, overwrite, NAMES) as partial:
        for name, text in texts.items():
            (partial / name).write_text(text, encoding='utf-8', errors='backslashreplace')
    return result


def robot_text(robot: RobotFile, result: CalibrationResult) -> str:
    """The robot file as YAML, with comments that say where its numbers come from.

    What the robot file before marks CHECK, as `izmp draft` does with its guesses, is kept.
    """
    before = robot.path.read_text(errors='replace') if robot.path else ''
    guesses = [f'#   CHECK: {_one_line(line)}' for line in re.findall(r'# CHECK:(.*)', before)]
    lines = [
        f'# {result.robot}, calibrated by izmp calibrate from:',
        *(f'#   {_one_line(bag)}' for bag in result.bags),
        '# What was added to the values of the robot file before, ± its standard deviation:',
    ]
    for estimate in result.estimates:
        if estimate.used:
            lines.append(
                f'#   {_one_line(estimate.name)}: {estimate.value:+.4g} ± {estimate.sigma:.2g} '
                f'{estimate.unit}'.rstrip()
            )
    lines += ['# The robot file before still says:', *guesses] if guesses else []
    if robot.filter.half_width is not None:
        lines.append(
            '# filter.half_width: as stated, or chosen by the noise of the first recording.'
        )
    body = yaml.safe_dump(
        stated(robot), sort_keys=False, allow_unicode=True, default_flow_style=None, width=99
    )
    return '\n'.join([*lines, '', body])


def _one_line(text: str) -> str:
    return ' '.join(text.split())
