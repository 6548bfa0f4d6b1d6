"""From pictures to texts, bytes and files: the HTML page with all of them, SVG, PNG, CSV."""

import contextlib
import csv
import io
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import izmp_dynamics
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.files.place import write_together
from izmp_dynamics.pages.look import drawing, to_svg
from izmp_dynamics.pages.picture import Page, Picture, Table
from izmp_dynamics.pages.styles import LIGHT, NARROW, WIDE
from izmp_dynamics.pages.templates import template


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


TEMPLATE = 'page.html.j2'
_DOTS_PER_INCH = 160


def render(page: Page, pictures: Sequence[Picture]) -> str:
    """Build the page; it needs no network, no script and no other file."""
    claims = [(p, fact) for p in pictures for fact in p.facts if fact.holds is not None]
    return template(__package__, TEMPLATE).render(
        version=izmp_dynamics.__version__,
        pictures=[(p, inline_svg(p, WIDE), inline_svg(p, NARROW)) for p in pictures],
        claims=claims,
        kept=sum(bool(fact.holds) for _, fact in claims),
        page=page,
    )


def inline_svg(picture: Picture, width: float) -> str:
    """Draw a picture for inlining at a width [inch], with colours as CSS variables."""
    text = _svg(picture.draw, picture.name, picture.title, width)
    for variable, colour in LIGHT.items():
        text = text.replace(colour, f'var(--{variable})')
    return text


@lru_cache(maxsize=64)
def _svg(draw: Callable[[float], Any], name: str, title: str, width: float) -> str:
    with drawing():
        return to_svg(draw(width), f'{name}-{round(10 * width)}', title)


def standalone_svg(picture: Picture) -> str:
    """Draw a picture as an SVG file on its own."""
    text = _svg(picture.draw, picture.name, picture.title, WIDE)
    width, height = map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', text)[0])
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    opening = f'<svg {spaces} width="{width:.0f}pt" height="{height:.0f}pt" '
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text.replace("<svg ", opening, 1)}\n'


def to_png(picture: Picture) -> bytes:
    """Draw a picture as PNG, on white."""
    buffer = io.BytesIO()
    with drawing():
        canvas = picture.draw(WIDE)
        canvas.savefig(
            buffer, format='png', dpi=_DOTS_PER_INCH, facecolor='white',
            metadata={'Software': None},
        )  # fmt: skip
    return buffer.getvalue()
