"""The point averaged as the robot's tipping feels it, and the soles that hold it meanwhile."""

import numpy as np
import pytest

from izmp_dynamics.results.evaluation import Evaluation, Foot, Track
from izmp_dynamics.verdict.scene import Scene

WIDTH = 0.16  # [s]
CORNERS = np.array([[0.1, 0.05, 0.0], [-0.1, 0.05, 0.0], [-0.1, -0.05, 0.0], [0.1, -0.05, 0.0]])


def swinging(lift, land):
    """A foot that stands, another that swings 0.4 m ahead; the point is 0.2 m before the first."""
    time = 0.01 * np.arange(200)
    ahead = np.interp(time, [lift, land], [-0.2, 0.2])
    stance = np.tile(CORNERS + np.array([0.0, 0.1, 0.0]), (200, 1, 1))
    swing = CORNERS + np.stack([ahead, np.full(200, -0.1), np.zeros(200)], axis=1)[:, None]
    air = (time > lift) & (time < land)
    feet = tuple(
        Foot(name, sole, np.full(200, np.nan), loaded)
        for name, sole, loaded in [('left', stance, ~(time < 0)), ('right', swing, ~air)]
    )
    point = np.tile([0.2, 0.1, 0.0], (200, 1))
    nowhere = np.full((200, 3), np.nan)
    track = Track('mr_ad', np.zeros((200, 6)), point, np.zeros(200))
    up = np.tile([0.0, 0.0, 1.0], (200, 1))
    com = 9.81 * (2.0 * WIDTH) ** 2 * up
    stamps = (1e9 * time).astype(np.int64)
    return Evaluation(
        'r', 'base', 1.0, 9.81, stamps, {'mr_ad': track}, up, nowhere, com, feet, None, None
    )


@pytest.mark.parametrize('turn', [0.0, 0.3])
def test_a_foot_in_the_air_supports_where_it_lifts_off_and_lands(turn):
    """Also where the root turns over the stance foot meanwhile."""
    evaluation = swinging(0.7, 1.0)
    angle = turn * np.sin(7.0 * np.arange(200) / 100)
    R = np.zeros((200, 3, 3))
    R[:, 0, 0] = R[:, 1, 1] = np.cos(angle)
    R[:, 1, 0], R[:, 0, 1], R[:, 2, 2] = np.sin(angle), -np.sin(angle), 1.0
    for foot in evaluation.feet:
        foot.sole[:] = np.einsum('kij,kvj->kvi', R, foot.sole)
    point = evaluation.tracks['mr_ad'].point
    point[:] = np.einsum('kij,kj->ki', R, point)
    scene = Scene(evaluation)
    assert scene.averaging_time == pytest.approx(WIDTH)
    margin = scene.averaged['mr_ad'].margin
    np.testing.assert_allclose(margin[20:84], -0.1, atol=1e-6)  # the swinging sole is behind
    assert (margin[86:180] > -0.06).all()  # it will be ahead
    np.testing.assert_allclose(margin[86:180], margin[120], atol=1e-6)
