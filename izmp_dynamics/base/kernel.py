"""Compiled functions: one typed decorator for every kernel of the package.

A kernel is compiled by numba at its first call, which takes up to seconds, and cached beside the
source (`cache`), so it is compiled once per version of the sources. Programs that must not
wait run all kernels once at their start, inside `announced_compilation`, which logs what happens.
`error_model='numpy'` makes a division by zero give inf or NaN, as numpy does, instead of an
exception.
"""

import importlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import numba
from numba import njit
from numba.core import event

from izmp_dynamics.base.cache import KernelCache

Function = TypeVar('Function', bound=Callable[..., Any])

_log = logging.getLogger(__name__)
_cached = 'cached for the next start'

# Before 0.59, inlining what itself inlines took numba minutes and gigabytes: LLVM decides there.
_INLINED: dict[str, Any] = {'inline': 'always'} if numba.version_info[:2] >= (0, 59) else {}


def _spare_scipy() -> None:
    """Let numba not import scipy.linalg merely to see whether it is there: a tenth of a start.

    A kernel that needs it, to multiply matrices, imports it when it is compiled or called.
    """
    linalg: Any = importlib.import_module('numba.np.linalg')
    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        importlib.import_module('numba.np.arraymath')
    finally:
        linalg.ensure_blas = look


with suppress(ImportError, AttributeError):  # private, so not in every numba
    _spare_scipy()


def kernel(function: Function) -> Function:
    """Compile `function` with numba; its types stay visible to the type checker."""
    return cast(Function, _compiled(function))


def kernel_without_gil(function: Function) -> Function:
    """Compile a function that threads run at the same time."""
    return cast(Function, _compiled(function, nogil=True))


def inlined(function: Function) -> Function:
    """Compile a small function into its callers; a call would cost more than its arithmetic.

    The callers are cached.
    """
    return cast(Function, njit(error_model='numpy', **_INLINED)(function))


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    global _cached
    dispatcher = njit(error_model='numpy', **options)(function)
    try:
        dispatcher._cache = KernelCache(function)
    except RuntimeError:  # no folder for the cache: neither the installation's nor the user's
        _cached = 'not cached: set NUMBA_CACHE_DIR to a folder that can be written to'
    return dispatcher


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Log that kernels are being compiled when the first one is, and at the end how long all took.

    Nothing is logged when all come from the cache, nor by a block inside another such block.
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
    if announcer.seconds:
        _log.info('Compiled in %.1f s, %s.', announcer.seconds, _cached)


class _Announcer(event.Listener):
    """Logs when numba starts to compile, and adds up for how long it does."""

    active = False

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begun: list[float] = []

    def on_start(self, _: Any) -> None:
        if not (self.seconds or self._begun):
            _log.info(
                'Compiling kernels that no command has needed before; later runs read them from '
                'a cache ...'
            )
        self._begun.append(time.perf_counter())

    def on_end(self, _: Any) -> None:
        begin = self._begun.pop()
        if not self._begun:  # else it is called by one that is being compiled
            self.seconds += time.perf_counter() - begin
