"""The fall alarm at the instants of the joints: from what the other stages found there."""

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.dynamics.com_motion import ComMotion
from izmp_dynamics.pipeline.ground import Ground
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.fall_alarm import Balance, FallAlarm, FallRisk


class FallStage:
    """Judges the instants of a robot with feet, in their order.

    Args:
        rig: the robot.
    """

    def __init__(self, rig: Rig) -> None:
        self._motion = ComMotion(rig.model, [foot.sole for foot in rig.feet])
        self._alarm = FallAlarm(rig.robot.gravity, len(rig.feet), rig.robot.fall_alarm.missed_fall)

    def reset(self) -> None:
        """Forget gait and alarm."""
        self._alarm.reset()

    def evaluate(
        self,
        joints: JointKinematics,
        root: RootState,
        up: Array,
        ground: Ground,
    ) -> FallRisk:
        """Judge the next K instants.

        Args:
            joints: q, q̇.
            root: ω.
            up: (K, 3) vertical in the root frame; where it is unknown, the normal of the ground.
            ground: soles and which of them carry load.
        """
        known = np.asarray(np.isfinite(up).all(axis=1))
        up = np.where(known[:, None], up, ground.plane.normal)
        corners = [sole.corners for sole in ground.soles]
        com, velocity = self._motion.batch(
            root.angular_velocity, joints.positions, joints.velocities, corners, up, _loads(ground)
        )
        return self._alarm.push(Balance(joints.stamps, up, com, velocity, corners, ground.loaded))


def _loads(ground: Ground) -> Array:
    """(K, F) forces on the feet that carry load; one each where not all are known."""
    forces = [sole.normal_force for sole in ground.soles]
    measured = [force for force in forces if force is not None]
    weights = np.ones(ground.loaded.shape)
    if len(measured) == len(forces):
        force = np.stack(measured, axis=1)
        known = np.isfinite(force).all(axis=1, keepdims=True)
        weights = np.where(known, force, 1.0)
    return np.where(ground.loaded, weights, 0.0)
