"""Numbers for a page: all arrays in one block of bytes, compressed, as text without markup."""

import base64
import gzip
import json
from typing import Any

import numpy as np
import numpy.typing as npt

_TYPES = {'f4': '<f4', 'i2': '<i2', 'u4': '<u4'}
LEVEL = 6
"""Of gzip's compression."""

_ALIGNED = 4  # bytes; typed arrays of a browser begin at a multiple of their item


class Block:
    """Arrays one after the other, each described by its type, shape and offset."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: npt.ArrayLike, kind: str = 'f4') -> dict[str, Any]:
        """Append an array.

        Args:
            values: any shape.
            kind: 'f4', 'i2' or 'u4', as it is stored.

        Returns:
            what the page needs to find it: kind, shape, offset [bytes].
        """
        array = np.ascontiguousarray(values, dtype=_TYPES[kind])
        entry = {'kind': kind, 'shape': list(array.shape), 'offset': self._size}
        data = array.tobytes()
        data += b'\0' * (-len(data) % _ALIGNED)
        self._parts.append(data)
        self._size += len(data)
        return entry

    @property
    def text(self) -> str:
        """The block, compressed, in base64."""
        return compressed(b''.join(self._parts))


def compressed(data: bytes) -> str:
    """Compress `data` with gzip, in base64: the same text for the same bytes."""
    return base64.b64encode(gzip.compress(data, compresslevel=LEVEL, mtime=0)).decode('ascii')


def json_for_script(value: Any) -> str:
    """Write `value` as JSON that can stand inside <script>: no text of it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(',', ':'))
    for character in '<>&\u2028\u2029':
        text = text.replace(character, f'\\u{ord(character):04x}')
    return text
