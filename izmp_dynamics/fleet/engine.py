"""Tasks on a cluster: a stream of outcomes, whatever happens to the workers.

The engine knows nothing of bags. A worker that dies loses nothing: what it had not handed over is
done again elsewhere. A task that raises is tried again, and at last gives its exception.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from izmp_dynamics.bags.libraries import library
from izmp_dynamics.errors import FleetError

AT_A_TIME = 4000
"""Tasks that the scheduler knows at a time: enough for a thousand workers."""

T = TypeVar('T')
R = TypeVar('R')


def perform(
    client: Any, function: Callable[[T], R], tasks: Iterable[T], retries: int
) -> Iterator[tuple[T, R | Exception]]:
    """Do tasks on a cluster; yield each with its result, or with the exception that it ended with.

    Args:
        client: `distributed.Client`.
        function: what is done with a task, importable on the workers.
        tasks: in the order in which they are begun.
        retries: how often a task that raises is tried again.

    Yields:
        The tasks in the order in which they end.

    Raises:
        FleetError: the scheduler is gone.
    """
    waiting = iter(tasks)
    running: dict[Any, T] = {}
    ended = library('distributed', 'Evaluating a fleet').as_completed()

    def begin() -> None:
        for task in islice(waiting, AT_A_TIME - len(running)):
            future = client.submit(function, task, pure=False, retries=retries)
            running[future] = task
            ended.add(future)

    begin()
    for future in ended:
        task = running.pop(future)
        yield task, _outcome(future)
        del future  # the workers forget the result
        begin()


def _outcome(future: Any) -> Any:
    if future.status == 'cancelled':  # the client does so with all when it loses the scheduler
        raise FleetError(
            'The scheduler of the cluster is gone; the finished bags are kept.',
            kind='scheduler_lost',
        )
    try:
        return future.result()
    except Exception as error:
        return error
