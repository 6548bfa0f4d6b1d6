import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.sensing.acd import ActuatorDifferentiator
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.differences import METHODS

from .raising import raising

MS = 1_000_000
JOINTS = ('l_hip', 'l_knee', 'l_ankle')
START = 1_602_256_052_650_439_936
FREQUENCIES = 2 * np.pi * np.array([0.7, 1.9, 3.1])
AMPLITUDE = 0.4


def clock(rows: int, period_ms: int = 2) -> np.ndarray:
    return START + np.arange(rows) * period_ms * MS


def swing(stamps: np.ndarray, order: int = 0) -> np.ndarray:
    """Joint positions or their derivative of the given order."""
    angle = FREQUENCIES * ((stamps - START) * 1e-9)[:, None] + order * np.pi / 2
    return AMPLITUDE * FREQUENCIES**order * np.sin(angle)


def acd(period: float = 0.002, **options) -> ActuatorDifferentiator:
    return ActuatorDifferentiator(JOINTS, period, **options)


def stream(differentiator, stamps, positions) -> JointKinematics:
    parts = [
        differentiator.extend(stamps[k : k + 1], positions[k : k + 1]) for k in range(len(stamps))
    ]
    return JointKinematics.joined([*parts, differentiator.flush()])


def assert_same_bits(a: JointKinematics, b: JointKinematics) -> None:
    for name in ('stamps', 'positions', 'velocities', 'accelerations', 'valid'):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize('method', METHODS)
def test_the_values_belong_to_their_stamps(method: str) -> None:
    stamps = clock(300)
    stage = acd(method=method)
    kinematics = stage.batch(stamps, swing(stamps))
    h, w = 0.002, FREQUENCIES.max()
    half = 3 if method == 'savitzky_golay' else 1
    np.testing.assert_array_equal(kinematics.stamps, stamps[half:-half])
    assert kinematics.valid.all()
    assert not stage.faults
    # Truncation errors (Taylor); a cubic fitted to t⁴ through 7 samples has the t² term 67/7 h².
    velocity_bound = w**2 * h / 2 if method == 'paper' else w**3 * h**2 / 6
    acceleration_bound = w**4 * h**2 * (67 / 84 if method == 'savitzky_golay' else 1 / 12)
    error = np.abs(kinematics.velocities - swing(kinematics.stamps, 1)).max()
    assert error <= AMPLITUDE * velocity_bound
    error = np.abs(kinematics.accelerations - swing(kinematics.stamps, 2)).max()
    assert error <= AMPLITUDE * acceleration_bound * 1.01


def test_paper_method_recovers_semi_implicit_euler_exactly() -> None:
    """A simulator steps v, then q: the pair must carry the stamp of the middle sample."""
    rng = np.random.default_rng(3)
    h, rows = 0.002, 100
    acceleration = rng.uniform(-50.0, 50.0, (rows, 3))
    velocity = np.zeros((rows, 3))
    position = np.zeros((rows, 3))
    for k in range(rows - 1):
        velocity[k + 1] = velocity[k] + acceleration[k] * h
        position[k + 1] = position[k] + velocity[k + 1] * h
    kinematics = acd(method='paper').batch(clock(rows), position)
    np.testing.assert_allclose(kinematics.velocities, velocity[1:-1], atol=1e-10)
    np.testing.assert_allclose(kinematics.accelerations, acceleration[1:-1], atol=1e-7)


@st.composite
def messy_logs(draw, max_rows=120):
    """A log with jitter, gaps, bad stamps, spikes, NaN, plateaus."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(0, max_rows))
    steps = 2.0 * MS + rng.normal(scale=draw(st.sampled_from([0.0, 0.3, 2.0])) * MS, size=rows)
    steps[rng.random(rows) < 0.02] = 200 * MS
    stamps = START + np.cumsum(steps).astype(np.int64)
    positions = swing(stamps) if rows else np.empty((0, 3))
    positions[rng.random(positions.shape) < draw(st.sampled_from([0.0, 0.01, 0.1]))] = np.nan
    spikes = rng.random(positions.shape) < draw(st.sampled_from([0.0, 0.01, 0.1]))
    positions[spikes] += rng.normal(scale=0.3, size=spikes.sum())
    if rows > 40:
        positions[30 : 30 + draw(st.integers(0, 8)), 0] += 0.5
    bad = rng.random(rows) < draw(st.sampled_from([0.0, 0.05]))
    stamps[bad] = rng.choice([0, START, START + 10**15], size=bad.sum())
    return stamps, positions


options = st.fixed_dictionaries(
    {
        'method': st.sampled_from(METHODS),
        'acceleration_limit': st.sampled_from([1000.0, None]),
        'half_width': st.sampled_from([None, None, 0.002, 0.005, 0.012]),
    }
)


@settings(max_examples=100, deadline=None)
@given(
    messy_logs(),
    options,
    st.one_of(st.just([1]), st.lists(st.integers(1, 40), min_size=1, max_size=10)),
)
def test_in_pieces_equals_batch_bit_by_bit(log, choice, lengths) -> None:
    stamps, positions = log
    live, parts, begin = acd(**choice), [], 0
    stage = acd(**choice)
    kinematics = stage.batch(stamps, positions)
    for piece in range(len(stamps)):
        end = begin + lengths[piece % len(lengths)]
        parts.append(live.extend(stamps[begin:end], positions[begin:end]))
        begin = end
    assert_same_bits(JointKinematics.joined([*parts, live.flush()]), kinematics)
    assert live.faults == stage.faults


def test_what_is_settled_is_handed_out_or_has_no_value() -> None:
    """No later instant has a stamp up to `settled`, and that follows the stream closely."""
    stamps = clock(400)
    stamps[200:] += 300 * MS
    live, newest = acd(), 0
    for stamp, q in zip(stamps, swing(stamps), strict=True):
        settled = live.settled
        done = live.extend(np.array([stamp]), q[None])
        assert np.all(done.stamps > settled)
        assert live.received_until == stamp
        newest = max(newest, *done.stamps.tolist(), 0)
        assert live.settled >= newest
    assert stamps[-1] - live.settled <= live.latency * 2 * MS


@settings(deadline=None)
@given(messy_logs(), st.sampled_from(METHODS))
def test_nan_occurs_only_where_the_mask_says_so(log, method) -> None:
    stamps, positions = log
    stage = acd(method=method)
    kinematics = stage.batch(stamps, positions)
    good = kinematics.select(kinematics.valid)
    for values in (good.positions, good.velocities, good.accelerations):
        assert np.isfinite(values).all()
    named = any(fault.reason is Reason.JOINT_FAULTY for fault in stage.faults)
    assert named == (not kinematics.valid.all())


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('wild', [3.0, -0.05, np.nan, np.inf, 1e300])
def test_one_wild_value_is_counted_and_does_no_harm(method: str, wild: float) -> None:
    stamps = clock(200)
    clean = swing(stamps)
    dirty = clean.copy()
    dirty[77, 1] += wild
    expected = acd(method=method).batch(stamps, clean)
    stage = acd(method=method)
    kinematics = stage.batch(stamps, dirty)
    assert kinematics.valid.all()
    assert stage.faults == {Fault(Reason.JOINT_REPAIRED, 'l_knee'): 1}
    # The cubic is off by h⁴ q⁗ / 6; the second difference makes that 2 h² q⁗ / 6.
    bound = AMPLITUDE * FREQUENCIES[1] ** 4 * 0.002**2 / 3
    assert np.abs(kinematics.accelerations - expected.accelerations).max() <= bound
    np.testing.assert_array_equal(
        kinematics.accelerations[:, [0, 2]], expected.accelerations[:, [0, 2]]
    )


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('length', [2, 3, 4, 5])
@pytest.mark.parametrize('wild', [0.5, -3.0, np.nan])
def test_a_lasting_fault_is_invalid_and_named(method: str, length: int, wild: float) -> None:
    stamps = clock(200)
    clean = swing(stamps)
    dirty = clean.copy()
    dirty[80 : 80 + length, 2] += wild
    expected = acd(method=method).batch(stamps, clean)
    stage = acd(method=method)
    kinematics = stage.batch(stamps, dirty)
    assert {fault.part for fault in stage.faults} == {'l_ankle'}
    at_fault = np.isin(kinematics.stamps, stamps[80 : 80 + length])
    assert not kinematics.valid[at_fault].any()
    np.testing.assert_array_equal(
        kinematics.accelerations[kinematics.valid], expected.accelerations[kinematics.valid]
    )
    # The other joints keep their values, and the joint itself recovers.
    np.testing.assert_array_equal(kinematics.accelerations[:, :2], expected.accelerations[:, :2])
    assert np.count_nonzero(~kinematics.valid) <= length + 5 + 7


def test_a_held_up_message_makes_no_spike() -> None:
    """Arrival stamps of a queue that stalls: 10, 20, 49.7, 50 ms instead of 10, 20, 30, 40."""
    true = clock(300, period_ms=10)
    stamps = true.copy()
    for row in range(20, 280, 13):
        stamps[row] = true[row + 1] - 300_000
    stage = acd(0.01)
    kinematics = stage.batch(stamps, swing(true))
    assert stage.faults == {Fault(Reason.STAMP_HELD_UP): 20}
    assert kinematics.valid.all()
    error = np.abs(kinematics.accelerations - swing(kinematics.stamps, 2))
    # Where a sample is left out the parabola is uneven: (h2 - h1) q⃛ / 3 is its error.
    assert error.max() <= AMPLITUDE * FREQUENCIES.max() ** 3 * 0.01 / 3 * 1.2


def test_no_value_across_a_gap() -> None:
    stamps = clock(100)
    stamps[50:] += 170 * MS
    kinematics = acd().batch(stamps, swing(stamps))
    assert set(stamps) - set(kinematics.stamps) == {stamps[i] for i in (0, 49, 50, 99)}


@pytest.mark.parametrize(
    ('wrong', 'kind'),
    [
        ({'method': 'magic'}, 'unknown_method'),
        ({'period': 0.0}, 'period'),
        ({'period': float('nan')}, 'period'),
        ({'max_gap': 0.001}, 'max_gap'),
        ({'method': 'savitzky_golay', 'window': 4}, 'window'),
        ({'acceleration_limit': 0.0}, 'acceleration_limit'),
    ],
)
def test_wrong_parameters_are_refused(wrong, kind) -> None:
    with raising(SensingError, kind):
        acd(**wrong)


def test_wrong_shapes_are_refused() -> None:
    with raising(ShapeError, 'shape', expected='(5, 3)', got=(5, 2)):
        acd().batch(clock(5), np.zeros((5, 2)))
    with raising(ShapeError, 'shape', expected='(1, 3)'):
        acd().extend(clock(1), np.zeros((1, 4)))


def jump(size: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Stamps and positions of joints that jump in row 50."""
    stamps = clock(100, 5)
    return stamps, np.where(np.arange(100) >= 50, size, 0.0)[:, None] * np.ones(3)


@pytest.mark.parametrize('half_width', [0.005, 0.012, 0.02, 0.033])
def test_no_valid_acceleration_whose_matched_window_holds_a_jump(half_width) -> None:
    kinematics = acd(0.005, half_width=half_width).batch(*jump())
    assert np.all(kinematics.accelerations[kinematics.valid] == 0.0)
    assert kinematics.valid.sum() > 50
