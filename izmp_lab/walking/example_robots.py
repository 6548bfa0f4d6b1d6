"""Robots of the package example-robot-data."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from izmp_dynamics.base.errors import MissingDependencyError


def example_robot(name: str, urdf: str) -> Path:
    """Return the path of a URDF of example-robot-data.

    Args:
        name: of the robot, for the message.
        urdf: the path below the folder of all robots.

    Raises:
        MissingDependencyError: if example-robot-data is not installed.
    """
    for prefix in _prefixes():
        path = prefix / 'share/example-robot-data/robots' / urdf
        if path.is_file():
            return path
    raise MissingDependencyError('example-robot-data', name, 'pip install example-robot-data')


def _prefixes() -> Iterator[Path]:
    """Where example-robot-data may be installed: by pip, in a ROS workspace, by the system."""
    for folder in sys.path:
        yield Path(folder, 'cmeel.prefix')
    for variable in ('AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH'):
        yield from map(Path, filter(None, os.environ.get(variable, '').split(os.pathsep)))
    yield Path(sys.prefix)
