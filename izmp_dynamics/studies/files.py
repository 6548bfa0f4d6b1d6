"""Writing files of results."""

from pathlib import Path

from izmp_dynamics.bags.whole_file import write_whole
from izmp_dynamics.studies.store import StoreError


def write_files(files: dict[str, bytes], folder: Path) -> None:
    """Write files into a folder, each as a whole or not at all.

    Raises:
        StoreError: if the folder cannot be written.
    """
    try:
        for name, content in files.items():
            write_whole(folder / name, content)
    except OSError as error:
        raise StoreError(
            f"Results cannot be written to '{folder}': {error.strerror or error}.",
            kind='not_written',
            folder=folder,
        ) from error
