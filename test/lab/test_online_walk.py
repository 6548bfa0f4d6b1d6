"""A robot that walks by commands: no jumps, and a safe end where it cannot go on."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.stability.support_polygon import margins
from izmp_lab.walking.com_programme import InfeasibleError
from izmp_lab.walking.online_walk import LEAD, OnlineWalk, WalkCommand
from izmp_lab.walking.walk_parameters import SCHEMES, MomentumParameters, WalkParameters

from ..raising import check_error, raising
from .walking import biped31, corners

WIDTH = biped31().hip_width
FORWARD = WalkCommand(0.2, WIDTH)
TOO_LONG = WalkCommand(0.8, WIDTH)


def walk_by(script, cycles, walk=None):
    """Advance so many cycles, with commands in some of them: the walk and its pieces."""
    walk = walk or OnlineWalk(biped31())
    pieces, reasons = [], []
    for cycle in range(cycles):
        if cycle in script:
            walk.walk(script[cycle])
        pieces.append(walk.advance())
        reasons.append(walk.stopped)
    return walk, pieces, reasons


def joined(pieces, name):
    """The rows of all pieces, without those that two of them share."""
    return np.concatenate([getattr(piece, name)[:-1] for piece in pieces])


def assert_possible(biped, pieces):
    """One motion within the limits of the joints, the ZMP of all bodies below the soles."""
    for name, most in (('q', 1e-6), ('qd', 1e-3), ('qdd', 0.5)):
        seams = [
            np.abs(getattr(after, name)[0] - getattr(before, name)[-1]).max()
            for before, after in itertools.pairwise(pieces)
        ]
        assert max(seams) < most, name
    model = biped.model
    for piece in pieces:
        assert (np.abs(piece.feed_forward) <= model.effort_limit).all()
        assert (np.abs(piece.qd) <= model.velocity_limit).all()
        assert (piece.q >= model.position_lower).all()
        assert (piece.q <= model.position_upper).all()
        soles = tuple(map(corners, piece.feet, biped.polygons))
        carrying = np.stack([foot.contact for foot in piece.feet], axis=1)
        (margin,) = margins((piece.zmp,), soles, carrying, np.tile([0.0, 0.0, 1.0], (11, 1)))
        assert margin.min() > 0.0


@pytest.fixture(scope='module')
def journey():
    """Forward, a wide curve, backwards, stop, and once more."""
    script = {
        3: FORWARD,
        40: WalkCommand(0.1, 0.2, 0.2),
        60: WalkCommand(-0.1, WIDTH),
        80: None,
        105: WalkCommand(0.25, WIDTH),
    }
    return walk_by(script, 130)


def test_it_goes_where_it_is_told(journey):
    _, pieces, reasons = journey
    assert not any(reasons)
    com = joined(pieces, 'com')
    at = {second: com[100 * second] for second in (0, 4, 7, 8)}
    assert at[4][0] - at[0][0] > 0.4
    forward = pieces[70].root.rotation[0, :, 0]
    assert np.arctan2(forward[1], forward[0]) > 0.3
    assert (at[8] - at[7]) @ forward < -0.05
    assert np.abs(joined(pieces, 'qd')[1000:1050]).max() < 0.05


def test_no_command_makes_a_jump_or_a_motion_that_cannot_be(journey):
    walk, pieces, _ = journey
    assert_possible(walk.biped, pieces)


def test_steps_that_are_too_long_end_in_a_safe_stop_and_are_said():
    walk, pieces, reasons = walk_by({0: FORWARD, 30: TOO_LONG}, 70)
    assert not reasons[29]
    check_error(reasons[30], 'knee_stretches')
    assert walk.stands
    assert walk.command is None
    left, right = (foot.position[-1] for foot in pieces[-1].feet)
    assert left[0] == pytest.approx(right[0], abs=1e-9)
    assert np.abs(pieces[-1].qd).max() < 1e-2
    seams = [np.abs(b.q[0] - a.q[-1]).max() for a, b in itertools.pairwise(pieces)]
    assert max(seams) < 1e-6


def test_soles_that_would_overlap_end_in_a_stop():
    walk, _, reasons = walk_by({0: FORWARD, 20: WalkCommand(0.1, 0.05)}, 50)
    check_error(reasons[-1], 'soles_overlap')
    assert walk.stands


def test_forces_outside_the_cone_end_in_a_safe_stop():
    momentum = MomentumParameters(friction=0.12)
    parameters = WalkParameters.by('angular_momentum', time_step=0.01, momentum=momentum)
    slippery = OnlineWalk(biped31(), parameters)
    walk, pieces, reasons = walk_by(
        {0: WalkCommand(0.05, WIDTH), 40: WalkCommand(0.3, 0.3)}, 80, slippery
    )
    assert not reasons[39]
    assert reasons[-1].kind == 'friction'
    assert walk.stands
    com = joined(pieces, 'com')
    acceleration = np.diff(com, 2, axis=0)[:, :2] / 0.01**2
    assert np.linalg.norm(acceleration, axis=1).max() < 0.12 * 9.81


def test_while_nothing_can_be_planned_the_stop_that_was_kept_is_walked(monkeypatch):
    walk, pieces, _ = walk_by({0: FORWARD}, 20)

    def no(*_):
        raise InfeasibleError(kind='no')

    monkeypatch.setattr(walk.planner, 'plan', no)
    pieces += [walk.advance() for _ in range(30)]
    check_error(walk.stopped, 'no')
    assert walk.stands
    assert_possible(walk.biped, pieces)
    assert np.abs(pieces[-1].qd).max() < 1e-6
    left, right = (foot.position[-1] for foot in pieces[-1].feet)
    assert left[0] == pytest.approx(right[0], abs=1e-9)


def test_the_first_step_begins_after_the_lead():
    _, pieces, _ = walk_by({0: FORWARD}, 20)
    contact = [piece.feet for piece in pieces]
    lifted = [
        0.1 * index + 0.01 * row
        for index, feet in enumerate(contact)
        for row in range(10)
        if not all(foot.contact[row] for foot in feet)
    ]
    assert lifted[0] == pytest.approx(LEAD + 0.2 + 0.01, abs=0.011)


@pytest.mark.parametrize('wrong', [{'length': 3.0}, {'width': 0.0}, {'turn': float('nan')}])
def test_commands_out_of_range_are_refused(wrong):
    with raising(MotionError, 'out_of_range', parameter=next(iter(wrong))):
        dataclasses.replace(FORWARD, **wrong)


@pytest.mark.parametrize(
    ('changes', 'kind', 'data'),
    [
        ({'time_step': 0.015}, 'time_step_divides_not', {'interval': 0.1}),
        ({'step_time': 1.6}, 'step_time_too_long', {'longest': 1.5}),
        ({'momentum': SCHEMES['E2']}, 'second_iteration_online', {'valid': ('E1', 'E3', 'E4')}),
    ],
)
def test_what_cannot_be_walked_online_is_refused(changes, kind, data):
    with raising(MotionError, kind, **data):
        OnlineWalk(biped31(), WalkParameters.by('angular_momentum', **changes))


def test_commands_are_dropped_until_it_stands_and_then_obeyed():
    walk, _, reasons = walk_by({0: FORWARD, 20: TOO_LONG}, 22)
    assert reasons[-1]
    assert not walk.walk(FORWARD)
    walk_by({}, 30, walk)
    assert walk.stands
    assert walk.command is None
    assert walk.walk(FORWARD)
    walk_by({}, 15, walk)
    assert not walk.stopped
    assert not walk.stands


@settings(max_examples=4)
@given(
    commands=st.lists(
        st.tuples(
            st.integers(0, 40),
            st.one_of(
                st.none(),
                st.builds(
                    WalkCommand,
                    length=st.floats(-1.0, 1.0),
                    width=st.floats(0.1, 0.7),
                    turn=st.floats(-1.0, 1.0),
                ),
            ),
        ),
        max_size=5,
    )
)
@example(commands=[(23, WalkCommand(0.45417622, 0.26995367, -0.21213453))])
def test_with_any_commands_it_makes_no_jump_and_nothing_impossible(commands):
    walk, pieces, _ = walk_by(dict(commands), 55)
    assert_possible(walk.biped, pieces)
