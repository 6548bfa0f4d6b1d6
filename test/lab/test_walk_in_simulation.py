"""Planned walks, executed: biped31 goes where it should, and neighbouring worlds do not matter."""

import numpy as np
import pytest

from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import simulate
from izmp_lab.simulation.physics import Physics, Servo
from izmp_lab.simulation.terrain import Slope

from .walking import FILE, SLOPE_10_DEG, planned

FIRM = (0.01, 1.0)


def walked(walk, terrain=None, **physics):
    physics = Physics(**{'solref': FIRM} | physics)
    run = simulate(walk.plan, build_mujoco(FILE, physics, terrain=terrain))
    run.require_standing()
    assert len(run) == len(walk.plan)
    return run


def check_cop_and_drift(walk, run, cop=None):
    """CoP within 15 mm RMS of the planned ZMP, the robot within 10 mm of its line throughout."""
    gap = (run.truth.cop if cop is None else cop) - walk.plan.zmp
    assert np.isfinite(gap).all()
    assert (np.sqrt(np.mean(gap**2, axis=0)) <= 0.015).all()
    drift = run.truth.root.position - walk.plan.root.position
    assert np.abs(drift[:, 1]).max() <= 0.010


def test_50_steps_at_0_3_m_per_s():
    """By torques that assume the servos' own inertia and friction as the simulation has them."""
    walk = planned(steps=50)
    run, servo, drive = walked(walk), Servo(), walk.parameters.drive
    check_cop_and_drift(walk, run)
    assert (drive.rotor_inertia, drive.damping) == (servo.armature, servo.damping)
    missing = run.effort - walk.plan.feed_forward
    assert np.sqrt(np.mean(missing**2)) < 0.1 * np.sqrt(np.mean(walk.plan.feed_forward**2))


@pytest.mark.parametrize(
    'parameters',
    [
        {'speed': 0.15},
        {'turn_rate': 0.3, 'speed': 0.2},
        {'speed': 0.0, 'turn_rate': -0.5},
        {'first_foot': 'left', 'double_support': 0.1},
        {'step_time': 0.6},
    ],
    ids=str,
)
def test_other_walks(parameters):
    walk = planned(steps=12, **parameters)
    check_cop_and_drift(walk, walked(walk))


@pytest.mark.parametrize(
    'physics',
    [{'friction': 0.8, 'mass_scale': 0.98, 'solref': (0.015, 1.0)},
     {'friction': 1.2, 'mass_scale': 1.02, 'solref': (0.007, 1.0)}],
    ids=str,
)  # fmt: skip
def test_no_knife_edge(physics):
    walk = planned(steps=10)
    check_cop_and_drift(walk, walked(walk, **physics))
    up = planned(steps=10, slope=SLOPE_10_DEG)
    run = walked(up, Slope(up.ramp), **physics)
    assert np.abs(run.truth.root.position[-1, 1]) <= 0.010


def test_10_degrees_from_a_level_start():
    """CoP and planned ZMP are compared on the ground of the plan."""
    walk = planned(steps=20, slope=SLOPE_10_DEG, slope_start=0.5)
    run = walked(walk, Slope(walk.ramp))
    root = run.truth.root
    reaction = ContactWrench.from_array(run.truth.ground_wrench)
    reaction = reaction.transformed(root.rotation, root.position)
    reference = walk.zmp_reference
    cop = zero_moment_point(reaction, reference.normal, reference.point, 1.0)
    check_cop_and_drift(walk, run, cop)
    risen = walk.ramp.height(walk.footsteps.steps[-1].position[0])
    assert root.position[-1, 2] - root.position[0, 2] == pytest.approx(risen, abs=0.01)
