"""Arguments of launch files that are numbers."""

from typing import TypeVar

Number = TypeVar('Number', float, int)

NEEDED = {float: 'a number', int: 'a whole number'}
"""The types, and what they are called."""


def number(name: str, text: str, kind: type[Number]) -> Number:
    """Return the value of an argument.

    Args:
        name: of the argument.
        text: what was given.
        kind: float or int.

    Raises:
        RuntimeError: if it is no such number; launch prints it.
    """
    try:
        return kind(text)
    except ValueError:
        raise RuntimeError(f"The argument {name} is '{text}'; {NEEDED[kind]} is needed.") from None
