"""What follows from the pose of the root, which is known later than the IZMP: IR-MD."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Flags, Stamps
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import add, cross, rotate_back, scale, store, vector
from izmp_dynamics.dynamics.ir_md import IrMd, Momentum
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.stages import Stages
from izmp_dynamics.pipeline.world import WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.stage import Stage, decided
from izmp_dynamics.signals.stream import LEARNED_STEPS

_NOTHING: Array = np.empty((0, 6))
_NO_FLAGS: Flags = np.empty(0, np.bool_)


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
        self._behind = 1 if robot.ir_md.difference == 'central' else 0
        self._at_least = robot.acd.max_gap
        self.reset()

    def reset(self) -> None:
        """Forget all instants and the learned step."""
        self._max_gap: float | None = None
        self._stamps: Stamps = np.empty(0, dtype=np.int64)
        self._momentum = Momentum(*np.empty((3, 0, 3)))
        self._next = 0

    def push(self, joints: JointKinematics, world: WorldState, angular_velocity: Array) -> Array:
        """Take the next instants.

        Args:
            joints: at T instants.
            world: pose and velocity of the root; NaN where it is not known.
            angular_velocity: (T, 3) of the root in root axes [rad/s].

        Returns:
            (K, 6) contact wrenches at the next K instants, about the world's origin in world axes;
            NaN where they are not known.
        """
        momentum = self._ir_md.momentum(
            world.R, world.p, world.v, angular_velocity, joints.positions, joints.velocities
        )
        self._stamps = np.concatenate([self._stamps, joints.stamps])
        self._momentum = Momentum.joined([self._momentum, momentum])
        if self._max_gap is None and len(self._stamps) <= LEARNED_STEPS:
            return _NOTHING
        return self._differenced(len(self._stamps) - self._behind)

    def flush(self) -> Array:
        """Return the wrenches that are left at the end of the stream."""
        left = self._differenced(len(self._stamps)) if len(self._stamps) else _NOTHING
        self.reset()
        return left

    def _differenced(self, end: int) -> Array:
        """Wrenches up to row `end`, as the longest step is known or can be learned."""
        if self._max_gap is None:
            steps = np.diff(self._stamps[: LEARNED_STEPS + 1])
            step = float(np.median(steps)) / NANOSECONDS if len(steps) else 0.0
            self._max_gap = max(self._at_least, 2.5 * step)
        wrench = self._ir_md.batch(self._stamps, self._momentum, self._max_gap)
        new, old = slice(self._next, end), slice(max(0, end - 1), None)
        self._stamps, self._momentum = self._stamps[old], self._momentum.select(old)
        self._next = end - (old.start or 0)
        return wrench.select(new).as_array()


class Located:
    """Adds pose and IR-MD to instants whose IZMP is known, in their order.

    Args:
        stages: of the robot.
        ir_md: differences the momentum; None: there is no IR-MD.

    Attributes:
        waiting: instants of the joints that wait for the pose.
        pieces: instants of the bus that are to be handed out.
    """

    def __init__(self, stages: Stages, ir_md: IrMdStage | None) -> None:
        self._stages, self._ir_md = stages, ir_md
        wrench = () if stages.in_world is None else (stages.in_world,)
        self._needs: tuple[Stage, ...] = (stages.world, *wrench)
        self._none = JointKinematics.none(stages.joints.model.dof)
        self.begin()

    def begin(self) -> None:
        """Forget all instants."""
        self.pieces: deque[Evaluated] = deque()
        self._clear()
        self.reset()

    def _clear(self) -> None:
        self.waiting = self._none
        self._on_bus = self._worlds_on_bus = _NO_FLAGS
        self._worlds = WorldState.unknown(0)

    def reset(self) -> None:
        """Difference anew, as instants were left out."""
        if self._ir_md is not None:
            self._ir_md.reset()

    def add(self, joints: JointKinematics, on_bus: Flags) -> None:
        """Take the next instants, of which some reach the bus."""
        self.waiting = JointKinematics.joined([self.waiting, joints])
        self._on_bus = np.concatenate([self._on_bus, on_bus])

    def leave(self) -> deque[Evaluated]:
        """Hand out all instants of the bus without pose and IR-MD."""
        pieces, self.pieces = self.pieces, deque()
        self._clear()
        return pieces

    def advance(self, newest: int, final: bool) -> list[Evaluated]:
        """Hand out the instants of the bus whose pose and IR-MD are known, or never will be.

        Args:
            newest: the newest instant that is known [ns].
            final: whether nothing follows.
        """
        joints, on_bus = self.waiting, self._on_bus
        count = len(joints) if final else decided(self._needs, joints.stamps, newest)
        if not (count or final):
            return []
        self.waiting, self._on_bus = self._none, on_bus[count:]
        if count < len(joints):
            self.waiting = joints.select(slice(count, None))
            joints, on_bus = joints.select(slice(count)), on_bus[:count]
        world = self._stages.world.evaluate(joints.stamps, on_bus, joints.moving)
        self._worlds = WorldState.joined([self._worlds, world])
        self._worlds_on_bus = np.concatenate([self._worlds_on_bus, on_bus])
        wrenches = self._wrenches(joints, world, final)
        known, left = slice(len(wrenches)), slice(len(wrenches), None)
        of_bus, worlds = self._worlds_on_bus[known], self._worlds.select(known)
        self._worlds, self._worlds_on_bus = self._worlds.select(left), self._worlds_on_bus[left]
        placed = self._placed(wrenches[of_bus], worlds.select(of_bus))
        if self._ir_md is None and self._stages.in_world is None:
            return [piece for piece, _ in placed]
        return [
            piece.with_wrench('ir_md', in_root(wrench, piece.world)) for piece, wrench in placed
        ]

    @property
    def is_empty(self) -> bool:
        """Whether all instants have been handed out."""
        return not (len(self.waiting) or len(self._worlds))

    def _wrenches(self, joints: JointKinematics, world: WorldState, final: bool) -> Array:
        """Wrenches (K, 6) in the world at the first instants whose pose is known."""
        if self._ir_md is None:
            given = self._stages.in_world
            nothing = np.full((len(joints), 6), np.nan)
            return nothing if given is None else given.at(joints.stamps)
        wrenches = _NOTHING
        if len(joints):
            omega = self._stages.angular_velocity(joints.stamps, joints.moving)
            wrenches = self._ir_md.push(joints, world, omega)
        return np.concatenate([wrenches, self._ir_md.flush()]) if final else wrenches

    def _placed(self, in_world: Array, world: WorldState) -> Iterator[tuple[Evaluated, Array]]:
        """Give the next pieces their pose; yield them with their wrenches (K, 6) in the world."""
        while len(in_world):
            piece = self.pieces.popleft()
            count = min(len(piece), len(in_world))
            if count < len(piece):
                self.pieces.appendleft(piece.select(slice(count, None)))
                piece = piece.select(slice(count))
            yield replace(piece, world=world.select(slice(count))), in_world[:count]
            in_world, world = in_world[count:], world.select(slice(count, None))


def in_root(in_world: Array, world: WorldState) -> Array:
    """Bring contact wrenches (K, 6) about the world's origin to the root frame."""
    in_root = np.empty(in_world.shape)
    _in_root(np.array(in_world), np.array(world.R), np.array(world.p), in_root)
    return in_root


@kernel
def _in_root(in_world: Array, world_R_root: Array, p_root: Array, in_root: Array) -> None:
    for t in range(len(in_world)):
        R = world_R_root[t].ravel()
        force, moment = vector(in_world[t], 0), vector(in_world[t], 3)
        lever = scale(-1.0, cross(vector(p_root[t], 0), force))
        store(in_root[t], 0, rotate_back(R, force))
        store(in_root[t], 3, rotate_back(R, add(moment, lever)))
