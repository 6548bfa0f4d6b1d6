"""Order statistics of more numbers than are sorted at once are those of sorting, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from izmp_dynamics.base import selection
from izmp_dynamics.base.selection import neighbours
from izmp_dynamics.base.store import Store

numbers = arrays(
    np.float64,
    st.integers(1, 60),
    elements=st.one_of(
        st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, -0.0, 1.0, -2.5])
    ),
)
with_holes = arrays(
    np.float64, st.integers(0, 60), elements=st.one_of(st.floats(-1e6, 1e6), st.just(np.nan))
)


@pytest.fixture(params=[2, 1 << 16], ids=['few', 'all'], scope='module')
def sorted_at_once(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, 'FEW', request.param)
        patch.setattr(selection, '_BITS', 8)
        yield request.param


@given(numbers, st.data())
def test_neighbours_are_those_of_sorting(sorted_at_once, values, data):
    rank = data.draw(st.integers(0, len(values) - 1))
    edges = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=3)))
    found = neighbours(lambda: np.split(values, edges), rank)
    ordered = np.sort(values)
    assert found == (ordered[rank], ordered[min(rank + 1, len(values) - 1)])


@given(with_holes, st.sampled_from([0.5, 1.0, 50.0, 75.0, 99.5]))
def test_percentiles_are_those_of_numpy(sorted_at_once, values, q):
    store, known = Store(block=3), values[np.isfinite(values)]
    if not len(known):
        assert np.isnan([store.percentile(values, q), store.median(values)]).all()
        return
    assert store.percentile(values, q) == np.percentile(known, q)
    assert store.median(values) == np.median(known)
    assert store.extremes(values) == (known.min(), known.max())
    assert store.lowest(values) == np.nanargmin(values)
    assert store.mean(values) == pytest.approx(known.mean(), rel=1e-12, abs=1e-9)
