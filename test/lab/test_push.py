"""Pushes by a user: their text, their direction, and what they do to the plant."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_lab.simulation.physics import DIRECTIONS, Shove

from ..raising import raising
from .walking import planned

numbers = st.floats(0.001, 1000.0).map(lambda number: float(f'{number:.6g}'))


@given(numbers, st.sampled_from(sorted(DIRECTIONS)), numbers, st.none() | numbers)
def test_what_is_written_is_read(force, direction, start, duration):
    text = f'{force!r}:{direction}:{start!r}' + (f':{duration!r}' if duration else '')
    read = Shove.parse(text, 'head')
    assert read == Shove(force, direction, start, duration or 0.1, 'head')


@pytest.mark.parametrize(
    'text', ['', '40', '40:left', '40:left:1:2:3', 'x:left:1', '40:left:', 'left:40:1', ':::']
)
def test_other_texts_are_refused_with_the_form(text):
    with raising(SimulationError, 'push_format', text=text):
        Shove.parse(text)


@pytest.mark.parametrize(
    ('text', 'kind'),
    [('-5:left:1', 'push_size'), ('nan:left:1', 'push_size'), ('5:left:-1', 'push_start'),
     ('5:left:inf', 'push_start'), ('5:left:1:0', 'push_size'), ('inf:left:1', 'push_size')],
)  # fmt: skip
def test_impossible_pushes_are_refused(text, kind):
    with raising(SimulationError, kind):
        Shove.parse(text)


def test_an_unknown_direction_names_the_known_ones():
    with raising(UnknownNameError, 'unknown_name', name='sideways', valid=tuple(DIRECTIONS)):
        Shove.parse('40:sideways:1')


def test_directions_turn_with_the_robot():
    plan = planned(steps=10, speed=0.2, turn_rate=0.3).plan
    for time in (0.0, 3.0, 5.5):
        facing = plan.root.rotation[round(time / plan.time_step)]
        for name, along in (('forward', facing[:, 0]), ('back', -facing[:, 0]),
                            ('left', facing[:, 1]), ('right', -facing[:, 1]),
                            ('lateral', facing[:, 1]), ('up', [0, 0, 1]),
                            ('down', [0, 0, -1])):  # fmt: skip
            push = Shove(40.0, name, time).push(plan)
            assert push.force == pytest.approx(40.0 * np.array(along), abs=1e-9)
            assert (push.start, push.duration, push.link) == (time, 0.1, 'trunk')


def test_a_push_must_fall_into_the_motion():
    plan = planned(steps=10, speed=0.2, turn_rate=0.3).plan
    Shove(40.0, 'left', plan.duration - 0.1).push(plan)
    with raising(SimulationError, 'push_outside_motion', plan=plan.name):
        Shove(40.0, 'left', plan.duration - 0.05).push(plan)
