import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.errors import SensingError
from izmp_dynamics.sensing.imu_check import check_imu

GRAVITY = 9.81
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
    ('arguments', 'sentence'),
    [
        ({'force': WALK.a}, 'gravity has been removed. Remedy: .*gravity_removed: true'),
        ({'force': WALK.a, 'orientation': None}, 'gravity has been removed'),
        ({'force': np.zeros_like(WALK.a)}, 'gravity has been removed'),
        ({'gravity_removed': True}, 'does contain gravity; set imu.gravity_removed: false'),
        ({'force': WALK.phi / GRAVITY}, 'its unit is g and not m/s²'),
        ({'force': WALK.phi * 1000.0}, 'check its unit'),
        ({'force': WALK.phi + (WALK.phi - WALK.a)}, 'not added twice'),
        (
            {'omega': np.degrees(WALK.omega) * 0.75},
            '43 times the rate .* unit is °/s and not rad/s',
        ),
        ({'omega': np.degrees(WALK.omega) * 4, 'orientation': None}, 'faster than any'),
        ({'force': WALK.a, 'orientation': None, 'gravity_removed': True}, 'no orientation'),
        (
            {'force': WALK.a, 'orientation': 0.0 * WALK.quaternions, 'gravity_removed': True},
            'all its quaternions are zero. Without it gravity cannot be added back',
        ),
        ({'omega': np.full_like(WALK.omega, np.nan)}, 'None of the 1000 IMU samples is finite'),
    ],
)
def test_signals_that_falsify_everything_end_in_a_sentence(arguments, sentence) -> None:
    with pytest.raises(SensingError, match=sentence):
        check(**arguments)


@pytest.mark.parametrize(
    ('orientation', 'oriented', 'remark'),
    [
        (0.0 * WALK.quaternions, False, 'all its quaternions are zero'),
        (2.0 * WALK.quaternions, False, 'norm one'),
        (np.tile([0.0, 0.0, 0.0, 1.0], (1000, 1)), False, 'placeholder'),
        (WALK.quaternions[:, [3, 0, 1, 2]], True, 'order x, y, z, w'),
        (WALK.world_R_sensor.inv().as_quat(), True, 'off the vertical'),
        (
            (Rotation.from_euler('x', np.pi) * WALK.world_R_sensor).as_quat(),
            True,
            '17[0-9]° off the vertical',
        ),
    ],
)
def test_odd_orientations_are_remarked_on(orientation, oriented: bool, remark: str) -> None:
    verdict = check(orientation=orientation)
    assert verdict.oriented is oriented
    (found,) = verdict.remarks
    with pytest.raises(SensingError, match=remark):
        raise SensingError(found)


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
