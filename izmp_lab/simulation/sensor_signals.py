"""The signals of a robot's sensors, of which some may be missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_lab.simulation.simulated_run import ImuSignals


@dataclass(frozen=True)
class SensorSignals:
    """Sensor signals at T instants, named as those of a `SimulatedRun`.

    Attributes:
        joint_names: the n joints that have a sensor, in the order of the columns.
        stamps: (T,) [ns].
        q: (T, n) joint positions [rad] or [m].
        effort: (T, n) torques [N·m] or forces [N]; None if they are not measured.
        imu: signals of the IMU; None without one.
        accelerometers: topic → (T, 3) specific force in the axes of the sensor's frame [m/s²].
        position: (T, 3) position of the GPS frame in the world [m]; None without GPS.
        wrenches: topic → (T, 6) force [N] and moment [N·m] in the sensor's frame.
    """

    joint_names: tuple[str, ...]
    stamps: Stamps
    q: Array
    effort: Array | None
    imu: ImuSignals | None
    accelerometers: Mapping[str, Array]
    position: Array | None
    wrenches: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.stamps)


def joined(parts: Sequence[SensorSignals]) -> SensorSignals:
    """Return signals of the same sensors, one after the other.

    Args:
        parts: at least one.
    """
    first = parts[0]
    imus = [part.imu for part in parts if part.imu is not None]
    positions = [part.position for part in parts if part.position is not None]
    return SensorSignals(
        joint_names=first.joint_names,
        stamps=np.concatenate([part.stamps for part in parts]),
        q=np.concatenate([part.q for part in parts]),
        effort=None,
        imu=ImuSignals(
            np.concatenate([imu.angular_velocity for imu in imus]),
            np.concatenate([imu.specific_force for imu in imus]),
            np.concatenate([imu.orientation_xyzw for imu in imus]),
        )
        if imus
        else None,
        accelerometers={
            topic: np.concatenate([part.accelerometers[topic] for part in parts])
            for topic in first.accelerometers
        },
        position=np.concatenate(positions) if positions else None,
        wrenches={
            topic: np.concatenate([part.wrenches[topic] for part in parts])
            for topic in first.wrenches
        },
    )
