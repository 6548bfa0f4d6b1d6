"""IZMP_REQUIRE: want of a required library ends the run; want of another skips."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .requiring import imported_as, skip_without

ROOT = Path(__file__).resolve().parents[1]


def collect(require):
    """Collect one small file of tests in a process of its own."""
    return subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '--collect-only', 'test/test_zmp.py'],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, 'IZMP_REQUIRE': require},
    )  # fmt: skip


def test_a_required_library_that_is_missing_ends_the_run():
    ended = collect('numpy,no-such-library')
    assert ended.returncode == 1
    assert 'no_such_library' in ended.stdout + ended.stderr
    assert '::test_' not in ended.stdout


@pytest.mark.parametrize(('require', 'outcome'), [('', 'Skipped'), ('pin', 'Failed')])
def test_a_test_without_its_library_is_skipped_or_fails(monkeypatch, require, outcome):
    monkeypatch.setenv('IZMP_REQUIRE', require)
    with pytest.raises(BaseException) as raised:  # noqa: PT011
        skip_without('pinocchio', 'pinocchio is not installed')
    assert type(raised.value).__name__ == outcome


def test_make_requires_every_library_that_a_test_is_skipped_for():
    """All but those of a ROS installation and tf2_msgs, which needs a compiler."""
    makefile = (ROOT / 'Makefile').read_text('utf-8')
    listed = re.search(r'^REQUIRED := ((?:.*\\\n)*.*)$', makefile, re.MULTILINE)[1]
    tests = ''.join(path.read_text('utf-8') for path in (ROOT / 'test').glob('*.py'))
    skipped_for = set(re.findall(r"importorskip\(\s*'(\w+)", tests))
    skipped_for |= {imported_as(name) for name in re.findall(r"skip_without\('([\w-]+)'", tests)}
    required = {imported_as(name) for name in listed.replace('\\', ' ').split()}
    from_ros = {'launch', 'launch_ros', 'tf2_ros', 'tf2_msgs', 'xacro'}
    assert skipped_for - required == from_ros
