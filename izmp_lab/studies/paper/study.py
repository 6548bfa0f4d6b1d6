"""The runs of an experiment, by what they are about; figures ask for them by name."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.compare.metrics import MEASURES, MetricsError
from izmp_dynamics.model.sensors import Noise
from izmp_dynamics.model.settings import NOT_IN_FILE, read_settings, setting
from izmp_lab.studies.paper import tasks
from izmp_lab.studies.paper.sensors import Densities
from izmp_lab.studies.paper.trial import (
    HEEL_TO_TOE,
    PAPER_SETUPS,
    REFERENCE_RATE,
    SKIPPED_STEPS,
    VARIANTS,
    Setup,
    WalkCase,
    WalkTruth,
)
from izmp_lab.studies.runs import Arrays, RobotKey, Run

_ENOUGH = 40
"""Repetitions from which on the outer 2.5 % are left out of a range."""


@dataclass(frozen=True)
class Estimate:
    """A mean over repetitions and how well it is known.

    Attributes:
        mean: of the repetitions.
        half_width: of the 95 % confidence interval (Student's t); NaN for one repetition.
        count: number of repetitions.
        median: of the repetitions.
        range: (2,) between which 95 % of single repetitions are; the least and the largest of
            fewer than 40.
    """

    mean: float
    half_width: float
    count: int
    median: float
    range: tuple[float, float]

    def has(self, value: float) -> bool:
        """Whether a single repetition could have a value."""
        return self.range[0] <= value <= self.range[1]


def estimate(repetitions: Array) -> Estimate:
    """Return mean, 95 % confidence interval, median and range of repetitions (S,).

    Raises:
        MetricsError: if there is none.
    """
    repetitions = np.asarray(repetitions, np.float64).ravel()
    count = len(repetitions)
    if not count:
        raise MetricsError('A mean needs at least one repetition.', kind='no_repetition')
    low, high = np.quantile(repetitions, (0.025, 0.975), method='inverted_cdf')
    middle, ends = float(np.median(repetitions)), (float(low), float(high))
    if count < _ENOUGH:
        ends = float(repetitions.min()), float(repetitions.max())
    mean = float(repetitions.mean())
    if count == 1 or not np.isfinite(repetitions).all():
        return Estimate(mean, math.nan, count, middle, ends)
    spread = float(repetitions.std(ddof=1)) / math.sqrt(count)
    return Estimate(mean, float(student.ppf(0.975, count - 1)) * spread, count, middle, ends)


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
        """Refuse setups that bear one name, or one of the paper's."""
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
        return dataclasses.replace(self, seeds=4, steps=6)


def load_experiment(path: Path | None) -> Experiment:
    """Read an experiment file; without one everything is as in the paper.

    Raises:
        RobotFileError: a sentence that names file and line.
    """
    if path is None:
        return Experiment()
    return dataclasses.replace(read_settings(Experiment, Path(path)), path=Path(path))


MORE = 5
"""How many times the seeds of the experiment the setups of the paper have."""

RATES = (500.0, 250.0, 200.0, 125.0, 62.5)
"""Rates of the convergence study [Hz]: the paper's, and that of its reference."""

PHYSICS_RATES = (250.0, 200.0)
"""Rates of the physics at which the walk is simulated anew [Hz]; at 125 Hz the robot falls."""

FINE_RATE, FINEST_RATE = 1000.0, 2000.0
"""Rates of the physics that the convergence study decimates [Hz]; all of `RATES` divide them."""


@dataclass(frozen=True)
class PaperStudy:
    """Makes the runs of one experiment.

    Attributes:
        experiment: what is wanted.
        robot: which robot.
    """

    experiment: Experiment
    robot: RobotKey

    @classmethod
    def of(cls, experiment: Experiment) -> 'PaperStudy':
        """Prepare an experiment.

        Raises:
            RobotFileError: if its robot cannot be read.
        """
        return cls(experiment, RobotKey.of(experiment.robot_path))

    @property
    def setups(self) -> tuple[Setup, ...]:
        """The paper's setups, their variants, all with aligned quotients, the user's own."""
        aligned = tuple(setup.aligned() for setup in PAPER_SETUPS)
        return (*PAPER_SETUPS, *VARIANTS, *aligned, *self.experiment.setups)

    def walk(self, case: WalkCase) -> Run:
        """Simulation of a walk."""
        effort = 0.4 * case.steps * case.physics_rate / 500.0
        return Run(tasks.walk, {'robot': self.robot, 'case': case}, WalkTruth, effort=effort)

    def _of_walk(
        self, function: Callable[..., Arrays], case: WalkCase, effort: float = 1.0, **given: Any
    ) -> Run:
        given = {'robot': self.robot, 'trial': self.walk(case), **given}
        return Run(function, given, effort=effort)

    @property
    def walks(self) -> dict[str, WalkCase]:
        """All walks of the experiment by name."""
        level, given = self.experiment.walk, self.experiment
        return {
            f'{level.speed:g} m/s': level,
            f'{given.slope_speed:g} m/s': replace(level, speed=given.slope_speed),
            f'onto a slope of {given.slope_deg:g}°': self.slope_walk,
            f'pushed by {given.push:g} N': replace(level, push=given.push),
            'from heel to toe': self.rolling_walk,
        }

    @property
    def slope_walk(self) -> WalkCase:
        """The walk onto the slope."""
        given = self.experiment
        return WalkCase(given.slope_speed, given.slope_steps, given.slope_deg)

    @property
    def rolling_walk(self) -> WalkCase:
        """The level walk with a ZMP that rolls from heel to toe."""
        return replace(self.experiment.walk, zmp_travel=HEEL_TO_TOE)

    def exact(self, case: WalkCase) -> Run:
        """IZMP of the exact motion of a walk beside what the ground does."""
        return self._of_walk(tasks.exact, case)

    def izmp(self, setup: Setup, noisy: bool = False, case: WalkCase | None = None) -> Run:
        """One evaluation of a walk, of the level one if none is given."""
        noise = self.experiment.densities if noisy else None
        return self._of_walk(
            tasks.izmp, case or self.experiment.walk, setup=setup, noise=noise, seed=0
        )

    def phases(self, setup: Setup) -> Run:
        """Ideal comparisons with the reference, one per phase of the sampling."""
        count = round(REFERENCE_RATE / setup.bus)
        return self._of_walk(
            tasks.repetitions, self.experiment.walk, setup=setup, noise=None, count=count
        )

    def repetitions(self, setup: Setup) -> Run:
        """Noisy comparisons of a setup with its reference, for figs. 9 and 10.

        Of those whose Δ the paper prints there are `MORE` times as many: Δ has heavy tails.
        """
        count = self.experiment.seeds * (MORE if setup in PAPER_SETUPS else 1)
        return self._of_walk(
            tasks.repetitions, self.experiment.walk, 0.1 * count, setup=setup,
            noise=self.experiment.densities, count=count,
        )  # fmt: skip

    def sensor_noise(self) -> Run:
        """Noise that the sensors bear."""
        given = self.experiment
        return self._of_walk(tasks.sensor_noise, given.walk, noise=given.densities)

    def convergence(self, method: str, convention: str, physics_rate: float = FINEST_RATE) -> Run:
        """Errors of a method at all `RATES`."""
        case = replace(self.experiment.walk, physics_rate=physics_rate)
        return self._of_walk(
            tasks.convergence, case, 4.0, method=method, convention=convention, rates=RATES
        )

    def physics_step(self, method: str, rate: float) -> Run:
        """Error of a method when physics, sensors and bus all run at a rate [Hz]."""
        level = self.experiment.walk
        finer = self.walk(replace(level, physics_rate=REFERENCE_RATE))
        case = replace(level, physics_rate=rate)
        return self._of_walk(tasks.physics_step, case, finer=finer, method=method)

    def spread(self, setup: Setup) -> Run:
        """Predicted and observed standard deviation."""
        given = self.experiment
        return self._of_walk(
            tasks.spread, given.walk, 4.0, setup=setup, noise=given.densities,
            count=3 * given.seeds,
        )  # fmt: skip

    def slope(self, setup: Setup) -> Run:
        """The walk onto the slope."""
        given = self.experiment
        return self._of_walk(
            tasks.slope, self.slope_walk, 2.0, slope_deg=given.slope_deg, setup=setup,
            noise=given.densities,
        )  # fmt: skip


def of_measure(repetitions: Arrays, measure: str) -> Estimate:
    """Mean and interval of a measure of y over all repetitions of a setup."""
    return estimate(repetitions['measures'][:, 1, MEASURES.index(measure)])
