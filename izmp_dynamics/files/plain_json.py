"""Values of any kind as JSON for programs."""

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def as_json(value: Any) -> str:
    """Write values as JSON, indented.

    Args:
        value: of dictionaries, lists, dataclasses, arrays, paths, texts and numbers.

    Returns:
        The text, with a newline at its end. What is not finite is null.
    """
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + '\n'


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(getattr(key, 'key', key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    return _plain(value.tolist())  # of numpy
