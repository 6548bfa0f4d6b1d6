"""Which recordings there are in a folder, and with which robot files."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.base.errors import IzmpError, UnknownNameError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file

CUTOFF = 4.0
"""Cut-off of the low-pass of the filtered evaluation, as in the README [Hz]."""


@dataclass(frozen=True)
class Log:
    """A recording and a robot file.

    Attributes:
        name: short and unique, for files and headings.
        bag: folder of the rosbag2.
        robot: robot file.
        urdf: instead of the one that it names; None to take that.
    """

    name: str
    bag: Path
    robot: Path
    urdf: Path | None = None

    def load_robot(self) -> RobotFile:
        """Read the robot file.

        Raises:
            RobotFileError: if it cannot be read.
        """
        return load_robot_file(self.robot, self.urdf)

    def digest(self) -> str:
        """Digest of recording, robot file and URDF."""
        digest = hashlib.sha256()
        urdf = Path(self.urdf or self.load_robot().urdf_path)
        for path in (*sorted(self.bag.iterdir()), self.robot, urdf):
            if path.suffix in {'.mcap', '.db3', '.zstd', '.yaml', '.urdf'}:
                digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Logs:
    """What a folder has.

    Attributes:
        found: recordings that can be evaluated.
        skipped: why others cannot, one sentence each.
    """

    found: tuple[Log, ...]
    skipped: tuple[str, ...]


def find_logs(folder: Path | None) -> Logs:
    """Find the recordings below a folder.

    A recording is a folder with a metadata.yaml. Its robot files are the `robot*.yaml` beside it;
    without one the robot file `examples/NAME/robot.yaml` of this package is taken, with the
    recording's robot.urdf.

    Args:
        folder: where to look; None for nowhere.
    """
    if folder is None:
        return Logs((), ())
    found, skipped = [], []
    for metadata in sorted(Path(folder).rglob('metadata.yaml')):
        bag = metadata.parent
        files = sorted(bag.glob('robot*.yaml'))
        for file in files:
            name = bag.name if len(files) == 1 else f'{bag.name}_{file.stem}'
            found.append(Log(name, bag, file))
        if not files:
            own = _shipped(bag)
            if own is None:
                skipped.append(
                    f"'{bag}' has no robot*.yaml, so its topics and soles are not known; put one "
                    'beside it (config/robot_example.yaml explains every key).'
                )
            else:
                found.append(own)
    return _readable(found, skipped)


def _readable(logs: list[Log], skipped: list[str]) -> Logs:
    found = []
    for log in logs:
        try:
            log.load_robot()
        except IzmpError as error:
            skipped.append(f"'{log.bag}' is left out: {error}")
        else:
            found.append(log)
    return Logs(tuple(found), tuple(skipped))


def _shipped(bag: Path) -> Log | None:
    """The robot file of this package for a recording that has none."""
    urdf = bag / 'robot.urdf'
    try:
        robot = find_resource(f'examples/{bag.name}/robot.yaml')
    except UnknownNameError:
        return None
    return Log(bag.name, bag, robot, urdf) if urdf.is_file() else None
