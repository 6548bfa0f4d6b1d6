"""Machine code of kernels on disk, never older than the sources it was made from.

numba keys its cache by the file that holds a function. A kernel also contains the kernels it
calls and the constants it reads, which other files may define: numba would load stale code after
one of these has changed. Here the key is a digest of all the sources that it is made from
(`kernel_sources`), with the versions of numba, llvmlite and numpy.

numba also trusts what it reads. Here every entry carries a digest of its content and key, so an
empty, truncated or corrupted file, or one that another process has just replaced, is compiled
again. A new version reuses the file names of the old one.
"""

import functools
import hashlib
import io
import logging
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from izmp_dynamics.base.kernel_sources import remove_remnants, source_digest

_log = logging.getLogger(__name__)


class _KernelCacheImpl(CompileResultCacheImpl):
    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Name the files after the function alone: its line number would leave files behind."""
        name = fullname.replace('<', '').replace('>', '')
        return f'{name}.py{sys.version_info[0]}{sys.version_info[1]}{abiflags}'


class KernelCache(FunctionCache):
    """The cache of one kernel; numba asks it before it compiles and hands it the result.

    Raises:
        RuntimeError: if there is no folder to write to, or no source file.
    """

    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        try:
            stamp = source_digest(function.__module__, imports_file())
        except (OSError, ImportError, AttributeError, KeyError, SyntaxError) as error:
            raise RuntimeError(f'No sources of {function.__module__} to digest.') from error
        self._cache_file = _KernelCacheFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load machine code without what only compiling needs.

        numba would first import the implementations of all that it can compile, SciPy's linear
        algebra among them. Machine code needs numba's runtime alone.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save what was compiled; where that fails (full disk), the next start compiles again."""
        try:
            remove_remnants(Path(self._cache_path), f'{self._impl.filename_base}.*.tmp.*')
            super().save_overload(sig, data)
        except OSError as error:
            _log.warning('The compiled kernel cannot be cached: %s.', error)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), self._py_func.__code__.co_firstlineno)


@functools.cache
def cache_folder() -> Path | None:
    """The folder of what all kernels share; None if nothing can be written there."""
    try:
        locator = _KernelCacheImpl(_is_here).locator
        locator.ensure_cache_path()
    except (OSError, RuntimeError):
        return None
    return Path(locator.get_cache_path())


def imports_file() -> Path | None:
    """The file in which `kernel_sources` notes imports."""
    folder = cache_folder()
    return None if folder is None else folder / 'imports.json'


def _is_here() -> None:
    """By this function numba finds the folder."""


class _KernelCacheFile(IndexDataCacheFile):
    """Files of a kernel's cache; what cannot be read or is not as written counts as absent."""

    def save(self, key: Any, data: Any) -> None:
        content = dumps(data)
        super().save(key, (self._seal(key, content), content))

    def load(self, key: Any) -> Any:
        try:
            seal, content = super().load(key) or ('', b'')
            if seal != self._seal(key, content):
                return None
            return _Restorer(io.BytesIO(content)).load()
        except Exception:  # a corrupted pickle raises errors of any kind
            return None

    def _load_index(self) -> dict[Any, str]:
        try:
            index: dict[Any, str] = super()._load_index()
        except Exception:  # as above
            return {}
        return index

    def _seal(self, key: Any, content: bytes) -> str:
        return hashlib.sha256(f'{self._source_stamp} {key!r}'.encode() + content).hexdigest()


class _Restorer(pickle.Unpickler):
    """Restores machine code without importing the modules whose functions it contains.

    An environment holds constants for machine code, and the module's names for interpreted code,
    which kernels have none of: numba would import its own linear algebra, and with it SciPy's.
    """

    def find_class(self, module: str, name: str) -> Any:
        """Find what the pickle names."""
        return _environment if name == '_rebuild_env' else super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    if module in sys.modules:
        return _rebuild_env(module, constants, name)
    found = lookup_environment(name)
    if found is None:
        found = Environment({'__name__': module})
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found
    return found
