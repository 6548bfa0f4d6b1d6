"""Findings about the force sensors of the feet, from a recording.

`izmp check` adds these findings to those of `replay.check`.
"""

from os import PathLike

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.calibration.force_sensors import judge_force_sensors
from izmp_dynamics.calibration.read_stretches import read_stretches
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model


def force_sensor_findings(bag: str | PathLike[str], robot: RobotFile) -> list[Finding]:
    """Find out how the force sensors are turned, and what they read without load.

    Args:
        bag: rosbag2, folder or file; one that can be evaluated.
        robot: the robot file.

    Returns:
        Findings; none where the recording has no steps, or cannot be used for this.
    """
    try:
        model = load_model(robot.urdf_path, robot.root)
        rig, parts = read_stretches(bag, robot, model)
    except IzmpError:
        return []
    return judge_force_sensors(robot, rig, parts)
