"""The ITU Biped in the simulation: converging CoG against the constant vector."""

from functools import cache
from pathlib import Path

import pytest

pytest.importorskip('mujoco')

from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.simulation.itu_experiment import ItuTrial, run_trial

FILE = load_robot_file(Path(__file__).parents[2] / 'robots/itu_biped/robot.yaml')
LARGE, SMALL = (0.23, 0.10), (0.12, 0.06)


@cache
def outcome(**trial):
    return run_trial(FILE, ItuTrial(**trial))


@pytest.mark.parametrize('friction', [0.8, 1.0, 1.2])
@pytest.mark.parametrize('step_time', [1.0, 1.4])
def test_with_large_feet_ccg_tracks_the_cog_and_the_constant_vector_does_not(step_time, friction):
    both = {
        tracking: outcome(
            step_time=step_time, foot=LARGE, friction=friction, cog_tracking=tracking
        )
        for tracking in ('converging', 'constant')
    }
    ccg, constant = (both[name].cog_error for name in ('converging', 'constant'))
    assert both['converging'].falls_in_step is None
    assert both['constant'].falls_in_step is None
    assert ccg.mean() <= 2e-3
    assert ccg.max() <= 5e-3
    assert constant.mean() >= 7 * ccg.mean()


def test_with_small_feet_ccg_finishes_and_the_constant_vector_falls_as_in_the_paper():
    assert outcome(step_time=1.4, foot=SMALL).falls_in_step is None
    constant = outcome(step_time=1.4, foot=SMALL, cog_tracking='constant')
    assert constant.falls_in_step in (3, 4, 5)
    assert constant.cog_error.max() > 0.1


def test_fast_steps_are_not_for_a_method_that_knows_no_dynamics():
    """At 0.6 s the ranking reverses; it is the ZMP of all bodies that leaves the soles."""
    assert outcome(step_time=0.6, foot=SMALL).falls_in_step is not None
