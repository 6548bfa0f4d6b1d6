"""How far a fleet is, in a line."""

from izmp_dynamics.cli.fleet_progress import progress_line, time_left


def test_the_time_that_is_left_needs_some_bags():
    assert progress_line(1, 40, 10_000_000, 20.0) == '1 of 40 bags, 0.05 bags/s, 0.5 MB/s'
    assert time_left(1, 10_000_000, 400_000_000, 20.0) == ''
    assert time_left(10, 100_000_000, 400_000_000, 20.0) == ', 60 s left'
