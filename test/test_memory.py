"""Freed memory is kept by the command `izmp`."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
from izmp_dynamics.cli.process import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        span = [bytearray(600_000) for _ in range(4)]
        del span
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

given_back = faults()
keep_freed_memory()
faults()
print(given_back, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='a setting of glibc')
def test_the_memory_of_a_span_serves_the_next_one():
    done = subprocess.run([sys.executable, '-c', FAULTS], capture_output=True, check=True)
    given_back, kept = map(int, done.stdout.split())
    assert 10 * kept < given_back
