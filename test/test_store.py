"""Growing arrays, in memory and in files, hold what was put into them; the report is the same."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.store import Store, _files_in_memory
from izmp_dynamics.report.writer import write_report
from izmp_dynamics.results.evaluation import Foot, Track

from .report_scenarios import bump, falling, standing, walking
from .test_report_player import moving


@pytest.fixture(params=['memory', 'files', 'files for what is not small'], scope='module')
def store(request, tmp_path_factory):
    if request.param == 'memory':
        return Store(None, 7)
    return Store(tmp_path_factory.mktemp('columns'), 7, 0 if request.param == 'files' else 300)


@pytest.mark.parametrize('shape', [(), (0,), (3,), (2, 3)])
@given(lengths=st.lists(st.integers(0, 50), max_size=6))
def test_rows_are_those_that_were_put_in(store, shape, lengths):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(length, *shape)) for length in lengths]
    column = store.column()
    for part in parts:
        column.extend(part)
    expected = np.concatenate(parts) if parts else np.empty(0)
    np.testing.assert_array_equal(column.rows, expected)
    store.release()
    np.testing.assert_array_equal(column.rows, expected)


def test_the_type_is_kept(store):
    for dtype in (np.int64, np.bool_, np.float64):
        column = store.column()
        column.extend(np.ones(3, dtype))
        column.extend(np.zeros(4, dtype))
        assert column.rows.dtype == dtype


def test_other_types_are_converted_to_that_of_the_first_rows(store):
    column = store.column()
    column.extend(np.zeros(2))
    column.extend(np.array([1, 2]))
    assert column.rows.tolist() == [0.0, 0.0, 1.0, 2.0]


def test_a_file_is_gone_when_nothing_refers_to_its_rows_any_more(tmp_path):
    store = Store(tmp_path, 7, 0)
    rows = store.by_rows(100, lambda part: np.arange(100.0)[part])
    assert len(store._maps) == 1
    assert rows[-1] == 99.0
    del rows
    assert len(store._maps) == 0


def test_what_is_small_needs_no_file(tmp_path):
    store = Store(tmp_path, 7, 800)
    column = store.column()
    column.extend(np.arange(100.0))
    few = column.rows
    assert len(store._maps) == 0
    column.extend(np.arange(3.0))
    many = column.rows
    assert len(store._maps) == 1
    assert not few.flags.writeable
    assert not many.flags.writeable
    np.testing.assert_array_equal(many, [*few, 0.0, 1.0, 2.0])


def test_memory_is_given_back_when_files_take_much_of_it(tmp_path, monkeypatch):
    store = Store(tmp_path)
    column = store.column()
    column.extend(np.ones(1 << 19))
    rows, before = column.rows, _files_in_memory()
    assert rows.sum() == 1 << 19
    store.release()
    assert _files_in_memory() - before > 0.9 * rows.nbytes
    monkeypatch.setattr('izmp_dynamics.base.store._MAPPED', rows.nbytes // 2)
    store.release()
    assert _files_in_memory() - before < 0.1 * rows.nbytes
    assert rows.sum() == 1 << 19


def test_rows_seen_earlier_do_not_change(store):
    column = store.column()
    column.extend(np.arange(3.0))
    earlier = column.rows
    for _ in range(5):
        column.extend(np.full(4, -1.0))
    np.testing.assert_array_equal(earlier, np.arange(3.0))


@pytest.mark.parametrize('count', [0, 1, 7, 8, 100])
def test_by_rows_joins_the_blocks(store, count):
    values = np.arange(2.0 * count).reshape(count, 2)
    np.testing.assert_array_equal(
        store.by_rows(count, lambda rows: 2.0 * values[rows]), 2 * values
    )
    rows = np.arange(0, count, 3)
    np.testing.assert_array_equal(store.take(values, rows), values[rows])
    assert store.has_numbers(values) == (count > 0)
    assert not store.has_numbers(np.full(count, np.nan))


@pytest.mark.parametrize('count', [0, 1, 7, 8, 100])
def test_by_rows_joins_each_array_of_a_tuple(store, count):
    values = np.arange(2.0 * count).reshape(count, 2)
    twice, first = store.by_rows(count, lambda rows: (2.0 * values[rows], values[rows, 0]))
    np.testing.assert_array_equal(twice, 2.0 * values)
    np.testing.assert_array_equal(first, values[:, 0])


@pytest.mark.parametrize('count', [1, 7, 8, 100])
def test_the_finite_values_are_the_array_itself_if_all_are(store, count):
    values = np.arange(float(count))
    assert store.finite(values) is values
    holes = np.where(values == count - 1, np.nan, values)
    np.testing.assert_array_equal(store.finite(holes), values[:-1])
    pairs = np.stack([values, holes], axis=1)
    for column in pairs.T:
        np.testing.assert_array_equal(store.finite(column), column[np.isfinite(column)])


def test_a_full_disk_is_an_error(monkeypatch, tmp_path):
    with Path('/dev/full').open('wb') as full:
        monkeypatch.setattr('tempfile.TemporaryFile', lambda **options: full)
        with pytest.raises(ReplayError, match=r'cannot be kept in .*: No space left'):
            Store(tmp_path, small=0).column().extend(np.zeros(3000))


def kept(evaluation, store):
    """The same evaluation, with its arrays in a store."""
    count = len(evaluation.stamps)

    def column(value):
        if isinstance(value, np.ndarray) and len(value) == count:
            return store.by_rows(count, lambda rows: np.array(value[rows], order='C'))
        if isinstance(value, dict):
            return {key: column(entry) for key, entry in value.items()}
        if isinstance(value, tuple):
            return tuple(column(entry) for entry in value)
        if isinstance(value, Foot | Track):
            return replace(
                value, **{f.name: column(getattr(value, f.name)) for f in fields(value)}
            )
        return value

    columns = {field.name: column(getattr(evaluation, field.name)) for field in fields(evaluation)}
    return replace(evaluation, **columns | {'store': store})


@pytest.mark.parametrize(
    'evaluation',
    [
        moving(walking(3.0)),
        replace(walking(3.0), world_p_root=None, world_R_root=None, settle_time=0.2),
        falling(3.0, 6.0),
        standing(6.0, offset=bump(3.0, 0.3, 0.2), cop_limit=0.1),
    ],
    ids=['walk', 'unlocated', 'fall', 'push'],
)
def test_the_report_is_the_same_from_files(evaluation, tmp_path):
    """Whatever is computed block by block has the numbers that it has at once, bit for bit."""
    at_once = write_report(kept(evaluation, Store(block=100)), tmp_path / 'at_once')
    by_blocks = write_report(
        kept(evaluation, Store(tmp_path, block=100, small=0)), tmp_path / 'by_blocks'
    )
    assert by_blocks.json.read_text() == at_once.json.read_text()
    assert by_blocks.html.read_text() == at_once.html.read_text()
