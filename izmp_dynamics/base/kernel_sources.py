"""The sources that a kernel's machine code is made from, and their digest.

Imports are followed in the sources, not in what happens to be loaded: the digest is the same
whatever else a program has imported before. An import counts where importing the module runs it;
inside a function or for type checking only, it brings neither constants nor kernels.

Parsing takes ten times as long as the rest, so what a source imports is noted in a file, beside
the digest of that source.
"""

import ast
import contextlib
import functools
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name, spec_from_loader
from pathlib import Path

import llvmlite
import numba
import numpy as np

_PACKAGE = __name__.partition('.')[0]

_LONGEST_SAVING = 60.0
"""A file that has been unfinished for longer belongs to a process that was killed [s]."""


@functools.cache
def source_digest(module: str, notes: Path | None = None) -> str:
    """Digest of the sources that the constants and kernels of a module come from.

    Args:
        module: dotted name; its package is loaded. Imports are followed within its package and
            this one.
        notes: file for what the sources import; None: they are parsed in every process.

    Returns:
        SHA-256 as hexadecimal digits; the versions of numba, llvmlite and numpy count too.

    Raises:
        OSError, ImportError, AttributeError, KeyError, SyntaxError: if a source cannot be found
            or read.
    """
    packages = {module.partition('.')[0], _PACKAGE}
    found, pending, noted = {module}, [module], _noted_imports(notes)
    while pending:
        names = noted.of(pending.pop()) - found
        imported = {name for name in names if name.partition('.')[0] in packages and _exists(name)}
        found |= imported
        pending += imported
    noted.save()
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(f'{name} {_source_hash(name)}\n'.encode())
    for version in (numba.__version__, llvmlite.__version__, np.__version__):
        digest.update(f'{version}\n'.encode())
    return digest.hexdigest()


class _NotedImports:
    """What modules import, read from a file where it is noted there for the same source."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._noted: dict[str, tuple[str, frozenset[str]]] = {}
        self._new = False
        if file is not None:
            with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
                self._noted = {
                    module: (str(source), frozenset(map(str, names)))
                    for module, (source, names) in json.loads(file.read_bytes()).items()
                }

    def of(self, module: str) -> frozenset[str]:
        """Names of what importing a module imports: both `a` and `a.b` of `from a import b`."""
        source = _source_hash(module)
        noted = self._noted.get(module)
        if noted is None or noted[0] != source:
            noted = source, _imports(module)
            self._noted[module], self._new = noted, True
        return noted[1]

    def save(self) -> None:
        """Write the file whole if there is something new; where that fails, nothing is noted."""
        if self._file is None or not self._new:
            return
        self._new = False
        content = {module: (source, sorted(names)) for module, (source, names) in
                   self._noted.items()}  # fmt: skip
        unfinished = self._file.with_name(f'{self._file.name}.tmp.{os.getpid()}')
        try:
            remove_remnants(self._file.parent, f'{self._file.name}.tmp.*')
            unfinished.write_text(json.dumps(content), encoding='utf-8')
            unfinished.replace(self._file)
        except OSError:
            unfinished.unlink(missing_ok=True)


def remove_remnants(folder: Path, pattern: str) -> None:
    """Remove what processes left in a cache that were killed while they saved something.

    Args:
        folder: the cache.
        pattern: of the names of unfinished files.
    """
    old = time.time() - _LONGEST_SAVING
    for path in folder.glob(pattern):
        with contextlib.suppress(FileNotFoundError):  # another process was quicker
            if path.stat().st_mtime < old:
                path.unlink()


_noted_imports = functools.cache(_NotedImports)


def _imports(module: str) -> frozenset[str]:
    """Names of what importing a module imports: both `a` and `a.b` of `from a import b`."""
    found: set[str] = set()
    for node in _executed_imports(ast.parse(_source(module)).body):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        else:
            base = resolve_name('.' * node.level + (node.module or ''), _spec(module).parent or '')
            found.add(base)
            found.update(f'{base}.{alias.name}' for alias in node.names)
    return frozenset(found)


def _executed_imports(nodes: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            yield from _executed_imports(node.orelse)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case) and not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            yield from _executed_imports(ast.iter_child_nodes(node))


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {'TYPE_CHECKING', 'typing.TYPE_CHECKING'}


@functools.cache
def _source(module: str) -> str:
    source: str | None = _spec(module).loader.get_source(module)  # type: ignore[union-attr]
    if source is None:
        raise ImportError(f'{module} has no source.')
    return source


@functools.cache
def _source_hash(module: str) -> str:
    """SHA-256 of a source and of the package by which its relative imports are resolved."""
    text = f'{_spec(module).parent} {_source(module)}'
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def _exists(name: str) -> bool:
    """Whether a dotted name is that of a module with a file, not of something in a module."""
    try:
        return _spec(name).has_location
    except ModuleNotFoundError:
        return False


@functools.cache
def _spec(name: str) -> ModuleSpec:
    """Find a module without importing it; the outermost package, or a script, is loaded."""
    outer = name.rpartition('.')[0]
    if outer:
        folders = _spec(outer).submodule_search_locations
        spec = PathFinder.find_spec(name, folders) if folders is not None else None
    else:
        loaded = sys.modules[name]
        spec = loaded.__spec__ or spec_from_loader(name, loaded.__loader__)
    if spec is None:
        raise ModuleNotFoundError(f'No module {name}.')
    return spec
