"""A whole run on the seesaw: check, simulation, recording, log, summary."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.base.rotations import from_matrices
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.closed_loop import TICK, SeesawRun, balance_on_seesaw, ticks_of
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.kkt_plant import KktPlant
from izmp_lab.seesaw.loop_check import LoopCheck, require_stable
from izmp_lab.seesaw.state import BalanceState
from izmp_lab.simulation.physics import Shove

LOG = 'seesaw.csv'
"""Name of the log in the folder of the bag."""


def log_text(run: SeesawRun, joint_names: Sequence[str]) -> str:
    """Return the log as CSV: a row per tick, SI units; the angle in degrees, too."""
    columns = {
        'time': run.times,
        'angle_deg': np.degrees(run.angle),
        **{f'com_{axis}': run.com[:, k] for k, axis in enumerate('xyz')},
        **{f'com_reference_{axis}': run.com_reference[:, k] for k, axis in enumerate('xyz')},
        **{f'linear_error_{axis}': run.momentum_error[:, k] for k, axis in enumerate('xyz')},
        **{f'angular_error_{axis}': run.momentum_error[:, 3 + k] for k, axis in enumerate('xyz')},
        'solved': run.solved.astype(int),
        **{f'torque_{name}': run.torques[:, k] for k, name in enumerate(joint_names)},
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([f'{value:.9g}' for value in row])
    return text.getvalue()


def record_states(
    states: Sequence[BalanceState],
    robot: BalancingRobot,
    path: str | PathLike[str],
    *,
    files: Mapping[str, str] | None = None,
    storage: str = 'mcap',
    overwrite: bool = False,
) -> None:
    """Write joint states, root and board as a bag; the KKT plant has no sensors.

    Args:
        states: a row each; the first is stamped with 1 s.
        robot: names joints and root.
        path: folder that the bag will be.
        files: name → text of further files in it.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.

    Raises:
        BagError: if the bag exists or cannot be written.
    """
    stamps = np.array([NANOSECONDS + round(1e9 * state.time) for state in states], dtype=np.int64)
    n = robot.model.dof
    with BagWriter(path, storage, overwrite, {'motion': 'seesaw', 'robot': robot.name}) as bag:
        for name, text in (files or {}).items():
            bag.add_file(name, text)
        bag.add_topic(
            '/joint_states', 'sensor_msgs/msg/JointState',
            {'name': robot.model.joint_names, 'position': np.zeros(n), 'velocity': np.zeros(n)},
        )  # fmt: skip
        bag.write_batch(
            '/joint_states', stamps,
            {
                'position': np.array([state.q for state in states]),
                'velocity': np.array([state.qd for state in states]),
            },
        )  # fmt: skip
        for topic, bodies in (
            ('/ground_truth/root_pose', [state.root for state in states]),
            ('/board/pose', [state.board for state in states]),
        ):
            bag.add_topic(topic, 'geometry_msgs/msg/PoseStamped', {'header.frame_id': 'world'})
            quaternions = from_matrices(np.array([body.rotation for body in bodies])).as_quat()
            positions = np.array([body.position for body in bodies])
            poses = {'pose.position': positions, 'pose.orientation': quaternions}
            bag.write_batch(topic, stamps, poses)


PLANTS = ('mujoco', 'kkt')


@dataclass(frozen=True)
class SeesawOutcome:
    """The outcome of a run.

    Attributes:
        check: of the loop, before it.
        run: the run.
    """

    check: LoopCheck
    run: SeesawRun

    def summary_lines(self) -> list[str]:
        """Say in sentences how it went; not how the robot fell, see `run.fall`."""
        run = self.run
        return [
            f'Check:   stable at {1.0 / self.check.tick:g} Hz; the slowest deviation decays with '
            f'{self.check.time_constant:.1f} s',
            f'Board:   at most {np.degrees(run.largest_angle()):.2f}°, at the end '
            f'{np.degrees(run.angle[-1]):+.3f}°, after {run.times[-1] + TICK:.2f} s',
            f'CoM:     {1e3 * run.lateral_rmse():.2f} mm lateral RMS from its reference',
            f'Control: {len(run.times)} ticks, {run.unsolved} without a solution, '
            f'{1e3 * np.median(run.effort):.2f} ms each (median)',
        ]


def simulate_seesaw(
    controller: MomentumController,
    bag: Path,
    *,
    plant: str = 'mujoco',
    duration: float = 60.0,
    pushes: Sequence[Shove] = (),
    storage: str = 'mcap',
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> SeesawOutcome:
    """Let a robot balance on the seesaw, from its stance on the level board.

    Args:
        controller: of the robot.
        bag: folder to record to. 'mujoco' records all sensors and the truth, and a robot file to
            evaluate them with; 'kkt' the states at 100 Hz.
        plant: one of PLANTS.
        duration: [s].
        pushes: on the torso.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.
        progress: is called now and then with the part that is simulated, 0 … 1.

    Raises:
        BagError: if the bag exists or cannot be written.
        ModelError: if the loop of controller and robot is unstable, before anything is simulated.
        IzmpError: if it cannot be simulated.
    """
    if plant not in PLANTS:
        raise UnknownNameError('plant', plant, PLANTS)
    BagWriter(bag, storage, overwrite)  # refuses a place that is taken
    ticks_of(duration, pushes)  # refuses what cannot be before the loop is checked
    check, robot = require_stable(controller, TICK), controller.robot
    if plant == 'kkt':
        ideal = StatesOfTicks(controller)
        run = balance_on_seesaw(ideal, controller, duration, pushes, progress)
        files = {LOG: log_text(run, robot.model.joint_names)}
        record_states(ideal.states, robot, bag, files=files, storage=storage, overwrite=overwrite)
        return SeesawOutcome(check, run)
    from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw, SeesawRecorder, record_seesaw

    recorder = SeesawRecorder()
    seesaw = MujocoSeesaw(robot, controller.seesaw, observer=recorder)
    run = balance_on_seesaw(seesaw, controller, duration, pushes, progress)
    sensed = recorder.run(seesaw, 'seesaw', run.fall)
    files = {LOG: log_text(run, robot.model.joint_names)}
    record_seesaw(sensed, seesaw, bag, files=files, storage=storage, overwrite=overwrite)
    return SeesawOutcome(check, run)


class StatesOfTicks(KktPlant):
    """The KKT plant; keeps the states at the beginnings of the ticks."""

    def __init__(self, controller: MomentumController) -> None:
        super().__init__(controller.robot, controller.seesaw, gravity=controller.gravity)
        self.states: list[BalanceState] = []

    def step(self, torques: Array, duration: float, push: Array | None = None) -> BalanceState:
        """Make a tick."""
        self.states.append(self.state)
        return super().step(torques, duration, push)
