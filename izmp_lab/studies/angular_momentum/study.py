"""Walking patterns with angular-momentum estimation: which walks are planned and simulated.

The experiments of Mayr et al. are E1 (a point mass), E2 (its second iteration), E3 (16 uniform
nodes) and E4 (8 nodes, half of them early). Their poster leaves robot, weights and gait open;
what is taken is in the trial and in `MomentumParameters`.
"""

from dataclasses import dataclass
from pathlib import Path

import yaml

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.pages.files import write_files
from izmp_lab.studies.angular_momentum import walks
from izmp_lab.studies.angular_momentum.walks import Robot, Trial
from izmp_lab.studies.drawing import Curve
from izmp_lab.studies.robot_key import RobotKey
from izmp_lab.studies.runs import Run
from izmp_lab.walking.biped import BIPED31_POSTURE
from izmp_lab.walking.example_robots import example_robot

POSTURE = {
    'arm_left_2_joint': 0.3, 'arm_left_4_joint': -1.2,
    'arm_right_2_joint': -0.3, 'arm_right_4_joint': -1.2,
}  # fmt: skip
"""Joint positions at rest [rad]: the arms hang, with bent elbows."""

_TALOS = 'talos_data/robots/talos_reduced.urdf'
_SOLE = [[0.1, 0.06], [-0.1, 0.06], [-0.1, -0.06], [0.1, -0.06]]


def write_robot_file(folder: Path) -> Path:
    """Write talos.yaml into a folder, and return its path.

    Raises:
        MissingDependencyError: if example-robot-data is not installed.
        StoreError: if the folder cannot be written.
    """
    robot = {
        'urdf': str(example_robot('TALOS', _TALOS)),
        'root': 'base_link',
        'joints': {'topic': 'joint_states'},
        'imu': {'topic': 'imu', 'frame': 'imu_link'},
        'feet': [
            {'name': f'{side}_foot', 'sole': f'{side}_sole_link', 'polygon': _SOLE}
            for side in ('left', 'right')
        ],
    }
    text = '# TALOS of example-robot-data, with the soles that its URDF lacks.\n'
    text += yaml.safe_dump(robot, sort_keys=False)
    write_files({'talos.yaml': text.encode()}, folder)
    return folder / 'talos.yaml'


CURVES = {
    'E1': Curve('E1: point mass', 'ir-md', (0, (4, 1.6)), 1.3, 's'),
    'E2': Curve('E2: second iteration', 'other', (0, (2, 1)), 1.3, 'D'),
    'E3': Curve('E3: 16 uniform nodes', 'cop', (0, (1, 1)), 2.2, '^'),
    'E4': Curve('E4: 8 nodes, half early', 'mr-ad', '-', 1.2, 'o'),
}
SCHEMES = tuple(CURVES)


@dataclass(frozen=True)
class MomentumStudy:
    """The runs of the experiment.

    Attributes:
        robots: biped31, and TALOS where example-robot-data is installed.
        step_times: of the grid [s].
        step_lengths: of the grid [m].
        weights: values of α = γ.
        soles: how many lengths of soles are simulated.
        cycles: planning cycles that are timed.
    """

    robots: tuple[Robot, ...]
    step_times: tuple[float, ...] = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
    step_lengths: tuple[float, ...] = (0.15, 0.20, 0.25, 0.30)
    soles: int = 5

    @classmethod
    def full(cls, folder: Path) -> 'MomentumStudy':
        """Prepare the whole experiment; TALOS's robot file is written into the folder."""
        return cls(_robots(folder))

    @classmethod
    def quick(cls, folder: Path) -> 'MomentumStudy':
        """Prepare one that takes seconds and still shows all that the page describes."""
        return cls(
            _robots(folder)[:1], step_times=(0.6, 0.75, 0.8), step_lengths=(0.25,),
            soles=1,
        )  # fmt: skip

    @property
    def biped31(self) -> Robot:
        """The robot that is always there."""
        return self.robots[0]

    def score(self, robot: Robot, trial: Trial) -> Run:
        """Describe the score of a planned walk."""
        return Run(walks.plan_score, {'robot': robot, 'trial': trial}, walks.ZmpScore)

    def tracks(self, robot: Robot, trial: Trial) -> Run:
        """Describe the tracks of a planned walk."""
        return Run(walks.plan_tracks, {'robot': robot, 'trial': trial})

    def executed(self, robot: Robot, trial: Trial) -> Run:
        """Describe the execution of a walk by the plant."""
        given = {'robot': robot, 'trial': trial}
        return Run(walks.executed, given, walks.WalkOutcome, effort=10.0)

    def sole_lengths(self, robot: Robot) -> tuple[float, ...]:
        """Lengths of the soles that are simulated [m]: the robot's own, then the shortest."""
        chosen = (robot.soles[0], *robot.soles[:0:-1][: self.soles - 1])
        return tuple(sorted(chosen, reverse=True))


def _robots(folder: Path) -> tuple[Robot, ...]:
    own = Robot(
        'biped31', RobotKey.of(find_resource('robots/biped31/robot.yaml')), BIPED31_POSTURE, 0.75,
        ankle_feedback=True, soles=(0.24, 0.16, 0.12, 0.10, 0.08),
    )  # fmt: skip
    try:
        path = write_robot_file(folder)
    except MissingDependencyError:
        return (own,)
    other = Robot(
        'TALOS', RobotKey.of(path), POSTURE, 0.86, ankle_feedback=False,
        soles=(0.20, 0.16, 0.12, 0.10, 0.08),
    )  # fmt: skip
    return own, other
