"""Writing a file as a whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from izmp_dynamics.files.locked_folder import LockedFolder
from izmp_dynamics.files.temporary_folder import remove_remnants


def write_whole(
    path: Path, content: bytes | Callable[[BinaryIO], object], prefix: str | None = None
) -> None:
    """Write a file beside its place and move it there when it is complete.

    Args:
        path: of the file; one that is there is replaced.
        content: of the file, or what writes it.
        prefix: of the hidden folder beside the file that it is written into; what killed
            processes left of this prefix is removed.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = prefix or f'.{path.name}.partial-'
    remove_remnants(path.parent, prefix)
    folder = LockedFolder(path.parent, prefix)
    try:
        unfinished = folder.path / path.name
        with unfinished.open('wb') as file:
            file.write(content) if isinstance(content, bytes) else content(file)
        os.replace(unfinished, path)
    finally:
        folder.remove()
