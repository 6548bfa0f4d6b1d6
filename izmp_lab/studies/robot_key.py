"""Which robot a run is about."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file


@dataclass(frozen=True)
class RobotKey:
    """Which robot a run is about, such that other content makes another key.

    Attributes:
        file: path of the robot file.
        digest: of the robot file and its URDF.
    """

    file: str
    digest: str

    @classmethod
    def of(cls, path: Path) -> 'RobotKey':
        """Read a robot file and its URDF.

        Raises:
            RobotFileError: if they cannot be read.
        """
        robot: RobotFile = load_robot_file(path)
        digest = hashlib.sha256(Path(path).read_bytes())
        try:
            digest.update(Path(robot.urdf_path).read_bytes())
        except OSError as error:
            raise RobotFileError(
                f"The URDF '{robot.urdf_path}' of '{path}' cannot be read: {error.strerror}.",
                kind='not_read',
                path=robot.urdf_path,
            ) from error
        return cls(str(Path(path).resolve()), digest.hexdigest()[:16])

    def load(self) -> RobotFile:
        """Read the robot file."""
        return load_robot_file(Path(self.file))
