"""Walks by estimated angular momentum: the ZMP of all bodies, beside that of a point mass."""

from functools import cache

import numpy as np
import pytest

from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.cli.main import main
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.cli import plan
from izmp_lab.studies.angular_momentum.page import FINE
from izmp_lab.studies.angular_momentum.study import POSTURE, write_robot_file
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import SCHEMES, MomentumParameters, WalkParameters, off_knots

from ..raising import check_error, raising
from ..requiring import need
from .walking import biped31

STEP = {'speed': 0.25 / 0.8, 'steps': 10}


@pytest.fixture(scope='module')
def errors(tmp_path_factory):
    """Scheme → root mean square and largest error of TALOS's ZMP of all bodies, (2, 2) [mm].

    Those of biped31 are claims of the study.
    """
    file = load_robot_file(write_robot_file(tmp_path_factory.mktemp('talos')))
    biped = Biped.of(file, POSTURE)

    @cache
    def of(scheme):
        momentum = MomentumParameters.scheme(scheme)
        given = {**STEP, 'com_height': 0.86, 'momentum': momentum}
        walk = plan_walk(biped, WalkParameters.by('angular_momentum', **given))
        assert not walk.stopped
        times, timing = walk.plan.times, walk.timing
        walking = (times >= timing.begins(0)) & (times <= timing.begins(timing.steps))
        error = 1e3 * walk.zmp_errors[walking]
        return np.array([np.sqrt(np.mean(error**2, axis=0)), np.abs(error).max(axis=0)])

    return of


@pytest.mark.parametrize('scheme', ['E3', 'E4'])
def test_with_estimated_momentum_the_zmp_of_all_bodies_is_the_wanted_one(errors, scheme):
    (rms_x, rms_y), (most_x, most_y) = errors(scheme)
    assert rms_x <= 4.0
    assert most_x <= 16.0
    assert rms_y <= 1.5
    assert most_y <= 4.0


@pytest.mark.parametrize('scheme', ['E3', 'E4'])
def test_a_point_mass_is_at_least_six_times_worse(errors, scheme):
    assert (errors('E1')[0] >= 6.0 * errors(scheme)[0]).all()


def test_eight_nodes_half_of_them_early_are_as_good_as_sixteen(errors):
    assert (errors('E4')[0] <= 1.1 * errors('E3')[0]).all()


def test_landings_between_knots_cost_what_a_straight_acceleration_misses():
    """At most Δv Δt / 4 of the wanted ZMP beside what is left at knots; with more knots, none."""
    step_time, length, both = 0.85, 0.25, 0.2

    def planned(**changed):
        return plan_walk(
            biped31(),
            WalkParameters.by(
                'angular_momentum', speed=length / step_time, step_time=step_time, steps=6,
                double_support=both / step_time, momentum=MomentumParameters(**changed),
            ),
        )  # fmt: skip

    coarse, fine = planned(), planned(**FINE)
    most = np.abs(coarse.zmp_errors).max(axis=0)
    corner = (length - 0.04) / both * 0.1 / 4.0
    assert 0.016 < most[0] < corner + 0.016
    assert 'step time 0.9 s, of it 0.2222 on both feet' in off_knots(coarse.parameters)
    rms = np.sqrt(np.mean(fine.zmp_errors**2, axis=0))
    assert (rms < [0.004, 0.0015]).all()
    assert (np.abs(fine.zmp_errors).max(axis=0) < [0.016, 0.004]).all()
    assert not off_knots(fine.parameters)


@pytest.mark.parametrize(
    ('given', 'said'),
    [
        ({}, ''),
        ({'step_time': 0.75}, 'step time 0.8 s, of it 0.25 on'),
        ({'double_support': 0.2}, 'step time 0.8 s, of it 0.25 on'),
        ({'stand': 1.55}, 'standing 1.6 s'),
        ({'step_time': 0.1, 'double_support': 0.9}, 'step time 0.2 s, of it 0.5 on'),
    ],
    ids=str,
)
def test_times_beside_the_knots_are_noted(given, said):
    note = off_knots(WalkParameters.by('angular_momentum', **given))
    assert said in note if said else not note
    assert not off_knots(WalkParameters.by('cart_table', **given))


def test_the_plan_is_a_motion_like_any_other():
    """Velocities belong to the positions, it starts and ends at rest, joints stay in limits."""
    walk = plan_walk(biped31(), WalkParameters.by('angular_momentum', **STEP))
    plan = walk.plan
    central = (plan.q[2:] - plan.q[:-2]) / (2 * plan.time_step)
    assert central == pytest.approx(plan.qd[1:-1], abs=2e-3)
    assert plan.qd[[0, -1]] == pytest.approx(0.0, abs=1e-12)
    assert plan.feed_forward is not None
    assert plan.com == pytest.approx(walk.com_reference, abs=1e-8)
    assert walk.footsteps.steps[-1].position[0] == pytest.approx(0.25 * 9)


def test_a_walk_may_turn():
    walk = plan_walk(
        biped31(), WalkParameters.by('angular_momentum', speed=0.2, steps=6, turn_rate=0.3)
    )
    assert np.sqrt(np.mean(walk.zmp_errors**2, axis=0)) == pytest.approx(0.0, abs=4e-3)


@pytest.mark.parametrize(
    ('given', 'kind', 'data'),
    [
        ({'slope': 0.1}, 'slope_not_walked', {'slope': 0.1}),
        ({'cog_tracking': 'constant'}, 'cog_tracking_not_converging', {}),
        ({'speed': 1.2}, 'cannot_begin', {'cause': 'knee_stretches'}),
        ({'com_height': 1.5}, 'cannot_stand', {'cause': 'knee_stretches'}),
        ({'momentum': MomentumParameters(friction=0.01)}, 'cannot_begin', {'cause': 'friction'}),
    ],
    ids=str,
)
def test_what_cannot_be_walked_is_refused_with_the_reason(given, kind, data):
    with raising(MotionError, kind, **data):
        plan_walk(biped31(), WalkParameters.by('angular_momentum', **given))


@pytest.mark.parametrize(
    ('given', 'kind', 'data'),
    [
        ({'nodes': ((0.12,),)}, 'node_off_grid', {'node': 0.12, 'step': 0.05}),
        (
            {'nodes': ((0.1, 0.2), (0.3, 0.1, 0.3))},
            'two_nodes_at_once',
            {'nodes': (0.1, 0.3, 0.3)},
        ),
        ({'nodes': ((float('nan'),),)}, 'node_off_grid', {}),
        ({'pieces': 16.5}, 'not_whole', {'parameter': 'pieces'}),
        ({'alpha': -1.0}, 'out_of_range', {'parameter': 'alpha'}),
        ({'end_estimate': 'guess'}, 'unknown_choice', {'valid': ('hold', 'zero')}),
        ({'friction': float('nan')}, 'out_of_range', {'parameter': 'friction'}),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused(given, kind, data):
    with raising(MotionError, kind, **data):
        MomentumParameters(**given)


def test_the_command_offers_what_there_is():
    assert tuple(SCHEMES) == plan.SCHEMES
    for generator in plan.GENERATORS:
        assert WalkParameters.by(generator).generator == generator
    with raising(MotionError, 'unknown_choice', parameter='generator', valid=plan.GENERATORS):
        WalkParameters.by('other')


def test_the_command_plans(capsys):
    need('daqp')
    options = ['plan', 'walk', '--generator', 'angular_momentum', '--steps', '3']
    assert main(options) == 0
    printed = capsys.readouterr().out
    assert 'ZMP:     of all bodies within' in printed
    assert 'Note:' not in printed
    assert main([*options, '--step-time', '0.75']) == 0
    assert 'Note:    Lift-offs and landings' in capsys.readouterr().out
    assert main(['plan', 'walk', '--scheme', 'E1']) != 0
    assert '--generator angular_momentum' in capsys.readouterr().err


def test_a_walk_that_cannot_go_on_is_planned_up_to_a_safe_stop(capsys):
    """Swings of 0.16 s: from step 2 on their angular momentum asks for more than friction."""
    given = {'double_support': 0.8, 'steps': 5}
    walk = plan_walk(biped31(), WalkParameters.by('angular_momentum', **given))
    check_error(walk.stopped, 'friction')
    assert 0 < walk.timing.steps < 5
    assert walk.plan.com == pytest.approx(walk.com_reference, abs=1e-8)
    left, right = (foot.position[-1] for foot in walk.plan.feet)
    assert left[0] == pytest.approx(right[0])
    assert walk.footsteps.start[0].position[0] == 0.0
    options = ['plan', 'walk', '--generator', 'angular_momentum', '--double-support', '0.8']
    assert main([*options, '--steps', '5']) == 1
    assert 'stops early: No motion of the centre of mass' in capsys.readouterr().err
