"""Joint torques against Pinocchio, and the sharing of the ground reaction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import ShapeError, UnknownNameError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.walking.inverse_dynamics import Drive, joint_torques, shared_reaction

from ..pinocchio_twin import PinocchioTwin, pin, random_state, robot_path
from ..raising import raising
from .walking import biped31, planned


def random_states(model, count=20):
    rng = np.random.default_rng(2)
    states = [random_state(rng, model.dof) for _ in range(count)]
    return states, [np.array(rows) for rows in zip(*states, strict=True)]


@pytest.mark.parametrize('robot', ['biped31', 'talos', 'romeo', 'solo12'])
def test_equals_pinocchio(robot):
    model = load_model(robot_path(robot))
    twin = PinocchioTwin(robot_path(robot), model)
    states, rows = random_states(model)
    for state, torques in zip(states, joint_torques(model, *rows), strict=True):
        generalized = pin.rnea(twin.model, twin.data, *twin.state(*state))
        expected = np.zeros(model.dof)
        for segment in model.tree.segments:
            if segment.kind != 'fixed':
                index = twin.model.idx_vs[twin.model.getJointId(segment.joint)]
                driver = model.joint_names.index(segment.driver)
                expected[driver] += segment.multiplier * generalized[index]
        assert np.abs(torques - expected).max() < 1e-9


def test_forces_from_outside_enter_by_their_power():
    """Virtual work: τ changes by −Jᵀ F, with J from difference quotients of the sole's place."""
    model = biped31().model
    _, (phi, w, wd, q, qd, qdd) = random_states(model, 3)
    force = np.array([[10.0, -20.0, 300.0], [0.0, 5.0, 100.0], [-30.0, 0.0, 200.0]])
    _, p = model.frame_pose('l_sole', q)
    applied = {'l_sole': ContactWrench(force, np.cross(p, force))}
    free = joint_torques(model, phi, w, wd, q, qd, qdd)
    change = joint_torques(model, phi, w, wd, q, qd, qdd, applied=applied) - free
    for column in range(model.dof):
        step = np.zeros(model.dof)
        step[column] = 1e-6
        ahead, behind = (model.frame_pose('l_sole', q + sign * step)[1] for sign in (1, -1))
        power = np.sum((ahead - behind) / 2e-6 * force, axis=1)
        assert change[:, column] == pytest.approx(-power, abs=1e-5)


def test_servos_add_their_own_inertia_and_friction():
    model = biped31().model
    _, rows = random_states(model, 4)
    added = joint_torques(model, *rows, drive=Drive(0.2, 0.3)) - joint_torques(model, *rows)
    assert np.allclose(added, 0.2 * rows[5] + 0.3 * rows[4], atol=1e-9)


def test_shapes_and_names_are_checked():
    model = biped31().model
    _, rows = random_states(model, 2)
    with raising(ShapeError, 'shape', name='qdd'):
        joint_torques(model, *rows[:5], rows[5][:, 1:])
    wrench = ContactWrench(np.zeros((2, 3)), np.zeros((2, 3)))
    with raising(UnknownNameError, 'unknown_name', name='l_soul'):
        joint_torques(model, *rows, applied={'l_soul': wrench})


@given(st.floats(-0.2, 1.2), st.floats(-0.05, 0.05))
def test_shares_add_up_and_each_acts_in_its_own_foot(part, aside):
    loads = np.array([[[0.0, 0.1, 0.0], [0.2, -0.1, 0.02]]])
    zmp = loads[:, 0] + part * (loads[:, 1] - loads[:, 0]) + [aside, 0.0, 0.0]
    force = np.array([[20.0, -10.0, 270.0]])
    reaction = ContactWrench(force, np.cross(zmp, force) + np.array([0.0, 0.0, 3.0]))
    left, right = shared_reaction(reaction, zmp, loads, np.array([[True, True]]))
    assert left.force + right.force == pytest.approx(force)
    assert left.moment + right.moment == pytest.approx(reaction.moment)
    assert left.force[0, 2] >= -1e-9
    assert right.force[0, 2] >= -1e-9


def test_legs_of_a_planned_walk_carry_the_robot_without_help_of_the_root():
    """With the planned reaction nothing is left for the root: the plan is consistent."""
    walk = planned(steps=6)
    plan = walk.plan
    root = plan.root
    wrench, _ = MrAd(biped31().model).batch(*root.felt(), plan.q, plan.qd, plan.qdd)
    in_world = wrench.transformed(root.rotation, root.position)
    contact = np.stack([foot.contact for foot in plan.feet], axis=1)
    feet = shared_reaction(in_world, plan.zmp, walk.zmp_reference.loads, contact)
    total = feet[0].as_array() + feet[1].as_array()
    assert np.abs(total - in_world.as_array()).max() < 1e-9
    for foot, share in zip(plan.feet, feet, strict=True):
        assert np.abs(share.as_array()[~foot.contact]).max() == 0.0
        assert share.force[:, 2].min() > -1e-9
