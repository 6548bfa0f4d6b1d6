"""What follows from installed files alone: made once, kept in a file for the next start.

The files lie in numba's cache, beside the machine code of the kernels (`kernel_cache`).
"""

import contextlib
import hashlib
import os
from collections.abc import Callable

from izmp_dynamics.base.kernel_cache import cache_folder
from izmp_dynamics.base.kernel_sources import remove_remnants

_DIGEST = hashlib.sha256().digest_size


def kept(name: str, source: bytes, make: Callable[[bytes], bytes]) -> bytes:
    """Return what is made of a source, from a file if it was made of the same source before.

    What is in the file is used only if it is as it was written; where nothing can be written, it
    is made every time.

    Args:
        name: of the file.
        source: what it is made of.
        make: makes it.
    """
    folder = cache_folder()
    if folder is None:
        return make(source)
    file, of_source = folder / name, hashlib.sha256(source).digest()
    with contextlib.suppress(OSError):
        content = file.read_bytes()
        if content[:_DIGEST] == _seal(of_source, content[_DIGEST:]):
            return content[_DIGEST:]
    made = make(source)
    unfinished = file.with_name(f'{name}.tmp.{os.getpid()}')
    try:
        remove_remnants(folder, f'{name}.tmp.*')
        unfinished.write_bytes(_seal(of_source, made) + made)
        unfinished.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()
    return made


def _seal(of_source: bytes, made: bytes) -> bytes:
    return hashlib.sha256(of_source + made).digest()
