"""Machine code of kernels on disk, never older than the sources it was made from.

A digest of the kernel's source and of all that it imports, with the versions of Python and of the
libraries that may change a number, decides whether it is still right. Every entry carries a seal,
a digest of what it is and of its content: one that is empty, truncated, corrupted or replaced is
compiled again.
"""

import functools
import hashlib
import logging
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.serialize import dumps

_log = logging.getLogger(__name__)

_PACKAGES = ('izmp_dynamics', 'izmp_lab')
_SUFFIXES = ('.py', '.j2', '.js', '.css')
_IMPORT = re.compile(r'^(?:from|import) ([\w.]+)(?: import (\([^)]*\)|.*))?', re.MULTILINE)


@functools.cache
def code_digest() -> str:
    """Digest of all that decides a result besides its inputs: any edit of a source changes it."""
    here = Path(__file__).resolve().parents[2]
    return digest_of([here / name for name in _PACKAGES], _versions())


@functools.cache
def kernel_digest(module: str) -> str:
    """Digest of all that a module's machine code is made of: its source, and what that imports.

    Only imports at the top of a file count, of this package or of the one that the module is in:
    a kernel and its constants come from nowhere else.
    """
    sources, found = {}, [module]
    while found:
        name = found.pop()
        if name not in sources:
            sources[name], imported = _source(name)
            found += [i for i in imported if i.startswith((*_PACKAGES, module.split('.')[0]))]
    return hashlib.sha256(repr((_versions(), sorted(sources.items()))).encode()).hexdigest()[:16]


@functools.cache
def _source(module: str) -> tuple[str, tuple[str, ...]]:
    """Digest of a module's source, and the loaded modules that it imports at its top."""
    text = Path(sys.modules[module].__file__ or os.devnull).read_text()
    names = [
        name
        for package, members in _IMPORT.findall(text)
        for name in (package, *(f'{package}.{member}' for member in re.findall(r'\w+', members)))
        if name in sys.modules
    ]
    return hashlib.sha256(text.encode()).hexdigest(), tuple(names)


@functools.cache
def _versions() -> tuple[str, ...]:
    return sys.version, numba.__version__, llvmlite.__version__, np.__version__, _version('scipy')


def digest_of(packages: Iterable[Path], versions: Iterable[str]) -> str:
    """Digest of the sources, templates, scripts and styles of packages, and of versions.

    Args:
        packages: their folders; of one that does not exist, nothing.
        versions: of what they run on.
    """
    digest = hashlib.sha256(repr(tuple(versions)).encode())
    for package in packages:
        for folder, _, names in sorted(os.walk(package)):
            for name in sorted(names):
                if name.endswith(_SUFFIXES):
                    content = Path(folder, name).read_bytes()
                    place = os.path.relpath(os.path.join(folder, name), package.parent)
                    digest.update(f'{place} {len(content)} '.encode() + content)
    return digest.hexdigest()[:16]


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # installed without metadata
        return ''


class _KernelCacheImpl(CompileResultCacheImpl):
    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Name the files after the function alone: a new version replaces those of the old one."""
        name = fullname.replace('<', '').replace('>', '')
        return f'{name}.py{sys.version_info[0]}{sys.version_info[1]}{abiflags}'


class KernelCache(FunctionCache):
    """The cache of one kernel; numba asks it before it compiles and hands it the result.

    numba itself keys its cache by the file that holds a function, whose kernels and constants
    other files may define, and trusts what it reads.

    Raises:
        RuntimeError: if there is no folder to write to.
    """

    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = f'{kernel_digest(function.__module__)} {self._impl.locator.get_source_stamp()!r}'
        self._cache_file = _KernelCacheFile(self._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save what was compiled; where that fails (full disk), the next start compiles again."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _log.warning('The compiled kernel cannot be cached: %s.', error)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), self._py_func.__code__.co_firstlineno)


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
            return pickle.loads(content)
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
