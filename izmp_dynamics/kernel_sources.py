"""The sources that a kernel's machine code is made from, and their digest.

Imports are followed in the sources, not in what happens to be loaded: the digest is the same
whatever else a program has imported before. An import counts where importing the module runs it;
inside a function or for type checking only, it brings neither constants nor kernels.
"""

import ast
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name, spec_from_loader

import llvmlite
import numba
import numpy as np

_PACKAGE = __name__.partition('.')[0]


@functools.cache
def source_digest(module: str) -> str:
    """Digest of the sources that the constants and kernels of a module come from.

    Args:
        module: dotted name; its package is loaded. Imports are followed within its package and
            this one.

    Returns:
        SHA-256 as hexadecimal digits; the versions of numba, llvmlite and numpy count too.

    Raises:
        OSError, ImportError, AttributeError, KeyError, SyntaxError: if a source cannot be found
            or read.
    """
    packages = {module.partition('.')[0], _PACKAGE}
    found, pending = {module}, [module]
    while pending:
        names = _imports(pending.pop()) - found
        imported = {name for name in names if name.partition('.')[0] in packages and _exists(name)}
        found |= imported
        pending += imported
    digest = hashlib.sha256()
    for name in sorted(found):
        source = _source(name).encode()
        digest.update(f'{name} {len(source)}\n'.encode())
        digest.update(source)
    for version in (numba.__version__, llvmlite.__version__, np.__version__):
        digest.update(f'{version}\n'.encode())
    return digest.hexdigest()


@functools.cache
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
