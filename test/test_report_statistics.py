from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from izmp_dynamics.results.evaluation import Foot
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import (
    axis_statistics,
    correlation,
    pair_statistics,
    track_statistics,
)

from .report_scenarios import (
    GRAVITY,
    HEIGHT,
    MASS,
    assemble,
    blank,
    bump,
    standing,
    walking,
    without,
)


def test_the_ground_is_seen_level():
    evaluation = walking()
    scene = Scene(evaluation)
    in_nif = evaluation.in_nif(evaluation.tracks['cop'].point)
    assert np.allclose(in_nif[:, :2], scene.points['cop'])
    assert np.ptp(in_nif[:, 2] - evaluation.in_nif(evaluation.ground_point)[:, 2]) < 1e-12
    assert np.allclose(scene.height, HEIGHT)
    assert scene.time_constant == pytest.approx(np.sqrt(HEIGHT / GRAVITY))


@given(st.floats(-np.pi, np.pi), st.floats(0.01, 0.3), st.floats(0.01, 0.3))
@settings(max_examples=30)
def test_room_is_half_the_smallest_width_at_any_heading(yaw, length, width):
    turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * [length / 2, width / 2] @ turn
    soles = [np.tile(corners, (20, 1, 1))]
    nothing = np.zeros(20, dtype=bool)
    time = np.arange(20) / 100
    points = {'cop': np.zeros((20, 2))}
    evaluation = assemble(
        time, np.zeros((20, 2)), points, soles * 2, [~nothing, nothing], np.random.default_rng(0)
    )
    assert Scene(evaluation).room == pytest.approx(min(length, width) / 2)


def test_a_constant_offset_is_found_as_distance():
    evaluation = standing()
    up = np.tile([0.0, 0.0, 1.0], (len(evaluation.stamps), 1))
    cop = evaluation.tracks['cop']
    moved = replace(cop, name='mr_ad', point=cop.point + np.array([0.003, -0.004, 0.0]))
    level = replace(evaluation, normal=up, tracks={'mr_ad': moved, 'cop': cop})
    pair = pair_statistics(Scene(level), 'mr_ad', 'cop')
    assert pair.mean == pytest.approx(0.005)
    assert pair.rms == pytest.approx(0.005)
    assert pair.largest == pytest.approx(0.005)
    nif = pair.in_frame('nif')
    assert (nif.bias_x, nif.bias_y) == (pytest.approx(0.003), pytest.approx(-0.004))
    assert (nif.rmse_x, nif.rmse_y) == (pytest.approx(0.003), pytest.approx(0.004))
    assert nif.correlation_y == pytest.approx(1.0)


def test_the_point_between_the_feet_follows_their_load_split():
    scene = Scene(walking())
    follows = track_statistics(scene, 'cop').load_split_correlation
    assert follows > 0.99
    swapped = Scene(replace(scene.evaluation, feet=scene.evaluation.feet[::-1]))
    assert track_statistics(swapped, 'cop').load_split_correlation == pytest.approx(follows)
    one_foot = Scene(replace(scene.evaluation, feet=scene.evaluation.feet[:1]))
    assert np.isnan(track_statistics(one_foot, 'cop').load_split_correlation)


def test_force_is_compared_with_weight_and_measurement():
    statistics = track_statistics(Scene(walking()), 'mr_ad')
    assert statistics.mean_normal_force == pytest.approx(MASS * GRAVITY, rel=1e-3)
    assert statistics.force_over_weight == pytest.approx(1.0, rel=1e-3)
    assert statistics.force_rms_error == pytest.approx(0.004 * MASS * GRAVITY, rel=0.1)


@pytest.mark.parametrize('sigma', [0.002, 0.01, 0.05])
def test_scatter_is_the_standard_deviation_of_the_noise(sigma):
    evaluation = walking(noise={'mr_ad': sigma})
    against_cop = track_statistics(Scene(evaluation), 'mr_ad')
    assert against_cop.error.against == 'cop'
    assert against_cop.error.scatter == pytest.approx(sigma, rel=0.1)
    alone = track_statistics(Scene(without(evaluation, 'cop')), 'mr_ad')
    assert alone.error.against == 'itself'
    assert alone.error.scatter == pytest.approx(sigma, rel=0.15)


def test_scatter_does_not_mind_a_push_or_spikes():
    calm = track_statistics(Scene(standing()), 'mr_ad').error.scatter
    pushed = track_statistics(Scene(standing(offset=bump(3.0, 1.0, 0.3))), 'mr_ad').error.scatter
    assert pushed < 1.3 * calm


@given(st.floats(1.0, 7.0), st.floats(0.15, 1.5), st.floats(0.2, 0.5))
@settings(max_examples=30)
def test_a_stay_outside_is_found_with_its_measures(start, length, depth):
    def offset(time):
        inside = (time >= start) & (time < start + length)
        return np.where(inside[:, None], [0.0, 1.0], [0.0, 0.0]) * (0.15 + depth)

    evaluation = standing(offset=offset, rate=250.0)
    statistics = track_statistics(Scene(evaluation), 'mr_ad')
    assert statistics.excursion_count == 1
    (stay,) = statistics.excursions
    assert stay.start == pytest.approx(start, abs=0.1)
    assert stay.duration == pytest.approx(length, abs=0.15)
    margin = evaluation.tracks['mr_ad'].margin
    assert stay.depth <= -margin.min() + 0.001
    expected = np.maximum(-margin, 0.0).sum() / 250.0 / np.sqrt(HEIGHT / GRAVITY)
    assert stay.throw <= 1.01 * expected
    if length > 0.3:
        assert stay.depth == pytest.approx(-margin.min(), abs=0.03)
    assert stay.cause == 'push'


def test_the_worst_excursions_come_first():
    starts = np.arange(0.5, 9.5, 0.5)

    def offset(time):
        return sum(bump(s, 0.2, 0.3 + 0.02 * k)(time) for k, s in enumerate(starts))

    statistics = track_statistics(Scene(standing(offset=offset)), 'mr_ad')
    throws = [stay.throw for stay in statistics.excursions]
    assert statistics.excursion_count == len(starts) > len(throws)
    assert throws == sorted(throws, reverse=True)


def test_a_track_without_values_has_no_numbers():
    statistics = track_statistics(Scene(blank(walking(), 'mr_ad')), 'mr_ad')
    assert statistics.valid_share == 0
    assert statistics.evaluated_time == 0
    assert np.isnan(statistics.smallest_margin)
    assert np.isnan(statistics.inside_share)
    assert np.isnan(statistics.mean_normal_force)


def test_a_correlation_of_too_few_values_is_unknown_and_any_offset_is_none():
    assert np.isnan(correlation(np.array([1.0, 2.0, np.nan]), np.array([1.0, 2.0, 3.0])))
    line = np.arange(10.0)
    assert correlation(line, -3 * line + 1e6) == pytest.approx(-1.0)


@pytest.mark.parametrize('count', [100, 1000, 100_000])
@pytest.mark.parametrize('constant', [0.1, 0.0123, 1e6 + 1 / 3])
def test_correlation_with_a_constant_of_any_length_is_unknown(count, constant):
    noise = np.random.default_rng(count).normal(size=count)
    assert np.isnan(correlation(np.full(count, constant), noise))


def test_a_point_that_stays_has_no_correlation_in_any_frame_that_it_stays_in():
    scene = Scene(walking())
    cop = scene.evaluation.tracks['cop']
    cop.point[:] = [0.0123, 0.0345, 0.0]
    rows = np.ones(len(cop.point), dtype=np.bool_)
    (in_root,) = (s for s in axis_statistics(scene, 'mr_ad', 'cop', rows) if s.frame == 'root')
    assert np.isnan([in_root.correlation_x, in_root.correlation_y]).all()
    off = scene.evaluation.tracks['mr_ad'].point[:, :2] - cop.point[:, :2]
    off = off[np.isfinite(off).all(axis=1)]
    assert [in_root.bias_x, in_root.bias_y] == pytest.approx(off.mean(axis=0))
    assert [in_root.rmse_x, in_root.rmse_y] == pytest.approx(np.sqrt((off**2).mean(axis=0)))


def test_an_unmeasured_foot_leaves_the_total_unknown():
    evaluation = without(walking(), 'cop')
    left, right = evaluation.feet
    silent = Foot(left.name, left.sole, np.full_like(left.normal_force, np.nan), left.loaded)
    assert not np.isfinite(Scene(replace(evaluation, feet=(silent, right))).measured_force).any()
    assert np.isfinite(Scene(evaluation).measured_force).all()
