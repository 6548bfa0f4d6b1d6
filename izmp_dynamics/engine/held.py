"""Values that workers keep, for rounds of tasks on them: what is sent each round stays small."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from izmp_dynamics.engine.outcomes import outcomes

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
            self._futures = [client.submit(_same, value, pure=False) for value in values]

    def map(self, function: Callable[[V, A], R], arguments: Sequence[A]) -> list[R]:
        """Apply a function to every value and its argument; give the results in their order.

        Args:
            function: importable on the workers.
            arguments: one for each value.

        Raises:
            ClusterError: the connection to the scheduler is lost.
            Exception: what the function raises.
        """
        if self._client is None:
            return [function(*both) for both in zip(self._values, arguments, strict=True)]
        numbers = range(len(self._values))
        ended = outcomes(
            self._client,
            _apply,
            numbers,
            given=lambda k: (function, self._futures[k], arguments[k]),
        )
        found: dict[int, R] = {}
        for number, outcome in ended:
            if isinstance(outcome, Exception):
                raise outcome
            found[number] = outcome
        return [found[number] for number in numbers]


def _same(value: V) -> V:
    return value


def _apply(_: int, function: Callable[[V, A], R], value: V, argument: A) -> R:
    return function(value, argument)
