"""Orientation and position as they arrive → pose and velocity of the root at wanted instants."""

from collections import deque
from typing import NamedTuple

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.live.root import IMU_LARGEST, live_low_pass
from izmp_dynamics.live.sample_queue import PATIENCE, SampleQueue, State
from izmp_dynamics.live.stage_output import StageOutput
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.credible import LARGEST_POSITION
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.replay.world import WorldStage
from izmp_dynamics.sensing.imu import NO_ROTATION, NORM_TOLERANCE
from izmp_dynamics.sensing.localizer import Localizer, RootPose


class WorldInstant(NamedTuple):
    """The root in the world at one instant.

    Attributes:
        stamp: [ns].
        R: (3, 3) world_R_root.
        p: (3,) position of the root origin [m].
        v: (3,) its velocity in world axes [m/s].
        angular_velocity: (3,) ω in root axes [rad/s].
    """

    stamp: int
    R: Array
    p: Array
    v: Array
    angular_velocity: Array


class LiveOrientation:
    """Quaternions of a sensor on the root, paired with instants as rotations of the root.

    Args:
        rig: the robot made ready.
        root_R_sensor: (3, 3) how the sensor is mounted.
        patience: lag and silence beyond which instants do not wait for a sensor [s].
    """

    def __init__(self, rig: Rig, root_R_sensor: Array, patience: float = PATIENCE) -> None:
        max_gap, low_pass = rig.robot.pairing.max_gap, live_low_pass(rig)
        self.queue = SampleQueue(max_gap, low_pass=low_pass, patience=patience)
        self._sensor_R_root = root_R_sensor.T
        self._last: Array | None = None

    def reset(self) -> None:
        """Forget all samples."""
        self.queue.reset()
        self._last = None

    def add(self, stamp: int, quaternion: Array) -> None:
        """Take (4,) world_q_sensor, x y z w; its sign is made to continue the one before."""
        if abs(float(np.linalg.norm(quaternion)) - 1.0) > NORM_TOLERANCE:
            self.queue.counts[NO_ROTATION] += 1
            return
        if self._last is not None and quaternion @ self._last < 0.0:
            quaternion = -quaternion
        self._last = quaternion
        self.queue.push(stamp, quaternion)

    def at(self, instant: int, newest_instant: int) -> tuple[State, Array | None]:
        """Give (3, 3) world_R_root at an instant [ns]."""
        state, quaternion = self.queue.at(instant, newest_instant)
        if quaternion is None:
            return state, None
        return state, rotation_matrix(quaternion) @ self._sensor_R_root


class LiveWorld:
    """Localizes the root at the instants of the joints.

    Args:
        rig: the robot made ready; it has a position.
        patience: lag and silence beyond which instants do not wait for a sensor [s].

    Attributes:
        imu: samples of the IMU, for ω.
        position: fixes of the position.
        from_pose: whether the orientation comes with the position; until a first one came, it is
            that of the IMU.
    """

    def __init__(self, rig: Rig, patience: float = PATIENCE) -> None:
        assert rig.position is not None  # the node does not exist without
        self.rig = rig
        self.mount = rig.position
        self._patience = patience
        max_gap = rig.robot.pairing.max_gap
        low_pass = live_low_pass(rig)
        self.imu = SampleQueue(max_gap, IMU_LARGEST, low_pass, patience)
        self.position = SampleQueue(max_gap, LARGEST_POSITION, low_pass, patience)
        self.from_pose = False
        self.orientation = LiveOrientation(rig, rig.imu.R, patience)
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the counts stay."""
        for queue in (self.imu, self.position):
            queue.reset()
        self.orientation.reset()
        self._pending: deque[int] = deque()
        self._fixes: deque[tuple[int, Array]] = deque()
        self._localizer: Localizer | None = None
        self._located = StageOutput(self.rig.robot.pairing.max_gap, self._patience)

    @property
    def queues(self) -> tuple[SampleQueue, ...]:
        """The samples of the IMU, of the position, and of the orientation."""
        return (self.imu, self.position, self.orientation.queue)

    def add_instant(self, stamp: int) -> list[WorldInstant]:
        """Ask for the pose at an instant [ns]; return the instants that are complete."""
        self._pending.append(stamp)
        return self._completed()

    def add_imu(self, stamp: int, values: Array, quaternion: Array | None) -> list[WorldInstant]:
        """Take (6,) ω and φ in sensor axes, and the orientation (4,) if there is one."""
        self.imu.push(stamp, values)
        if quaternion is not None and not self.from_pose:
            self.orientation.add(stamp, quaternion)
        return self._completed()

    def add_position(
        self, stamp: int, position: Array, quaternion: Array | None = None
    ) -> list[WorldInstant]:
        """Take (3,) the position [m] and, if it comes with one, the orientation (4,)."""
        if quaternion is not None:
            if not self.from_pose:
                self.from_pose = True
                self.orientation = LiveOrientation(self.rig, self.mount.R, self._patience)
            self.orientation.add(stamp, quaternion)
        admitted = self.position.push(stamp, position)
        if admitted is not None:
            self._fixes.append(admitted)
        return self._completed()

    def flush(self) -> list[WorldInstant]:
        """Take in the last samples, as nothing follows."""
        for queue in self.queues:
            admitted = queue.flush()
            if queue is self.position and admitted is not None:
                self._fixes.append(admitted)
        self._locate()
        if self._localizer is not None:
            self._put(self._localizer.flush())
        return self._completed()

    def _locate(self) -> None:
        """Give the localizer the fixes whose orientation is known."""
        period = self.position.period
        while self._fixes and period is not None:
            stamp, position = self._fixes[0]
            state, R = self.orientation.at(stamp, self._fixes[-1][0])
            if state is State.WAIT:
                return
            self._fixes.popleft()
            if R is None:
                continue
            if self._localizer is None:
                conditioning = Conditioning(self.rig.robot, {'position': period})
                self._localizer = WorldStage(self.rig, conditioning).localizer
                self._located = StageOutput(conditioning.reach('position'), self._patience)
            if self._localizer is not None:
                self._put(self._localizer.update(stamp, position, R))

    def _put(self, poses: RootPose) -> None:
        motion = np.hstack([poses.world_p_root, poses.linear_velocity])
        for stamp, row in zip(poses.stamps.tolist(), motion, strict=True):
            self._located.push(stamp, row)

    def _completed(self) -> list[WorldInstant]:
        self._locate()
        done = []
        while self._pending:
            stamp, newest = self._pending[0], self._pending[-1]
            oriented, R = self.orientation.at(stamp, newest)
            imu, located = self.imu.at(stamp, newest), self._located.at(stamp, newest)
            if State.WAIT in (oriented, imu.state, located.state):
                break
            self._pending.popleft()
            if located.values is None:
                self.position.counts['no velocity at this instant'] += 1
            if R is not None and imu.values is not None and located.values is not None:
                omega = self.rig.imu.R @ imu.values[:3]
                done.append(WorldInstant(stamp, R, located.values[:3], located.values[3:], omega))
        return done


def rotation_matrix(quaternion_xyzw: Array) -> Array:
    """Convert a quaternion (4,), not zero, to its rotation matrix (3, 3)."""
    x, y, z, w = (quaternion_xyzw / np.linalg.norm(quaternion_xyzw)).tolist()
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
