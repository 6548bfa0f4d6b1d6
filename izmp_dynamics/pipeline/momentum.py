"""IR-MD at the instants of the joints: the momentum in the world, differenced as a stream."""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.ir_md import IrMd, Momentum
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.world import WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.stream import LEARNED_STEPS

Differenced = tuple[Stamps, Array, Array]
"""Instants [ns], contact wrenches (K, 6) and centres of mass (K, 3) in the world."""


class IrMdStage:
    """Differences the momentum; results follow in the order of the instants, none is left out.

    The longest step that is differenced across follows from the instants themselves: two and a
    half of their steps, learned from the first ones, or `acd.max_gap` if that is longer.

    Args:
        model: the robot.
        robot: its file.
    """

    def __init__(self, model: RobotModel, robot: RobotFile) -> None:
        self._ir_md = IrMd(model, robot.gravity, robot.ir_md.difference)
        self._at_least = robot.acd.max_gap
        self.reset()

    def reset(self) -> None:
        """Forget all instants and the learned step."""
        self._ir_md.reset()
        self._max_gap: float | None = None
        self._waiting: list[tuple[Stamps, Momentum]] = []

    def push(
        self, joints: JointKinematics, world: WorldState, angular_velocity: Array
    ) -> Differenced:
        """Take the next instants.

        Args:
            joints: at T instants.
            world: pose and velocity of the root; NaN where it is not known.
            angular_velocity: (T, 3) of the root in root axes [rad/s].

        Returns:
            K instants [ns]; (K, 6) contact wrench about the world's origin in world axes, NaN
            where it is not known; (K, 3) centre of mass in the world [m].
        """
        momentum = self._ir_md.momentum(
            world.R, world.p, world.v, angular_velocity, joints.positions, joints.velocities
        )
        if self._max_gap is not None:
            return _joined(self._ir_md.extend(joints.stamps, momentum, self._max_gap))
        self._waiting.append((joints.stamps, momentum))
        stamps = np.concatenate([part[0] for part in self._waiting])
        return self._learn(stamps) if len(stamps) > LEARNED_STEPS else _NOTHING

    def flush(self) -> Differenced:
        """Return what is left at the end of the stream."""
        parts = []
        if self._waiting:
            parts.append(self._learn(np.concatenate([part[0] for part in self._waiting])))
        if self._max_gap is not None:
            parts.append(_joined(self._ir_md.flush(self._max_gap)))
        self.reset()
        return _concatenated([_NOTHING, *parts])

    def _learn(self, stamps: Stamps) -> Differenced:
        """Find the longest step to difference across in the first instants; evaluate them."""
        steps = np.diff(stamps[: LEARNED_STEPS + 1])
        step = float(np.median(steps)) / NANOSECONDS if len(steps) else 0.0
        self._max_gap = max(self._at_least, 2.5 * step)
        waiting, self._waiting = self._waiting, []
        return _concatenated(
            [_joined(self._ir_md.extend(*part, self._max_gap)) for part in waiting]
        )


def _joined(done: tuple[Stamps, ContactWrench, Array]) -> Differenced:
    stamps, wrench, com = done
    return stamps, wrench.as_array(), com


def _concatenated(parts: list[Differenced]) -> Differenced:
    stamps, wrenches, coms = zip(*parts, strict=True)
    return np.concatenate(stamps), np.concatenate(wrenches), np.concatenate(coms)


_NOTHING: Differenced = (np.empty(0, dtype=np.int64), np.empty((0, 6)), np.empty((0, 3)))
