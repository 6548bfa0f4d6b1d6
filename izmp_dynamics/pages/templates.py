"""Pages from Jinja templates: one layout, style and palette for all of them."""

import functools
import re
from collections.abc import Callable
from importlib import resources
from typing import Any

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.pages.styles import DARK, LIGHT

try:
    import jinja2
    from markupsafe import Markup as Markup
except ImportError as error:
    raise MissingDependencyError('jinja2', 'Writing a page', 'pip install jinja2') from error

LAYOUT = 'layout.html.j2'
"""What all pages extend: it has their style."""

_NUMBER_AND_UNIT = re.compile(
    r' (?:(?<=\d )(?=(?:mm|ms|m|s|N|Hz|kHz|kg|%|°)(?!\w))|(?<=± )(?=\d))'  # a space is found soon
)


@functools.cache
def template(package: str, name: str, **filters: Callable[..., Any]) -> jinja2.Template:
    """Load a template, in which every text is escaped and every name must be given.

    Args:
        package: that the file belongs to.
        name: of the file.
        filters: by the name that the template uses.
    """
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=unbroken,
        loader=jinja2.FunctionLoader(
            lambda name: text_file(__package__ if name == LAYOUT else package, name)
        ),
    )
    environment.filters |= {'trusted': Markup, **filters}
    environment.globals |= {'base_style': Markup(_palette() + text_file(__package__, 'base.css'))}
    return environment.get_template(name)


def text_file(package: str, name: str) -> str:
    """Text of a file that a package brings."""
    return resources.files(package).joinpath(name).read_text(encoding='utf-8')


def _palette() -> str:
    """Colours as CSS variables."""
    light, dark = (
        ''.join(f' --{name}: {colour};' for name, colour in colours.items())
        for colours in (LIGHT, DARK)
    )
    dark = f'@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}'
    return f':root {{{light} }}\n{dark}\n'


def unbroken(value: Any) -> Any:
    """Keep a number, its ± and its unit on one line."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _NUMBER_AND_UNIT.sub('\u00a0', value)
    return value
