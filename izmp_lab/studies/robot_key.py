"""Which robot a run is about."""

from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.fleet.robots import robot_digest
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
            IzmpError: if they cannot be used.
        """
        return cls(str(Path(path).resolve()), robot_digest(Path(path)))

    def load(self) -> RobotFile:
        """Read the robot file."""
        return load_robot_file(Path(self.file))
