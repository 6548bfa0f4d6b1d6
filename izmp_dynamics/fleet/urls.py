"""URLs of bags: with their host, and without what only their reader may know."""

import re
from typing import Any

from izmp_dynamics.base.errors import FleetError


def url_of(files: Any, place: str, path: str) -> str:
    """Return the URL of a path.

    Args:
        files: file system of fsspec that has the path.
        place: the URL or path that it was made for; it states the host.
        path: as the file system names it.
    """
    if 'host' not in files.storage_options:
        return str(files.unstrip_protocol(path))
    protocol, _, rest = place.partition('://')
    return f'{protocol}://{rest.partition("/")[0]}/{path.lstrip("/")}'


def public(text: str) -> str:
    """Return a text whose URLs have no user and, in the web, no query: it may be a signature."""
    text = re.sub(r"(https?://[^?#\s]*)[?#][^\s'\"]*", r'\1', text)
    return re.sub(r'(\w://)[^/\s]*@', r'\1', text)


def refuse_password(url: str) -> None:
    """Refuse a URL that contains a password or token.

    Raises:
        FleetError: it does; the sentence does not repeat it.
    """
    for protocol, user in re.findall(r'(\w+)://([^/?#]*)@', url):
        if protocol in ('http', 'https') or (':' in user and protocol != 'github'):
            raise FleetError(
                f"The URL '{public(url)}' was given with a password or token; give them to fsspec "
                f'instead, for example in the environment, as FSSPEC_{protocol.upper()}_PASSWORD.',
                kind='password_in_url', place=public(url),
            )  # fmt: skip
