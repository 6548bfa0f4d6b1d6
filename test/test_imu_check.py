import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.sensing.sensor_check import TOLERANCE, check_accelerometer, check_imu
from izmp_dynamics.signals.imu import rotations, with_gravity

from .raising import raising

UP = np.array([0.0, 0.0, GRAVITY])
MOUNT = Rotation.from_euler('xyz', [0.3, -2.0, 1.0])


class Walk:
    """What an IMU feels on a robot that sways, turns and hits the ground now and then."""

    def __init__(self, seed=0, rate=100, duration=10.0, speed=1.0) -> None:
        rng = np.random.default_rng(seed)
        t = np.arange(0.0, duration, 1.0 / rate)
        self.stamps = (t * 1e9).astype(np.int64) + 1_600_000_000_000_000_000
        roll = 0.1 * np.sin(6.0 * t * speed)
        yaw = 0.5 * np.sin(1.0 * t * speed)
        self.world_R_sensor = Rotation.from_euler('ZX', np.column_stack([yaw, roll])) * MOUNT
        step = (self.world_R_sensor[:-1].inv() * self.world_R_sensor[1:]).as_rotvec() * rate
        self.omega = np.vstack([step, step[-1]])
        accelerations = 1.5 * np.sin(7.0 * t[:, None] + np.array([0.0, 1.0, 2.0]))
        impacts = rng.random(len(t)) < 0.02
        accelerations[impacts] += rng.normal(scale=40.0, size=(impacts.sum(), 3))
        self.a = self.world_R_sensor.inv().apply(accelerations)
        self.phi = self.world_R_sensor.inv().apply(accelerations + UP)
        self.quaternions = self.world_R_sensor.as_quat()


WALK = Walk()


def check(omega=WALK.omega, force=WALK.phi, orientation=WALK.quaternions, **options):
    return check_imu(WALK.stamps, omega, force, orientation, **options)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 3.0))
def test_a_good_imu_passes_without_remark(seed: int, speed: float) -> None:
    walk = Walk(seed, speed=speed)
    verdict = check_imu(walk.stamps, walk.omega, walk.phi, walk.quaternions)
    assert verdict.oriented
    assert verdict.remarks == ()
    assert check_imu(walk.stamps, walk.omega, walk.phi, None).oriented is False
    removed = check_imu(walk.stamps, walk.omega, walk.a, walk.quaternions, gravity_removed=True)
    assert removed.oriented


@pytest.mark.parametrize(
    ('arguments', 'kind'),
    [
        ({'force': WALK.a}, 'gravity_removed'),
        ({'force': WALK.a, 'orientation': None}, 'gravity_removed'),
        ({'force': np.zeros_like(WALK.a)}, 'imu_dead'),
        ({'gravity_removed': True}, 'gravity_not_removed'),
        ({'force': WALK.phi / GRAVITY}, 'imu_in_g'),
        ({'force': WALK.phi * 1000.0}, 'acceleration_unit'),
        ({'force': WALK.phi + (WALK.phi - WALK.a)}, 'acceleration_unit'),
        ({'omega': np.degrees(WALK.omega) * 0.75}, 'gyroscope_in_degrees'),
        ({'omega': np.degrees(WALK.omega) * 4, 'orientation': None}, 'gyroscope_in_degrees'),
        ({'force': WALK.a, 'orientation': None, 'gravity_removed': True},
         'gravity_removed_without_orientation'),
        ({'force': WALK.a, 'orientation': 0.0 * WALK.quaternions, 'gravity_removed': True},
         'gravity_removed_without_orientation'),
        ({'omega': np.full_like(WALK.omega, np.nan)}, 'imu_not_finite'),
    ],
)  # fmt: skip
def test_signals_that_falsify_everything_are_refused(arguments, kind) -> None:
    with raising(SensingError, kind):
        check(**arguments)


@pytest.mark.parametrize(
    ('orientation', 'oriented', 'kind'),
    [
        (0.0 * WALK.quaternions, False, 'orientation_zero'),
        (2.0 * WALK.quaternions, False, 'orientation_not_normalised'),
        (np.tile([0.0, 0.0, 0.0, 1.0], (1000, 1)), False, 'orientation_placeholder'),
        (WALK.quaternions[:, [3, 0, 1, 2]], True, 'orientation_contradicts_gravity'),
        (WALK.world_R_sensor.inv().as_quat(), True, 'orientation_contradicts_gravity'),
        ((Rotation.from_euler('x', np.pi) * WALK.world_R_sensor).as_quat(), True,
         'orientation_contradicts_gravity'),
    ],
)  # fmt: skip
def test_suspicious_orientations_are_remarked_on(orientation, oriented: bool, kind: str) -> None:
    verdict = check(orientation=orientation)
    assert (verdict.oriented, verdict.kind, len(verdict.remarks)) == (oriented, kind, 1)


@pytest.mark.parametrize('angle', [90.0, 180.0])
def test_a_sensor_that_is_turned_beside_a_right_orientation_is_named(angle: float) -> None:
    """About the vertical, so that its accelerometer fits all the same."""
    axis = WALK.world_R_sensor[0].inv().apply([0.0, 0.0, 1.0])
    turn = Rotation.from_rotvec(np.radians(angle) * axis)
    turned = check(omega=turn.apply(WALK.omega), force=turn.apply(WALK.phi))
    assert turned.kind == 'imu_turned'
    assert f'turned by {angle:.0f}°' in turned.remarks[0]
    noise = np.random.default_rng(0).normal(scale=0.05, size=WALK.omega.shape)
    assert check(omega=WALK.omega + noise).remarks == ()


@pytest.mark.parametrize('late', [0.04, 0.1])
def test_an_orientation_that_is_late_is_not_turned(late: float) -> None:
    """Roll and pitch 90° apart: then a delay looks like a turn about the vertical."""
    t = np.arange(0.0, 5.0, 0.005)

    def pose(time):
        roll, pitch = 0.1 * np.sin(4.0 * np.pi * time), 0.1 * np.cos(4.0 * np.pi * time)
        return Rotation.from_euler('xy', np.column_stack([roll, pitch]))

    R = pose(t)
    omega = (R.inv() * pose(t + 0.005)).as_rotvec() / 0.005
    stamps = (1e9 * t).astype(np.int64)
    verdict = check_imu(stamps, omega, R.inv().apply(UP), pose(t - late).as_quat())
    assert verdict.kind != 'imu_turned'


def test_some_bad_samples_do_not_matter() -> None:
    force, quaternions = WALK.phi.copy(), WALK.quaternions.copy()
    force[::7], quaternions[::11] = np.nan, 0.0
    assert check(force=force, orientation=quaternions).remarks == ()


def test_a_robot_at_rest_with_a_constant_orientation_is_no_placeholder() -> None:
    still = np.tile(WALK.quaternions[0], (1000, 1))
    up = np.tile(WALK.world_R_sensor[0].inv().apply(UP), (1000, 1))
    verdict = check(omega=np.zeros((1000, 3)), force=up, orientation=still)
    assert verdict.oriented
    assert verdict.remarks == ()


@given(st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_anything_ends_in_a_verdict_or_a_sentence(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3.0, 4.0)
    omega, force = rng.normal(scale=scale, size=(2, rows, 3))
    omega[rng.random((rows, 3)) < 0.1] = np.nan
    quaternions = rng.normal(size=(rows, 4)) if rng.random() < 0.7 else None
    stamps = rng.integers(0, 5, rows)
    try:
        verdict = check_imu(stamps, omega, force, quaternions)
    except SensingError as error:
        text = str(error)
    else:
        text = ' '.join(verdict.remarks)
    for broken in ('nan', 'inf '):
        assert broken not in text


def test_quaternions_whose_difference_overflows_are_left_out() -> None:
    wild = WALK.quaternions.copy()
    wild[[3, 5], 0] = 1.2e308, -1.2e308
    with np.errstate(over='raise'):
        assert check(orientation=wild).oriented


# ---- Accelerometers beside an IMU ---------------------------------------------------------------


UPRIGHT = np.array([0.0, 0.0, GRAVITY])


def readings(*median, noise=0.5, samples=500):
    rng = np.random.default_rng(0)
    return np.array(median) + noise * rng.standard_normal((samples, len(median)))


def test_a_few_wild_samples_do_not_change_the_verdict():
    wild = readings(0.0, 0.0, GRAVITY)
    wild[:100] = 1e300
    wild[100:200] = np.nan
    assert check_accelerometer('a', wild, UPRIGHT) is None


@pytest.mark.parametrize(
    ('found', 'kind'),
    [
        (readings(0.0, 0.0, 1.0, noise=0.05), 'accelerometer_in_g'),
        (readings(0.0, 0.1, 0.0), 'accelerometer_without_gravity'),
        (np.zeros((500, 3)), 'accelerometer_without_gravity'),
        (np.full((500, 3), np.nan), 'accelerometer_not_finite'),
    ],
)
def test_what_falsifies_everything_is_refused(found, kind):
    with raising(SensingError, kind, accelerometer='a'):
        check_accelerometer('a', found, UPRIGHT)


def test_turned_axes_are_remarked_on():
    remark = check_accelerometer('a', readings(GRAVITY, 0.0, 0.0, noise=0.0), UPRIGHT)
    assert remark == (
        "The accelerometer 'a' reads (9.81, 0.00, 0.00) m/s² in the median where the IMU reads "
        '(0.00, 0.00, 9.81) along the same axes.'
    )


def test_an_axis_without_gravity_says_nothing_about_the_unit():
    """A level axis reads zero in g, in m/s² and without gravity."""
    assert check_accelerometer('a', np.zeros((100, 1)), np.zeros(1)) is None


@given(
    st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda axis: np.linalg.norm(axis) > 0.1),
    st.floats(0.0, 0.99),
)
def test_any_direction_within_the_tolerance_passes(direction, share):
    expected = GRAVITY * np.array(direction) / np.linalg.norm(direction)
    off = np.array([share * TOLERANCE * GRAVITY, 0.0, 0.0])
    assert check_accelerometer('a', (expected + off)[None], expected) is None


# ---- Gravity and quaternions --------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_gravity_added_back_equals_the_specific_force(seed: int) -> None:
    """Law: φ = a - g in every frame, with g = (0, 0, -9.81) in the world."""
    rng = np.random.default_rng(seed)
    world_R_sensor = Rotation.random(20, random_state=int(rng.integers(2**31)))
    in_world = rng.normal(size=(20, 3))
    a = world_R_sensor.inv().apply(in_world)
    phi = world_R_sensor.inv().apply(in_world - np.array([0.0, 0.0, -9.81]))
    matrices, _ = rotations(world_R_sensor.as_quat())
    np.testing.assert_allclose(with_gravity(a, matrices, 9.81), phi, atol=1e-13)


def test_quaternions_that_are_none() -> None:
    quaternions = np.array(
        [
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.005],
            [0.0, 0.0, 0.0, 1.2],
            [np.nan, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, np.inf],
        ]
    )
    matrices, good = rotations(quaternions)
    assert list(good) == [True, False, True, False, False, False]
    np.testing.assert_allclose(matrices[[0, 2]], [np.eye(3)] * 2, atol=1e-15)
    assert np.isnan(matrices[~good]).all()
