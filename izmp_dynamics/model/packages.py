"""Files of packages, `package://PACKAGE/PATH`: of ROS workspaces, and of pip."""

import os
import sys
from pathlib import Path
from urllib.parse import unquote

from izmp_dynamics.base.errors import RobotFileError

PACKAGE = 'package://'

_DISTRIBUTIONS = {'iCub': 'icub-models'}
"""Package → what pip calls it."""


def find_in_package(address: str, near: Path | None = None) -> Path | None:
    """Find a file of a package.

    Args:
        address: package://PACKAGE/PATH, or model:// in its place.
        near: a folder; those around it may be the package.

    Returns:
        An existing file; None without any. The package is looked for around `near`, on
        ROS_PACKAGE_PATH, below the prefixes of ROS workspaces and CMake, where pip installs, and
        among what robot_descriptions has pulled.
    """
    _, _, rest = address.partition('://')
    package, _, inside = unquote(rest).partition('/')
    if package in ('', '.', '..') or '..' in inside.split('/'):  # not a file of the package
        return None
    places = (folder / inside.lstrip('/') for folder in _package_folders(package, near))
    return next((place for place in places if is_file(place)), None)


def is_file(path: Path) -> bool:
    """Whether the file is there; False for a name that cannot be one."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or with a NUL
        return False


def urdf_at(named: str, folder: Path) -> Path:
    """Return the path of the URDF that a robot file names.

    Args:
        named: package://PACKAGE/PATH, or a path, relative to the folder; ~ is the home.
        folder: of the robot file.

    Raises:
        RobotFileError: the package is not installed, or does not have the file.
    """
    if not named.startswith(PACKAGE):
        return folder / os.path.expanduser(named)
    found = find_in_package(named, folder)
    if found is None:
        package = named.removeprefix(PACKAGE).partition('/')[0]
        pull = f'pip install robot_descriptions, then robot_descriptions pull {package}'
        install = f'pip install {_DISTRIBUTIONS.get(package, package)}'
        raise RobotFileError(
            f"urdf is '{named}', and there is no such file. Install the package {package} (with "
            f'pip, if it is there: {pull if package.endswith("_description") else install}) or '
            'source the ROS workspace that has it, or give the path of the URDF (--urdf).',
            kind='urdf_package_absent', urdf=named, package=package,
        )  # fmt: skip
    return found


def _package_folders(package: str, folder: Path | None) -> list[Path]:
    """Folders that may be the package, the nearest first."""
    places = []
    for above in (folder, *folder.parents) if folder is not None else ():
        places += [above] if above.name == package else []
        places.append(above / package)
    for path in _paths('ROS_PACKAGE_PATH'):
        places.append(path / package)
    prefixes = [*_paths('AMENT_PREFIX_PATH'), *_paths('CMAKE_PREFIX_PATH')]
    prefixes += [*(Path(path, 'cmeel.prefix') for path in sys.path), Path(sys.prefix)]
    places += [prefix / 'share' / package for prefix in prefixes]
    pulled = os.environ.get('ROBOT_DESCRIPTIONS_CACHE') or '~/.cache/robot_descriptions'
    for repository in Path(os.path.expanduser(pulled)).glob('*'):
        places += [repository.parent / package, repository / package]
        places.append(repository / 'robots' / package)
    return places


def _paths(variable: str) -> list[Path]:
    return [Path(path) for path in os.environ.get(variable, '').split(os.pathsep) if path]
