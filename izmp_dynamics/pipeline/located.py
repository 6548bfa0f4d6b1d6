"""What follows from the pose of the root, which is known later than the IZMP: IR-MD."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import add, cross, rotate_back, scale, store, vector
from izmp_dynamics.dynamics.ir_md import IrMd, Momentum
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.stages import Stages
from izmp_dynamics.pipeline.world import WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.repeats import Flags
from izmp_dynamics.signals.stream import LEARNED_STEPS

_NOTHING: Array = np.empty((0, 6))


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
    """Adds pose and IR-MD to instants of the bus whose IZMP is known.

    Args:
        stages: of the robot.
        ir_md: differences the momentum; None: there is no IR-MD.

    Attributes:
        pushed: how many of the pending instants have been differenced.
    """

    def __init__(self, stages: Stages, ir_md: IrMdStage | None) -> None:
        self._stages, self._ir_md = stages, ir_md
        self.begin()

    def begin(self) -> None:
        """Forget all instants."""
        self.pushed = 0
        self._pieces: deque[Evaluated] = deque()
        self._differenced: Array = np.empty((0, 6))
        self._worlds = WorldState.unknown(0)
        self.reset()

    def reset(self) -> None:
        """Difference anew, as instants were left out."""
        if self._ir_md is not None:
            self._ir_md.reset()

    def add(self, piece: Evaluated) -> None:
        """Take the next instants of the bus."""
        self._pieces.append(piece)

    def pass_over(self) -> None:
        """Leave the instants so far as they are."""
        self._pieces.clear()
        if len(self._differenced) or len(self._worlds.p):
            self._worlds, self._differenced = WorldState.unknown(0), np.empty((0, 6))
        self.pushed = 0

    def locate(
        self, pending: JointKinematics, on_bus: Flags, decided: int, final: bool
    ) -> tuple[int, list[Evaluated]]:
        """Evaluate the first pending instants; return how many are done, and those of the bus.

        Args:
            pending: instants of the joints.
            on_bus: which of them reach the bus.
            decided: how many have a pose, or never will.
            final: whether nothing follows.
        """
        if self._ir_md is not None:
            self._difference(self._ir_md, pending, on_bus, decided, final)
        elif decided:
            part, given = pending.select(slice(decided)), self._stages.in_world
            nothing = np.full((decided, 6), np.nan)
            self._differenced = nothing if given is None else given.at(part.stamps)
            self._worlds = self._stages.world.evaluate(part.stamps, moving=part.moving)
        count = len(self._differenced)
        if not count:
            return 0, []
        world, of_bus = self._worlds.select(slice(count)), on_bus[:count]
        results = [
            self._with_ir_md(piece, wrenches)
            for piece, wrenches in self._placed(self._differenced[of_bus], world.select(of_bus))
        ]
        self._worlds = self._worlds.select(slice(count, None))
        self._differenced = self._differenced[count:]
        self.pushed = max(self.pushed - count, 0)
        return count, results

    def leave(self, on_bus: Flags, decided: int) -> list[Evaluated]:
        """Hand out the first pending instants without pose and IR-MD."""
        number = int(np.count_nonzero(on_bus[:decided]))
        self._worlds, self._differenced = WorldState.unknown(0), np.empty((0, 6))
        self.pushed = max(self.pushed - decided, 0)
        placed = self._placed(np.full((number, 6), np.nan), WorldState.unknown(number))
        return [piece for piece, _ in placed]

    def _difference(
        self, ir_md: IrMdStage, pending: JointKinematics, on_bus: Flags, decided: int, final: bool
    ) -> None:
        """Difference the momentum of decided instants."""
        stages, new = self._stages, pending.select(slice(self.pushed, decided))
        wrenches = [self._differenced]
        if len(new):
            counted = on_bus[self.pushed : decided]
            world = stages.world.evaluate(new.stamps, counted, new.moving)
            self._worlds = WorldState.joined([self._worlds, world])
            omega = stages.angular_velocity(new.stamps, new.moving)
            wrenches.append(ir_md.push(new, world, omega))
        if final:
            wrenches.append(ir_md.flush())
        if len(wrenches) > 1:
            self._differenced = np.concatenate(wrenches)
        self.pushed = max(self.pushed, decided)

    def _placed(self, in_world: Array, world: WorldState) -> Iterator[tuple[Evaluated, Array]]:
        """Give the next pieces their pose; yield them with their wrenches (K, 6) in the world."""
        while len(in_world):
            piece = self._pieces.popleft()
            count = min(len(piece.stamps), len(in_world))
            if count < len(piece.stamps):
                self._pieces.appendleft(piece.select(slice(count, None)))
                piece = piece.select(slice(count))
            yield replace(piece, world=world.select(slice(count))), in_world[:count]
            in_world, world = in_world[count:], world.select(slice(count, None))

    def _with_ir_md(self, piece: Evaluated, in_world: Array) -> Evaluated:
        """Add IR-MD to a piece, given its wrenches (K, 6) in the world."""
        if self._ir_md is None and self._stages.in_world is None:
            return piece
        wrench = in_root(in_world, piece.world)
        points, margins = piece.ground.judge({'ir_md': wrench}) if piece.points else ({}, {})
        return replace(
            piece,
            wrenches=piece.wrenches | {'ir_md': wrench},
            points=piece.points | points,
            margins=piece.margins | margins,
        )


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
