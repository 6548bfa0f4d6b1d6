"""The dynamics filter: its passes make the ZMP of all bodies follow the reference."""

import numpy as np
import pytest

from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_lab.walking.dynamics_filter import Task, filter_dynamics

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


def test_more_passes_do_no_harm():
    """High frequencies do not grow from pass to pass."""
    errors = np.array(planned(steps=4, filter_passes=15).filter_errors)
    assert errors[-1].max() <= errors[4].max()


def test_no_pass_leaves_the_point_mass():
    walk = planned(steps=4, filter_passes=0)
    assert len(walk.filter_errors) == 1
    assert np.abs(walk.plan.com[:, 2] - 0.8).max() < 1e-8


def test_its_zmp_is_what_pinocchio_finds():
    walk = planned(steps=4)
    plan, model = walk.plan, biped31().model
    twin, root = PinocchioTwin(robot_path('biped31'), model), plan.root
    phi = root.proper_acceleration()
    for row in range(0, len(plan), 50):
        state = (
            phi[row], root.angular_velocity[row], root.angular_acceleration[row],
            plan.q[row], plan.qd[row], plan.qdd[row],
        )  # fmt: skip
        wrench = ContactWrench.from_array(twin.contact_wrench(*state))
        in_world = wrench.transformed(root.rotation[row], root.position[row])
        about_zmp = in_world.moment - np.cross(plan.zmp[row], in_world.force)
        assert np.abs(about_zmp[:2]).max() < 1e-8


def test_com_moves_as_the_ground_reaction_says():
    """Newton: m (a − g) is the ground reaction, with a from second differences of the CoM."""
    walk = planned(steps=6)
    plan, root, biped = walk.plan, walk.plan.root, biped31()
    wrench, _ = MrAd(biped.model).batch(
        root.proper_acceleration(), root.angular_velocity, root.angular_acceleration,
        plan.q, plan.qd, plan.qdd,
    )  # fmt: skip
    force = wrench.transformed(root.rotation, root.position).force
    up = np.array([0.0, 0.0, 1.0])
    acceleration = np.diff(plan.com, 2, axis=0) / plan.time_step**2
    reaction = biped.model.total_mass * (acceleration + biped.gravity * up)
    assert np.abs(force[1:-1] - reaction).max() < 1.0


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
