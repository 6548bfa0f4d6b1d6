"""The IMU that is derived from the poses of a robot without one."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import GRAVITY, NANOSECONDS
from izmp_dynamics.pipeline.pose_imu import imu_of_poses
from izmp_dynamics.signals.samples import Samples


def test_a_lost_pose_costs_no_accuracy_of_the_angular_velocity():
    """As that of a parabola it is off by a sixth of the third derivative and of both steps."""
    ticks = np.delete(np.arange(600), np.arange(5, 600, 10))
    stamps = NANOSECONDS + 8_333_333 * ticks
    t = (stamps / NANOSECONDS)[:, None]
    axis = np.array([0.36, 0.48, 0.8])
    angle, rate = np.sin(12.0 * t) + 0.3 * t, 12.0 * np.cos(12.0 * t) + 0.3
    tilt = Rotation.from_euler('x', 0.4)
    orientation = tilt * Rotation.from_rotvec(angle * axis)
    poses = Samples(stamps, np.hstack([np.zeros((len(t), 3)), orientation.as_quat()]))
    found = imu_of_poses(poses, GRAVITY).values
    off = found[:, :3] - (rate * axis)[1:-1]
    assert np.abs(off).max() < 1.01 * 12.0**3 * 8.333333e-3 * 16.666667e-3 / 6.0
    gravity = orientation.inv().apply([0.0, 0.0, GRAVITY])[1:-1]
    np.testing.assert_allclose(found[:, 3:], gravity, atol=1e-9)


def test_of_even_poses_it_is_the_central_difference():
    stamps = NANOSECONDS + 10_000_000 * np.arange(5)
    t = stamps / NANOSECONDS
    orientation = Rotation.from_rotvec(np.outer(0.5 * t + t**2, [0.0, 0.0, 1.0]))
    position = np.outer(3.0 * t**2, [1.0, 0.0, 0.0])
    found = imu_of_poses(Samples(stamps, np.hstack([position, orientation.as_quat()])), GRAVITY)
    np.testing.assert_array_equal(found.stamps, stamps[1:-1])
    assert found.values[:, 2] == pytest.approx(0.5 + 2.0 * t[1:-1])
    acceleration = np.tile([6.0, 0.0, GRAVITY], (3, 1))
    np.testing.assert_allclose(
        found.values[:, 3:], orientation.inv().apply(np.pad(acceleration, ((1, 1), (0, 0))))[1:-1],
        atol=1e-6,
    )  # fmt: skip
