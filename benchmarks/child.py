"""`izmp` as a process of its own on one core, and what it needed."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_THREADS = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'NUMBA_NUM_THREADS')


@dataclass(frozen=True)
class Needed:
    """What a process needed.

    Attributes:
        wall: from its start to its end [s].
        cpu: computing time, its own and the kernel's on its behalf [s].
        memory: largest resident set [MB].
        output: what it wrote to standard output.
        errors: what it wrote to standard error.
    """

    wall: float
    cpu: float
    memory: float
    output: str
    errors: str


def python(
    *arguments: str, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Needed:
    """Run Python with `arguments` on one core, in `cwd`; stop the benchmark if it fails.

    Python finds packages in the folder it runs in first, before those of PYTHONPATH: another
    checkout is measured from its own folder.
    """
    threads = dict.fromkeys(_THREADS, '1')
    core = min(os.sched_getaffinity(0))
    with tempfile.TemporaryFile('w+') as output, tempfile.TemporaryFile('w+') as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, **threads, **(environment or {})},
            cwd=cwd,
            stdout=output,
            stderr=errors,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        said = [stream.seek(0) or stream.read() for stream in (output, errors)]
    if status:
        sys.exit(f'{" ".join(arguments)} failed:\n{said[1]}')
    return Needed(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3, *said)


def izmp(
    *arguments: str, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Needed:
    """Run `izmp` with `arguments` on one core, in `cwd`."""
    return python('-m', 'izmp_dynamics.cli.main', *arguments, environment=environment, cwd=cwd)
