"""The dynamics filter, whose passes bring the ZMP of all bodies there, and the cart-table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import MotionError, ShapeError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_lab.walking.dynamics_filter import Task, com_over_zmp, filter_dynamics

from ..pinocchio_twin import PinocchioTwin, robot_path
from ..raising import raising
from .walking import SLOPE_10_DEG, biped31, planned

WALKS = [{'speed': 0.3}, {'speed': 0.15}, {'slope': SLOPE_10_DEG}, {'turn_rate': 0.3}]


@pytest.mark.parametrize('walk', WALKS)
def test_every_pass_brings_the_zmp_closer(walk):
    errors = np.array(planned(steps=12, **walk).filter_errors)
    assert len(errors) == 5
    assert (np.diff(errors.sum(axis=1)) < 0.0).all()
    assert errors[0].max() > 0.01
    assert errors[1].max() < 0.015
    assert errors[-1].max() < 0.5e-3


def test_no_pass_leaves_the_point_mass():
    walk = planned(steps=4, filter_passes=0)
    assert len(walk.filter_errors) == 1
    assert np.abs(walk.plan.com[:, 2] - 0.8).max() < 1e-8


def test_its_zmp_is_what_pinocchio_finds():
    walk = planned(steps=4)
    plan, model = walk.plan, biped31().model
    twin, root = PinocchioTwin(robot_path('biped31'), model), plan.root
    motion = (*root.felt(), plan.q, plan.qd, plan.qdd)
    for row in range(0, len(plan), 50):
        state = [signal[row] for signal in motion]
        wrench = ContactWrench.from_array(twin.contact_wrench(*state))
        in_world = wrench.transformed(root.rotation[row], root.position[row])
        about_zmp = in_world.moment - np.cross(plan.zmp[row], in_world.force)
        assert np.abs(about_zmp[:2]).max() < 1e-8


def test_leaving_the_ground_is_refused():
    walk = planned(steps=2)

    def shaken(x):
        """Up and down by 3 cm at 5 Hz: 3 g."""
        return 0.75 + 0.03 * np.cos(10.0 * np.pi * 0.002 * np.arange(len(x)))

    task = Task(
        walk.plan.feet, walk.plan.root.rotation, walk.zmp_reference, shaken, 0.002, rest=0.5
    )
    with raising(MotionError, 'leaves_ground'):
        filter_dynamics(biped31(), task, 1, lambda poses: None)


# The cart-table against its differential equation and known solutions

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


def test_a_step_of_the_zmp_gives_the_known_exponential():
    """For ẍ = ω² (x − p) with a jump of p at 0 the CoM is half-way then: x = p₁ − ½ e^(−ωt)."""
    t = DT * np.arange(-3000, 3001)
    zmp = np.column_stack([np.where(t < 0, 0.0, 1.0), 0.0 * t, 0.0 * t])
    zmp[3000, 0] = 0.5
    x = com_over_zmp(zmp, np.full(len(t), 0.8), DT)[:, 0]
    omega = np.sqrt(GRAVITY / 0.8)
    expected = np.where(t < 0, 0.5 * np.exp(omega * t), 1.0 - 0.5 * np.exp(-omega * t))
    assert np.abs(x - expected).max() < 1e-5


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(0.1, 10.0))
def test_shifting_and_scaling_the_zmp_shifts_and_scales_the_com(dx, dy, scale):
    zmp = steps_of_zmp(1500)
    height = np.full(1500, 0.8)
    moved = com_over_zmp(scale * zmp + [dx, dy, 0.0], height, DT)[:, :2]
    assert np.abs(moved - scale * com_over_zmp(zmp, height, DT)[:, :2] - [dx, dy]).max() < 1e-8


def test_heights_must_fit():
    with pytest.raises(ShapeError, match='height'):
        com_over_zmp(np.zeros((5, 3)), np.zeros(4), DT)
