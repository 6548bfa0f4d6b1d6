"""What a simulation yields: ideal sensor signals and the truth, both at the same instants.

All arrays are read-only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import SimulationError
from izmp_lab.walking.plan import RootMotion, in_root_axes


class _ReadOnly:
    """Makes the arrays and mappings of a dataclass read-only."""

    def __post_init__(self) -> None:
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            elif isinstance(value, Mapping):
                for array in value.values():
                    if isinstance(array, np.ndarray):
                        array.setflags(write=False)
                object.__setattr__(self, item.name, MappingProxyType(dict(value)))


@dataclass(frozen=True)
class ImuSignals(_ReadOnly):
    """Signals of the IMU in the axes of its frame.

    Attributes:
        angular_velocity: (T, 3) [rad/s].
        specific_force: (T, 3) φ = a − g of the frame's origin [m/s²].
        orientation_xyzw: (T, 4) world_R_imu as unit quaternions.
    """

    angular_velocity: Array
    specific_force: Array
    orientation_xyzw: Array


@dataclass(frozen=True)
class FootTruth(_ReadOnly):
    """What the ground does to one foot.

    Attributes:
        corners: (T, V, 3) corners of the sole in the world, in the robot file's order [m].
        normal_force: (T,) along the normal of the ground under the sole [N].
        wrench: (T, 6) ground on robot, force [N] and moment [N·m], in the sole's frame.
        loaded: (T,) bool, whether it carries the contact force of the robot file.
    """

    corners: Array
    normal_force: Array
    wrench: Array
    loaded: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Truth(_ReadOnly):
    """Ground truth: what no sensor measures.

    Attributes:
        qd: (T, n) joint velocities [rad/s] or [m/s].
        qdd: (T, n) joint accelerations [rad/s²] or [m/s²].
        root: the motion of the root.
        com: (T, 3) centre of mass in the world [m].
        ground_wrench: (T, 6) ground on robot, about the root origin in root axes [N], [N·m].
        applied_wrench: (T, 6) pushes on the robot, likewise.
        cop: (T, 3) where the ground reaction has no moment along the ground, in the world [m].
        ground_normal: (T, 3) unit normal of the ground in the world. The ground is the plane
            through the CoP with this normal: that under the foot which carries; between the
            feet's, in proportion to their loads, while two carry on different planes. NaN, like
            the CoP, while the ground carries less than the minimum force of the robot file.
        feet: the feet by name.
    """

    qd: Array
    qdd: Array
    root: RootMotion
    com: Array
    ground_wrench: Array
    applied_wrench: Array
    cop: Array
    ground_normal: Array
    feet: Mapping[str, FootTruth]

    @property
    def contact_wrench(self) -> Array:
        """(T, 6) everything but gravity on the robot, ground and pushes, likewise."""
        return self.ground_wrench + self.applied_wrench

    def cop_in_root(self) -> Array:
        """Return the centre of pressure in the root frame, (T, 3) [m]."""
        return in_root_axes(self.root.rotation, self.cop - self.root.position)

    def ground_normal_in_root(self) -> Array:
        """Return the normal of the ground in root axes, (T, 3)."""
        return in_root_axes(self.root.rotation, self.ground_normal)


@dataclass(frozen=True)
class SensorSignals(_ReadOnly):
    """What sensors read; every row of every array belongs to the instant of its stamp.

    Attributes:
        joint_names: the n joints that have a sensor, in the order of the columns.
        stamps: (T,) [ns].
        q: (T, n) joint positions [rad] or [m].
        effort: (T, n) torques [N·m] or forces [N] of the servos; None if they are not measured.
        imu: signals of the IMU; None without one.
        accelerometers: topic → (T, 3) specific force in the axes of the sensor's frame [m/s²].
        position: (T, 3) position of the GPS frame in the world [m]; None without GPS.
        wrenches: topic → (T, 6) what the foot below its sensor exerts on the robot above,
            force [N] and moment [N·m] in the sensor's frame.
        segments: topic → (T, 6) angular velocity [rad/s] and specific force [m/s²] of the unit on
            a link other than the root, in the axes of its frame.
    """

    joint_names: tuple[str, ...]
    stamps: Stamps
    q: Array
    effort: Array | None
    imu: ImuSignals | None
    accelerometers: Mapping[str, Array]
    position: Array | None
    wrenches: Mapping[str, Array]
    segments: Mapping[str, Array] = field(default_factory=dict, kw_only=True)

    def __len__(self) -> int:
        return len(self.stamps)


@dataclass(frozen=True)
class SimulatedRun(SensorSignals):
    """A simulated motion: what the sensors read, and the truth at the same instants.

    Attributes:
        motion: name of the plan that was executed.
        robot: name of the robot.
        root: name of its root link.
        truth: the truth.
        fall: how the robot fell, in a sentence; empty if it stands. The run ends there.
        ground: the motion of the ground's frame if the ground moves; None if it does not.
    """

    effort: Array
    imu: ImuSignals
    motion: str
    robot: str
    root: str
    truth: Truth
    fall: str = ''
    ground: RootMotion | None = None

    def cop_in_ground(self) -> Array:
        """Return the centre of pressure in the frame of a ground that moves, (T, 3) [m].

        Raises:
            SimulationError: if the ground does not move.
        """
        if self.ground is None:
            raise SimulationError(
                'The ground of this run does not move; it has no frame.', kind='ground_at_rest'
            )
        return in_root_axes(self.ground.rotation, self.truth.cop - self.ground.position)

    def require_standing(self) -> None:
        """Do nothing if the robot stands.

        Raises:
            SimulationError: if it fell.
        """
        if self.fall:
            raise SimulationError(self.fall, kind='fell', fall=self.fall)
