"""Compiled functions: one typed decorator for every kernel of the package.

A kernel is compiled by numba at its first call, which takes up to seconds, and cached beside the
source, so it is compiled once per installation. Whoever must not wait runs all kernels once
beforehand, inside `announced_compilation`, which says what is going on. `error_model='numpy'`
makes a division by zero give inf or NaN, as numpy does, instead of an exception.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba import njit
from numba.core import event

Function = TypeVar('Function', bound=Callable[..., Any])

_log = logging.getLogger(__name__)
_cached = 'cached for the next start'

# Before 0.59, inlining what itself inlines took numba minutes and gigabytes: LLVM decides there.
_INLINED = {'inline': 'always'} if numba.version_info[:2] >= (0, 59) else {}


def kernel(function: Function) -> Function:
    """Compile `function` with numba; its types stay visible to the type checker."""
    return cast(Function, _compiled(function))


def inlined(function: Function) -> Function:
    """Compile a small function into its callers; a call would cost more than its arithmetic."""
    return cast(Function, _compiled(function, **_INLINED))


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    global _cached
    try:
        return njit(cache=True, error_model='numpy', **options)(function)
    except RuntimeError:  # no folder for the cache: neither the installation's nor the user's
        _cached = 'not cached: set NUMBA_CACHE_DIR to a folder that can be written to'
        return njit(error_model='numpy', **options)(function)


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Log that kernels are being compiled when the first one is, and at the end how long it took.

    Nothing is logged when all come from the cache. Inside another such block, this one is silent.
    """
    if _Announcer.active:
        yield
        return
    announcer = _Announcer()
    _Announcer.active = True
    try:
        with event.install_listener('numba:compile', announcer):
            yield
    finally:
        _Announcer.active = False
    if announcer.started is not None:
        seconds = time.perf_counter() - announcer.started
        _log.info('Compiled in %.1f s, %s.', seconds, _cached)


class _Announcer(event.Listener):
    """Hears when numba compiles."""

    active = False

    def __init__(self) -> None:
        self.started: float | None = None

    def on_start(self, _: Any) -> None:
        if self.started is None:
            self.started = time.perf_counter()
            _log.info('Compiling the kernels, once per installation (some ten seconds) ...')

    def on_end(self, _: Any) -> None:
        pass
