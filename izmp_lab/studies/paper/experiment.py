"""The experiment file: what `izmp experiments paper` runs, and with which robot.

Without a file everything has the value of the paper; `config/paper_experiment.yaml` teaches it.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.robot_file import Noise
from izmp_dynamics.model.settings import NOT_IN_FILE, read_settings, setting
from izmp_lab.studies.paper.root_sensors import Densities
from izmp_lab.studies.paper.setups import PAPER_SETUPS, VARIANTS, Setup
from izmp_lab.studies.paper.trial import SKIPPED_STEPS, WalkCase

DEFAULT_ROBOT = 'robots/biped31/robot.yaml'

FEWEST_STEPS = 2 * SKIPPED_STEPS + 2
"""So that at least one whole step of each foot is evaluated."""


@dataclass(frozen=True)
class Experiment:
    """An experiment; the defaults are the paper's."""

    robot: str | None = setting(
        'robot file, relative to this file; that of biped31 if not given', default=None
    )
    seeds: int = setting('repetitions with other noise', default=20, lower=2, upper=10_000)
    steps: int = setting('steps of every walk', default=20, lower=FEWEST_STEPS, upper=500)
    speed: float = setting(
        'of the walk on level ground', default=0.3, unit='m/s', lower=0.05, upper=1.0
    )
    slope_speed: float = setting(
        'of the walk onto the slope', default=0.15, unit='m/s', lower=0.05, upper=0.5
    )
    slope_steps: int = setting('steps of that walk', default=24, lower=22, upper=500)
    slope_deg: float = setting('angle of the slope', default=10.0, unit='°', lower=0.5, upper=20.0)
    push: float = setting(
        'sideways force on the root for 0.1 s, for the gap between CoP and IZMP',
        default=30.0, unit='N', lower=1.0, upper=200.0,
    )  # fmt: skip
    noise: Noise = setting('noise densities', factory=Noise)  # noqa: RUF009
    setups: tuple[Setup, ...] = setting(
        'further setups, compared with their ideal reference beside those of the paper', default=()
    )
    path: Path | None = dataclasses.field(default=None, metadata=NOT_IN_FILE)

    def __post_init__(self) -> None:
        """Refuse setups that bear one name, or one of the paper's.

        Raises:
            RobotFileError: if one does.
        """
        names = [setup.name for setup in self.setups]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise RobotFileError(
                f"two setups are called '{twice[0]}'; give each its own name.",
                kind='setup_twice',
                setup=twice[0],
            )
        taken = sorted({setup.name for setup in (*PAPER_SETUPS, *VARIANTS)} & set(names))
        if taken:
            raise RobotFileError(
                f"'{taken[0]}' is a setup of the paper; give your own another name.",
                kind='setup_of_paper',
                setup=taken[0],
            )

    @property
    def robot_path(self) -> Path:
        """The robot file."""
        if self.robot is None:
            return find_resource(DEFAULT_ROBOT)
        return (self.path.parent if self.path else Path()) / self.robot

    @property
    def densities(self) -> Densities:
        """The noise densities."""
        return Densities(self.noise.accelerometer, self.noise.gyroscope)

    @property
    def walk(self) -> WalkCase:
        """The walk on level ground."""
        return WalkCase(self.speed, self.steps)

    def quick(self) -> 'Experiment':
        """Return a small version that touches everything, for a smoke test."""
        return dataclasses.replace(self, seeds=4, steps=8)


def load_experiment(path: Path | None) -> Experiment:
    """Read an experiment file; without one everything is as in the paper.

    Raises:
        RobotFileError: a sentence that names file and line.
    """
    if path is None:
        return Experiment()
    return dataclasses.replace(read_settings(Experiment, Path(path)), path=Path(path))
