"""A simulation in pieces is the simulation in one piece."""

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the robot is simulated with MuJoCo')

from izmp_lab.simulation.mujoco.feed_forward import with_feed_forward
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import Lockstep, simulate
from izmp_lab.walking.sway import SwayParameters, plan_sway


def test_the_pieces_are_the_whole(biped31):
    plant = build_mujoco(biped31)
    plan = plan_sway(plant.robot, SwayParameters(), time_step=plant.physics.time_step)
    plan = with_feed_forward(plan, plant)
    whole = simulate(plan, plant)
    lockstep = Lockstep(plan, plant)
    pieces = [lockstep.advance(steps) for steps in (1, 4, 500, 7)]
    while not lockstep.is_over:
        pieces.append(lockstep.advance(1000))
    assert not pieces[-1].fall
    for name in ('stamps', 'q', 'effort', 'position'):
        joined = np.concatenate([getattr(piece, name) for piece in pieces])
        np.testing.assert_array_equal(joined, getattr(whole, name))
    force = np.concatenate([piece.imu.specific_force for piece in pieces])
    np.testing.assert_array_equal(force, whole.imu.specific_force)
