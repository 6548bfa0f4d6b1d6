"""How a robot stands when a world begins."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_lab.walking.gaits import load_biped
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

_DIGITS = 9
"""Decimals of a start pose: no computer's last bits show in the files of a world."""


@dataclass(frozen=True)
class StartPose:
    """Joint positions and the pose of the URDF's root link.

    Attributes:
        q: joint → position [rad] or [m].
        world_R_root: (3, 3).
        p_root_in_world: (3,) [m]; the ground is at z = 0.
        reason: why the robot stands with its joints at zero; empty if it stands ready to walk.
    """

    q: Mapping[str, float]
    world_R_root: Array
    p_root_in_world: Array
    reason: str = ''


def start_pose(file: RobotFile, model: RobotModel) -> StartPose:
    """Let a robot stand as its walk begins; one that cannot walk with all joints at zero.

    Args:
        file: the robot file.
        model: of the URDF with the URDF's own root.
    """
    try:
        plan = plan_walk(load_biped(file), WalkParameters(steps=1)).plan
    except MotionError as error:
        return _upright(file, model, str(error))
    q = dict(zip(plan.joint_names, np.round(plan.q[0], _DIGITS).tolist(), strict=True))
    root_R_base, p_base_in_root = model.frame_pose(
        file.root or model.root, [q[name] for name in model.joint_names]
    )
    world_R_root = plan.root.rotation[0] @ root_R_base.T
    p_root_in_world = plan.root.position[0] - world_R_root @ p_base_in_root
    return StartPose(q, world_R_root, np.round(p_root_in_world, _DIGITS))


def _upright(file: RobotFile, model: RobotModel, reason: str) -> StartPose:
    """All joints at zero, or at the nearest limit; the lowest corner of a sole on the ground."""
    floating = load_model(file.urdf_path, file.root)
    zeros = np.clip(np.zeros(floating.dof), floating.position_lower, floating.position_upper)
    q = dict(zip(floating.joint_names, zeros.tolist(), strict=True))
    values = [q[name] for name in model.joint_names]
    lowest = 0.0
    for foot in file.feet:
        R, p = model.frame_pose(foot.sole, values)
        corners = p + np.array([[x, y, 0.0] for x, y in foot.polygon]) @ R.T
        lowest = min(lowest, float(corners[:, 2].min()))
    height = round(-lowest, _DIGITS)
    return StartPose(q, np.eye(3), np.array([0.0, 0.0, height]), reason)
