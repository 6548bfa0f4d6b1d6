"""Libraries that tests need: where one is missing they are skipped, or fail if it is required.

`IZMP_REQUIRE=pin,mujoco,rclpy` names libraries as one imports or installs them. A run of the tests
ends at once if one of them cannot be imported, so no skip for want of it can go unnoticed.
"""

import os
import subprocess
import sys
from typing import NoReturn

import pytest

_IMPORTED_AS = {
    'pin': 'pinocchio',
    'protobuf': 'google',
    'pycollada': 'collada',
    'ros-rclpy': 'rclpy',
    'uplot-python': 'uplot',
    'ros-jazzy-std-srvs': 'std_srvs',
    'ros-jazzy-visualization-msgs': 'visualization_msgs',
}
_TRY = """
import importlib, importlib.metadata, sys

def try_to_import(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        importlib.metadata.version(name) # a package of data has no module

for name in sys.argv[1:]:
    try:
        try_to_import(name)
    except Exception as error:
        print(f'{name}: {error}')
"""


def required() -> list[str]:
    """Import names of the libraries in `IZMP_REQUIRE`."""
    names = os.environ.get('IZMP_REQUIRE', '').replace(',', ' ').split()
    return [imported_as(name) for name in names]


def imported_as(name: str) -> str:
    """Import name of a library that is named as one imports or installs it."""
    return _IMPORTED_AS.get(name, name.lower().replace('-', '_'))


def check_required() -> None:
    """End the run if a required library cannot be imported, in a process of its own."""
    if not required():
        return
    tried = subprocess.run(
        [sys.executable, '-c', _TRY, *required()], capture_output=True, text=True
    )
    failed = tried.stdout.strip() or (tried.returncode and tried.stderr)
    if failed:
        pytest.exit(f'IZMP_REQUIRE names what cannot be imported:\n{failed}', returncode=1)


def skip_without(library: str, reason: object) -> NoReturn:
    """Skip the test for want of a library; fail it if the library is required."""
    if imported_as(library) in required():
        pytest.fail(f'IZMP_REQUIRE names {library}, but: {reason}', pytrace=False)
    pytest.skip(str(reason))
