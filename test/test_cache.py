"""Cached machine code is never older than its sources, and broken cache files are compiled again.

Runs use a package of two kernels.
"""

import importlib
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit
from numba.core import config

from izmp_dynamics.base import kernel
from izmp_dynamics.base.cache import digest_of
from izmp_dynamics.base.kernel import announced_compilation

ROOT = Path(__file__).parents[1]

SOURCES = {
    '__init__.py': '',
    'offset.py': """
OFFSET = 100.0
""",
    'callee.py': """
from izmp_dynamics.base.kernel import kernel
from tiny_kernels.offset import OFFSET

@kernel
def scaled(x):
    return 2.0 * x + 1.0 + OFFSET
""",
    'caller.py': """
from izmp_dynamics.base.kernel import kernel
from tiny_kernels.callee import scaled

@kernel
def evaluate(x):
    return scaled(x)
""",
}

RUN = """
from tiny_kernels.caller import evaluate
print(evaluate(3.0), sum(evaluate.stats.cache_hits.values()))
"""


class Package:
    """A scratch package, its cache folder, and the way to run it."""

    def __init__(self, folder):
        self.folder = folder / 'tiny_kernels'
        self.cache = folder / 'cache'
        self.folder.mkdir()
        for name, text in SOURCES.items():
            (self.folder / name).write_text(text)

    def edit(self, file, old, new):
        path = self.folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def run(self, code=RUN, **environment):
        """Returns the result of `evaluate(3.0)` and how many kernels came from the cache."""
        environment = {
            **os.environ,
            'PYTHONPATH': os.pathsep.join([str(self.folder.parent), str(ROOT)]),
            'PYTHONDONTWRITEBYTECODE': '1',  # of sources written within one second
            'NUMBA_CACHE_DIR': str(self.cache),
            **environment,
        }
        done = subprocess.run(
            [sys.executable, '-c', code], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        value, hits = done.stdout.split()
        return float(value), int(hits)

    def files(self, pattern='*.nb?'):
        return sorted(self.cache.rglob(pattern))


@pytest.fixture
def package(tmp_path):
    return Package(tmp_path)


@pytest.fixture(scope='module')
def sources(tmp_path_factory):
    """A package with a file of each kind, in two folders."""
    folder = tmp_path_factory.mktemp('sources') / 'package'
    (folder / 'inner').mkdir(parents=True)
    for name in ('a.py', 'inner/b.py', 'inner/page.html.j2', 'stage.js', 'style.css'):
        (folder / name).write_text(name)
    (folder / 'inner' / '__pycache__').mkdir()
    return folder


def test_another_byte_in_any_source_is_another_digest(sources):
    before = digest_of([sources], ())
    files = [path for path in sources.rglob('*') if path.is_file()]
    assert len(files) == 5
    for file in files:
        content = file.read_bytes()
        file.write_bytes(content + b'\n')
        assert digest_of([sources], ()) != before
        file.write_bytes(content)
    (sources / 'inner' / '__pycache__' / 'b.pyc').touch()
    assert digest_of([sources], ()) == before


def test_another_name_and_another_version_are_another_digest(sources, tmp_path):
    renamed = shutil.copytree(sources, tmp_path / 'package')
    assert digest_of([renamed], ()) == digest_of([sources], ())
    (renamed / 'a.py').rename(renamed / 'inner' / 'a.py')
    digests = [digest_of([renamed], ()), *(digest_of([sources], v) for v in ((), ('1',), ('2',)))]
    assert len(set(digests)) == 4


def test_what_a_kernel_imports_is_compiled_anew_into_the_same_files_and_nothing_else(package):
    assert package.run() == (107.0, 0)
    assert package.run() == (107.0, 1)
    before = package.files()
    package.edit('offset.py', '100.0', '101.0')  # which no file of a kernel shows
    package.edit('caller.py', '@kernel', '\n\n@kernel')
    assert package.run() == (108.0, 0)
    package.edit('__init__.py', '', 'unused = 1')  # by the package alone
    assert package.run() == (108.0, 1)
    assert package.files() == before != []


def half(content):
    return content[: len(content) // 2]


DAMAGES = [
    ('*.nbi', lambda content: b''),
    ('*.nbi', half),
    ('*.nbc', lambda content: b''),
    # As a file system leaves a file whose last blocks were not written before power failed.
    ('*.nbc', lambda content: half(content) + bytes(len(content) - len(content) // 2)),
]


@pytest.fixture
def run(package, monkeypatch):
    """Runs the package in this process as in one of its own, with `package.run`'s answer.

    The folder is in the environment: where that was changed since the last kernel was compiled
    (as by a pool of processes), numba reads all its settings from there before it compiles again.
    """
    monkeypatch.syspath_prepend(package.folder.parent)

    def run():
        for name in [name for name in sys.modules if name.startswith('tiny_kernels')]:
            del sys.modules[name]
        evaluate = importlib.import_module('tiny_kernels.caller').evaluate
        return evaluate(3.0), sum(evaluate.stats.cache_hits.values())

    with monkeypatch.context() as changed:
        changed.setenv('NUMBA_CACHE_DIR', str(package.cache))
        config.reload_config()
        yield run
    config.reload_config()


def test_a_damaged_cache_file_is_compiled_again_and_replaced(package, run):
    assert run() == (107.0, 0)
    for pattern, damage in DAMAGES:
        assert run() == (107.0, 1)
        files = package.files(pattern)
        assert files
        for file in files:
            file.write_bytes(damage(file.read_bytes()))
        assert run() == (107.0, 0), pattern
    # Two processes that compile at once may write each other's files.
    caller, callee = (package.files(f'{name}*.nbc')[0] for name in ('caller', 'callee'))
    caller.write_bytes(callee.read_bytes())
    assert run() == (107.0, 0)


def test_a_cache_that_cannot_be_written_costs_a_compilation_and_no_error(run, monkeypatch):
    def fail(self, *_):
        raise OSError(28, 'No space left on device')

    with monkeypatch.context() as full_disk:
        full_disk.setattr('numba.core.caching.IndexDataCacheFile._save_data', fail)
        assert run() == (107.0, 0)
    assert run() == (107.0, 0)
    assert run() == (107.0, 1)


def test_kernels_run_without_the_compiler(package):
    assert package.run(RUN.replace(', sum(evaluate.stats.cache_hits.values())', ', 0'),
                       NUMBA_DISABLE_JIT='1') == (107.0, 0)  # fmt: skip


# ---- Log messages about compilation -------------------------------------------------------------


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
