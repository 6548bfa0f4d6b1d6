"""What a terminal cannot show, or must not obey."""

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_UNPRINTABLE = re.compile(
    r'[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]'
    r'|\n(?!  )'
)
"""Control characters, marks that reverse the direction of writing, and halves of characters.

Lines of a list are indented; no other line may follow, or a name could pretend to be a message.
"""


_LONGEST, _HEAD, _TAIL = 2000, 1000, 500
"""Characters of a line, and how many of a longer one are shown."""


def printable(text: object) -> str:
    """Escape what would steer a terminal, and shorten lines without end.

    Names come from files of unknown origin.
    """
    escaped = _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], str(text))
    return '\n'.join(map(_shortened, escaped.split('\n')))


def _shortened(line: str) -> str:
    if len(line) <= _LONGEST:
        return line
    left_out = len(line) - _HEAD - _TAIL
    return f'{line[:_HEAD]} … ({left_out} characters) … {line[-_TAIL:]}'


def accept_any_encoding() -> None:
    r"""Let a terminal that is not UTF-8 show what it lacks as \u03a3, and not raise an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):
            stream.reconfigure(errors='backslashreplace')


_WIDE = 10_000
"""Columns of a table that goes into a pipe or file, where nothing may be wrapped."""


def make_console() -> 'Console':
    """Make what prints tables: as wide as the terminal, without limit in a pipe or file."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)


def add_robot_options(parser: argparse.ArgumentParser, default: str = '') -> None:
    """Add --robot and --urdf; the robot is required if there is no default, which is described."""
    text = 'robot file, or the name of a robot: go2, g1, …' + (default and f' ({default})')
    parser.add_argument('--robot', type=Path, required=not default, metavar='FILE', help=text)
    parser.add_argument(
        '--urdf', type=Path, metavar='FILE', help='URDF to use instead of that of the robot file'
    )


def add_output_options(
    parser: argparse.ArgumentParser, metavar: str, text: str, overwrite: str = '', quiet: str = ''
) -> None:
    """Add --output, and --overwrite and --quiet if there is a text about them."""
    parser.add_argument('-o', '--output', type=Path, required=True, metavar=metavar, help=text)
    if overwrite:
        parser.add_argument('--overwrite', action='store_true', help=overwrite)
    if quiet:
        parser.add_argument('--quiet', action='store_true', help=quiet)


def listed(text: str) -> tuple[str, ...]:
    """The parts of a comma-separated list."""
    return tuple(part.strip() for part in text.split(',') if part.strip())


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    text = 'for programs: JSON in SI units (docs/command_line.md), no table'
    parser.add_argument('--json', action='store_true', help=text)
