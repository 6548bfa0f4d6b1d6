"""What launch files check: arguments, parameter files, and nodes that refuse to work."""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator
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


def read_argument(name: str, text: str, kind: type) -> Any:
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


_WILD = {'*': r'/\w+', '**': r'(/\w+)*'}
"""What a wildcard in the name of a section stands for."""


def stated(
    path: str, namespace: str, nodes: Collection[str], names: Collection[str]
) -> dict[str, str]:
    """Values that a parameter file has for some nodes; '' where it has none.

    As in ROS, a section is for the nodes whose full names fit its own, and the last one counts.

    Raises:
        RuntimeError: if the file cannot be read, or has different values for the nodes.
    """
    try:
        with open(path, encoding='utf-8') as file:
            sections = list(_sections(yaml.safe_load(file)))
    except RecursionError:
        reason = 'a part of it contains itself, or lies too deep in others'
        raise RuntimeError(f"params_file '{path}' cannot be read: {reason}.") from None
    except OSError as error:
        raise RuntimeError(f"params_file '{path}' cannot be read: {error.strerror}.") from None
    except (ValueError, yaml.YAMLError) as error:
        raise RuntimeError(f"params_file '{path}' cannot be read: {error}") from None
    found: dict[str, dict[str, list[str]]] = {name: {} for name in names}
    for node in nodes:
        full = posixpath.join('/', namespace, node)
        values: dict[str, Any] = {}
        for pattern, part in sections:
            if re.fullmatch(pattern, full):
                values |= part
        for name in names:
            if values.get(name):
                found[name].setdefault(str(values[name]), []).append(full)
    for name, having in found.items():
        if len(having) > 1:
            listed = ', '.join(f"'{value}' for {full[0]}" for value, full in having.items())
            raise RuntimeError(
                f"params_file '{path}' has different values of {name}: {listed}. State one for "
                f'all nodes, or give {name}:=… to the launch file.'
            )
    return {name: next(iter(having), '') for name, having in found.items()}


def _sections(values: Any, above: str = '') -> Iterator[tuple[str, dict[str, Any]]]:
    """Patterns of the full names of nodes, and their parameters."""
    for key, value in values.items() if isinstance(values, dict) else ():
        if key == 'ros__parameters' and isinstance(value, dict):
            yield above, value
        else:
            tokens = filter(None, str(key).split('/'))
            pattern = ''.join(_WILD.get(token, f'/{re.escape(token)}') for token in tokens)
            yield from _sections(value, above + pattern)
