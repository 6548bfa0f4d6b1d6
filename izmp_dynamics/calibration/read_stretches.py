"""The stretches of a recording, see `stretch`."""

from collections import defaultdict
from os import PathLike

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.calibration.stretch import Stretch, cut_stretches
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.topic_use import credible_stamps
from izmp_dynamics.signals.samples import Samples, joined
from izmp_dynamics.stability.held_joints import REMEDY, unknown_foot

SPAN = 5.0
"""Time that is read at once [s]."""


def read_stretches(
    path: str | PathLike[str], robot: RobotFile, model: RobotModel
) -> tuple[Rig, tuple[Stretch, ...]]:
    """Read a recording.

    Args:
        path: rosbag2, folder or file.
        robot: the robot file; what it states about errors is taken out.
        model: its model.

    Returns:
        The robot, prepared, and the stretches in which joints, IMU and all feet's sensors publish.

    Raises:
        IzmpError: if bag, joints or IMU cannot be used, or a joint above a sole is not recorded.
    """
    parts: defaultdict[str, list[Samples]] = defaultdict(list)
    with BagReader(path) as bag:
        recording = Recording(bag, robot, model)
        for foot, joints in recording.held_joints.items():
            raise ReplayError(
                f"'{path}' cannot be calibrated from: {unknown_foot(foot, joints)}. {REMEDY}",
                kind='leg_joints_absent',
                foot=foot,
                joints=joints,
            )
        for signals, _ in recording.spans(SPAN):
            for name, samples in signals.items():
                parts[name].append(samples)
    whole = {name: joined(some, some[0]) for name, some in parts.items()}
    credible = {name: part.rows(credible_stamps(part.stamps)) for name, part in whole.items()}
    return recording.rig, cut_stretches(str(path), recording.rig, credible)
