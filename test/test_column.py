"""A growing array holds what was put into it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.replay.column import Column


@given(st.lists(st.integers(0, 50), max_size=30), st.sampled_from([(), (3,), (2, 3)]))
def test_rows_are_those_that_were_put_in(lengths, shape):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(length, *shape)) for length in lengths]
    column = Column()
    for part in parts:
        column.extend(part)
    expected = np.concatenate(parts) if parts else np.empty(0)
    np.testing.assert_array_equal(column.rows, expected)


def test_the_type_is_kept():
    for dtype in (np.int64, np.bool_, np.float64):
        column = Column()
        column.extend(np.ones(3, dtype))
        column.extend(np.zeros(4, dtype))
        assert column.rows.dtype == dtype


def test_rows_seen_earlier_do_not_change():
    column = Column()
    column.extend(np.arange(3.0))
    earlier = column.rows
    for _ in range(5):
        column.extend(np.full(4, -1.0))
    np.testing.assert_array_equal(earlier, np.arange(3.0))
