"""Dynamics and imaginary zero-moment point of legged robots from noisy sensors.

The public names are those that `__init__.pyi` imports; the stub is their only list, for type
checkers and at run time alike (as in Scientific Python's SPEC 1). Each module is imported when one
of its names is first used, so importing the package takes no longer than reading this file.
Everything else may change without notice.
"""

from functools import cache

__version__ = '0.2.0'


@cache
def _modules() -> dict[str, str]:
    """Return public name → module that defines it."""
    import ast
    from pathlib import Path

    stub = ast.parse(Path(__file__).with_suffix('.pyi').read_text(encoding='utf-8'))
    return {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def __getattr__(name: str) -> object:
    if name == '__all__':
        value: object = sorted(_modules())
    elif name.startswith('_') or name not in (modules := _modules()):
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    else:
        import importlib

        value = getattr(importlib.import_module(modules[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules()})
