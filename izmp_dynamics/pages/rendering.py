"""From pictures to texts and bytes: the HTML page with all of them, SVG, PNG."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import izmp_dynamics
from izmp_dynamics.pages.look import FILES, LIGHT, PAGE, WIDE, Look, to_svg
from izmp_dynamics.pages.page import Page
from izmp_dynamics.pages.picture import Picture
from izmp_dynamics.pages.styles import NARROW
from izmp_dynamics.pages.templates import template

TEMPLATE = 'page.html.j2'
_DOTS_PER_INCH = 160


def render(page: Page, pictures: Sequence[Picture]) -> str:
    """Build the page; it needs no network, no script and no other file."""
    claims = [(p, fact) for p in pictures for fact in p.facts if fact.holds is not None]
    return template(__package__, TEMPLATE).render(
        version=izmp_dynamics.__version__,
        pictures=[
            (p, *(inline_svg(p.draw, width, p.name, p.title) for width in (WIDE, NARROW)))
            for p in pictures
        ],
        claims=claims,
        kept=sum(bool(fact.holds) for _, fact in claims),
        page=page,
    )


def inline_svg(draw: Callable[[Look, float], Any], width: float, name: str, title: str) -> str:
    """Draw for inlining, with colours as CSS variables.

    Args:
        draw: draws in a look, at a width [inch].
        width: of the picture [inch].
        name: of the picture, unique in the page.
        title: what is shown.
    """
    with PAGE.applied():
        return to_svg(draw(PAGE, width), f'{name}-{round(10 * width)}', title)


def standalone_svg(picture: Picture) -> str:
    """Draw a picture as an SVG file on its own."""
    with PAGE.applied():
        canvas = picture.draw(PAGE, WIDE)
        text = to_svg(canvas, picture.name, picture.title)
    for name, colour in LIGHT.items():
        text = text.replace(f'var(--{name})', colour)
    width, height = (72.0 * size for size in canvas.get_size_inches())
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    opening = f'<svg {spaces} width="{width:.0f}pt" height="{height:.0f}pt" '
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text.replace("<svg ", opening, 1)}\n'


def to_png(picture: Picture) -> bytes:
    """Draw a picture as PNG, on white."""
    buffer = io.BytesIO()
    with FILES.applied():
        canvas: Any = picture.draw(FILES, WIDE)
        canvas.savefig(
            buffer, format='png', dpi=_DOTS_PER_INCH, facecolor='white',
            metadata={'Software': None},
        )  # fmt: skip
    return buffer.getvalue()
