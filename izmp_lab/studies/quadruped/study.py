"""Quadrupeds that stand, crawl and trot in MuJoCo: which runs are made, what is kept of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from izmp_dynamics.base.conventions import seconds
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.robot_file import robot_file_path
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_dynamics.verdict.summary import summary_of
from izmp_lab.simulation.quadruped import simulate_quadruped
from izmp_lab.studies.robot_key import RobotKey
from izmp_lab.studies.runs import Arrays, Run

ROBOTS: Mapping[str, str] = {'go2': 'Go2', 'anymal_c': 'ANYmal C', 'solo12': 'Solo12'}
"""Name → how it is called on the page."""

LIMITS: Mapping[str, float] = {'stand': 0.01, 'crawl': 0.3, 'trot': 0.8}
"""Gait → largest mean distance of IZMP and true CoP [mm]."""

PUSHES: Mapping[str, float] = {'go2': 60.0, 'anymal_c': 60.0, 'solo12': 9.0}
"""Force of a push of 0.1 s [N]; that of Solo12 by its mass: it weighs a sixth of Go2."""

PUSH_AT = 4.0
"""[s]"""

_DURATION = {'stand': 3.0, 'crawl': 15.0, 'trot': 8.0}


@dataclass(frozen=True)
class QuadrupedStudy:
    """The runs, by what they are about.

    Attributes:
        robots: names.
    """

    robots: tuple[str, ...] = tuple(ROBOTS)

    def walk(self, robot: str, gait: str, push: float = 0.0) -> Run:
        """Describe a walk and its evaluation; with a push to the left [N]."""
        given = {'robot': robot, 'gait': gait, 'duration': _DURATION[gait], 'push': push}
        data = RobotKey.of(robot_file_path(robot)).digest
        return Run(evaluated, given, data=data, effort=_DURATION[gait])


def evaluated(robot: str, gait: str, duration: float, push: float) -> Arrays:
    """Simulate a walk, record it, and evaluate the recording as any other.

    Returns:
        Per instant of the evaluation: `time` (K,) [s], `izmp` and `cop` (K, 2) in the world [m],
        `com_velocity` (K, 2) [m/s], `margin` (K,) [m], `force` (K, 2) found external force along
        the ground [N], `counts` (K,) whether nothing pushes. As numbers and texts: `exact`,
        largest distance [m] with the exact motion; `weight`, measured force over the weight [-];
        `pushes` (P, 5) start, duration [s] and force [N]; `fall`, `state`.
    """
    pushes = [f'{push:g}:left:{PUSH_AT:g}'] if push else []
    with TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        simulated = simulate_quadruped(robot, gait, bag, duration=duration, pushes=pushes)
        found = evaluate_bag(bag, bag / 'robot.yaml')
    run, file = simulated.run, simulated.file
    truth, root = run.truth, run.truth.root
    motion = *root.felt(file.gravity), run.q, truth.qd, truth.qdd
    wrench, _ = MrAd(load_model(file.read_urdf(), file.root)).batch(*motion)
    ground = -np.einsum('tji,tj->ti', root.rotation, root.position)
    exact = zero_moment_point(wrench, root.rotation[:, 2, :], ground, 1.0) - truth.cop_in_root()
    free = np.asarray(~truth.applied_wrench.any(axis=1))

    rows = np.searchsorted(run.stamps, found.stamps)
    track, R = found.tracks['mr_ad'], root.rotation[rows]
    izmp = np.einsum('tij,tj->ti', R, track.point) + root.position[rows]
    force = np.full((len(rows), 3), np.nan)
    if found.external_force is not None:
        force = np.einsum('tij,tj->ti', R, found.external_force)
    velocity = np.gradient(truth.com, axis=0) * 1e9 / float(run.stamps[1] - run.stamps[0])
    summary = summary_of(found)
    return {
        'time': seconds(run.stamps)[rows],
        'izmp': izmp[:, :2],
        'cop': truth.cop[rows, :2],
        'com_velocity': velocity[rows, :2],
        'margin': track.margin,
        'force': force[:, :2],
        'counts': free[rows],
        'exact': np.array(np.abs(exact[free]).max()),
        'weight': np.array(summary.measured_over_weight),
        'pushes': np.array([
            [each.start, each.duration, *each.force] for each in summary.pushes
        ]).reshape(-1, 5),
        'fall': np.array(run.fall),
        'state': np.array(summary.verdict.state),
    }  # fmt: skip
