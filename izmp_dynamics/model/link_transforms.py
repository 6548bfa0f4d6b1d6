"""Transforms between neighbouring links, as TF wants them."""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.conventions import Array, frozen
from izmp_dynamics.model.robot_model import RobotModel


class LinkTransforms:
    """The pose of every link in the frame of its parent in the (re-rooted) tree.

    Attributes:
        moving: (parent, child) of the links that joints move.
        fixed: (parent, child) of the links that are fixed to their parents.
        fixed_poses: (S, 7) their positions [m] and quaternions (x, y, z, w).
    """

    def __init__(self, model: RobotModel) -> None:
        moving = [segment for segment in model.tree.segments if segment.kind != 'fixed']
        fixed = [segment for segment in model.tree.segments if segment.kind == 'fixed']
        self.moving = tuple((segment.parent, segment.link) for segment in moving)
        self.fixed = tuple((segment.parent, segment.link) for segment in fixed)
        self.fixed_poses = frozen(
            np.array([_pose(segment.segment.pose(0.0)) for segment in fixed]).reshape(-1, 7)
        )
        self._rest = np.array([_pose(segment.segment.pose(0.0)) for segment in moving])
        self._rest = self._rest.reshape(-1, 7)
        joints = [segment.segment.getJoint() for segment in moving]
        self._axis = np.array([[*joint.JointAxis()] for joint in joints]).reshape(-1, 3)
        self._origin = np.array([[*joint.JointOrigin()] for joint in joints]).reshape(-1, 3)
        self._revolute = np.array([segment.kind == 'revolute' for segment in moving], dtype=bool)
        self._driver = np.array(
            [model.joint_names.index(segment.driver) for segment in moving], dtype=np.intp
        )
        self._multiplier = np.array([segment.multiplier for segment in moving])
        self._offset = np.array([segment.offset for segment in moving])

    def poses(self, q: Array) -> Array:
        """Compute the poses of the moving links.

        Args:
            q: (T, n) joint positions [rad] or [m].

        Returns:
            (T, J, 7) position [m] and quaternion (x, y, z, w) of each child in its parent.
        """
        position = self._multiplier * q[:, self._driver] + self._offset
        angle = np.where(self._revolute, position, 0.0)
        travel = np.where(self._revolute, 0.0, position)
        shape = (*position.shape, 3)
        turn = Rotation.from_rotvec((angle[..., None] * self._axis).reshape(-1, 3))
        arm = np.tile(self._rest[:, :3] - self._origin, (len(q), 1))
        rest = Rotation.from_quat(np.tile(self._rest[:, 3:], (len(q), 1)))
        p = self._origin + turn.apply(arm).reshape(shape) + travel[..., None] * self._axis
        return np.concatenate([p, (turn * rest).as_quat().reshape(*position.shape, 4)], axis=-1)


def _pose(frame: Any) -> list[float]:
    """Position and quaternion of a KDL frame."""
    return [*frame.p, *frame.M.GetQuaternion()]
