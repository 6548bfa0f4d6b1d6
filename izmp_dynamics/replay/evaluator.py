"""Signals in, wrenches and points on the ground out: the whole method for a span of a log.

The stages are those of the live graph: ACD, accelerometer array (or gyroscope), MR-AD, localizer,
IR-MD, feet, ground, ZMP. `Evaluator.evaluate` is a pure function of the signals: a log that is
processed in windows, each padded by `context`, gives the numbers of the whole log.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.ir_md import IrMd
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.kernel import announced_compilation
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.feet import FeetStage, FeetState
from izmp_dynamics.replay.foot_imus import FootImuStage
from izmp_dynamics.replay.joints import JointGroup, JointStage
from izmp_dynamics.replay.moving_ground import MovingGroundStage
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.replay.root import RootStage
from izmp_dynamics.replay.signals import Signals
from izmp_dynamics.replay.standstill import standstill
from izmp_dynamics.replay.world import WorldStage, WorldState
from izmp_dynamics.sensing.foot_imu import FootTilt
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.foot_imu_plane import plane_of_foot_imus
from izmp_dynamics.stability.ground_frame import GroundFrame
from izmp_dynamics.stability.ground_plane import (
    GroundPlane,
    Sole,
    level_plane,
    loaded_feet,
    plane_of_soles,
)
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.stability.zmp import zero_moment_point


@dataclass(frozen=True)
class Evaluated:
    """What was computed at K instants of the bus.

    NaN stands where there is no value. Unless told otherwise, everything is in the root frame.

    Attributes:
        joints: q, q̇, q̈.
        root: ω, ω̇, φ.
        world: pose and velocity of the root in the world.
        com: (K, 3) centre of mass [m].
        wrenches: 'mr_ad', 'ir_md', 'cop' → (K, 6) contact wrench about the root origin.
        points: same keys → (K, 3) IZMP or CoP [m].
        margins: same keys → (K,) distance from the edge of the support polygon [m].
        plane: the ground.
        soles: one per foot.
        loaded: (K, F) which feet carry load.
        frame: the ground's own frame; None unless the ground is that of a frame.
    """

    joints: JointKinematics
    root: RootState
    world: WorldState
    com: Array
    wrenches: dict[str, Array]
    points: dict[str, Array]
    margins: dict[str, Array]
    plane: GroundPlane
    soles: tuple[Sole, ...]
    loaded: npt.NDArray[np.bool_]
    frame: GroundFrame | None = None

    @property
    def stamps(self) -> Stamps:
        """(K,) the instants [ns]."""
        return self.joints.stamps


class Evaluator:
    """Evaluates signals of one robot.

    Args:
        rig: the robot, made ready.
        groups: which joints are published together.
        periods: signal → median time between its messages [s].
        origin: origin of the bus grid [ns], e.g. the first stamp of the joints.

    Raises:
        SensingError: if the sensors do not suffice; the message says what is missing.
    """

    def __init__(
        self,
        rig: Rig,
        groups: tuple[JointGroup, ...],
        periods: Mapping[str, float],
        origin: int,
    ) -> None:
        self.rig = rig
        robot = rig.robot
        self.conditioning = Conditioning(robot, periods)
        with announced_compilation():
            self.joint_stage = JointStage(rig.model, robot, groups, self.conditioning, origin)
            self.root_stage = RootStage(rig, self.conditioning)
            self.world_stage = WorldStage(rig, self.conditioning)
            self.feet_stage = FeetStage(rig, self.conditioning)
            self.foot_imu_stage = FootImuStage(rig, self.conditioning)
            self.ground_stage = MovingGroundStage(rig, self.conditioning)
            self.mr_ad = MrAd(rig.model)
            self.ir_md = IrMd(rig.model, robot.gravity, robot.ir_md.difference)
            self._warm_up(groups, origin)

    def _warm_up(self, groups: tuple[JointGroup, ...], origin: int) -> None:
        """Run every stage, so that all kernels are compiled before the first sample."""
        samples = 100 + round(4.0 * self.joint_stage.bus.tick / groups[0].period)
        signals = standstill(self.rig, groups, origin, samples)
        self.evaluate(signals, Counts(origin, int(signals.imu.stamps[-1])))

    @property
    def context(self) -> float:
        """Time before and after an instant that its values depend on [s]."""
        stages = (self.joint_stage, self.root_stage, self.world_stage, self.foot_imu_stage)
        widest = max(stage.context for stage in stages)
        return self.conditioning.context + widest + 4.0 * self.joint_stage.bus.tick

    def evaluate(self, signals: Signals, counts: Counts) -> Evaluated:
        """Evaluate the instants of the bus with counts.start ≤ stamp < counts.stop.

        Args:
            signals: of that span, padded by `context` on both sides (as far as there are any).
            counts: takes what was gated, by signal.
        """
        fast = self.joint_stage.evaluate(signals.joints, counts)
        on_bus = self.joint_stage.on_bus(fast.stamps)
        ir_md = self._ir_md(fast, on_bus, signals, counts)
        joints = fast.select(on_bus)
        inside = counts.inside(joints.stamps)
        joints = joints.select(inside)
        instants = joints.stamps
        root = self.root_stage.evaluate(instants, signals.imu, signals.accelerometers, counts)
        world = self.world_stage.evaluate(instants, signals, counts)
        feet = self.feet_stage.evaluate(joints, root, signals.wrenches, counts)
        mr_ad, com = self.mr_ad.batch(
            root.proper_acceleration,
            root.angular_velocity,
            root.angular_acceleration,
            joints.positions,
            joints.velocities,
            joints.accelerations,
        )
        wrenches = {'mr_ad': mr_ad.as_array()}
        if np.isfinite(ir_md[inside]).any():
            wrenches['ir_md'] = ir_md[inside]
        if feet.wrench is not None:
            wrenches['cop'] = feet.wrench.as_array()
        tilts = self.foot_imu_stage.evaluate(instants, signals.foot_imus, counts)
        frame = self.ground_stage.evaluate(
            instants, joints.positions, world, signals.ground, counts
        )
        return self._on_ground(joints, root, world, com, wrenches, feet, tilts, frame)

    def _ir_md(
        self,
        fast: JointKinematics,
        on_bus: npt.NDArray[np.bool_],
        signals: Signals,
        counts: Counts,
    ) -> Array:
        """(instants on the bus, 6) contact wrench about the root origin in root axes."""
        at_bus = self.rig.robot.ir_md.step == 'bus'
        joints = fast.select(on_bus) if at_bus else fast
        silent = Counts(counts.stop, counts.stop)
        world = self.world_stage.evaluate(joints.stamps, signals, silent)
        momentum = self.ir_md.momentum(
            world.R,
            world.p,
            world.v,
            self.root_stage.angular_velocity(joints.stamps, signals.imu, silent),
            joints.positions,
            joints.velocities,
        )
        longest_step = max(self.joint_stage.bus.tick, self.conditioning.periods['joints'])
        max_gap = max(self.rig.robot.acd.max_gap, 2.5 * longest_step)
        in_world = self.ir_md.batch(joints.stamps, momentum, max_gap)
        root_R_world = np.swapaxes(world.R, 1, 2)
        in_root = in_world.transformed(
            root_R_world, -np.einsum('tij,tj->ti', root_R_world, world.p)
        ).as_array()
        return in_root if at_bus else in_root[on_bus]

    def _on_ground(
        self,
        joints: JointKinematics,
        root: RootState,
        world: WorldState,
        com: Array,
        wrenches: dict[str, Array],
        feet: FeetState,
        tilts: tuple[FootTilt, ...],
        frame: GroundFrame | None,
    ) -> Evaluated:
        plane, loaded = self._plane(root, world, feet, tilts, frame)
        points = {
            name: zero_moment_point(
                ContactWrench.from_array(wrench), plane.normal, plane.point, self.rig.minimum_force
            )
            for name, wrench in wrenches.items()
        }
        distances = margins(
            tuple(points.values()),
            tuple(sole.corners for sole in feet.soles),
            loaded,
            plane.normal,
        )
        return Evaluated(
            joints=joints,
            root=root,
            world=world,
            com=com,
            wrenches=wrenches,
            points=points,
            margins=dict(zip(points, distances, strict=True)),
            plane=plane,
            soles=feet.soles,
            loaded=loaded,
            frame=frame,
        )

    def _plane(
        self,
        root: RootState,
        world: WorldState,
        feet: FeetState,
        tilts: tuple[FootTilt, ...],
        frame: GroundFrame | None,
    ) -> tuple[GroundPlane, npt.NDArray[np.bool_]]:
        ground = self.rig.robot.ground
        known = np.asarray(np.isfinite(world.R).all(axis=(1, 2)))
        up = np.where(known[:, None], world.R[:, 2, :], root.proper_acceleration)
        loaded = loaded_feet(feet.soles, up, self.rig.contact_force)
        if frame is not None:
            return frame.plane(ground.height), loaded
        if ground.source == 'gravity':
            return level_plane(feet.soles, up, world.R if known.any() else None), loaded
        if ground.source == 'feet_imus':
            vertical = world.R[:, 2, :] if known.any() else None
            return plane_of_foot_imus(feet.soles, tilts, vertical), loaded
        return plane_of_soles(feet.soles, up), loaded
