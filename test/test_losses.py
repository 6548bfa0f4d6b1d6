"""Messages that DDS dropped are noticed by the numbers of those that came."""

from izmp_dynamics.nodes.receiving import Losses


def lost(numbers, publishers=1):
    """How many messages are missed among these numbers."""
    found = []
    losses = Losses(lambda: publishers, found.append)
    for number in numbers:
        losses.see({'publication_sequence_number': number})
    return found


def test_gaps_are_counted():
    assert lost([7, 8, 9]) == []
    assert lost([7, 9, 10, 14]) == [1, 3]


def test_a_publisher_that_is_started_again_loses_nothing():
    assert lost([7, 8, 1, 2]) == []


def test_several_publishers_and_no_numbers_show_nothing():
    assert lost([7, 1000, 8], publishers=2) == []
    assert lost([None, None]) == []
    Losses(lambda: 1, lambda number: None).see({})
