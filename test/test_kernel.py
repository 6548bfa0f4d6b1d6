"""Log messages about the compilation of kernels."""

import logging

import pytest
from numba import njit

from izmp_dynamics.base import kernel
from izmp_dynamics.base.kernel import announced_compilation


def fresh_kernel():
    """A function that numba has not compiled and will not find in a cache."""

    @njit
    def double(x):
        return x + x

    return double


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO, logger='izmp_dynamics.base.kernel')
    return lambda: [record.getMessage() for record in caplog.records]


def test_compiling_is_announced_before_and_after(logged):
    first, second = fresh_kernel(), fresh_kernel()
    with announced_compilation():
        assert logged() == []
        assert first(2) == 4
        (before,) = logged()
        assert 'no command has needed before' in before
        assert second(3) == 6
        assert logged() == [before]
    _, after = logged()
    assert after.startswith('Compiled in ')


def test_nothing_is_logged_for_compiled_kernels(logged):
    double = fresh_kernel()
    double(1)
    with announced_compilation():
        assert double(2) == 4
    assert logged() == []


def test_without_a_folder_for_the_cache_kernels_run_all_the_same(logged, monkeypatch):
    monkeypatch.setattr(kernel, '_cached', kernel._cached)
    place = {}
    exec('def double(x):\n    return x + x', place)  # numba finds no file to put the cache beside
    double = kernel.kernel(place['double'])
    with announced_compilation():
        assert double(2) == 4
    assert 'set NUMBA_CACHE_DIR' in logged()[-1]
