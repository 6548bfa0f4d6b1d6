"""Cached machine code is never older than its sources, and broken cache files are compiled again.

Every run is a process of its own, with a package whose kernels call and read over three files.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SOURCES = {
    '__init__.py': '',
    'constants.py': 'FACTOR = 2.0\n',
    'callee.py': """
from izmp_dynamics.base.kernel import kernel
from tiny_kernels import constants

@kernel
def scaled(x):
    return constants.FACTOR * x + 1.0
""",
    'caller.py': """
from izmp_dynamics.base.kernel import kernel
from tiny_kernels.callee import scaled

@kernel
def evaluate(x):
    return scaled(x) + 100.0
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


def test_an_edit_of_a_callee_or_of_its_constants_alone_changes_the_result(package):
    assert package.run() == (107.0, 0)
    assert package.run() == (107.0, 1)
    package.edit('callee.py', '+ 1.0', '+ 2.0')
    assert package.run() == (108.0, 0)
    package.edit('constants.py', '2.0', '4.0')
    assert package.run() == (114.0, 0)
    assert package.run() == (114.0, 1)


@pytest.mark.parametrize(
    'mention',
    [
        'import typing\nif typing.TYPE_CHECKING:\n    from tiny_kernels import other\n',
        'def later():\n    from tiny_kernels import other\n    return other\n',
    ],
    ids=['for type checking', 'in a function'],
)
def test_what_other_modules_a_program_imports_first_does_not_matter(package, mention):
    package.edit('callee.py', '@kernel', f'{mention}\n@kernel')
    (package.folder / 'other.py').write_text('UNUSED = 1\n')
    assert package.run() == (107.0, 0)
    assert package.run('import tiny_kernels.other\n' + RUN) == (107.0, 1)
    package.edit('other.py', '1', '2')
    assert package.run('import tiny_kernels.other\n' + RUN) == (107.0, 1)


@pytest.mark.parametrize(
    'statement',
    [
        'from . import constants',
        'import tiny_kernels.constants as constants',
        'try:\n    from . import constants\nexcept ImportError:\n    raise',
        'from tiny_kernels.names import constants',
    ],
    ids=['relative', 'renamed', 'in a try', 'passed on'],
)
def test_an_import_counts_however_it_is_written(package, statement):
    (package.folder / 'names.py').write_text('from tiny_kernels import constants\n')
    package.edit('callee.py', 'from tiny_kernels import constants', statement)
    assert package.run() == (107.0, 0)
    package.edit('constants.py', '2.0', '4.0')
    assert package.run() == (113.0, 0)


def test_a_kernel_of_the_package_has_one_digest_in_all_programs():
    code = """
import izmp_dynamics.{first}
import izmp_dynamics.{second}
from izmp_dynamics.base.kernel_sources import source_digest
print(source_digest('izmp_dynamics.signals.stream'))
"""
    modules = ('pipeline.stream', 'sensing.low_pass')
    digests = {
        subprocess.run(
            [sys.executable, '-c', code.format(first=first, second=second)],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout
        for first, second in (modules, modules[::-1])
    }  # fmt: skip
    assert len(digests) == 1


def test_a_new_version_of_a_kernel_reuses_the_files_of_the_old_one(package):
    package.run()
    before = package.files()
    assert before
    package.edit('caller.py', '@kernel', '\n\n@kernel')
    package.edit('callee.py', '+ 1.0', '+ 2.0')
    assert package.run() == (108.0, 0)
    assert package.files() == before


def empty(content):
    return b''


def truncated(content):
    return content[: len(content) // 2]


def zeroed(content):
    """As a file system leaves a file whose last blocks were not written before power failed."""
    return content[: len(content) // 2] + bytes(len(content) - len(content) // 2)


@pytest.mark.parametrize(
    ('pattern', 'damage'),
    [('*.nbi', empty), ('*.nbi', truncated), ('*.nbc', empty), ('*.nbc', zeroed)],
)
def test_a_damaged_cache_file_is_compiled_again_and_replaced(package, pattern, damage):
    package.run()
    files = package.files(pattern)
    assert files
    for file in files:
        file.write_bytes(damage(file.read_bytes()))
    assert package.run() == (107.0, 0)
    assert package.run() == (107.0, 1)


def test_machine_code_of_another_entry_is_not_taken_for_this_one(package):
    """Two processes that compile at once may write each other's files."""
    package.run()
    caller, callee = (package.files(f'{name}*.nbc')[0] for name in ('caller', 'callee'))
    caller.write_bytes(callee.read_bytes())
    assert package.run() == (107.0, 0)


def test_a_cache_that_cannot_be_written_costs_a_compilation_and_no_error(package):
    full_disk = """
import numba.core.caching as caching
def fail(self, *_):
    raise OSError(28, 'No space left on device')
caching.IndexDataCacheFile._save_data = fail
"""
    assert package.run(full_disk + RUN) == (107.0, 0)
    assert package.run() == (107.0, 0)


COUNT_PARSED = """
from izmp_dynamics import kernel_sources
parsed, imports = [], kernel_sources._imports
kernel_sources._imports = lambda module: parsed.append(module) or imports(module)
from tiny_kernels.caller import evaluate
print(evaluate(3.0), len(parsed))
"""


def test_sources_are_parsed_once_whatever_has_become_of_the_notes(package):
    assert package.run(COUNT_PARSED)[1] > len(SOURCES)
    package.edit('callee.py', '+ 1.0', '+ 2.0')
    assert package.run(COUNT_PARSED) == (108.0, 1)
    (notes,) = package.files('imports.json')
    for content in ('[', '{"tiny_kernels.caller": [1, 2]}'):
        notes.write_text(content)
        assert package.run(COUNT_PARSED)[1] > 1
    assert package.run(COUNT_PARSED) == (108.0, 0)


def test_an_import_that_is_new_brings_its_constants(package):
    assert package.run() == (107.0, 0)
    (package.folder / 'more.py').write_text('MORE = 100.0\n')
    package.edit('caller.py', 'import scaled', 'import scaled\nfrom tiny_kernels.more import MORE')
    package.edit('caller.py', '100.0', 'MORE')
    assert package.run() == (107.0, 0)
    package.edit('more.py', '100.0', '200.0')
    assert package.run() == (207.0, 0)


def test_what_a_killed_process_left_in_the_cache_is_removed(package):
    killed = """
import os, signal
os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
"""
    with pytest.raises(AssertionError):
        package.run(killed + RUN)
    (remnant,) = package.files('*.tmp.*')
    package.run()
    assert package.files('*.tmp.*') == [remnant]  # it might still be written
    os.utime(remnant, (0, 0))
    package.edit('callee.py', '+ 1.0', '+ 2.0')
    assert package.run() == (108.0, 0)
    assert package.files('*.tmp.*') == []


def test_kernels_run_without_the_compiler(package):
    assert package.run(RUN.replace(', sum(evaluate.stats.cache_hits.values())', ', 0'),
                       NUMBA_DISABLE_JIT='1') == (107.0, 0)  # fmt: skip


LINEAR_ALGEBRA = """
import numpy as np
from izmp_dynamics.base.kernel import kernel

@kernel
def total(x):
    if x[0] < 0.0:
        raise ValueError('negative')
    return np.sum(np.dot(x.reshape(1, -1), x.reshape(-1, 1)))

@kernel
def twice(x):
    return 2.0 * total(x)
"""

CALL = """
import sys
import numpy as np
from tiny_kernels.algebra import total, twice
x = np.array([1.0, 2.0])
"""

FROM_CACHE = """
assert 'scipy.linalg' not in sys.modules
value = {kernel}(x)
try:
    {kernel}(-x)
except ValueError as error:
    assert str(error) == 'negative'
else:
    raise AssertionError
assert 'numba.np.arraymath' not in sys.modules
print(value, sum({kernel}.stats.cache_hits.values()))
"""


def test_machine_code_needs_none_of_what_only_compiling_needs(package):
    """Nor does it when a kernel was compiled that calls one from the cache."""
    (package.folder / 'algebra.py').write_text(LINEAR_ALGEBRA)
    assert package.run(f'{CALL}print(total(x), 0)') == (5.0, 0)
    assert package.run(CALL + FROM_CACHE.format(kernel='total')) == (5.0, 1)
    both = f'{CALL}total(x)\nprint(twice(x), sum(twice.stats.cache_hits.values()))'
    assert package.run(both) == (10.0, 0)
    assert package.run(CALL + FROM_CACHE.format(kernel='twice')) == (10.0, 1)
