"""Files about a run on the seesaw: the log as CSV, the states of the KKT plant as a bag."""

import csv
import io
from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.rotations import from_matrices
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.closed_loop import SeesawRun
from izmp_lab.seesaw.state import BalanceState

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
