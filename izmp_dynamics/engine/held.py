"""Values that workers keep, for rounds of tasks on them: what is sent each round stays small."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from izmp_dynamics.engine.interrupts import held_back
from izmp_dynamics.engine.outcomes import error_of, outcomes

V = TypeVar('V')
A = TypeVar('A')
R = TypeVar('R')


class Held(Generic[V]):
    """Values that the workers of a cluster have, or this process.

    Args:
        values: as they are sent once. What a worker that dies had, another one gets.
        client: `distributed.Client`; None for this process.
    """

    def __init__(self, values: Sequence[V], client: Any = None) -> None:
        self._values, self._client = values, client
        if client is not None:
            with held_back():  # Ctrl-C in the middle of a future leaves a traceback
                self._futures = [client.submit(_same, value, pure=False) for value in values]

    def map(
        self,
        function: Callable[[V, A], R],
        arguments: Sequence[A],
        progress: Callable[[float], None] = lambda fraction: None,
    ) -> list[R]:
        """Apply a function to every value and its argument; give the results in their order.

        Args:
            function: importable on the workers.
            arguments: one for each value.
            progress: called with the fraction that is done.

        Raises:
            ClusterError: the connection to the scheduler is lost, or all workers that did a task
                died.
            Exception: what the function raises; of several values, for the first of them.
        """
        found: dict[int, Any] = {}
        ended = 0
        for number, outcome in self._outcomes(function, arguments):
            found[number] = outcome
            progress(len(found) / len(self._values))
            while ended in found:
                if isinstance(found[ended], Exception):
                    raise error_of(found[ended])
                ended += 1
        return [found[number] for number in range(ended)]

    def _outcomes(
        self, function: Callable[[V, A], R], arguments: Sequence[A]
    ) -> Iterator[tuple[int, R | Exception]]:
        if self._client is None:
            for number, both in enumerate(zip(self._values, arguments, strict=True)):
                yield number, function(*both)
            return
        yield from outcomes(
            self._client,
            _apply,
            range(len(self._values)),
            given=lambda k: (function, self._futures[k], arguments[k]),
        )


def _same(value: V) -> V:
    return value


def _apply(_: int, function: Callable[[V, A], R], value: V, argument: A) -> R:
    return function(value, argument)
