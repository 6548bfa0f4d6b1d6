"""The cart-table model against its differential equation and known solutions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import ShapeError
from izmp_lab.walking.dynamics_filter import com_over_zmp

DT = 0.002


def steps_of_zmp(rows=4000):
    t = DT * np.arange(rows)
    x = np.interp(t, [0.0, 2.0, 2.1, 3.0, 3.1, 9.0], [0.0, 0.0, 0.2, 0.2, 0.5, 0.5])
    return np.column_stack([x, 0.1 * np.sin(3 * x), 0.0 * t])


def test_the_zmp_of_the_motion_is_the_given_one_also_while_the_height_changes():
    """(z − p_z) ẍ = (g + z̈) (x − p_x), with second differences."""
    zmp = steps_of_zmp()
    zmp[:, 2] = 0.1 * zmp[:, 0]
    height = 0.8 + 0.05 * np.sin(2.0 * DT * np.arange(len(zmp)))
    com = com_over_zmp(zmp, height, DT)
    acceleration = np.diff(com, 2, axis=0) / DT**2
    lever = (com - zmp)[1:-1, 2] / (GRAVITY + acceleration[:, 2])
    found = com[1:-1, :2] - lever[:, None] * acceleration[:, :2]
    assert np.abs(found - zmp[1:-1, :2]).max() < 1e-9
    assert np.array_equal(com[:, 2], height)


def test_standing_above_the_zmp_stays_there():
    zmp = np.tile([0.3, -0.1, 0.0], (500, 1))
    assert np.abs(com_over_zmp(zmp, np.full(500, 0.8), DT)[:, :2] - zmp[:, :2]).max() < 1e-10


def test_a_step_of_the_zmp_gives_the_known_exponential():
    """For ẍ = ω² (x − p) with a jump of p at 0 the CoM is half-way then: x = p₁ − ½ e^(−ωt)."""
    t = DT * np.arange(-3000, 3001)
    zmp = np.column_stack([np.where(t < 0, 0.0, 1.0), 0.0 * t, 0.0 * t])
    zmp[3000, 0] = 0.5
    x = com_over_zmp(zmp, np.full(len(t), 0.8), DT)[:, 0]
    omega = np.sqrt(GRAVITY / 0.8)
    expected = np.where(t < 0, 0.5 * np.exp(omega * t), 1.0 - 0.5 * np.exp(-omega * t))
    assert np.abs(x - expected).max() < 1e-5


def test_com_acceleration_is_continuous_for_a_continuous_zmp():
    largest = []
    for dt in (0.004, 0.001):
        t = np.arange(0.0, 8.0, dt)
        x = np.interp(t, [0.0, 2.0, 2.1, 3.0, 3.1, 9.0], [0.0, 0.0, 0.2, 0.2, 0.5, 0.5])
        zmp = np.column_stack([x, x, 0.0 * x])
        com = com_over_zmp(zmp, np.full(len(t), 0.8), dt)[:, 0]
        largest.append(np.abs(np.diff(com, 3)).max() / dt**2)
    assert largest[1] < 0.3 * largest[0]


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(0.1, 10.0))
def test_shifting_and_scaling_the_zmp_shifts_and_scales_the_com(dx, dy, scale):
    zmp = steps_of_zmp(1500)
    height = np.full(1500, 0.8)
    moved = com_over_zmp(scale * zmp + [dx, dy, 0.0], height, DT)[:, :2]
    assert np.abs(moved - scale * com_over_zmp(zmp, height, DT)[:, :2] - [dx, dy]).max() < 1e-8


def test_heights_must_fit():
    with pytest.raises(ShapeError, match='height'):
        com_over_zmp(np.zeros((5, 3)), np.zeros(4), DT)
