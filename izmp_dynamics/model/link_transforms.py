"""Transforms between neighbouring links, as TF takes them."""

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.base.rotations import quaternions_of_matrices
from izmp_dynamics.model import kinematics
from izmp_dynamics.model.body_layout import POSE, POSITION
from izmp_dynamics.model.robot_model import FrameMount, RobotModel


class LinkTransforms:
    """The pose of every link in the frame of its parent in the (re-rooted) tree.

    The constructor compiles the kernel, so that no first sample waits for it.

    Attributes:
        moving: (parent, child) of the links that joints move.
        fixed: (parent, child) of the links that are fixed to their parents.
        fixed_poses: (S, 7) their positions [m] and quaternions (x, y, z, w).
    """

    def __init__(self, model: RobotModel) -> None:
        segments = model.tree.segments
        self.moving, self.fixed = (
            tuple((s.parent, s.link) for s in segments if (s.kind == 'fixed') == fixed)
            for fixed in (False, True)
        )
        self.fixed_poses = frozen(
            _with_quaternions(
                np.array(
                    [_between(model.mount(a), model.mount(b)) for a, b in self.fixed]
                ).reshape(-1, POSE)
            )
        )
        self._model = model
        root = FrameMount(0, np.eye(3), np.zeros(3))
        self._bodies = np.array([model.mount(b).body for _, b in self.moving], dtype=np.int64)
        self._parents = np.array([_between(model.mount(a), root) for a, _ in self.moving])
        self._parents = self._parents.reshape(-1, POSE)
        self._mounts = np.array([model.mount(b).pose for _, b in self.moving]).reshape(-1, POSE)
        with announced_compilation():
            self.poses(np.zeros((1, model.dof)))

    def poses(self, q: Array) -> Array:
        """Compute the poses of the moving links.

        Args:
            q: (T, n) joint positions [rad] or [m].

        Returns:
            (T, J, 7) position [m] and quaternion (x, y, z, w) of each child in its parent.
        """
        return _with_quaternions(
            kinematics.link_poses(
                self._model.joints, self._model.bodies, np.ascontiguousarray(q),
                self._bodies, self._parents, self._mounts,
            )
        )  # fmt: skip


def _between(parent: FrameMount, child: FrameMount) -> Array:
    """Pose (12,) of a frame in another one, both mounted on the same body."""
    R = parent.body_R_frame.T
    p = R @ (child.p_frame_in_body - parent.p_frame_in_body)
    return np.concatenate([(R @ child.body_R_frame).ravel(), p])


def _with_quaternions(poses: Array) -> Array:
    """Positions and quaternions (…, 7) of poses (…, 12); NaN where a rotation is not known."""
    out = np.full((*poses.shape[:-1], 7), np.nan)
    out[..., :3] = poses[..., POSITION:]
    known = np.isfinite(poses).all(axis=-1)
    if known.any():
        out[known, 3:] = quaternions_of_matrices(poses[known, :POSITION].reshape(-1, 3, 3))
    return out
