"""What launch files check: arguments, parameter files, and nodes that refuse to work."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from izmp_dynamics.base.errors import BagError
from izmp_dynamics.nodes.main import REFUSED

_READ: dict[type, tuple[str, Callable[[str], Any]]] = {
    float: ('a number', float),
    int: ('a whole number', int),
    bool: (
        'true or false',
        lambda text: {'true': True, '1': True, 'false': False, '0': False}[text.strip().lower()],
    ),
}
"""Kind → what it is called, and what reads it; flags as launch reads conditions."""


def read(name: str, text: str, kind: type) -> Any:
    """Return the value of an argument.

    Args:
        name: of the argument.
        text: what was given.
        kind: float, int or bool; anything else is the text itself.

    Raises:
        RuntimeError: if it is none of this kind; launch prints it.
    """
    needed, convert = _READ.get(kind, ('', str))
    try:
        return convert(text)
    except (KeyError, ValueError):
        raise RuntimeError(f"The argument {name} is '{text}'; {needed} is needed.") from None


def free_place(folder: str, overwrite: bool) -> None:
    """Make sure that a recording can be written, before anything starts.

    Raises:
        RuntimeError: if not; launch prints it.
    """
    from izmp_dynamics.bags.writer import BagWriter  # what does not record need not wait for it

    try:
        BagWriter(Path(folder).expanduser(), overwrite=overwrite).try_place()
    except BagError as error:
        text = str(error).replace('add --overwrite', 'set overwrite:=true')
        raise RuntimeError(text) from None


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


def stated(path: str, names: Iterable[str]) -> dict[str, str]:
    """Values that a parameter file has for all nodes, in its section /**; '' where it has none.

    Raises:
        RuntimeError: if the file cannot be read.
    """
    try:
        with open(path, encoding='utf-8') as file:
            part = yaml.safe_load(file)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise RuntimeError(f"params_file '{path}' cannot be read: {error}") from None
    for key in ('/**', 'ros__parameters'):
        part = part.get(key) if isinstance(part, dict) else None
    return {name: str((part or {}).get(name) or '') for name in names}
