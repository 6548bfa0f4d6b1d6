"""Which modules of the package a module imports, directly or through others, and their digest.

Sources are read, not imported. An import counts wherever it is: at the top, inside a function, for
type checking only. A module that is loaded by name, with importlib, does not count.
"""

import ast
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


class Sources:
    """The sources of packages; a file is read when it is first asked for.

    Args:
        packages: their folders, which bear their names.
    """

    def __init__(self, *packages: Path) -> None:
        self.files = {name: file for each in packages for name, file in _modules(each).items()}
        self._imports: dict[str, frozenset[str]] = {}

    def imports(self, module: str) -> frozenset[str]:
        """Return the modules of the package that a module imports itself."""
        if module not in self._imports:
            self._imports[module] = self._imports_of(module)
        return self._imports[module]

    def closure(self, module: str) -> frozenset[str]:
        """Return the modules that importing and running a module may execute, itself among them.

        Importing a.b.c executes a and a.b as well. A module outside the package has no closure.
        """
        found: set[str] = set()
        waiting = [module] if module in self.files else []
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.imports(name) | self._packages_of(name)
        return frozenset(found)

    def digest(self, module: str) -> str:
        """Digest of the names and contents of all files in the closure of a module."""
        digest = hashlib.sha256()
        for name in sorted(self.closure(module)):
            digest.update(f'{name}\0'.encode())
            digest.update(hashlib.sha256(self.files[name].read_bytes()).digest())
        return digest.hexdigest()[:16]

    def _packages_of(self, name: str) -> set[str]:
        parts = name.split('.')
        return {'.'.join(parts[:count]) for count in range(1, len(parts))} & self.files.keys()

    def _imports_of(self, module: str) -> frozenset[str]:
        found: set[str] = set()
        for node in ast.walk(ast.parse(self.files[module].read_bytes())):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._base(module, node)
                members = {f'{base}.{alias.name}' for alias in node.names} & self.files.keys()
                found |= members
                if len(members) < len(node.names):
                    found.add(base)
        return frozenset((found & self.files.keys()) - {module})

    def _base(self, module: str, node: ast.ImportFrom) -> str:
        """Dotted name of what stands between `from` and `import`, dots resolved."""
        if not node.level:
            return node.module or ''
        parts = module.split('.')
        outer = node.level - (self.files[module].name == '__init__.py')
        base = parts[: len(parts) - outer]
        return '.'.join([*base, node.module] if node.module else base)


def _modules(package: Path) -> dict[str, Path]:
    """Dotted name of each module → its file; a package has that of its `__init__.py`."""
    found = {}
    for path in sorted(package.rglob('*.py')):
        parts = path.relative_to(package.parent).with_suffix('').parts
        found['.'.join(parts[:-1] if parts[-1] == '__init__' else parts)] = path
    return found


@cache
def code_digest(module: str) -> str:
    """Digest of the code of its package and of this one that a module relies on."""
    return _sources(module.partition('.')[0]).digest(module)


@cache
def _sources(outermost: str) -> Sources:
    spec = find_spec(outermost)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return Sources(*{PACKAGE, *map(Path, folders)})
