"""What stands out of the errors of a signal, and what only looks as if it did."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.verdict.errors import Background, running_mean, significance


def seconds(values):
    """Instants of a signal at 100 Hz."""
    return 0.01 * np.arange(len(values))


def noise(seed=0, count=1000, sigma=1.0):
    return sigma * np.random.default_rng(seed).normal(size=(count, 3))


@given(st.integers(0, 200), st.integers(5, 40), st.floats(0.1, 100.0))
def test_an_event_of_many_sigma_stands_out_whatever_the_unit(seed, rows, sigma):
    values = noise(seed, sigma=sigma)
    values[400 : 400 + rows, 1] += 12.0 * sigma
    sizes, stands_out = significance(seconds(values), values, [(400, 400 + rows)], 1e-9)
    assert stands_out.all()
    assert sizes[0] > 12.0


@given(st.integers(0, 200))
def test_noise_does_not(seed):
    values = noise(seed)
    largest = int(np.linalg.norm(values, axis=1).argmax())
    events = [(largest, largest + 1), (10, 30), (500, 505)]
    assert not significance(seconds(values), values, events, 1e-9)[1].any()


def test_errors_that_recur_do_not_and_one_that_is_far_larger_does():
    """As after each touch-down of a walk: errors of ten sigma, each a bit different."""
    values = noise()
    events = [(start, start + 10) for start in range(50, 950, 100)]
    for k, (first, stop) in enumerate(events):
        values[first:stop, 0] += 10.0 + k
    assert not significance(seconds(values), values, events, 1e-9)[1].any()
    values[150:160, 2] += 60.0
    assert (
        significance(seconds(values), values, events, 1e-9)[1].tolist()
        == [False, True] + [False] * 7
    )


@pytest.mark.parametrize(('moves_from', 'found'), [(9.05, False), (9.35, True), (5.0, True)])
def test_what_comes_in_motion_stands_out_of_motion_of_a_like_kind_alone(moves_from, found):
    """An event from 9.3 to 9.9 s: of motion that began shortly before too little is known."""
    values, time = noise(), seconds(noise())
    values[930:990, 1] += 2.0
    speed = np.where(time >= moves_from, 0.04, 0.0001)
    assert significance(time, values, [(930, 990)], 1e-9, speed=speed)[1].all() == found


def test_two_pushes_of_different_size_do_both():
    values = noise()
    values[200:220, 0] += 40.0
    values[600:640, 1] -= 25.0
    assert significance(seconds(values), values, [(200, 220), (600, 640)], 1e-9)[1].all()


def test_without_anything_to_compare_with_nothing_stands_out():
    values = noise(count=30)
    values[5:28] += 50.0
    sizes, stands_out = significance(seconds(values), values, [(5, 28)], 1e-9)
    assert np.isnan(sizes).all()
    assert not stands_out.any()


def test_a_background_is_that_of_most_of_the_time():
    rng = np.random.default_rng(4)
    spread = np.array([[2.0, 1.2], [1.2, 1.0]])
    values = rng.multivariate_normal([5.0, -3.0], spread, size=4000)
    values[:200] += 1e3
    background = Background.of(values, 1e-9)
    assert background.centre == pytest.approx([5.0, -3.0], abs=0.2)
    assert background.covariance == pytest.approx(spread, rel=0.2)


def test_a_running_mean_does_not_reach_across_a_hole():
    values = np.arange(10.0)[:, None]
    values[4] = np.nan
    means = running_mean(values, 3)[:, 0]
    assert means[:2].tolist() == [1.0, 2.0]
    assert np.isnan(means[2:5]).all()
    assert means[5:].tolist() == [6.0, 7.0, 8.0]
