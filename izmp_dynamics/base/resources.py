"""Find the files that are shipped beside the code: robots, configuration, launch files.

They are in the folders of a source checkout (also with an editable install or `colcon build
--symlink-install`), or below share/izmp_dynamics of the prefix that pip or colcon installed to.
"""

from pathlib import Path

from izmp_dynamics.base.errors import UnknownNameError

_PACKAGE = Path(__file__).resolve().parents[1]


def find_resource(name: str) -> Path:
    """Return the path of a shipped file.

    Args:
        name: its path in a source checkout, e.g. 'robots/biped31/robot.yaml'.

    Raises:
        UnknownNameError: there is no such file; names the ones of the same kind that exist.
    """
    folders = resource_folders(_PACKAGE)
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    alike = f'{Path(name).parts[0]}/**/*{Path(name).suffix}'
    found = ((folder, path) for folder in folders for path in sorted(folder.glob(alike)))
    valid = [path.relative_to(folder).as_posix() for folder, path in found]
    raise UnknownNameError('shipped file', name, valid)


def find_resources(pattern: str) -> list[Path]:
    """Return the paths of shipped files, e.g. 'robots/*/lowstate.yaml', in their order."""
    return [path for folder in resource_folders(_PACKAGE) for path in sorted(folder.glob(pattern))]


def resource_folders(package: Path) -> list[Path]:
    """Return the folders that hold the shipped files, the nearest first.

    Args:
        package: the folder of the Python package.
    """
    checkout = package.parent
    if (checkout / 'package.xml').is_file():
        return [checkout]
    shares = (prefix / 'share' / package.name for prefix in package.parents)
    return [share for share in shares if share.is_dir()]
