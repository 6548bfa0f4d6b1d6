"""The robot file and the inertials that follow from a result."""

import dataclasses
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.rotations import from_rpy, to_rpy
from izmp_dynamics.calibration.parameters import LAG, Layout
from izmp_dynamics.calibration.residuals import inertia_changes
from izmp_dynamics.model.robot_file import Foot, FootWrench, Imu, RobotFile
from izmp_dynamics.signals.correction import offset_without

DIGITS = 9
"""Significant digits that are written."""


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
    change = layout.value(x, f'{name}.offset', 6)
    if len(change) == 1:
        change = np.array([0.0, 0.0, change[0], 0.0, 0.0, 0.0])
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
