"""Joint motion and rate of angular momentum at single instants."""

import numpy as np
import pytest

from izmp_dynamics.dynamics.ir_md import IrMd
from izmp_lab.walking.body_states import BodyMotion
from izmp_lab.walking.course import Course
from izmp_lab.walking.footsteps import Gait, Ramp, StepTiming, plan_footsteps

from .walking import biped31

TIMES = 1.5 + 0.1 * np.arange(1.0, 17.0)


def com(times):
    """A smooth motion that is not in step with the feet."""
    return np.column_stack(
        [0.02 + 0.25 * (times - 1.5), 0.03 * np.sin(4 * times), np.full(len(times), 0.74)]
    )


@pytest.fixture(scope='module', params=[0.0, 0.2], ids=['straight', 'turning'])
def course(request):
    footsteps = plan_footsteps(biped31(), Gait(4, 0.2, request.param, 0.17), Ramp(0.0, 0.0))
    return Course(biped31(), footsteps, StepTiming(4, 0.8, 0.25, 1.5, 0.01), 0.04, (0.0, 0.04))


@pytest.fixture(scope='module')
def body():
    return BodyMotion(biped31())


def angular_momentum(states):
    """L (K, 3) about the centre of mass in world axes, from velocities only."""
    model, root = biped31().model, states.root
    ir_md = IrMd(model, 9.81)
    v = np.einsum('kij,kj->ki', root.rotation, root.velocity_in_root())
    of = (root.rotation, root.position, v, root.angular_velocity, states.q, states.qd)
    momentum = ir_md.momentum(*of)
    return momentum.angular - np.cross(momentum.com, momentum.linear)


def test_velocities_and_accelerations_are_those_of_the_positions(body, course):
    step = 1e-3
    before, at, after = (body.states(course, com, TIMES + shift) for shift in (-step, 0.0, step))
    assert at.qd == pytest.approx((after.q - before.q) / (2 * step), abs=2e-3)
    assert at.qdd == pytest.approx((after.qd - before.qd) / (2 * step), abs=0.5)


def test_the_momentum_rate_is_the_derivative_of_the_angular_momentum(body, course):
    """Contact moment about the centre of mass by MR-AD, against momentum by its own kernel."""
    step = 2e-3
    rate = body.momentum_rate(body.states(course, com, TIMES))
    before, after = (
        angular_momentum(body.states(course, com, TIMES + shift)) for shift in (-step, step)
    )
    assert np.abs(rate).max() > 5.0
    assert rate == pytest.approx((after - before) / (2 * step), abs=0.15)


def test_the_centre_of_mass_is_where_it_is_wanted(body, course):
    poses = body.poses(course, com, TIMES)
    assert poses.residual.max() < 1e-8
    states = body.states(course, com, TIMES)
    com_in_root = biped31().model.com(states.q)
    at = states.root.position + np.einsum('kij,kj->ki', states.root.rotation, com_in_root)
    assert at == pytest.approx(com(TIMES), abs=1e-8)
