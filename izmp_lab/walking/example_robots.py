"""Robots of the package example-robot-data."""

from pathlib import Path

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.model.packages import find_in_package


def example_robot(name: str, urdf: str) -> Path:
    """Return the path of a URDF of example-robot-data.

    Args:
        name: of the robot, for the message.
        urdf: the path below the folder of all robots.

    Raises:
        MissingDependencyError: if example-robot-data is not installed.
    """
    path = find_in_package(f'package://example-robot-data/robots/{urdf}')
    if path is None:
        raise MissingDependencyError('example-robot-data', name, 'pip install example-robot-data')
    return path
