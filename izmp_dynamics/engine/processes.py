"""Tasks in several processes: a stream of outcomes, whatever happens to the workers.

Nothing here knows of bags or studies. A worker that dies loses nothing: what it had not handed
over is done again elsewhere. A task that raises is tried again, and at last gives its exception;
one whose workers are killed again and again gives a `ProcessError`. Every worker loads this module
first.
"""

import asyncio
import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib.util import find_spec
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from izmp_dynamics.base.errors import ProcessError
from izmp_dynamics.files.libraries import library

PURPOSE = 'Work in several processes'
"""What the libraries are needed for, as the beginning of a sentence."""

CHECKED = 5.0
"""Time between two looks for workers that ended for good [s]."""

LEAST_MEMORY = 400_000_000
"""Of a process [bytes]: one that evaluates a short bag takes 300 MB."""

AT_A_TIME = 4000
"""Tasks that the scheduler knows at a time."""

T = TypeVar('T')
R = TypeVar('R')

_log = logging.getLogger(__name__)

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)

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
            preload=[__name__],  # `dask_setup`
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


def outcomes(
    client: Any,
    function: Callable[..., R],
    tasks: Sequence[T],
    retries: int = 0,
    needs: Callable[[T], Iterable[T]] = lambda task: (),
) -> Iterator[tuple[T, R | Exception]]:
    """Do tasks; yield each with its result, or with the exception that it ended with.

    Args:
        client: `distributed.Client`.
        function: what is done with a task, importable on the workers.
        tasks: each once, hashable, in the order in which they are begun.
        retries: how often a task that raises is tried again.
        needs: which of the tasks must have ended before this one begins.

    Yields:
        The tasks in the order in which they end.

    Raises:
        ProcessError: the connection to the scheduler is lost.
    """
    order = TopologicalSorter({task: needs(task) for task in tasks})
    order.prepare()
    waiting = deque(order.get_ready())
    running: dict[Any, T] = {}
    ended = library('distributed', PURPOSE).as_completed()
    # The scheduler keeps many tasks until a worker is free. Few it would hand out all at once, and
    # those that only wait at a worker would count as killed with it: they get one per worker.
    threads = sum(client.nthreads().values())
    at_a_time = threads if threads and len(tasks) <= 2 * threads else AT_A_TIME
    while order.is_active():
        while waiting and len(running) < at_a_time:
            task = waiting.popleft()
            future = client.submit(function, task, pure=False, retries=retries)
            running[future] = task
            ended.add(future)
        future = next(ended)
        task = running.pop(future)
        yield task, _outcome(future)
        del future  # the workers forget the result
        order.done(task)
        waiting += order.get_ready()


def _outcome(future: Any) -> Any:
    if future.status == 'cancelled':  # the client does so with all when it loses the scheduler
        raise ProcessError(
            'The connection to the scheduler is lost, as it has ended or the computer is far too '
            'busy; what is finished is kept.',
            kind='scheduler_lost',
        )
    try:
        return future.result()
    except Exception as error:
        if type(error).__name__ != 'KilledWorker':
            return error
        return ProcessError(
            'Every process that did this was killed, perhaps for want of memory; give each more '
            'with --memory, and take fewer of them.',
            kind='process_lost',
        )


def dask_setup(_: Any) -> None:
    """Leave Ctrl-C to the process that started this one, and the terminal as well."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
    logging.getLogger('izmp_dynamics').setLevel(logging.ERROR)
    for name in ('distributed', 'tornado'):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def held_back() -> Iterator[None]:
    """Hold back SIGINT and SIGTERM; at the end they have the effect that they had before.

    A process that is started meanwhile gets all that it waits for, else it would end with an
    `EOFError`. It inherits both signals blocked, until `dask_setup`: Ctrl-C reaches every process
    of a terminal, those that are still importing as well.
    """
    came: list[int] = []
    previous: dict[signal.Signals, Any] = {}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        if threading.current_thread() is threading.main_thread():  # else they do not come here
            for each in _INTERRUPTS:  # other threads receive what this one blocks
                previous[each] = signal.signal(each, lambda number, _: came.append(number))
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in came:
            signal.raise_signal(number)
