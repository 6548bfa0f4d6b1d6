"""Where tasks are done: in this process, or in several of this computer."""

import asyncio
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import resource_tracker
from typing import Any

from izmp_dynamics.base.errors import ProcessError
from izmp_dynamics.engine.worker import held_back
from izmp_dynamics.files.libraries import library

PURPOSE = 'Work in several processes'
"""What the libraries are needed for, as the beginning of a sentence."""

CHECKED = 5.0
"""Time between two looks for workers that ended for good [s]."""

LEAST_MEMORY = 400_000_000
"""Of a process [bytes]: one that evaluates a short bag takes 300 MB."""

_log = logging.getLogger(__name__)

_PRELOAD = 'izmp_dynamics.engine.worker'

SETTINGS = {
    'distributed.scheduler.allowed-failures': 3,  # of workers, until their task is given up
    'distributed.scheduler.worker-saturation': 1.0,  # so none is counted that merely waits there
    'distributed.deploy.lost-worker-timeout': '60s',  # within which a busy computer restarts one
    'distributed.nanny.pre-spawn-environ.NUMBA_NUM_THREADS': 1,
    'distributed.worker.profile.enabled': False,  # nobody looks at it
    'distributed.scheduler.http.routes': [],  # HTTP has no credentials, so it answers nothing
    'distributed.worker.http.routes': [],
    'distributed.worker.memory.target': False,  # results are small: nothing to spill
    'distributed.worker.memory.spill': False,
    'distributed.worker.memory.pause': False,  # else one that keeps its memory waits for ever
    'distributed.worker.memory.terminate': 0.95,
}


@dataclass(frozen=True)
class Processes:
    """Processes of this computer.

    Attributes:
        workers: number of processes; None for as many as cores and memory allow.
        memory: of each of them, e.g. '2GB'; None shares out the memory of this computer.
    """

    workers: int | None = None
    memory: str | None = None


HERE = Processes(workers=1)
"""This process."""


def is_here(processes: Processes, tasks: int) -> bool:
    """Whether this process does the work itself: one is enough, or Dask is not installed."""
    if processes.workers == 1 or tasks <= 1:
        return True
    if find_spec('distributed') is None:
        _log.warning(
            "'distributed' is not installed, so one process does all the work; for several, "
            'install it with: pip install distributed'
        )
        return True
    return False


@contextmanager
def connected(processes: Processes, tasks: int) -> Iterator[Any]:
    """Give a `distributed.Client`; what was started for it ends with the block.

    Args:
        processes: how many, and their memory.
        tasks: how many there are; more processes are not started.

    Raises:
        ProcessError: they cannot be started.
        MissingDependencyError: its library is not installed.
        KeyboardInterrupt: Ctrl-C, also while processes start, who leave it to this one.
    """
    distributed = library('distributed', PURPOSE)
    dask = library('dask', PURPOSE)
    resource_tracker.ensure_running()  # as it starts, it lets Ctrl-C through again
    with dask.config.set(SETTINGS), ExitStack() as stack:
        # what they say of workers that die, and of requests that Ctrl-C interrupts, is known
        for name in ('distributed', 'distributed.client', 'tornado', 'tornado.application'):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        stack.enter_context(_environment_kept())
        with held_back():
            own = _started(distributed, processes, tasks)
            stack.enter_context(_kept_up(own))
            client = distributed.Client(own)
            stack.callback(_close, client)
        yield client


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Take back in the end what Dask sets for its processes in the environment of this one."""
    before = os.environ.copy()
    try:
        yield
    finally:
        for name in {*os.environ, *before}:  # no other is touched: other threads may read it
            if name not in before:
                del os.environ[name]
            elif os.environ.get(name) != before[name]:
                os.environ[name] = before[name]


def _started(distributed: Any, processes: Processes, tasks: int) -> Any:
    count = processes.workers or min(
        len(os.sched_getaffinity(0)), max(1, distributed.system.MEMORY_LIMIT // LEAST_MEMORY)
    )
    library('cryptography', PURPOSE)
    try:
        memory = {} if processes.memory is None else {'memory_limit': _bytes(processes.memory)}
        return distributed.LocalCluster(
            n_workers=max(1, min(count, tasks)),
            threads_per_worker=1,
            processes=True,
            host='127.0.0.1',
            security=True,  # credentials of this run alone: other users are refused
            dashboard_address='127.0.0.1:0',  # any free port
            scheduler_kwargs={'dashboard': False},
            preload=[_PRELOAD],
            **memory,
        )
    except ValueError as error:
        raise ProcessError(
            f'The processes cannot be started: {error}.', kind='no_workers'
        ) from error
    except (RuntimeError, OSError, asyncio.TimeoutError) as error:
        raise ProcessError(
            f'The processes cannot be started, perhaps as the computer is too busy: {error}. Try '
            'again later, or with fewer --workers.',
            kind='not_started',
        ) from error


def _bytes(memory: str) -> int:
    """What '2GB' says; a ValueError if it is no size, or too small."""
    size = int(library('dask.utils', PURPOSE, 'dask').parse_bytes(memory))
    if size < LEAST_MEMORY:
        raise ValueError(
            f"a memory of '{memory}' is too small; {LEAST_MEMORY / 1e6:.0f} MB are the least"
        )
    return size


@contextmanager
def _kept_up(cluster: Any) -> Iterator[None]:
    """Start workers anew that were lost with what restarts them; in the end, end them all."""
    count, ended = len(cluster.worker_spec), threading.Event()

    def look() -> None:
        while not ended.wait(CHECKED):
            cluster.scale(count)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _close(cluster)


def _close(part: Any) -> None:
    """Close a client or a cluster; where a computer is too busy, what is left is killed."""
    with suppress(asyncio.TimeoutError, OSError):
        part.close()
