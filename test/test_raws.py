"""Messages in one array of bytes behave like a list of byte strings."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.bags.raws import Raws

MESSAGES = st.lists(st.binary(max_size=20), max_size=8)


@given(MESSAGES, st.slices(8), st.data())
def test_they_are_cut_joined_and_taken_like_a_list(messages, some, data):
    raws = Raws.of(messages)
    assert list(raws) == messages
    assert len(raws) == len(messages)
    assert list(raws[some]) == messages[some]
    places = data.draw(st.lists(st.integers(0, len(messages) - 1)) if messages else st.just([]))
    assert list(raws.take(np.array(places, np.int64))) == [messages[k] for k in places]
    assert list(Raws.joined([raws, raws[1:], raws])) == [*messages, *messages[1:], *messages]
    assert [raws[k - len(messages)] for k in range(len(messages))] == messages


@given(MESSAGES)
def test_they_are_copied_out_of_what_lies_between_them(messages):
    data = np.frombuffer(b''.join(b'##' + message for message in messages), np.uint8)
    sizes = np.array([len(message) for message in messages], np.int64)
    begins = np.cumsum(sizes + 2) - sizes
    cut = Raws.cut(data, begins, sizes)
    assert list(cut) == messages
    assert not cut.data.flags.writeable
