"""What the evaluation of a robot's signals computes at the instants of the bus."""

from dataclasses import dataclass, replace

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.estimation.fusion import Fused
from izmp_dynamics.pipeline.ground import Ground
from izmp_dynamics.pipeline.world import WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.fall_alarm import FallRisk


@dataclass(frozen=True)
class Evaluated(Record):
    """What was computed at K instants of the bus.

    NaN stands where there is no value. Unless stated otherwise, everything is in the root frame.

    Attributes:
        joints: q, q̇, q̈.
        root: ω, ω̇, φ.
        world: pose and velocity of the root in the world.
        up: (K, 3) unit vector [-] against gravity, by the orientation, else by gyroscope and φ.
        com: (K, 3) centre of mass [m].
        wrenches: 'mr_ad', 'ir_md', 'cop', 'fusion' → (K, 6) contact wrench about the root
            origin; those that the sensors allow.
        points: same keys → (K, 3) IZMP or CoP [m].
        margins: same keys → (K,) distance from the edge of the support polygon [m].
        ground: plane and feet.
        fall: whether the robot is about to fall; None where that is not asked for, and for a
            robot without feet.
        units: (K, S, 9) φ, ω, ω̇ that the units of `Rig.segments` measure, in the axes of their
            bodies; None without units.
        fused: both wrenches by `estimation.fusion`; None where that was not asked for.
    """

    joints: JointKinematics
    root: RootState
    world: WorldState
    up: Array
    com: Array
    wrenches: dict[str, Array]
    points: dict[str, Array]
    margins: dict[str, Array]
    ground: Ground
    fall: FallRisk | None = None
    units: Array | None = None
    fused: Fused | None = None

    @property
    def stamps(self) -> Stamps:
        """(K,) the instants [ns]."""
        return self.joints.stamps

    def with_wrench(self, name: str, wrench: Array) -> 'Evaluated':
        """Add a contact wrench (K, 6) [N, N·m], its point and its margin."""
        points, margins = self.ground.judge({name: wrench}) if self.points else ({}, {})
        return replace(
            self,
            wrenches=self.wrenches | {name: wrench},
            points=self.points | points,
            margins=self.margins | margins,
        )
