"""What a terminal cannot show, or must not obey."""

import re
import sys

_UNPRINTABLE = re.compile(
    r'[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]'
    r'|\n(?!  )'
)
"""Control characters, marks that reverse the direction of writing, and halves of characters.

Lines of a list are indented; no other line may follow, or a name could pretend to be a message.
"""


def printable(text: object) -> str:
    """Escape what would steer a terminal: names come from files of unknown origin."""
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], str(text))


def accept_any_encoding() -> None:
    r"""Let a terminal that is not UTF-8 show what it lacks as \u03a3, and not raise an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):
            stream.reconfigure(errors='backslashreplace')
