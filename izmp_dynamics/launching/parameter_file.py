"""What a parameter file says that a launch file needs to know as well."""

from collections.abc import Iterator
from typing import Any

import yaml


def stated(path: str, *names: str) -> dict[str, str]:
    """Values of parameters in a parameter file, of whichever node; '' where it has none.

    Raises:
        RuntimeError: if the file cannot be read.
    """
    try:
        with open(path, encoding='utf-8') as file:
            sections = list(_sections(yaml.safe_load(file)))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RuntimeError(f"params_file '{path}' cannot be read: {error}") from None
    return {
        name: next((str(part[name]) for part in sections if part.get(name)), '') for name in names
    }


def _sections(values: Any) -> Iterator[dict[str, Any]]:
    """The parameters of each node."""
    for key, value in values.items() if isinstance(values, dict) else ():
        if key == 'ros__parameters' and isinstance(value, dict):
            yield value
        else:
            yield from _sections(value)
