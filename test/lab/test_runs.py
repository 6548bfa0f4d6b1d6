"""Runs of studies: each is done once, after those that it needs, and kept."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.engine.processes import Processes
from izmp_lab.studies import runs as runs_module
from izmp_lab.studies.runs import Run, Store, StoreError, perform, perform_all

from ..raising import raising
from ..requiring import need

calls = []


@dataclasses.dataclass(frozen=True)
class Sum:
    sum: int
    terms: np.ndarray


def add(a, b):
    calls.append((a, b))
    return Sum(a + b, np.array([a, b]))


def double(one):
    return {'sum': np.array(2 * one.sum)}


def stop():
    raise KeyboardInterrupt


def sum_of(a, b):
    return Run(add, {'a': a, 'b': b}, Sum)


def test_a_finished_run_is_not_done_again(tmp_path):
    calls.clear()
    store = Store(tmp_path / 'runs')
    run = Run(double, {'one': sum_of(1, 2)})
    fractions = []
    perform_all([run, sum_of(1, 2)], store, progress=fractions.append)
    perform_all([run, sum_of(1, 2)], store)
    assert calls == [(1, 2)]
    assert perform(run, store)['sum'] == 6
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_the_key_of_a_run_has_all_code_and_what_it_needs(monkeypatch):
    needing = Run(double, {'one': sum_of(1, 2)})
    keys = [needing.key(), Run(double, {'one': sum_of(1, 3)}).key()]
    monkeypatch.setattr(runs_module, 'code_digest', lambda: 'other')
    keys.append(needing.key())
    assert len(set(keys)) == 3


def test_a_damaged_result_is_made_again(tmp_path):
    store, run = Store(tmp_path), sum_of(1, 2)
    perform(run, store)
    path = store.path(run)
    path.write_bytes(path.read_bytes()[:40])
    calls.clear()
    for _ in range(2):
        result = perform(run, store)
        assert result.sum == 3
        np.testing.assert_array_equal(result.terms, [1, 2])
    assert calls == [(1, 2)]


def test_what_was_finished_before_an_interrupt_is_kept(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        perform_all([sum_of(1, 2), Run(stop, {})], store)
    assert [path.name.partition('-')[0] for path in tmp_path.iterdir()] == ['add']


def test_runs_are_shared_among_processes(tmp_path):
    need('distributed')
    perform_all([sum_of(1, 2), sum_of(3, 4)], Store(tmp_path), Processes(2))
    assert perform(sum_of(3, 4), Store(tmp_path)).sum == 7


def test_without_dask_runs_are_done_one_after_the_other(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr('izmp_dynamics.engine.processes.find_spec', lambda name: None)
    runs = [sum_of(1, 2), sum_of(3, 4)]
    perform_all(runs, Store(tmp_path), Processes(2))
    assert perform(runs[1], Store(tmp_path)).sum == 7
    assert 'pip install distributed' in caplog.text


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / 'file').write_text('')
    with raising(StoreError, 'not_written', folder=tmp_path / 'file'):
        perform(sum_of(1, 2), Store(tmp_path / 'file'))
