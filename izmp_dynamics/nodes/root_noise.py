"""The noise of the root's motion, for the node izmp, which gets that motion from another node."""

from functools import partial

from sensor_msgs.msg import Imu

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.wire import ImuSample
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.root import accelerometer_array, chosen_method
from izmp_dynamics.pipeline.uncertainty import root_covariance
from izmp_dynamics.sensing.accelerometer_array import AccelerometerArray
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stream import SampleStream

AWAITED = 1.0
"""Time that accelerometers are given to publish; then the gyroscope stands in for them [s]."""


class RootNoise:
    """Learns the rates of IMU and accelerometers, and whether the latter publish.

    The node angular_acceleration chooses its method in the same way. The accelerometers are
    subscribed to when a covariance is asked for the first time.

    Args:
        node: subscribes.
    """

    def __init__(self, node: StageNode) -> None:
        self._node = node
        self._imu = SampleStream('imu', 6, max_gap=node.robot.pairing.max_gap)
        self._array: tuple[Rig, AccelerometerArray | None] | None = None
        self._further: tuple[SampleStream, ...] | None = None
        self._asked = 0

    def see_imu(self, stamp: int, values: Array) -> None:
        """Take a sample (6,) of the IMU."""
        _learn(self._imu, stamp, values)

    def covariance(self, rig: Rig, stamp: int, angular_velocity: Array) -> Array | None:
        """Covariance (1, 9, 9) of φ, ω and ω̇; None while it is not known.

        Args:
            rig: the robot, prepared.
            stamp: of the instant [ns].
            angular_velocity: (1, 3) ω in root axes [rad/s].
        """
        if self._array is None or self._array[0] is not rig:
            wanted = chosen_method(rig) == 'accelerometers'
            self._array = rig, accelerometer_array(rig) if wanted else None
        array, used = self._array[1], [self._imu]
        if array is not None:
            further = self._subscribed(stamp)
            if all(stream.received for stream in further):
                used += further
            elif stamp - self._asked < AWAITED * NANOSECONDS:
                return None
            else:
                array = None
        periods = [stream.period for stream in used if stream.period is not None]
        if len(periods) < len(used):
            return None
        return root_covariance(rig, periods, array, angular_velocity)

    def _subscribed(self, stamp: int) -> tuple[SampleStream, ...]:
        """The accelerometers; the first instant [ns] that needs them subscribes to them."""
        if self._further is None:
            robot, self._asked = self._node.robot, stamp
            self._further = tuple(
                SampleStream(f'accelerometers[{k}]', 3, max_gap=robot.pairing.max_gap)
                for k in range(len(robot.accelerometers))
            )
            for sensor, stream in zip(robot.accelerometers, self._further, strict=True):
                self._node.subscribe(
                    sensor.topic,
                    Imu,
                    partial(_see, stream),
                    "start the accelerometer's driver.",
                    signal=stream.signal,
                    sensor=True,
                    required=False,
                )
        return self._further


def _see(stream: SampleStream, stamp: int, sample: ImuSample) -> None:
    _learn(stream, stamp, sample.values[3:])


def _learn(stream: SampleStream, stamp: int, values: Array) -> None:
    """Show a sample (m,) to a stream whose period is not known."""
    if stream.period is None:
        stream.push(Samples.one(stamp, values))
