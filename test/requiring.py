"""Libraries that tests need: where one is missing they are skipped, or fail if it is required.

What ends a test, or the import of its module, may be the lack of a library that `make test`
requires or that comes with ROS. Then the test is skipped, unless `IZMP_REQUIRE` names the library,
as one imports or installs it: `IZMP_REQUIRE=pin,mujoco,rclpy`. So no skip for want of one that
should be there goes unnoticed; a run ends at once if one of them is not installed.
"""

import importlib
import importlib.metadata
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from izmp_dynamics.base.errors import MissingDependencyError

_MAKEFILE = Path(__file__).parents[1] / 'Makefile'
_OF_ROS = {'ament_index_python', 'launch', 'launch_ros', 'tf2_msgs', 'tf2_ros', 'xacro'}
_WITH_RCLPY = re.compile(r'\w+_(msgs|srvs|interfaces)')
_IMPORTED_AS = {
    'pin': 'pinocchio',
    'protobuf': 'google',
    'pycollada': 'collada',
    'ros-rclpy': 'rclpy',
    'uplot-python': 'uplot',
    'ros-jazzy-std-srvs': 'std_srvs',
    'ros-jazzy-visualization-msgs': 'visualization_msgs',
}


def need(module):
    """Import a module; for what starts other processes, or makes a sentence of its absence."""
    return importlib.import_module(module)


def _imported(names):
    """Import names of libraries that are named as one imports or installs them."""
    split = re.split(r'[,\s\\]+', names)
    return {_IMPORTED_AS.get(name, name.lower().replace('-', '_')) for name in split if name}


def check_required():
    """End the run if a required library is not installed."""
    absent = sorted(filter(is_absent, _imported(os.environ.get('IZMP_REQUIRE', ''))))
    if absent:
        pytest.exit(f'IZMP_REQUIRE names what is not installed: {", ".join(absent)}', 1)


def is_absent(library):
    """Whether neither a module nor a package of data has this name."""
    if find_spec(library) is not None:
        return False
    try:
        importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return True
    return False


def _missing(error):
    """The library whose absence is an error or the cause of one; '' if it is none of ours."""
    listed = re.search(r'^REQUIRED := ((?:.*\\\n)*.*)$', _MAKEFILE.read_text(), re.MULTILINE)
    while error is not None:
        if isinstance(error, MissingDependencyError | ModuleNotFoundError):
            name = getattr(error, 'library', '') or getattr(error, 'name', None) or ''
            for library in _imported(name.partition('.')[0]):
                if library not in _OF_ROS and _WITH_RCLPY.fullmatch(library):
                    library = 'rclpy'
                ours = library in {'rclpy'} | _imported(listed[1]) and is_absent(library)
                if ours or library in _OF_ROS:
                    return library
        error = error.__cause__
    return ''


def skipped_if_missing(report, call, path):
    """Make a failed report that of a skip if a library is missing that is not required."""
    library = _missing(call.excinfo.value) if report.failed else ''
    if library and library not in _imported(os.environ.get('IZMP_REQUIRE', '')):
        report.outcome, report.longrepr = 'skipped', (str(path), 0, f'{library} is missing')
    return report
