"""What drivers get wrong about IMUs, accelerometers and force sensors.

Of an IMU: gravity removed, units that are not SI, no orientation; `check_imu` looks at a segment
of a log before it is evaluated. What would falsify every result ends in a `SensingError` that says
what to change; what is only suspicious ends in a remark. Further accelerometers are compared with
the IMU beside them. Of a force sensor: whether it measures more than the force along its z axis,
or less, contact alone.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import GRAVITY, Array, Stamps, seconds
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.base.rotations import angles
from izmp_dynamics.signals.differences import Mask
from izmp_dynamics.signals.imu import rotations

TOLERANCE = 0.3
"""Difference from the IMU's reading that is remarked on, as a part of gravity [-]."""


def check_accelerometer(
    name: str, readings: Array, expected: Array, gravity: float = GRAVITY
) -> str | None:
    """Compare the median reading of an accelerometer with the IMU's on the same rigid link.

    In the median over some seconds the rotation of the link makes no difference of this size.

    Args:
        name: of the accelerometer, for messages.
        readings: (T, k) along its k sensitive axes.
        expected: (k,) what the IMU reads along the same axes [m/s²].
        gravity: magnitude at the place [m/s²].

    Returns:
        What contradicts the IMU: a sentence; None if nothing does.

    Raises:
        SensingError: no finite sample, a wrong unit, or gravity removed.
    """
    finite = np.isfinite(readings).all(axis=1)
    if not finite.any():
        raise SensingError(
            f"None of the {len(readings)} samples of '{name}' is finite.",
            kind='accelerometer_not_finite',
            accelerometer=name,
        )
    median = np.median(readings[finite], axis=0)
    limit = TOLERANCE * gravity
    if float(np.linalg.norm(median - expected)) <= limit:
        return None
    found = f"The accelerometer '{name}' reads {_vector(median)} m/s² in the median"
    steady = float(np.linalg.norm(expected)) > 2.0 * limit
    if steady and float(np.linalg.norm(median * GRAVITY - expected)) <= limit:
        raise SensingError(
            f'{found}: that is g and not m/s²; let the driver publish m/s² (REP 103).',
            kind='accelerometer_in_g',
            accelerometer=name,
        )
    if steady and float(np.linalg.norm(median)) <= 0.5 * limit:
        raise SensingError(
            f'{found} where the IMU reads {_vector(expected)}: gravity has been removed, or the '
            'sensor is dead. Let the driver publish the specific force, which at rest is 1 g '
            'upwards, or take the sensor out of the robot file.',
            kind='accelerometer_without_gravity',
            accelerometer=name,
        )
    return f'{found} where the IMU reads {_vector(expected)} along the same axes.'


def _vector(values: Array) -> str:
    return f'({", ".join(f"{value:.2f}" for value in values)})'


ENOUGH = 50
"""Loaded samples from which on it is judged."""

_SIDEWAYS = [0, 1, 3, 4, 5]

PROPOSAL = (
    'Set wrench.normal_only: true for this foot: otherwise they count as measured, and a push '
    'would be concluded from them.'
)


class NormalForceWatch:
    """Notes whether horizontal forces and torques are ever not zero, and the others not 0 or 1."""

    def __init__(self) -> None:
        self._sideways = False
        self._other = False
        self._loaded = 0

    def see(self, wrenches: Array) -> None:
        """Take readings (T, 6): force [N], moment [N·m] in sensor axes."""
        if not self._sideways:
            known = np.nan_to_num(wrenches)
            self._sideways = bool(known[:, _SIDEWAYS].any())
            self._loaded += int(np.count_nonzero(known[:, 2]))
            self._other |= not bool(np.isin(known[:, 2], (0.0, 1.0)).all())

    @property
    def only_normal(self) -> bool:
        """Whether nothing but the force along z was ever measured."""
        return not self._sideways and self._loaded >= ENOUGH

    @property
    def only_contact(self) -> bool:
        """Whether it was nothing but 0 and 1: flags, no forces."""
        return self.only_normal and not self._other


FASTEST_GYROSCOPE = 36.0
"""No gyroscope of this class measures faster [rad/s]; full scale is 2000 °/s = 35 rad/s."""

TURN_LIMIT = np.radians(30.0)
"""Angle between the axes of gyroscope and orientation from which on they are doubted [rad]."""

TILT_LIMIT = np.radians(20.0)
"""Angle between measured and claimed vertical from which on the orientation is doubted [rad]."""

REMEDY_GRAVITY_REMOVED = (
    'let the driver publish the specific force (in xsens drivers the output Acceleration, not '
    'FreeAcceleration; on a BNO055 the raw accelerometer, not linear_acceleration; in '
    'simulators the IMU with gravity), or set imu.gravity_removed: true in the robot file, which '
    'adds gravity back and needs the orientation of the IMU'
)

REMEDY_DEGREES = 'its unit is °/s and not rad/s; let the driver publish rad/s (REP 103)'


_TURNED_WITHIN = 0.02  # [s] over which an orientation is differenced
_LEAST_OFF = 0.005  # root mean square difference of two angular velocities that counts [rad/s]
_LAGS = 8  # of _TURNED_WITHIN, that a delay of either may have
_EXPLAINED = 0.2  # share of its square that may be left if another mounting explains it


@dataclass(frozen=True)
class ImuVerdict:
    """An IMU whose signals can be used.

    Attributes:
        oriented: whether its orientation can be used.
        remarks: what is suspicious but usable, at most one sentence.
        kind: identifies the remark; empty if there is none.
    """

    oriented: bool
    remarks: tuple[str, ...] = ()
    kind: str = ''


def check_imu(
    stamps: Stamps,
    angular_velocity: Array,
    linear_acceleration: Array,
    orientation_xyzw: Array | None = None,
    gravity_removed: bool = False,
    gravity: float = GRAVITY,
) -> ImuVerdict:
    """Refuse an IMU whose signals are not what they should be; all in sensor axes.

    Args:
        stamps: (T,) a segment of the log, some seconds or all of it [ns].
        angular_velocity: (T, 3).
        linear_acceleration: (T, 3).
        orientation_xyzw: (T, 4), or None if the driver says that there is none.
        gravity_removed: what the robot file says.
        gravity: magnitude at the place [m/s²].

    Raises:
        SensingError: no finite sample, wrong units, gravity removed, or not removed although the
            robot file says so, or not to be added back without an orientation. The message
            states the remedy.
    """
    finite = np.isfinite(np.hstack([angular_velocity, linear_acceleration])).all(axis=1)
    if not finite.any():
        raise SensingError(
            f'None of the {len(stamps)} IMU samples is finite.',
            kind='imu_not_finite',
            count=len(stamps),
        )
    force, omega = linear_acceleration[finite], angular_velocity[finite]
    _check_force(force, gravity_removed, gravity)
    speed = np.linalg.norm(omega, axis=1)
    _check_range(speed)
    verdict = ImuVerdict(False)
    if orientation_xyzw is not None:
        stamps, quaternions = np.asarray(stamps)[finite], np.asarray(orientation_xyzw)[finite]
        verdict = _judge_orientation(stamps, quaternions, omega, force, gravity_removed, gravity)
    if gravity_removed and not verdict.oriented:
        reason = ' '.join(verdict.remarks) or 'The IMU states no orientation.'
        raise SensingError(
            f'{reason} Without it gravity cannot be added back (imu.gravity_removed is true); '
            'let the driver publish the specific force or the orientation.',
            kind='gravity_removed_without_orientation',
        )
    return verdict


def _judge_orientation(
    stamps: Stamps,
    quaternions: Array,
    omega: Array,
    force: Array,
    gravity_removed: bool,
    gravity: float,
) -> ImuVerdict:
    R, good = rotations(quaternions)
    speed = np.linalg.norm(omega, axis=1)
    if not good.any():
        return _no_orientation(quaternions)
    if _is_placeholder(quaternions, speed):
        return ImuVerdict(
            False,
            (
                'The orientation of the IMU never changes although it turns, so it is a '
                'placeholder and is not used; drivers mark it by orientation_covariance[0] = -1.',
            ),
            'orientation_placeholder',
        )
    _check_unit(speed, _turning_rate(stamps, R, good))
    if gravity_removed:
        return ImuVerdict(True)
    in_world = np.einsum('tij,tj->ti', R[good], force[good])
    tilted = _judge_tilt(in_world, gravity)
    return tilted if tilted.remarks else _judge_axes(seconds(stamps[good]), R[good], omega[good])


def _is_placeholder(quaternions: Array, speed: Array) -> bool:
    constant = len(quaternions) > 1 and not (quaternions != quaternions[0]).any()
    return constant and float(np.median(speed)) > 0.01


def _check_force(force: Array, gravity_removed: bool, gravity: float) -> None:
    """Judge the magnitude of the accelerometer; its median is robust against impacts."""
    magnitude = float(np.median(np.linalg.norm(force, axis=1)))
    steady = float(np.linalg.norm(np.median(force, axis=0)))
    found = f'The accelerometer of the IMU reads {magnitude:.3g} m/s² in the median'
    if gravity_removed:
        if steady > 0.5 * gravity:
            raise SensingError(
                f'{found}, so it does contain gravity; set imu.gravity_removed: false.',
                kind='gravity_not_removed',
                steady=steady,
            )
        return
    if 0.5 * gravity <= magnitude <= 1.5 * gravity:
        return
    if 0.8 <= magnitude <= 1.2 and steady >= 0.8 * magnitude:
        raise SensingError(
            f'{found} in a steady direction: that is 1 g, so its unit is g and not m/s²; '
            'let the driver publish m/s² (REP 103).',
            kind='imu_in_g',
            magnitude=magnitude,
        )
    if magnitude < 0.5 * gravity:
        dead = '' if force.any() else ', or the sensor is dead (all its readings are zero)'
        raise SensingError(
            f'{found} instead of about {gravity:.3g}: gravity has been removed{dead}. '
            f'Remedy: {REMEDY_GRAVITY_REMOVED}.',
            kind='gravity_removed' if force.any() else 'imu_dead',
            magnitude=magnitude,
        )
    raise SensingError(
        f'{found} instead of about {gravity:.3g}: check its unit (m/s², not mm/s² or counts) and '
        'that gravity is not added twice.',
        kind='acceleration_unit',
        magnitude=magnitude,
    )


def _check_range(speed: Array) -> None:
    """Judge the unit of the gyroscope by what such sensors can measure."""
    if float(np.percentile(speed, 99.0)) > FASTEST_GYROSCOPE:
        raise SensingError(
            f'The gyroscope of the IMU reads up to {speed.max():.3g} rad/s, faster than any '
            f'such sensor: {REMEDY_DEGREES}.',
            kind='gyroscope_in_degrees',
            speed=float(speed.max()),
        )


def _check_unit(speed: Array, turning: float) -> None:
    """Judge the unit of the gyroscope by the rate at which the orientation turns."""
    ratio = float(np.sqrt(np.mean(speed * speed))) / max(turning, 0.01)
    if 40.0 < ratio < 80.0:
        raise SensingError(
            f'The gyroscope of the IMU reads {ratio:.0f} times the rate at which its '
            f'orientation turns: {REMEDY_DEGREES}.',
            kind='gyroscope_in_degrees',
            ratio=ratio,
        )


def _turning_rate(stamps: Stamps, R: Array, good: Mask) -> float:
    """Root mean square of the rate at which the orientation turns [rad/s]; 0 if unknown."""
    times = seconds(np.asarray(stamps)[good])
    steps = np.diff(times)
    if not len(steps) or steps.min() <= 0.0:
        return 0.0
    turned = angles(np.swapaxes(R[good][:-1], 1, 2) @ R[good][1:])
    return float(np.sqrt(np.sum(turned**2 / steps) / np.sum(steps)))


def _judge_axes(time: Array, R: Array, omega: Array) -> ImuVerdict:
    """Compare the axes of the gyroscope with those in which the orientation turns.

    Args:
        time: (T,) [s].
        R: (T, 3, 3) orientation, world_R_sensor.
        omega: (T, 3) angular velocity [rad/s].
    """
    steps = np.diff(time)
    every = max(1, round(_TURNED_WITHIN / max(float(np.median(steps)), 1e-6))) if len(steps) else 1
    ends = np.arange(0, len(time), every)
    change = np.swapaxes(R[ends[:-1]], 1, 2) @ R[ends[1:]]
    sums = np.cumsum(omega, axis=0)
    measured = (sums[ends[1:]] - sums[ends[:-1]]) / every
    skew = (change - np.swapaxes(change, 1, 2)) / 2.0  # the sine of a small angle, by its axis
    sines = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    rates = sines / np.maximum(np.diff(time[ends]), 1e-6)[:, None]
    Q = rotation_between(rates, measured)
    lags = range(min(_LAGS, len(rates)))
    off = min(
        (
            _mean_square(*pair, lag)
            for pair in ((measured, rates), (rates, measured))
            for lag in lags
        ),
        default=0.0,
    )
    left = _mean_square(measured, rates @ Q.T, 0)
    angle = float(np.arccos(np.clip((np.trace(Q) - 1.0) / 2.0, -1.0, 1.0)))
    matters = off > _LEAST_OFF**2 and left < _EXPLAINED * off
    if not matters or angle < TURN_LIMIT:
        return ImuVerdict(True)
    return ImuVerdict(
        True,
        (
            f'The axes of the gyroscope of the IMU are turned by {np.degrees(angle):.0f}° against '
            'those of its orientation: one of the two is not that of imu.frame.',
        ),
        'imu_turned',
    )


def rotation_between(given: Array, wanted: Array) -> Array:
    """Solve Wahba's problem by singular values (Markley, 1988).

    Args:
        given: (T, 3) vectors.
        wanted: (T, 3) the same ones in other axes.

    Returns:
        (3, 3) rotation with which the given ones are closest to those wanted.
    """
    U, _, V = np.linalg.svd(wanted.T @ given)
    return np.asarray((U * [1.0, 1.0, np.sign(np.linalg.det(U @ V))]) @ V)


def _mean_square(late: Array, early: Array, lag: int) -> float:
    """Mean square of the difference of two signals (N, 3), of which one is late by some rows."""
    off = late[lag:] - early[: len(early) - lag]
    return float(np.mean(np.sum(off * off, axis=1))) if len(off) else 0.0


def _no_orientation(quaternions: Array) -> ImuVerdict:
    if not np.any(quaternions):
        kind, why = 'orientation_zero', 'all its quaternions are zero'
    elif not np.isfinite(quaternions).all(axis=1).any():
        kind, why = 'orientation_not_finite', 'none of its quaternions is finite'
    else:
        first = np.array2string(quaternions[0], precision=3)
        kind = 'orientation_not_normalised'
        why = f'none of its quaternions has the norm one (the first is {first})'
    return ImuVerdict(False, (f'The IMU states no usable orientation: {why}.',), kind)


def _judge_tilt(force_in_world: Array, gravity: float) -> ImuVerdict:
    """Compare the direction of the specific force, on average, with the world's vertical."""
    mean = force_in_world.mean(axis=0)
    angle = float(np.arctan2(np.linalg.norm(mean[:2]), mean[2]))
    if angle <= TILT_LIMIT or np.linalg.norm(mean) < 0.5 * gravity:
        return ImuVerdict(True)
    remark = (
        f'The orientation of the IMU does not fit its accelerometer: on average the specific '
        f'force is {np.degrees(angle):.0f}° off the vertical. Check that the quaternion is in the '
        'order x, y, z, w, takes the sensor to the world, and that z of the world is up.'
    )
    return ImuVerdict(True, (remark,), 'orientation_contradicts_gravity')
