"""The matched filter: all signals and their derivatives are means over one triangle."""

import dataclasses

import numpy as np
import pytest
from scipy.signal import savgol_filter

from izmp_dynamics.model.method import Filter
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.noise_propagation import (
    gain_of,
    joint_weights,
    matched_weights,
    quantised_second,
)
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.sensing.noise import noise_floor
from izmp_dynamics.signals.matched_filter import (
    bandwidth,
    gain,
    kernel_weights,
    matched_means,
    matched_stream,
)
from izmp_dynamics.signals.samples import Samples

from .pipeline_signals import evaluate, ticks

MS = 1_000_000
START = 1_600_000_000_000 * MS
HALF_WIDTH = 0.0163
"""No multiple of the period."""


def even(rows, period=2 * MS):
    return START + np.arange(rows) * period


def jittered(rows, share=0.3, period=2 * MS):
    random = np.random.default_rng(rows)
    return even(rows, period) + random.uniform(-share * period, share * period, rows).astype(int)


def seconds(stamps, origin):
    return (stamps - stamps[origin])[:, None] * 1e-9


@pytest.mark.parametrize('second', [True, False])
def test_the_means_of_an_instant_do_not_depend_on_the_instants_before(second):
    """A clock that is steady, then is not, then is again: whatever windows have in common."""
    stamps = np.concatenate([even(30), even(30)[-1] + np.cumsum(np.diff(jittered(30)))])
    stamps = np.concatenate([stamps, stamps[-1] + even(30)[1:] - START])
    x = np.random.default_rng(5).normal(size=(len(stamps), 3))
    whole = matched_means(stamps, x, HALF_WIDTH, 1.0, second=second)
    assert whole.valid.sum() > 60
    for row in np.flatnonzero(whole.valid):
        alone = matched_means(stamps, x, HALF_WIDTH, 1.0, slice(row, row + 1), second)
        for part in ('value', 'first', 'second'):
            np.testing.assert_array_equal(getattr(alone, part)[row], getattr(whole, part)[row])


def test_the_second_derivative_is_the_long_difference_quotient():
    """Of the samples smoothed by the least-squares cubic through five of them."""
    stamps = even(40)
    x = np.random.default_rng(0).normal(size=(40, 3))
    means = matched_means(stamps, x, 0.016, 0.05)
    rows = np.flatnonzero(means.valid)
    assert rows.tolist() == list(range(10, 30))  # the window, and two samples beyond it
    smooth = savgol_filter(x, 5, 3, axis=0)
    quotient = (smooth[rows + 8] - 2.0 * smooth[rows] + smooth[rows - 8]) / 0.016**2
    np.testing.assert_allclose(means.second[rows], quotient, rtol=0, atol=1e-8)


@pytest.mark.parametrize('stamps', [even(60), jittered(60)], ids=['even', 'jittered'])
def test_polynomials_of_the_third_degree_have_exact_means(stamps):
    t, w = seconds(stamps, 30), HALF_WIDTH
    means = matched_means(stamps, np.hstack([t**0, t, t**2, t**3]), w, 0.05)
    np.testing.assert_allclose(means.value[30], [1.0, 0.0, w**2 / 6.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(means.first[30], [0.0, 1.0, 0.0, w**2 / 2.0], atol=1e-10)
    np.testing.assert_allclose(means.second[30], [0.0, 0.0, 2.0, 0.0], atol=1e-7)


@pytest.mark.parametrize('frequency', [2.0, 8.0, 15.0])
def test_waves_fade_by_the_stated_gain_within_the_stated_bound(frequency):
    stamps, w = jittered(300, period=4 * MS), 0.03
    t, omega = seconds(stamps, 150), 2.0 * np.pi * frequency
    means = matched_means(stamps, np.sin(omega * t), w, 0.05)
    at, left = means.valid, gain(frequency, w)
    longest = float(np.diff(stamps).max()) * 1e-9
    bound = (longest * omega) ** 4
    for mean, derivative, largest in (
        (means.value, np.sin(omega * t), 3.0 / 128.0),
        (means.first, omega * np.cos(omega * t), 3.0 / 128.0 * 2.0 / w),
        (means.second, -(omega**2) * np.sin(omega * t), 3.0 / 35.0 * 4.0 / w**2),
    ):
        assert np.abs(mean - left * derivative)[at].max() <= largest * bound


def test_the_bandwidth_is_where_the_amplitude_has_fallen_by_3_db():
    assert gain(bandwidth(0.016), 0.016) == pytest.approx(np.sqrt(0.5), abs=1e-6)


def test_nothing_reaches_across_a_gap_or_an_end():
    stamps = even(120)
    stamps[60:] += 100 * MS
    means = matched_means(stamps, np.ones((120, 1)), 0.016, 0.05)
    assert np.flatnonzero(means.valid).tolist() == [*range(10, 50), *range(70, 110)]


def test_stamps_too_uneven_for_a_cubic_do_not_blow_up_noise():
    stamps = even(60)
    stamps[30] = stamps[29] + MS // 100
    _, weights = kernel_weights(stamps, 22, 0.016)
    assert np.abs(weights[0]).sum() <= 1.3
    assert np.abs(weights[2]).sum() * 0.016**2 <= 5.4


def test_a_stream_is_behind_by_the_half_width_and_three_samples():
    stream = matched_stream(0.016, 1, 0.05)
    counts = [len(stream.extend(Samples.one(stamp, np.zeros(1)))) for stamp in even(30)]
    assert np.cumsum(counts)[10] == 1  # the first sample, when the window and two more are there
    assert set(counts[10:]) == {1}


def test_noise_gains():
    """Of the quotient √6 / w² of the smoothed samples, of the mean the triangle's."""
    noise = np.random.default_rng(3).normal(size=(31, 20_000))
    means = matched_means(even(31), noise, 0.016, 0.05)
    predicted = gain_of(matched_weights(0.016, 0.002))
    assert predicted.second == pytest.approx(17.0 / 35.0 * 6.0 / 0.016**4)
    for part, variance in zip((means.value, means.first, means.second), predicted, strict=True):
        assert np.var(part[15]) == pytest.approx(variance, rel=0.05)


def test_without_a_filter_the_weights_are_those_of_the_quotients(biped31):
    acd = biped31.acd
    np.testing.assert_allclose(joint_weights(acd, None, 0.01)[2], [1e4, -2e4, 1e4])
    smooth = dataclasses.replace(acd, method='savitzky_golay')
    plain, less = (gain_of(joint_weights(part, None, 0.01)).second for part in (acd, smooth))
    assert less < 0.1 * plain


@pytest.mark.parametrize('travel', [0.0, 0.003, 0.02, 0.05, 0.11, 3.4])
def test_quantisation_of_joints_that_move_steadily(travel):
    """Simulated: steps anywhere, velocities within 30 %; `travel` in steps per sample."""
    weights, step = matched_weights(0.016, 0.002)[2], 1e-4
    random = np.random.default_rng(5)
    velocity = travel * random.uniform(0.7, 1.3, 20_000)
    at = random.uniform(size=20_000) + velocity * np.arange(len(weights))[:, None]
    observed = np.std(weights @ (np.round(at) - at)) * step
    predicted = np.sqrt(quantised_second(weights, step, travel * step))
    assert predicted == pytest.approx(observed, rel=0.05, abs=1e-8)


@pytest.mark.filterwarnings('error')
def test_the_noise_floor_of_numbers_that_are_no_readings_is_not_known():
    values = np.random.default_rng(0).standard_normal((1000, 4)) * [1e200, 1e307, 1.0, 1.0]
    values[100:110, 3] = 1e9  # a sensor that fails for a while
    large, larger, one, failing = noise_floor(2_000_000 * np.arange(1000), values)
    assert np.isnan([large, larger]).all()
    assert failing < 1.5 * one


def test_the_noise_floor_is_that_of_the_noise_and_not_of_the_motion():
    stamps, random = jittered(2000, period=10 * MS), np.random.default_rng(4)
    t = seconds(stamps, 0)
    motion = np.hstack([np.sin(9.0 * t), 0.3 * np.sin(6.0 * t)])
    motion[::500] += 0.5  # shocks
    assert np.all(noise_floor(stamps, np.hstack([np.sin(9.0 * t)])) < 1e-5)
    noisy = motion + random.normal(size=motion.shape) * [0.01, 0.002]
    np.testing.assert_allclose(noise_floor(stamps, noisy), [0.01, 0.002], rtol=0.1)


@pytest.mark.parametrize('jitter', ['exponential', 'alternating', 'lognormal', 'slow'])
def test_the_noise_floor_is_measured_on_jittering_stamps(jitter):
    random = np.random.default_rng(8)
    steps = {
        'exponential': random.exponential(10.0, 3000),
        'alternating': np.tile([3.0, 17.0], 1500),
        'lognormal': 10.0 * random.lognormal(0.0, 0.6, 3000),
        'slow': 50.0 * random.uniform(0.6, 1.4, 3000),
    }[jitter]
    stamps = (np.cumsum(steps) * MS).astype(np.int64)
    noisy = np.sin(3.0 * seconds(stamps, 0)) + random.normal(0.0, 1e-3, (3000, 1))
    np.testing.assert_allclose(noise_floor(stamps, noisy), 1e-3, rtol=0.15)


def test_a_missing_number_costs_its_column_alone_and_no_more_than_its_window():
    stamps, random = even(2000), np.random.default_rng(9)
    noisy = random.normal(0.0, 1e-3, (2000, 3))
    whole = noise_floor(stamps, noisy)
    noisy[700, 0], noisy[:, 2] = np.nan, np.inf
    found = noise_floor(stamps, noisy)
    assert found[0] == pytest.approx(whole[0], rel=0.01)
    assert found[1] == pytest.approx(whole[1], rel=1e-12)
    assert np.isnan(found[2])


PERIOD = 1.0 / 60.0
BESIDE_THE_PELVIS = ('l_hip_pitch', 'r_hip_pitch', 'waist_pitch')


def marker_pose(rig, angle):
    """Signals of a robot that stands, and whose pelvis seems to be pitched by angles (T,)."""
    stamps, nothing = ticks((len(angle) + 0.5) * PERIOD, PERIOD)[: len(angle)], 0.0 * angle
    q = np.zeros((len(angle), rig.model.dof))
    q[:, [rig.model.joint_names.index(name) for name in BESIDE_THE_PELVIS]] = -angle[:, None]
    omega = np.stack([nothing, np.gradient(angle, PERIOD), nothing], axis=1)
    up = np.stack([-np.sin(angle), nothing, np.cos(angle)], axis=1)
    imu = np.hstack([omega @ rig.imu.R, rig.robot.gravity * up @ rig.imu.R])
    level = np.stack([nothing, np.sin(angle / 2.0), nothing, np.cos(angle / 2.0)], axis=1)
    signals = {'joints': q, 'imu': imu, 'orientation': level, 'position': 0.0 * up}
    return {name: Samples(stamps, values) for name, values in signals.items()}


def test_of_a_marker_pose_at_60_hz_mr_ad_is_worse_raw_and_better_filtered(biped31):
    """Than IR-MD: scatter of the force."""
    feet = tuple(dataclasses.replace(foot, wrench=None) for foot in biped31.feet)
    rates = dataclasses.replace(biped31.rates, bus=60.0)
    robot = dataclasses.replace(biped31, accelerometers=(), feet=feet, rates=rates)
    angle = np.radians(0.05) * np.random.default_rng(0).normal(size=300)

    def scatter(half_width):
        rig = make_rig(dataclasses.replace(robot, filter=Filter(half_width=half_width)))
        wrenches = evaluate(Evaluator(rig), [marker_pose(rig, angle)]).wrenches
        return [np.nanstd(wrenches[name][:, 0]) for name in ('mr_ad', 'ir_md')]

    raw, smooth = scatter(None), scatter(2.0 * PERIOD)
    assert raw[0] > 4.0 * raw[1]
    assert smooth[0] < 0.7 * smooth[1]
    assert smooth[0] < 0.05 * raw[0]
