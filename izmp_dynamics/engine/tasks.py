"""Tasks in several processes: a stream of outcomes, whatever happens to the workers.

The engine knows nothing of bags or studies. A worker that dies loses nothing: what it had not
handed over is done again elsewhere. A task that raises is tried again, and at last gives its
exception; one whose workers are killed again and again gives a `ProcessError`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from graphlib import TopologicalSorter
from typing import Any, TypeVar

from izmp_dynamics.base.errors import ProcessError
from izmp_dynamics.engine.processes import PURPOSE
from izmp_dynamics.files.libraries import library

AT_A_TIME = 4000
"""Tasks that the scheduler knows at a time."""

T = TypeVar('T')
R = TypeVar('R')


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
