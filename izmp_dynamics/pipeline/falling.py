"""The fall alarm at the instants of the joints: from what the other stages found there."""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array, all_finite
from izmp_dynamics.dynamics.com_motion import ComMotion
from izmp_dynamics.pipeline.ground import Ground
from izmp_dynamics.pipeline.joints import JointGroup
from izmp_dynamics.pipeline.noise_propagation import gain_of, joint_weights, overlap
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.fall_alarm import Balance, FallAlarm, FallRisk
from izmp_dynamics.stability.held_joints import held_joints, unknown_foot
from izmp_dynamics.stability.velocity_noise import VelocityNoise

UNMEASURED = np.radians(1.0)
"""Standard deviation of a vertical that no orientation measures [rad]: times the height h of the
centre of mass it moves the capture point, as that times √(g/h) in the velocity would."""

_NOT_YET = 'it is not known yet which joints are published'


class FallStage:
    """Judges the instants of a robot with feet, in their order.

    Args:
        rig: the robot.
    """

    def __init__(self, rig: Rig) -> None:
        self._robot, self._model = rig.robot, rig.model
        self._soles = {foot.name: foot.sole for foot in rig.feet}
        self._motion = ComMotion(rig.model, [foot.sole for foot in rig.feet])
        self._alarm = FallAlarm(rig.robot.gravity, len(rig.feet), rig.robot.fall_alarm.missed_fall)
        self._noise = VelocityNoise()
        self._groups: tuple[JointGroup, ...] = ()
        self._ratio = self._overlap = 0.0
        self._unknown = _NOT_YET

    def reset(self) -> None:
        """Forget gait, noise and alarm."""
        self._alarm.reset()
        self._noise.reset()

    def evaluate(
        self,
        joints: JointKinematics,
        root: RootState,
        up: Array,
        measured: Array,
        ground: Ground,
        groups: Sequence[JointGroup],
    ) -> FallRisk:
        """Judge the next K instants.

        Args:
            joints: q, q̇, q̈.
            root: ω.
            up: (K, 3) vertical in the root frame; where it is unknown, the normal of the ground.
            measured: (K, 3) the same by a measured orientation alone; elsewhere it may be wrong by
                `UNMEASURED`, which widens what is known of the velocity.
            ground: soles and which of them carry load.
            groups: joints that are published together; empty while that is not known.

        Returns:
            The risk; not known where a joint above a sole has no publisher, or may have none.
        """
        self._learn(groups)
        if self._unknown:
            return self._alarm.push_unknown(joints.stamps, self._unknown)
        up, feet = np.ascontiguousarray(up), ground.feet
        soles, loaded = feet.soles, feet.loaded
        if not all_finite(up):
            known = np.asarray(np.isfinite(up).all(axis=1))
            up = np.where(known[:, None], up, ground.plane.normal)
        com, velocity, change = self._motion.batch(
            np.ascontiguousarray(root.angular_velocity), joints.positions, joints.velocities,
            joints.accelerations, soles.corners, soles.foot, up, loaded, soles.forces,
        )  # fmt: skip
        noise = self._noise.push(joints.stamps, change, self._ratio)
        assumed = ~np.asarray(np.isfinite(measured).all(axis=1))
        if assumed.any():
            height = np.einsum('ki,ki->k', up, com - soles.corners.mean(axis=1))
            error = assumed * UNMEASURED**2 * self._robot.gravity * np.nan_to_num(height)
            noise = noise + error[:, None, None] * np.eye(3)
        return self._alarm.push(
            Balance(
                joints.stamps, up, com, velocity, soles.corners, soles.foot, loaded, noise,
                assumed,
            ),
            self._overlap,
        )  # fmt: skip

    def _learn(self, groups: Sequence[JointGroup]) -> None:
        """Noise of q̇ over that of q̈ [s], how long errors of q̇ last, and what is not published."""
        if self._groups == tuple(groups):
            return
        self._groups, robot = tuple(groups), self._robot
        self._ratio = self._overlap = 0.0
        published = {column for group in groups for column in group.columns}
        held = held_joints(self._model, published, self._soles)
        said = '; '.join(unknown_foot(*each) for each in held.items())
        self._unknown = said if groups else _NOT_YET
        for group in groups:
            weights = joint_weights(robot.acd, robot.filter.half_width, group.period)
            gain = gain_of(weights)
            self._ratio = max(self._ratio, float(np.sqrt(gain.first / gain.second)))
            self._overlap = max(self._overlap, overlap(weights, group.period))
