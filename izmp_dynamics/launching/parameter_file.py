"""What a parameter file says that a launch file needs to know as well."""

import posixpath
import re
from collections.abc import Collection, Iterator
from typing import Any

import yaml

_WILD = {'*': r'/\w+', '**': r'(/\w+)*'}
"""What a wildcard in the name of a section stands for."""


def stated(
    path: str, namespace: str, nodes: Collection[str], names: Collection[str]
) -> dict[str, str]:
    """Values that a parameter file has for some nodes; '' where it has none.

    As in ROS, a section is for the nodes whose full names fit its own, and the last one counts.

    Args:
        path: of the file.
        namespace: of the nodes.
        nodes: their names.
        names: of the parameters.

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
