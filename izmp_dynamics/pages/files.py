"""The files of a page: pictures, tables, the page itself."""

import contextlib
import csv
import io
from pathlib import Path

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.files.place import write_together
from izmp_dynamics.pages.picture import Picture, Table


class StoreError(IzmpError):
    """The folder of results cannot be written."""


def write_files(files: dict[str, bytes], folder: Path) -> None:
    """Write files into a folder, all of them or none.

    Raises:
        StoreError: if the folder cannot be written.
    """
    made = not folder.exists()
    try:
        write_together({folder / name: content for name, content in files.items()})
    except OSError as error:
        if made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise StoreError(
            f"Results cannot be written to '{folder}': {error.strerror or error}.",
            kind='not_written',
            folder=folder,
        ) from error


def files_of(picture: Picture) -> dict[str, bytes]:
    """Draw a picture for its own files: name → content."""
    from izmp_dynamics.pages.rendering import standalone_svg, to_png

    return {
        f'{picture.name}.png': to_png(picture),
        f'{picture.name}.svg': standalone_svg(picture).encode(),
        f'{picture.name}.csv': to_csv(picture.data),
    }


def to_csv(table: Table) -> bytes:
    """Write a table as CSV (UTF-8, comma)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(table.headings)
    writer.writerows(table.texts())
    return text.getvalue().encode()
