"""Momentum control: it does what its equations promise, within its limits, and says when not."""

import dataclasses
import math

import numpy as np
import pytest

from izmp_dynamics.base.errors import ModelError, SimulationError, UnknownNameError
from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.board import Seesaw, stance
from izmp_lab.seesaw.controller import FootConstraints, MomentumController
from izmp_lab.seesaw.gains import CONTROLLERS, GAIN_SETS, ComReference, gains
from izmp_lab.seesaw.kkt_plant import KktPlant, moving_state, rate, shifted, terms_of
from izmp_lab.seesaw.loop_check import check_loop, require_stable

from ..raising import raising
from .balancing import plant_of

TICK = 0.01


def controller_of(kind, robot='biped31', reference=None, damping=None, **changes):
    balancing = load_balancing_robot(robot)
    if damping is not None:
        everywhere = np.full(balancing.model.dof, damping)
        balancing = dataclasses.replace(balancing, damping=everywhere)
    own = dataclasses.replace(gains(kind, balancing.model.joint_names), **changes)
    return MomentumController(balancing, Seesaw(), kind, own, reference)


@pytest.fixture(scope='module', params=CONTROLLERS)
def kind(request):
    return request.param


@pytest.fixture(scope='module')
def plant():
    """The plant without friction, which the controllers do not know of."""
    return plant_of('biped31', damping=np.zeros(31))


@pytest.fixture(scope='module')
def exact(kind):
    """A controller whose pseudo-inverse is not damped, so that it realises what it wants."""
    return controller_of(kind, pseudo_inverse_damping=1e-12)


@pytest.fixture(scope='module', params=range(3))
def solved(plant, exact, request):
    """A state that moves, and the command there."""
    state = moving_state(plant, request.param, shift=0.02, speed=0.03)
    command = exact.command(state)
    assert command.solved
    return state, command


def test_the_feet_carry_what_the_controller_expects(plant, solved):
    """Eq. 33 with h̄_s in h̄: torques and wrenches belong together."""
    state, command = solved
    motion = plant.motion(state, command.torques)
    np.testing.assert_allclose(motion.foot_wrenches, command.wrenches, atol=1e-3)


def test_eq_12_read_literally_is_another_posture_and_carries_the_same_wrenches(plant, kind):
    """What the posture adds is in the null space of Λ in both readings."""
    usual, literal = (
        controller_of(kind, pseudo_inverse_damping=1e-12, literal_posture=read)
        for read in (False, True)
    )
    state = moving_state(plant, 0, shift=0.02, speed=0.03)
    command = literal.command(state)
    motion = plant.motion(state, command.torques)
    np.testing.assert_allclose(motion.foot_wrenches, command.wrenches, atol=1e-3)
    assert np.abs(command.torques - usual.command(state).torques).max() > 0.1


def test_erratum_with_h_s_in_eq_33_they_do_not(plant, solved):
    state, command = solved
    terms = terms_of(plant, state)
    on_board = terms.board.J_feet / np.diag(terms.board.M)
    Lambda = np.linalg.solve(terms.body.M, terms.body.J.T).T[:, 6:]
    slip = on_board @ (terms.h_board - terms.board.h)
    printed = command.torques + np.linalg.pinv(Lambda) @ slip
    motion = plant.motion(state, printed)
    assert np.abs(motion.foot_wrenches - command.wrenches).max() > 1.0


def test_the_momentum_changes_as_wanted(plant, kind, solved):
    state, command = solved
    motion = plant.motion(state, command.torques)

    def momentum(at):
        terms = terms_of(plant, at)
        angular = terms.total_momentum if kind == 'mixed' else terms.body.momentum
        return np.concatenate([terms.body.momentum[:3], angular[3:]])

    body = terms_of(plant, state).body
    own = gains(kind, plant.robot.model.joint_names)
    rest = controller_of(kind).com_at_rest
    wanted = -own.com_stiffness * (body.com - rest) - own.com_damping * body.com_velocity
    changed = rate(momentum, state, motion)
    np.testing.assert_allclose(changed[:3], body.mass * wanted, atol=2e-3)


def test_the_wrenches_keep_to_the_limits_of_the_feet(exact, solved):
    state, command = solved
    terms = exact.rigid.terms(state)
    for wrench, R, foot in zip(command.wrenches, terms.R_soles, exact.constraints, strict=True):
        assert (foot.in_world(R) @ wrench <= foot.b + 1e-6).all()


def test_redundant_wrenches_make_the_torques_small(plant, exact, solved):
    """No other wrenches that realise the same momentum, within the limits, need less torque."""
    state, command = solved
    terms = terms_of(plant, state)
    constant, slope = exact._torques_of_wrenches(terms, state)
    A, _ = exact._task(terms, state, np.zeros((3, 3)))
    f = command.wrenches.ravel()
    free = np.linalg.svd(A)[2][6:]
    least = np.linalg.norm(constant + slope @ f)
    for direction in np.concatenate([free, -free]):
        other = f + 0.1 * direction
        inside = all(
            (foot.in_world(R) @ part <= foot.b).all()
            for part, R, foot in zip(
                other.reshape(2, 6), terms.body.R_soles, exact.constraints, strict=True
            )
        )
        assert not inside or np.linalg.norm(constant + slope @ other) >= least - 1e-6


def test_at_rest_nothing_moves(kind):
    controller = controller_of(kind)
    plant = KktPlant(controller.robot, controller.seesaw, 0.005)
    rest = plant.state
    for _ in range(20):
        state = plant.step(controller.command(plant.state).torques, TICK)
    assert np.abs(state.q - rest.q).max() < 1e-9
    assert abs(state.angle) < 1e-9


def test_torques_keep_to_the_limits(plant, kind):
    controller = controller_of(kind)
    rest = stance(plant.robot, plant.seesaw)
    bent = shifted(rest, np.concatenate([np.zeros(6), np.full(31, 0.02)]))
    controller.robot = dataclasses.replace(plant.robot, torque_limit=np.full(31, 3.0))
    command = controller.command(bent)
    assert command.solved
    assert np.abs(command.torques).max() == 3.0


def test_the_reference_is_the_derivative_of_itself():
    reference = ComReference.parse('sine:0.025:0.25')
    time, step = 1.3, 1e-5
    ahead, behind = reference.at(time + step), reference.at(time - step)
    np.testing.assert_allclose(
        (ahead - behind)[:2] / (2 * step), reference.at(time)[1:], atol=1e-9
    )
    assert reference.at(1.0)[0, 1] == pytest.approx(0.025)
    assert not ComReference.parse('constant').at(7.0).any()


@pytest.mark.parametrize('text', ['sine', 'sine:1', 'sine:a:b', 'sine:0.1:nan', 'square:1:1', ''])
def test_a_reference_that_is_none_is_refused(text):
    with raising(SimulationError, 'reference_format', text=text):
        ComReference.parse(text)


def test_a_reference_out_of_range_is_refused():
    with raising(SimulationError, 'reference_out_of_range', amplitude=2.5, frequency=0.25):
        ComReference.parse('sine:2.5:0.25')


@pytest.mark.parametrize('which', GAIN_SETS)
def test_every_joint_of_every_robot_has_gains(kind, which):
    for robot in ('icub', 'biped31'):
        names = load_balancing_robot(robot).model.joint_names
        chosen = gains(kind, names, which)
        assert (chosen.stiffness > 0.0).all()
        assert len(chosen.stiffness) == len(names)


def test_the_gains_of_the_authors_are_those_of_their_controller():
    names = ('torso_pitch', 'torso_roll', 'torso_yaw', 'l_shoulder_roll', 'l_elbow', 'l_hip_yaw',
             'l_knee', 'l_ankle_roll')  # fmt: skip
    mixed, robot = (gains(kind, names) for kind in ('mixed', 'robot'))
    assert mixed.stiffness.tolist() == [10, 20, 20, 10, 8, 60, 60, 10]
    assert robot.stiffness.tolist() == [10, 10, 20, 10, 8, 60, 60, 10]
    np.testing.assert_allclose(mixed.damping, 0.2 * np.sqrt(mixed.stiffness))


def test_unknown_controllers_and_gains_are_named():
    with raising(UnknownNameError, 'unknown_name', name='total', valid=('mixed', 'robot')):
        gains('total', ())
    with raising(UnknownNameError, 'unknown_name', name='best', valid=('authors', 'tuned')):
        gains('mixed', (), 'best')


class TestFeet:
    BOX = np.array([[-0.07, 0.12], [-0.045, 0.05]])
    FOOT = FootConstraints.of(BOX, 1.0, 0.013, 20.0)

    def allows(self, wrench):
        return bool((self.FOOT.C @ wrench <= self.FOOT.b + 1e-9).all())

    @pytest.mark.parametrize('x', [-0.08, -0.06, 0.11, 0.13])
    def test_the_cop_stays_on_the_sole(self, x):
        assert self.allows([0, 0, 100.0, 0, -100.0 * x, 0]) == (-0.07 <= x <= 0.12)

    @pytest.mark.parametrize('y', [-0.05, -0.04, 0.045, 0.055])
    def test_the_cop_stays_on_the_sole_sideways(self, y):
        assert self.allows([0, 0, 100.0, 100.0 * y, 0, 0]) == (-0.045 <= y <= 0.05)

    @pytest.mark.parametrize('angle', np.linspace(0.0, 2.0 * np.pi, 7))
    def test_the_cone_is_inscribed(self, angle):
        side = np.array([np.cos(angle), np.sin(angle)])
        assert self.allows([*(96.0 * side), 100.0, 0, 0, 0])
        assert not self.allows([*(101.0 * side), 100.0, 0, 0, 0])

    def test_a_foot_must_not_be_lifted_or_twisted(self):
        assert not self.allows([0, 0, 19.0, 0, 0, 0])
        assert not self.allows([0, 0, 100.0, 0, 0, 1.4])
        assert self.allows([0, 0, 100.0, 0, 0, -1.2])


@pytest.mark.parametrize(
    'corrupted',
    [
        lambda rest: dataclasses.replace(rest, q=rest.q + np.nan),
        lambda rest: dataclasses.replace(rest, qd=rest.qd + 1e160),
        lambda rest: dataclasses.replace(rest, qd=rest.qd + 20.0),  # no foot can hold that
        lambda rest: dataclasses.replace(
            rest, board=dataclasses.replace(rest.board, rotation=np.zeros((3, 3)))
        ),
    ],
)
def test_without_a_solution_the_last_torques_are_held(corrupted):
    """In the first tick those that hold the stance."""
    controller = controller_of('mixed')
    rest = stance(controller.robot, controller.seesaw)
    plant = KktPlant(controller.robot, controller.seesaw)
    command = controller.command(corrupted(rest))
    assert not command.solved
    assert controller.unsolved == 1
    for part in (command.com, command.momentum_error, command.wrenches):
        assert np.isfinite(part).all()
    motion = plant.motion(rest, command.torques)
    np.testing.assert_allclose(motion.joints, 0.0, atol=1e-8)
    np.testing.assert_allclose(motion.foot_wrenches, command.wrenches, atol=1e-8)
    solved = controller.command(rest)
    assert solved.solved
    assert controller.command(corrupted(rest)).torques is solved.torques
    assert controller.unsolved == 2
    controller.restart()
    assert controller.unsolved == 0
    np.testing.assert_array_equal(controller.last.torques, command.torques)


@pytest.mark.parametrize(
    ('kind', 'damping', 'joint', 'time_constant'),
    [('mixed', 3.0, 'hip_roll', 3.3), ('robot', 10.0, 'torso_roll', 2.9)],
)
def test_too_much_friction_is_refused(kind, damping, joint, time_constant):
    with raising(ModelError, 'loop_unstable', remedy='less_friction') as caught:
        require_stable(controller_of(kind, 'icub', damping=damping), TICK)
    data = caught.value.data
    assert joint in data['joint']
    assert math.log(data['growth']) == pytest.approx(TICK / time_constant, rel=0.02)


def test_deviations_grow_as_the_check_says():
    controller = controller_of('mixed', 'icub', damping=0.5)
    check = check_loop(controller, TICK)
    plant = KktPlant(controller.robot, controller.seesaw, 0.002)
    state = moving_state(plant, 0, shift=0.0, speed=1e-9)
    rest = stance(plant.robot, plant.seesaw)
    plant.reset(dataclasses.replace(rest, qd=state.qd, root=rest.root))
    size = []
    for _ in range(60):
        plant.step(controller.command(plant.state).torques, TICK)
        size.append(np.linalg.norm(plant.state.qd))
    growth = (size[-1] / size[-11]) ** 0.1
    assert growth == pytest.approx(check.growth, rel=0.02)
