import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import SensingError, ShapeError, UnknownNameError
from izmp_dynamics.sensing.accelerometer_array import Accelerometer, AccelerometerArray

from .raising import raising

X, Y, Z = np.eye(3)


def sensor(name, position, axes='xyz', rotation=None, **options) -> Accelerometer:
    R = np.eye(3) if rotation is None else rotation
    sensitive = np.eye(3)[['xyz'.index(axis) for axis in axes]]
    return Accelerometer(name, R, np.array(position, float), sensitive, **options)


def random_sensors(rng, count) -> list[Accelerometer]:
    return [
        sensor(
            f'a{i}',
            rng.uniform(-0.2, 0.2, 3),
            rotation=Rotation.random(random_state=int(rng.integers(2**31))).as_matrix(),
            noise_density=rng.uniform(0.5, 2.0) * 6e-4,
        )
        for i in range(count)
    ]


def random_motion(rng, rows=20):
    """ω, ω̇, φ of the root origin, as violent as a fall."""
    return (
        rng.uniform(-8.0, 8.0, (rows, 3)),
        rng.uniform(-60.0, 60.0, (rows, 3)),
        rng.uniform(-30.0, 30.0, (rows, 3)),
    )


def ideal_readings(sensors, omega, alpha, phi) -> dict[str, np.ndarray]:
    """Eq. 23 as it stands, in vectors, and then into each sensor's frame."""
    readings = {}
    for s in sensors:
        r = s.p_sensor_in_root
        at_sensor = phi + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
        readings[s.name] = s.readings(at_sensor @ s.root_R_sensor)
    return readings


def papers_layout(r0=(0.03, -0.02, 0.05), arms=(0.11, 0.13, 0.17)) -> list[Accelerometer]:
    """Fig. 3: the IMU at r0, uniaxial sensors on orthogonal arms, as eqs. 27-29 use them."""
    r0 = np.array(r0)
    return [
        sensor('imu', r0),
        sensor('a1', r0 + arms[0] * X, 'y'),
        sensor('a2', r0 + arms[1] * Y, 'z'),
        sensor('a3', r0 + arms[2] * Z, 'x'),
    ]


@given(st.integers(0, 2**32 - 1))
def test_equations_27_to_29_with_their_velocity_terms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms = rng.uniform(0.05, 0.3, 3)
    sensors = papers_layout(rng.uniform(-0.1, 0.1, 3), arms)
    omega = rng.uniform(-8.0, 8.0, 3)
    a0, (a1y, a2z, a3x) = rng.uniform(-20.0, 20.0, 3), rng.uniform(-20.0, 20.0, 3)
    array = AccelerometerArray(sensors)
    readings = {'imu': a0[None], 'a1': [[a1y]], 'a2': [[a2z]], 'a3': [[a3x]]}
    state = array.batch(np.array([1]), omega[None], readings)
    papers = [
        a2z / arms[1] - a0[2] / arms[1] - omega[1] * omega[2],
        a3x / arms[2] - a0[0] / arms[2] - omega[2] * omega[0],
        a1y / arms[0] - a0[1] / arms[0] - omega[0] * omega[1],
    ]
    np.testing.assert_allclose(
        state.angular_acceleration[0], papers, rtol=0, atol=1e-13 * 20 * array.amplification
    )


@given(st.integers(0, 2**32 - 1), st.integers(3, 7))
def test_ideal_signals_of_any_layout(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    sensors = random_sensors(rng, count)
    array = AccelerometerArray(sensors)
    assume(array.amplification < 30.0)
    omega, alpha, phi = random_motion(rng)
    state = array.batch(np.arange(20), omega, ideal_readings(sensors, omega, alpha, phi))
    assert np.abs(state.angular_acceleration - alpha).max() <= 1e-12 * array.amplification
    # φ of the root is that of a sensor less α × r, with r of a metre at most.
    assert np.abs(state.proper_acceleration - phi).max() <= 1e-12 * max(1.0, array.amplification)
    assert state.valid.all()


def covariance(array):
    """(6, 6) of (φ, ω̇) by the noise densities, at 1 Hz."""
    densities = np.concatenate([[s.noise_density] * len(s.axes) for s in array.accelerometers])
    return (array.gain * densities**2) @ array.gain.T


def test_weights_beat_equal_weights() -> None:
    rng = np.random.default_rng(4)
    sensors = random_sensors(rng, 4)
    noisy = [*sensors, sensor('bad', (0.2, 0.2, 0.2), noise_density=1.0)]
    with_bad = np.trace(covariance(AccelerometerArray(noisy))[3:, 3:])
    without = np.trace(covariance(AccelerometerArray(sensors))[3:, 3:])
    assert with_bad <= without * (1 + 1e-9)


def one_line(direction, offset=(0.1, 0.0, 0.3)):
    places = {'a': 0.0, 'b': 0.1, 'c': 0.3}
    return [sensor(name, np.array(offset) + k * direction) for name, k in places.items()]


@pytest.mark.parametrize(
    ('sensors', 'layout', 'component'),
    [
        (one_line(Y), 'one_line', 'angular acceleration about y'),
        (one_line((X + Y) / np.sqrt(2)), 'one_line', 'angular acceleration about (0.707 0.707 0)'),
        ([sensor('a', X), sensor('b', Z)], 'one_line',
         'angular acceleration about (0.707 0 -0.707)'),
        ([sensor(n, (0.1, 0.2, 0.3)) for n in 'abc'], 'one_point',
         'angular acceleration about any axis'),
        ([sensor(f's{i}', p, 'xy') for i, p in enumerate([X, Y, Z, X + Y])], 'blind_axis',
         'acceleration along z'),
        ([sensor('i', 0 * X), sensor('p', X, 'y'), sensor('q', Y, 'z'), sensor('r', Z, 'z')],
         'dependent_axes', 'angular acceleration about y'),
    ],
)  # fmt: skip
def test_unobservable_components_are_named(sensors, layout, component) -> None:
    names = tuple(sensor.name for sensor in sensors)
    data = {'accelerometers': names, 'layout': layout, 'component': component}
    with raising(SensingError, 'not_observable', **data):
        AccelerometerArray(sensors)


@pytest.mark.parametrize('sensors', [[], [sensor('imu', (0, 0, 0))]])
def test_fewer_than_six_axes_are_refused(sensors) -> None:
    with raising(SensingError, 'too_few_axes', axes=3 * len(sensors)):
        AccelerometerArray(sensors)


def test_the_verdict_depends_on_neither_size_nor_place() -> None:
    for offset in (np.zeros(3), np.array([3.0, -2.0, 1.0])):
        for size in (1e-3, 10.0):
            with raising(SensingError, 'not_observable', layout='one_line'):
                AccelerometerArray(one_line(size * (X + 2 * Z), offset))
            corner = [sensor(n, offset + size * p) for n, p in (('a', X), ('b', Y), ('c', Z))]
            assert AccelerometerArray(corner).gain.shape == (6, 9)


def test_an_ill_conditioned_layout_is_remarked_on() -> None:
    assert AccelerometerArray(papers_layout()).warnings == ()
    (remark,) = AccelerometerArray(papers_layout(arms=(0.005, 0.1, 0.1))).warnings
    assert '283 rad/s²' in remark
    assert 'further apart' in remark


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1))
def test_random_layouts_end_in_a_result_or_a_sentence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = rng.integers(-1, 2, (rng.integers(1, 6), 3)) * 0.1
    names = ['xyz', 'xy', 'x', 'y', 'z', 'yz']
    sensors = [sensor(f's{i}', p, names[rng.integers(6)]) for i, p in enumerate(grid)]
    omega, alpha, phi = random_motion(rng, 3)
    readings = ideal_readings(sensors, omega, alpha, phi)
    rows = [
        [*axis, *np.cross(s.p_sensor_in_root, axis)] for s in sensors for axis in s.axes_in_root
    ]
    if np.linalg.matrix_rank(rows, tol=1e-9) < 6:
        with pytest.raises(SensingError) as caught:
            AccelerometerArray(sensors)
        assert caught.value.kind in ('not_observable', 'too_few_axes')
    else:
        state = AccelerometerArray(sensors).batch(np.arange(3), omega, readings)
        np.testing.assert_allclose(state.angular_acceleration, alpha, atol=1e-9)


@pytest.mark.parametrize(
    ('arguments', 'kind'),
    [
        ({'root_R_sensor': 2 * np.eye(3)}, 'not_a_rotation'),
        ({'root_R_sensor': np.diag([1.0, 1.0, -1.0])}, 'not_a_rotation'),
        ({'root_R_sensor': np.full((3, 3), np.nan)}, 'not_a_rotation'),
        ({'p_sensor_in_root': [np.inf, 0, 0]}, 'position_not_finite'),
        ({'axes': [[1.0, 1.0, 0.0]]}, 'not_unit_vectors'),
        ({'noise_density': 0.0}, 'noise_density'),
        ({'noise_density': np.nan}, 'noise_density'),
    ],
)
def test_impossible_sensors_are_refused(arguments, kind) -> None:
    good = {'name': 's', 'root_R_sensor': np.eye(3), 'p_sensor_in_root': np.zeros(3)}
    with raising(SensingError, kind, accelerometer='s'):
        Accelerometer(**{**good, **arguments})


def test_wrong_input_is_refused() -> None:
    array = AccelerometerArray(papers_layout())
    readings = {'imu': np.zeros((2, 3)), 'a1': np.zeros((2, 1)), 'a2': np.zeros((2, 1))}
    with raising(UnknownNameError, 'unknown_name', name='a3', valid=tuple(readings)):
        array.batch(np.arange(2), np.zeros((2, 3)), readings)
    with raising(ShapeError, 'shape', expected='(2, 1)', got=(2, 3)):
        array.batch(np.arange(2), np.zeros((2, 3)), {**readings, 'a3': np.zeros((2, 3))})
    with raising(ShapeError, 'shape', name='angular_velocity'):
        array.batch(np.arange(2), np.zeros((3, 3)), readings)
    with raising(SensingError, 'name_twice', accelerometers=('a', 'a')):
        AccelerometerArray([sensor('a', X), sensor('a', Y)])
    with raising(ShapeError, 'shape', name="p_sensor_in_root of accelerometer 's'"):
        sensor('s', (0.0, 1.0))
