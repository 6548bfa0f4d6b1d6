"""What a page carries: numbers in one block, texts, and the JavaScript of others.

three.js draws the scene; it comes inside K3D's standalone bundle. uPlot draws the series. Only
their files are read: neither package is imported.
"""

import base64
import functools
import gzip
import json
import math
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.errors import MissingDependencyError

INSTALL = 'pip install k3d uplot-python trimesh pycollada'

_TYPES = {'f4': '<f4', 'i2': '<i2', 'u4': '<u4'}
LEVEL = 6
"""Of gzip's compression."""

_ALIGNED = 4  # bytes; typed arrays of a browser begin at a multiple of their item


class Block:
    """Arrays one after the other, each described by its type, shape and offset.

    Equal ones, as the times of all plots, are stored once. Stored are column by column the
    differences of consecutive rows, as integers of the bits; first the lowest byte of all, last
    the highest: that compresses to two thirds.
    """

    def __init__(self) -> None:
        self._parts: dict[bytes, int] = {}  # content → offset
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
        rows = array.view(f'<u{array.itemsize}').reshape(len(array), math.prod(array.shape[1:]))
        bits = rows.T.copy()
        bits[:, 1:] -= bits[:, :-1].copy()
        data = bits.view(np.uint8).reshape(-1, array.itemsize).T.tobytes()
        data += b'\0' * (-len(data) % _ALIGNED)
        if data not in self._parts:
            self._parts[data] = self._size
            self._size += len(data)
        return {'kind': kind, 'shape': list(array.shape), 'offset': self._parts[data]}

    @property
    def text(self) -> str:
        """The block, compressed, in base64."""
        return compressed(b''.join(self._parts))


def compressed(data: bytes) -> str:
    """Compress `data` with gzip, in base64: the same text for the same bytes."""
    return base64.b64encode(gzip.compress(data, compresslevel=LEVEL, mtime=0)).decode('ascii')


_compressed_once = functools.cache(compressed)


def json_for_script(value: Any) -> str:
    """Write `value` as JSON that can stand inside <script>: no text of it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(',', ':'))
    for character in '<>&\u2028\u2029':
        text = text.replace(character, f'\\u{ord(character):04x}')
    return text


@dataclass(frozen=True)
class Library:
    """A file of a Python package.

    Attributes:
        package: name that pip installs.
        module: the module that the file belongs to.
        path: of the file within it.
        needed_for: what does not work without it, as the beginning of a sentence.
        install: the command that installs it and what else is needed for that.
    """

    package: str
    module: str
    path: str
    needed_for: str = 'An interactive report'
    install: str = INSTALL

    def read(self) -> str:
        """Return the file's text.

        Raises:
            MissingDependencyError: the package is not installed, or does not have the file.
        """
        spec = find_spec(self.module)
        for folder in (spec and spec.submodule_search_locations) or ():
            file = Path(folder) / self.path
            if file.is_file():
                return file.read_text(encoding='utf-8')
        raise MissingDependencyError(self.package, self.needed_for, self.install)

    def packed(self) -> str:
        """Return the text as `compressed` does.

        Raises:
            MissingDependencyError: as `read`.
        """
        return _compressed_once(self.read().encode())


THREE = Library('k3d', 'k3d', 'static/standalone.js')
UPLOT = Library('uplot-python', 'uplot', 'static/uPlot.iife.js')
UPLOT_STYLE = Library('uplot-python', 'uplot', 'static/uPlot.min.css')
