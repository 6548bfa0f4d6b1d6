"""The noise of the root's motion, for the node izmp, which gets that motion from another node."""

from functools import partial

from sensor_msgs.msg import Imu

from izmp_dynamics.conventions import NANOSECONDS, Array
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.wire import ImuSample
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.root import accelerometer_array, chosen_method
from izmp_dynamics.pipeline.samples import Samples
from izmp_dynamics.pipeline.stream import SampleStream
from izmp_dynamics.pipeline.uncertainty import root_covariance
from izmp_dynamics.sensing.accelerometer_array import AccelerometerArray

AWAITED = 1.0
"""Time that accelerometers are given to publish; then the gyroscope stands in for them [s]."""


class RootNoise:
    """Learns the rate of the IMU, and whether the accelerometers publish.

    The node angular_acceleration chooses its method in the same way. The accelerometers are
    subscribed to when a covariance is asked for the first time.

    Args:
        node: subscribes.
    """

    def __init__(self, node: StageNode) -> None:
        self._node = node
        self._imu = SampleStream('imu', 6, max_gap=node.robot.pairing.max_gap)
        self._array: tuple[Rig, AccelerometerArray | None] | None = None
        self._silent: set[str] | None = None
        self._asked = 0

    def see_imu(self, stamp: int, values: Array) -> None:
        """Take a sample (6,) of the IMU."""
        if self._imu.period is None:
            self._imu.push(Samples.one(stamp, values))

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
        array = self._array[1]
        if array is not None and not self._all_publish(stamp):
            if stamp - self._asked < AWAITED * NANOSECONDS:
                return None
            array = None
        if self._imu.period is None:
            return None
        return root_covariance(rig, self._imu.period, array, angular_velocity)

    def _all_publish(self, stamp: int) -> bool:
        if self._silent is None:
            self._silent, self._asked = set(), stamp
            for k, sensor in enumerate(self._node.robot.accelerometers):
                self._silent.add(sensor.topic)
                self._node.subscribe(
                    sensor.topic,
                    Imu,
                    partial(self._see, sensor.topic),
                    "start the accelerometer's driver.",
                    signal=f'accelerometers[{k}]',
                    sensor=True,
                    required=False,
                )
        return not self._silent

    def _see(self, topic: str, stamp: int, sample: ImuSample) -> None:
        if self._silent is not None:
            self._silent.discard(topic)
