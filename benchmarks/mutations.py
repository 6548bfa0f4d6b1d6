"""Plant errors in a copy of the package, one at a time: which claim and which test notices each?

    python benchmarks/mutations.py              # the list
    python benchmarks/mutations.py all          # half an hour on two cores
    python benchmarks/mutations.py noise slope  # those whose names contain a word

First the copy as it is must hold all claims and pass all tests of what is asked for. An error is
noticed by the page if a claim of it fails, or if it cannot be made; by a test if one fails. Exits
with 1 if an error is not noticed by both.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from planted import ERRORS, Planted

REPOSITORY = Path(__file__).resolve().parents[1]
COPIED = ('izmp_dynamics', 'izmp_lab', 'test', 'robots', 'config', 'pyproject.toml', 'setup.py',
          'setup.cfg', 'package.xml', 'examples', 'docs', 'launch', 'resource')  # fmt: skip


@dataclass(frozen=True)
class Copy:
    """A copy of the repository.

    Attributes:
        root: its folder.
    """

    root: Path

    def plant(self, error: Planted) -> None:
        """Put an error in.

        Raises:
            SystemExit: if the text to replace is not in the file exactly once.
        """
        path = self.root / error.file
        text = path.read_text(encoding='utf-8')
        count = text.count(error.right)
        if count != 1:
            sys.exit(
                f"'{error.name}': {error.file} has its text {count} times and not once; correct "
                f'benchmarks/planted.py:\n{error.right}'
            )
        path.write_text(text.replace(error.right, error.wrong), encoding='utf-8')

    def restore(self, error: Planted) -> None:
        """Take it out again."""
        shutil.copy(REPOSITORY / error.file, self.root / error.file)

    def failing_claims(self, experiment: str, figures: Iterable[str]) -> set[str]:
        """Return the claims of a page that fail, or the sentence that says why there is none."""
        with tempfile.TemporaryDirectory(dir=self.root) as out:
            only = [word for figure in figures for word in ('--only', figure)]
            command = ('-m', 'izmp_dynamics.cli.main', 'experiments', experiment, '-o', out)
            run = self._python(*command, '--quick', '--quiet', '--jobs', '1', *only)
            numbers = Path(out) / 'numbers.csv'
            if run.returncode or not numbers.is_file():
                return {f'not made: {_last_line(run.stderr)}'}
            with numbers.open(encoding='utf-8') as file:
                rows = list(csv.DictReader(file))
        return {f'{row["figure"]}: {row["number"]}' for row in rows if row['holds'] == 'no'}

    def failing_test(self, tests: Iterable[str]) -> str:
        """Return the first test that fails; '' if all pass."""
        files = [
            str(found) for name in tests for found in self.root.glob(f'test/**/test_{name}.py')
        ]
        run = self._python('-m', 'pytest', '-q', '-x', '-p', 'no:cacheprovider', *files)
        for line in run.stdout.splitlines():
            if line.startswith(('FAILED', 'ERROR')):
                return line.partition(' ')[2].partition(' - ')[0]
        return '' if run.returncode == 0 else _last_line(run.stdout + run.stderr)

    def _python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, 'PYTHONPATH': str(self.root)}
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:160] if lines else 'no output'


def copy_of_repository(folder: Path) -> Copy:
    """Copy what pages and tests need."""
    for name in COPIED:
        source, target = REPOSITORY / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns('__pycache__'))
        else:
            shutil.copy(source, target)
    return Copy(folder)


def chosen(words: list[str]) -> list[Planted]:
    """Return the errors whose names contain one of the words; all for 'all'."""
    if 'all' in words:
        return list(ERRORS)
    return [error for error in ERRORS if any(word in error.name for word in words)]


def main() -> int:
    """Plant errors and print who notices them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('words', nargs='*', help="of names of errors; 'all'; none: the list")
    errors = chosen(parser.parse_args().words)
    if not errors:
        print(*(error.name for error in ERRORS), sep='\n')
        return 0
    missed = 0
    with tempfile.TemporaryDirectory(prefix='izmp_mutations_') as folder:
        copy = copy_of_repository(Path(folder))
        usual: dict[tuple[str, tuple[str, ...]], set[str]] = {}
        for error in errors:
            made = (error.experiment, error.figures)
            if made not in usual:
                usual[made] = copy.failing_claims(*made)
                broken = copy.failing_test(error.tests)
                if broken:
                    sys.exit(f'Without an error {broken} fails already.')
                print(f'# {" ".join(error.figures)}: fail without an error: '
                      f'{"; ".join(sorted(usual[made])) or "none"}', flush=True)  # fmt: skip
            copy.plant(error)
            claims = copy.failing_claims(*made) - usual[made]
            test = copy.failing_test(error.tests)
            copy.restore(error)
            missed += not claims or not test
            print(f'{error.name}\n    claim: {_some(claims)}\n    test:  {test or "NOT NOTICED"}',
                  flush=True)  # fmt: skip
    print(f'{len(errors) - missed} of {len(errors)} errors are noticed by a claim and by a test.')
    return int(missed > 0)


def _some(claims: set[str]) -> str:
    if not claims:
        return 'NOT NOTICED'
    more = f' (and {len(claims) - 1} more)' if len(claims) > 1 else ''
    return f'{min(claims)}{more}'


if __name__ == '__main__':
    sys.exit(main())
