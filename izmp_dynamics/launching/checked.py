"""What ends a launch: arguments that are no number or flag, and nodes that refuse to work."""

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from izmp_dynamics.base.errors import BagError
from izmp_dynamics.nodes.main import REFUSED

Number = TypeVar('Number', float, int)

NEEDED = {float: 'a number', int: 'a whole number', bool: 'true or false'}
"""The types, and what they are called."""

_FLAGS = {'true': True, '1': True, 'false': False, '0': False}
"""As launch reads conditions."""


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
        raise _refused(name, text, kind) from None


def flag(name: str, text: str) -> bool:
    """Return the value of an argument that is true or false.

    Raises:
        RuntimeError: if it is neither; launch prints it.
    """
    try:
        return _FLAGS[text.strip().lower()]
    except KeyError:
        raise _refused(name, text, bool) from None


def free_place(folder: str, overwrite: bool) -> None:
    """Make sure that a recording can be written, before anything starts.

    Raises:
        RuntimeError: if not; launch prints it.
    """
    from izmp_dynamics.bags.writer import BagWriter  # what does not record need not wait for it

    try:
        BagWriter(Path(folder).expanduser(), overwrite=overwrite).try_place()
    except BagError as error:
        taken = f"'{folder}' exists; name another folder, or set overwrite:=true to replace it."
        raise RuntimeError(taken if error.kind == 'place_taken' else str(error)) from None


def _refused(name: str, text: str, kind: type) -> RuntimeError:
    return RuntimeError(f"The argument {name} is '{text}'; {NEEDED[kind]} is needed.")


if TYPE_CHECKING:
    from launch.events.process import ProcessExited
    from launch.launch_context import LaunchContext


def end_if_refused(event: 'ProcessExited', context: 'LaunchContext') -> None:
    """End the launch if a node cannot work with what it was given; for `on_exit`.

    Any other end, e.g. a crash, is for `respawn` to deal with.

    Raises:
        RuntimeError: which launch prints; it ends with a non-zero status.
    """
    if event.returncode == REFUSED and not context.is_shutdown:
        raise RuntimeError(
            f'{event.process_name} cannot work with what it was given; its last line says why.'
        )
