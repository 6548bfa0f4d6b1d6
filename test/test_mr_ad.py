"""MR-AD: reference, kernels and an independent engine agree; the laws of the method hold."""

import numpy as np
import pytest

from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.base.vectors import FAR
from izmp_dynamics.dynamics import kernels, mr_ad_batch
from izmp_dynamics.dynamics.mr_ad import MrAd, mr_ad_reference
from izmp_dynamics.model.body_layout import MASS, MULTIPLIER
from izmp_dynamics.model.robot_model import load_model

from .odd_robot import urdf
from .pinocchio_twin import ROBOTS, PinocchioTwin, pin, random_state, robot_path
from .raising import raising

STATES = 100


def relative(a, b):
    """Largest deviation of force and moment, each relative to its own magnitude."""
    force = np.linalg.norm(a[:3] - b[:3]) / np.linalg.norm(b[:3])
    moment = np.linalg.norm(a[3:] - b[3:]) / np.linalg.norm(b[3:])
    return max(force, moment)


def by_name(model, values):
    return dict(zip(model.joint_names, values, strict=True))


@pytest.mark.parametrize('name', [*ROBOTS, 'biped31'])
def test_kernel_reference_and_batch_agree(name):
    model = load_model(robot_path(name))
    mr_ad = MrAd(model)
    rng = np.random.default_rng(8)
    states = [random_state(rng, model.dof) for _ in range(STATES)]
    batch, com = mr_ad.batch(*(np.array(column) for column in zip(*states, strict=True)))
    for k, (phi, w, wd, q, qd, qdd) in enumerate(states):
        single, single_com = mr_ad.update(phi, w, wd, q, qd, qdd)
        reference = mr_ad_reference(
            model.tree, phi, w, wd, by_name(model, q), by_name(model, qd), by_name(model, qdd)
        )
        assert relative(single.as_array(), reference.as_array()) <= 1e-11
        assert relative(batch.as_array()[k], single.as_array()) <= 1e-12
        np.testing.assert_allclose(com[k], single_com, rtol=0, atol=1e-12)


def one_by_one(model, states):
    out, work = np.empty((len(states), 9)), np.empty((len(model.joints), kernels.WORK))
    for state, result in zip(states, out, strict=True):
        kernels.mr_ad(model.joints, model.bodies, state, work, result)
    return out


@pytest.mark.parametrize('threads', [1, 3])
def test_a_batch_has_the_bits_of_its_states_one_by_one(monkeypatch, threads):
    """Whatever their number; also beside states that are no numbers or beyond all limits."""
    model = load_model(urdf())
    monkeypatch.setattr('numba.config.NUMBA_NUM_THREADS', threads)
    monkeypatch.setattr(mr_ad_batch, 'PER_THREAD', 40)
    rng = np.random.default_rng(13)
    states = np.array([np.concatenate(random_state(rng, model.dof)) for _ in range(131)])
    hinge = kernels.ROOT + model.joint_names.index('ankle_l')
    states[3, hinge] = np.nan
    states[40, hinge], states[41, hinge] = np.inf, 3.0 * FAR
    expected = one_by_one(model, states)
    assert np.isnan(expected).any(axis=1).nonzero()[0].tolist() == [3, 40]
    for count in (0, 1, mr_ad_batch.FEW, mr_ad_batch.FEW + 1, 31, 32, 33, 131):
        found = mr_ad_batch.mr_ad_batch(model.joints, model.bodies, states[:count])
        np.testing.assert_array_equal(found, expected[:count])


def test_no_layout_of_states_is_compiled_anew():
    model = load_model(urdf())
    states = np.zeros((2 * mr_ad_batch.LANES, kernels.ROOT + 3 * model.dof))
    states[:, 2] = 9.81
    mr_ad_batch.mr_ad_batch(model.joints, model.bodies, states)
    states.setflags(write=False)
    before = len(mr_ad_batch._mr_ad_lanes.signatures)
    assert before
    mr_ad_batch.mr_ad_batch(model.joints, model.bodies, states[::2])
    assert len(mr_ad_batch._mr_ad_lanes.signatures) == before


@pytest.mark.parametrize('name', ['icub', 'biped31'])
def test_wrench_does_not_depend_on_the_root(name):
    """The same motion seen from any link as root gives the same wrench."""
    path = robot_path(name)
    model = load_model(path)
    twin = PinocchioTwin(path, model)
    state = random_state(np.random.default_rng(9), model.dof)
    expected, expected_com = MrAd(model).update(*state)
    pq, pv, pa = twin.state(*state)
    pin.forwardKinematics(twin.model, twin.data, pq, pv, pa)
    pin.updateFramePlacements(twin.model, twin.data)
    local = pin.ReferenceFrame.LOCAL
    for link in model.frame_names:
        frame = twin.model.getFrameId(link, pin.FrameType.BODY)
        placement = twin.data.oMf[frame]
        velocity = pin.getFrameVelocity(twin.model, twin.data, frame, local)
        acceleration = pin.getFrameClassicalAcceleration(twin.model, twin.data, frame, local)
        rerooted = load_model(path, root=link)
        order = [model.joint_names.index(joint) for joint in rerooted.joint_names]
        wrench, com = MrAd(rerooted).update(
            acceleration.linear,
            velocity.angular,
            acceleration.angular,
            *(values[order] for values in state[3:]),
        )
        in_root = wrench.transformed(placement.rotation, placement.translation)
        assert relative(in_root.as_array(), expected.as_array()) <= 1e-9, link
        np.testing.assert_allclose(
            placement.rotation @ com + placement.translation, expected_com, atol=1e-10
        )


def test_the_part_below_a_link_completes_the_rest():
    """Robot = part below the ankle + all that remains, in force and moment."""
    model = load_model(robot_path('biped31'))
    part = model.part('l_foot')
    assert 0 < part.total_mass < model.total_mass
    state = random_state(np.random.default_rng(11), model.dof)
    whole, _ = MrAd(model).update(*state)
    below, _ = MrAd(part).update(*state)
    rest = np.array(model.bodies)
    rest[:, MASS:MULTIPLIER] -= part.bodies[:, MASS:MULTIPLIER]
    rest.setflags(write=False)  # of the type for which the kernel is compiled
    out = np.empty(9)
    kernels.mr_ad(
        model.joints, rest, np.concatenate(state), np.empty((len(rest), kernels.WORK)), out
    )
    np.testing.assert_allclose(out[:6] + below.as_array(), whole.as_array(), rtol=1e-9, atol=1e-9)


ARGUMENTS = ('proper_acceleration', 'angular_velocity', 'angular_acceleration', 'q', 'qd', 'qdd')


@pytest.mark.parametrize('name', ARGUMENTS)
@pytest.mark.parametrize('wrong', [0.0, np.zeros(1), np.zeros(4), np.zeros((1, 3)), [0.0]])
def test_an_argument_of_the_wrong_shape_is_named(model, name, wrong):
    """A scalar, too, which an assignment would broadcast."""
    widths = dict(zip(ARGUMENTS, (3, 3, 3, *3 * [model.dof]), strict=True))
    state = {argument: np.zeros(width) for argument, width in widths.items()}
    with raising(ShapeError, 'shape') as caught:
        MrAd(model).update(**{**state, name: wrong})
    assert (caught.value.name, caught.value.got) == (name, np.shape(wrong))
    assert caught.value.expected == f'({widths[name]},)'
    rows = {argument: np.zeros((4, width)) for argument, width in widths.items()}
    with raising(ShapeError, 'shape') as caught:
        MrAd(model).batch(**{**rows, name: np.zeros((4, widths[name] - 1))})
    assert (caught.value.name, caught.value.expected) == (name, f'(4, {widths[name]})')
