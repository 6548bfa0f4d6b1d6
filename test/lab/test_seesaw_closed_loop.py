"""The closed loop on the seesaw: pushes, both plants, the command line, the figures."""

import csv
import re

import numpy as np
import pytest

from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.board import Seesaw, stance
from izmp_lab.seesaw.closed_loop import TICK, balance_on_seesaw
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.gains import CONTROLLERS
from izmp_lab.seesaw.kkt_plant import KktPlant
from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw
from izmp_lab.seesaw.scenario import simulate_seesaw
from izmp_lab.simulation.physics import Shove

from ..command_line import izmp
from ..raising import raising

PUSH = Shove(100.0, 'lateral', 0.1, 0.01)


def controller_of(kind):
    return MomentumController.named(load_balancing_robot('icub'), kind)


@pytest.fixture(scope='module', params=CONTROLLERS)
def pushed(request):
    """The same push on both plants."""
    controller = controller_of(request.param)
    plants = (
        KktPlant(controller.robot, controller.seesaw),
        MujocoSeesaw(controller.robot, controller.seesaw),
    )
    return [balance_on_seesaw(plant, controller, 0.7, [PUSH]) for plant in plants]


def test_both_plants_move_alike(pushed):
    kkt, mujoco = pushed
    assert kkt.largest_angle() > np.radians(2.0)
    assert np.abs(kkt.angle - mujoco.angle).max() < 0.02 * kkt.largest_angle()
    assert np.abs(kkt.com - mujoco.com).max() < 2e-4


def test_every_tick_is_solved_and_logged(pushed):
    for run in pushed:
        assert run.unsolved == 0
        assert not run.fall
        np.testing.assert_allclose(run.times, TICK * np.arange(70), atol=1e-9)


def test_parts_of_ticks_keep_the_impulse():
    class Weighed:
        """Sums up impulses."""

        impulse, seesaw = np.zeros(3), Seesaw()

        def __init__(self, rest):
            self.state = rest

        def step(self, torques, duration, push=None):
            if push is not None:
                self.impulse = self.impulse + duration * push
            return self.state

    controller = controller_of('mixed')
    plant = Weighed(stance(controller.robot, controller.seesaw))
    shove = Shove(50.0, 'forward', 0.013, 0.024)
    balance_on_seesaw(plant, controller, 0.1, [shove, Shove(10.0, 'right', 0.002, 0.004)])
    np.testing.assert_allclose(plant.impulse, [50.0 * 0.024, -10.0 * 0.004, 0.0], atol=1e-12)


def test_impossible_runs_are_refused(tmp_path):
    controller = controller_of('mixed')
    plant = KktPlant(controller.robot, controller.seesaw)
    with raising(SimulationError, 'duration', duration=0.0):
        balance_on_seesaw(plant, controller, 0.0)
    with raising(SimulationError, 'push_outside_run', end=0.11, duration=0.1):
        balance_on_seesaw(plant, controller, 0.1, [PUSH])
    with raising(UnknownNameError, 'unknown_name', name='gazebo', valid=('mujoco', 'kkt')):
        simulate_seesaw(controller, tmp_path / 'bag', plant='gazebo')


def test_a_fall_ends_the_run_and_is_reported():
    controller = controller_of('mixed')
    plant = KktPlant(controller.robot, controller.seesaw)
    run = balance_on_seesaw(plant, controller, 3.0, [Shove(3000.0, 'lateral', 0.0, 0.01)])
    assert 'tipped over' in run.fall
    assert run.unsolved > 0
    assert len(run.times) < 300


@pytest.mark.parametrize('plant', ['kkt', 'mujoco'])
def test_what_diverges_is_reported_and_what_was_simulated_is_kept(tmp_path, plant):
    bag = tmp_path / 'bag'
    done = izmp('simulate', 'seesaw', '--plant', plant, '--push', '1e9:lateral:0.1:0.01',
                '--duration', '1', '-o', bag)  # fmt: skip
    assert done.status == 1
    assert 'diverged at 0.1' in done.err
    assert 'Traceback' not in done.err
    assert 'Warning' not in done.err
    assert 10 <= len(list(csv.DictReader((bag / 'seesaw.csv').open()))) <= 12
    assert (bag / 'metadata.yaml').is_file()


@pytest.mark.parametrize('plant', ['kkt', 'mujoco'])
def test_the_command_records_and_sums_up(tmp_path, plant):
    bag = tmp_path / 'bag'
    done = izmp('simulate', 'seesaw', '--plant', plant, '--controller', 'robot', '--duration',
                '0.1', '--reference', 'sine:0.025:0.25', '--push', '50:right:0.02:0.01', '-o',
                bag)  # fmt: skip
    assert done.status == 0, done.err
    for word in ('stable at 100 Hz', 'lateral RMS', '10 ticks, 0 without a solution'):
        assert word in done.out
    rows = list(csv.DictReader((bag / 'seesaw.csv').open()))
    assert len(rows) == 10
    assert {'time', 'angle_deg', 'com_y', 'solved', 'torque_l_knee'} <= set(rows[0])
    assert (bag / 'metadata.yaml').is_file()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--damping', '0'], r"2\.39-fold per tick, .*'[lr]_shoulder_yaw' .* needs more friction"),
        (['--damping', '-1'], '--damping is -1'),
        (['--robot', 'nao'], "There is no robot that balances 'nao'"),
        (['--reference', 'sine'], 'is not of the form'),
        (['--push', '100:up'], 'is not of the form'),
    ],
)
def test_the_command_says_what_is_wrong_and_leaves_nothing(tmp_path, arguments, message):
    bag = tmp_path / 'bag'
    done = izmp('simulate', 'seesaw', *arguments, '-o', bag)
    assert done.status == 1
    assert re.search(message, done.err)
    assert 'Traceback' not in done.err
    assert not list(tmp_path.iterdir())
