"""By which DEF names the supervisor finds the solids of a robot."""

import re
from collections.abc import Sequence

IDENTIFIER = re.compile(
    r'(?!(?:DEF|EXTERNPROTO|FALSE|IS|NULL|PROTO|TRUE|USE)\Z)[A-Za-z_][A-Za-z0-9_]*'
)
"""What a DEF or PROTO may be called in Webots' files."""


def def_names(links: Sequence[str]) -> dict[str, str]:
    """Return link → DEF name, each one once; a link whose name is an identifier keeps it.

    Args:
        links: all links, in the order of the URDF.
    """
    names = {link: link for link in links if IDENTIFIER.fullmatch(link)}
    taken = set(names)
    for link in links:
        if link in names:
            continue
        stem = re.sub(r'\W', '_', link, flags=re.ASCII)
        stem = stem if IDENTIFIER.fullmatch(stem) else f'link_{stem}'
        name, count = stem, 1
        while name in taken:
            count += 1
            name = f'{stem}_{count}'
        names[link] = name
        taken.add(name)
    return names
