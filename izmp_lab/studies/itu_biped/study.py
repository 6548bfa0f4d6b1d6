"""The ITU Biped with and without converging CoG: which walks are simulated, what is kept of them.

A setting is a step time, a foot size and a friction; at each the robot walks by every method. Most
walks leave a score, those of figures 7 to 11 their tracks: see `walks`.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from izmp_dynamics.base.resources import find_resource
from izmp_lab.simulation.itu_experiment import ItuTrial
from izmp_lab.studies.drawing import Curve
from izmp_lab.studies.itu_biped import walks
from izmp_lab.studies.robot_key import RobotKey
from izmp_lab.studies.runs import Run

ROBOT = 'robots/itu_biped/robot.yaml'

METHODS: Mapping[str, Mapping[str, Any]] = {
    'constant': {'cog_tracking': 'constant'},
    'converging': {'cog_tracking': 'converging'},
    'filtered': {'cog_tracking': 'converging', 'filter_passes': 4},
}
"""Name → what sets it apart: the paper's two, and CCG after our dynamics filter."""

LARGE, SMALL = (0.23, 0.10), (0.12, 0.06)
"""Length and width of the largest and the smallest soles [m]."""


@dataclass(frozen=True, order=True)
class Setting:
    """What all methods have to cope with.

    Attributes:
        step_time: [s].
        foot: length and width of a sole [m].
        friction: [-].
    """

    step_time: float
    foot: tuple[float, float]
    friction: float

    def trial(self, method: str, **others: Any) -> ItuTrial:
        """Return the walk by a method; `others` are further attributes of the trial."""
        given = {**METHODS[method], **others}
        return dataclasses.replace(ItuTrial(self.step_time, self.foot, self.friction), **given)


@dataclass(frozen=True)
class Grid:
    """Settings that are tried.

    Attributes:
        step_times: [s].
        feet: lengths and widths of a sole [m].
        frictions: [-].
    """

    step_times: tuple[float, ...] = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
    feet: tuple[tuple[float, float], ...] = (SMALL, (0.15, 0.07), (0.18, 0.08), LARGE)
    frictions: tuple[float, ...] = (0.6, 0.8, 1.0, 1.2)

    @classmethod
    def quick(cls) -> 'Grid':
        """Return a small grid that still shows all that the page describes."""
        return cls((0.6, 1.0, 1.4), (SMALL, LARGE), (0.8, 1.0))

    def __iter__(self) -> Iterator[Setting]:
        for foot, friction, step_time in itertools.product(
            self.feet, self.frictions, self.step_times
        ):
            yield Setting(step_time, foot, friction)


SHOWN = Setting(1.4, SMALL, 1.0)
"""The walk of figures 7 to 11: CCG finishes, the constant vector falls."""

WITH_LARGE_FEET = Setting(1.0, LARGE, 1.0)
"""Where both finish, so that their errors can be compared over the whole walk."""

OPEN_PARAMETERS: Mapping[str, tuple[float, ...]] = {
    'double_support': (0.1, 0.3, 0.4),
    'step_width': (0.065, 0.11, 0.2),
    'contact_time': (0.005, 0.02, 0.03),
}
"""Attribute of the trial → other values than its own, for what the paper leaves open."""

POINT_INTERVALS = (0.002, 0.004, 0.01, 0.02, 0.04, 0.1)
"""Times between the points that Algorithm 1 is given [s]."""


@dataclass(frozen=True)
class ItuStudy:
    """The runs of the experiment, by what they are about.

    Attributes:
        grid: the settings.
        open_parameters: attribute of the trial → other values than its own.
        robot: which robot.
    """

    grid: Grid
    open_parameters: Mapping[str, tuple[float, ...]]
    robot: RobotKey

    @classmethod
    def full(cls) -> 'ItuStudy':
        """Prepare the whole experiment."""
        return cls(Grid(), OPEN_PARAMETERS, _robot_key())

    @classmethod
    def quick(cls) -> 'ItuStudy':
        """Prepare one that takes seconds and still shows all that the page describes."""
        few = {name: values[:1] for name, values in OPEN_PARAMETERS.items()}
        return cls(Grid.quick(), few, _robot_key())

    def score(self, method: str, setting: Setting, **others: Any) -> Run:
        """Describe the score of a walk."""
        return self._walk(walks.walk_score, walks.CogScore, setting.trial(method, **others))

    def tracks(self, method: str, setting: Setting) -> Run:
        """Describe the tracks of a walk."""
        return self._walk(walks.walk_tracks, walks.Tracks, setting.trial(method))

    def leg_closure(self) -> Run:
        """Describe the closing of the legs' kinematics."""
        return Run(walks.leg_closure, {'count': 2000})

    def iterations(self, step_time: float) -> Run:
        """Describe the count of the iterations of Algorithm 1."""
        given = {'robot': self.robot, 'step_time': step_time, 'intervals': POINT_INTERVALS}
        return Run(walks.iterations, given, effort=6.0)

    def _walk(self, function: Callable[..., Any], record: type, trial: ItuTrial) -> Run:
        effort = (6.0 * trial.step_time + 3.0) * (1.5 if trial.filter_passes else 1.0)
        return Run(function, {'robot': self.robot, 'trial': trial}, record, effort=effort)


def _robot_key() -> RobotKey:
    return RobotKey.of(find_resource(ROBOT))


PAPER_METHODS = ('converging', 'constant')
ALL_METHODS = (*PAPER_METHODS, 'filtered')

CURVES = {
    'converging': Curve('CCG', 'mr-ad', '-', 1.4, 'o'),
    'constant': Curve('constant vector', 'ir-md', (0, (4, 1.6)), 1.4, 's'),
    'filtered': Curve('CCG and dynamics filter', 'cop', (0, (1, 1)), 1.8, '^'),
}

WANTED_COG = Curve('wanted CoG', 'ink', (0, (1.2, 1.4)), 1.1, '')
WANTED_ZMP = Curve('wanted ZMP', 'muted', '-', 0.9, '')


def foot_text(foot: tuple[float, float]) -> str:
    """Write the size of a foot."""
    return f'{foot[0]:.2f} × {foot[1]:.2f} m'


def setting_text(setting: Setting) -> str:
    """Write a setting."""
    return (
        f'feet of {foot_text(setting.foot)}, steps of {setting.step_time:.1f} s, '
        f'friction {setting.friction:.1f}'
    )
