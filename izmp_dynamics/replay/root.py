"""IMU and accelerometers → motion of the root (ω, ω̇, φ) at the instants of the joints."""

import numpy as np

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.errors import ReplayError
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.replay.signals import Stream
from izmp_dynamics.sensing.accelerometer import Accelerometer
from izmp_dynamics.sensing.accelerometer_array import AccelerometerArray
from izmp_dynamics.sensing.gyro_difference import GyroDifference
from izmp_dynamics.sensing.noise import micro_g
from izmp_dynamics.sensing.root_state import RootState, root_state


class RootStage:
    """Angular acceleration from the accelerometer array, or from the gyroscope's difference.

    Args:
        rig: the robot.
        conditioning: of its signals.

    Attributes:
        method: 'accelerometers' or 'gyro'.
        warnings: what is bad about the sensors' layout.

    Raises:
        SensingError: if the accelerometers do not observe the angular acceleration.
        ReplayError: if an array is asked for and there is none.
    """

    def __init__(self, rig: Rig, conditioning: Conditioning) -> None:
        self.rig = rig
        self.conditioning = conditioning
        self.method = _method(rig)
        self.warnings: tuple[str, ...] = ()
        if self.method == 'accelerometers':
            self.array = AccelerometerArray(_accelerometers(rig))
            self.warnings = self.array.warnings
        self.gyro = GyroDifference(
            rig.imu.p, conditioning.periods['imu'], max_gap=conditioning.reach('imu')
        )

    @property
    def context(self) -> float:
        """Time before and after an instant that its values depend on [s]."""
        return self.gyro.context

    def evaluate(
        self, instants: Stamps, imu: Stream, accelerometers: tuple[Stream, ...], counts: Counts
    ) -> RootState:
        """Give the motion of the root.

        Args:
            instants: (K,) [ns].
            imu: (T, 6) angular velocity [rad/s] and specific force [m/s²] in sensor axes.
            accelerometers: (T, 3) specific force in sensor axes [m/s²].
            counts: takes what was gated.
        """
        imu = self.conditioning.usable('imu', imu, counts)
        if self.method == 'gyro':
            return self._from_gyro(instants, imu, counts)
        paired = self.conditioning.at(instants, 'imu', imu, counts)
        readings = {self.array.names[0]: paired.values[:, 3:]}
        for k, stream in enumerate(accelerometers):
            name = self.array.names[k + 1]
            usable = self.conditioning.usable(name, stream, counts)
            sensor = self.conditioning.at(instants, name, usable, counts)
            readings[name] = self.array.accelerometers[k + 1].readings(sensor.values)
        omega = paired.values[:, :3] @ self.rig.imu.R.T
        return self.array.batch(instants, omega, readings)

    def _from_gyro(self, instants: Stamps, imu: Stream, counts: Counts) -> RootState:
        R = self.rig.imu.R
        state, verdicts = self.gyro.batch(
            imu.stamps, imu.values[:, :3] @ R.T, imu.values[:, 3:] @ R.T
        )
        counts.add('imu', 'stamp is too close to its neighbour', imu.stamps, verdicts != 0)
        values = np.hstack(
            [state.angular_velocity, state.angular_acceleration, state.proper_acceleration]
        )
        paired = self.conditioning.at(instants, 'imu', Stream(state.stamps, values), counts)
        return root_state(instants, *np.split(np.ascontiguousarray(paired.values), 3, axis=1))

    def angular_velocity(self, instants: Stamps, imu: Stream, counts: Counts) -> Array:
        """Give ω alone, (K, 3) in root axes [rad/s]; NaN where it is not known."""
        imu = self.conditioning.usable('imu', imu, counts)
        paired = self.conditioning.at(instants, 'imu', imu, counts)
        omega: Array = paired.values[:, :3] @ self.rig.imu.R.T
        return omega


def _method(rig: Rig) -> str:
    method = rig.robot.angular_acceleration.method
    if method == 'auto':
        return 'accelerometers' if rig.accelerometers else 'gyro'
    if method == 'accelerometers' and not rig.accelerometers:
        raise ReplayError(
            'angular_acceleration.method is accelerometers, but the robot file lists none under '
            "'accelerometers'; list at least three, or choose gyro."
        )
    return method


def _accelerometers(rig: Rig) -> list[Accelerometer]:
    density = micro_g(rig.robot.noise.accelerometer)
    return [
        Accelerometer(mount.name, mount.R, mount.p, np.eye(3)[list(mount.axes)], density)
        for mount in (rig.imu, *rig.accelerometers)
    ]
