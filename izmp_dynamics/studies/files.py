"""Writing files of results."""

import os
import tempfile
from pathlib import Path

from izmp_dynamics.studies.store import StoreError


def write_files(files: dict[str, bytes], folder: Path) -> None:
    """Write files into a folder, each as a whole or not at all.

    Raises:
        StoreError: if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=f'.{name}.')
            try:
                with open(handle, 'wb') as file:
                    file.write(content)
                os.chmod(temporary, 0o644)
                os.replace(temporary, folder / name)
            finally:
                Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"Results cannot be written to '{folder}': {error.strerror or error}.",
            kind='not_written',
            folder=folder,
        ) from error
