"""The IMU on the root link: its mounting and its samples in root axes.

An accelerometer measures the specific force φ = a - g: 9.81 m/s² upwards at rest. The functions
turn its samples into root axes; they are pure and work on one row as on many, with the same
numbers. `imu_check` judges beforehand whether the signals are what they should be.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.conventions import GRAVITY, Array, Stamps, frozen
from izmp_dynamics.errors import SensingError, ShapeError
from izmp_dynamics.sensing.differences import Mask

NORM_TOLERANCE = 0.01
"""How far the norm of a quaternion may be from one; drivers round to two or three digits."""


@dataclass(frozen=True)
class ImuMount:
    """How the IMU is mounted on the root link.

    Attributes:
        root_R_sensor: (3, 3) orientation of the sensor frame in the root frame.
        p_sensor_in_root: (3,) its position [m].

    Raises:
        SensingError: not a rotation.
    """

    root_R_sensor: Array
    p_sensor_in_root: Array

    def __post_init__(self) -> None:
        R, p = frozen(self.root_R_sensor), frozen(self.p_sensor_in_root)
        if R.shape != (3, 3) or p.shape != (3,):
            raise ShapeError('IMU mounting', '(3, 3) and (3,)', (*R.shape, *p.shape))
        if not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0:
            raise SensingError('The mounting of the IMU is not a rotation.')
        object.__setattr__(self, 'root_R_sensor', R)
        object.__setattr__(self, 'p_sensor_in_root', p)

    def to_root(self, vectors: Array) -> Array:
        """Express vectors (..., 3) of the sensor frame in root axes."""
        x, y, z = vectors[..., 0, None], vectors[..., 1, None], vectors[..., 2, None]
        R = self.root_R_sensor
        rotated: Array = x * R[:, 0] + y * R[:, 1] + z * R[:, 2]
        return rotated


@dataclass(frozen=True)
class ImuSamples:
    """Samples of an IMU in root axes.

    Attributes:
        stamps: (T,) [ns].
        angular_velocity: (T, 3) ω in root axes [rad/s].
        specific_force: (T, 3) φ at the IMU, in root axes [m/s²].
        world_R_root: (T, 3, 3) orientation of the root; None if the IMU has none.
        valid: (T,) False where ω or φ is not finite.
        oriented: (T,) False where there is no orientation; world_R_root is NaN there.
    """

    stamps: Stamps
    angular_velocity: Array
    specific_force: Array
    world_R_root: Array | None
    valid: Mask
    oriented: Mask


def imu_in_root(
    mount: ImuMount,
    stamps: Stamps,
    angular_velocity: Array,
    linear_acceleration: Array,
    orientation_xyzw: Array | None = None,
    gravity_removed: bool = False,
    gravity: float = GRAVITY,
) -> ImuSamples:
    """Turn samples of a sensor_msgs/Imu into root axes.

    Args:
        mount: of the IMU on the root.
        stamps: (T,) [ns].
        angular_velocity: (T, 3) in sensor axes [rad/s].
        linear_acceleration: (T, 3) in sensor axes [m/s²].
        orientation_xyzw: (T, 4) sensor in the world; None if the IMU has none.
        gravity_removed: whether linear_acceleration is a, not φ = a - g; then gravity is added
            back, and samples without an orientation are not valid.
        gravity: magnitude at the place [m/s²].

    Raises:
        SensingError: gravity is to be added back but there is no orientation.
    """
    check_shapes(len(stamps), angular_velocity, linear_acceleration, orientation_xyzw)
    if gravity_removed and orientation_xyzw is None:
        raise SensingError(
            'imu.gravity_removed is true, but the IMU states no orientation, so gravity cannot '
            'be added back; let the driver publish the specific force or the orientation.'
        )
    oriented = np.zeros(len(stamps), dtype=np.bool_)
    world_R_root, force = None, finite_or_nan(linear_acceleration)
    if orientation_xyzw is not None:
        world_R_sensor, oriented = rotations(orientation_xyzw)
        world_R_root = world_R_sensor @ mount.root_R_sensor.T
        if gravity_removed:
            force = with_gravity(force, world_R_sensor, gravity)
    omega, phi = mount.to_root(finite_or_nan(angular_velocity)), mount.to_root(force)
    valid = np.asarray(np.isfinite(np.hstack([omega, phi])).all(axis=1))
    return ImuSamples(np.asarray(stamps, np.int64), omega, phi, world_R_root, valid, oriented)


def finite_or_nan(values: Array) -> Array:
    """Copy `values` with NaN in place of infinity, which would make numpy warn."""
    values = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def rotations(quaternions_xyzw: Array) -> tuple[Array, Mask]:
    """Convert quaternions to rotation matrices.

    Args:
        quaternions_xyzw: (T, 4), normalised here if nearly of norm one.

    Returns:
        (T, 3, 3), NaN where there is none; (T,) False where the norm is off by more than
        `NORM_TOLERANCE` or a number is not finite.
    """
    quaternions = np.asarray(quaternions_xyzw, dtype=np.float64)
    norms = np.sqrt(np.sum(quaternions * quaternions, axis=1))
    good = np.abs(norms - 1.0) <= NORM_TOLERANCE
    matrices = np.full((len(quaternions), 3, 3), np.nan)
    if good.any():
        matrices[good] = Rotation.from_quat(quaternions[good]).as_matrix()
    return matrices, good


def with_gravity(linear_acceleration: Array, world_R_sensor: Array, gravity: float) -> Array:
    """Add gravity back to accelerations without it: φ = a - g, in sensor axes (T, 3) [m/s²]."""
    upward: Array = world_R_sensor[:, 2, :]
    return linear_acceleration + gravity * upward


def check_shapes(
    rows: int, angular_velocity: Array, linear_acceleration: Array, orientation: Array | None
) -> None:
    """Refuse IMU signals that do not have the stated number of rows."""
    expected = [
        ('angular_velocity', angular_velocity, 3),
        ('linear_acceleration', linear_acceleration, 3),
    ]
    if orientation is not None:
        expected.append(('orientation_xyzw', orientation, 4))
    for name, value, width in expected:
        if np.shape(value) != (rows, width):
            raise ShapeError(name, f'({rows}, {width})', np.shape(value))
