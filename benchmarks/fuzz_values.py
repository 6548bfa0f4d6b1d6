"""Values that parsers, evaluations and terminals stumble over."""

import struct

from numpy.random import Generator

NUMBERS = (
    'nan', '.nan', 'NaN', 'inf', '-inf', '.inf', '1e308', '-1e308', '1e309', '1e-320', '-1', '0',
    '-0.0', '1', '2', '1e6', '1e9', '1e15', '0x7fffffff', '2147483648', '4294967295',
    '-2147483649', '9223372036854775807', '9223372036854775808', '18446744073709551616',
    '1' + 400 * '0', '1e', '.',
    '1,5', '1_000', '0o17', '1:30', '٣', '½', '', 'true', '~', '!!float 1', '!!int x', '1 2 3',
    '0.0001', '3.15', '1e-9', '1e99999',
)  # fmt: skip

NAMES = (
    '', ' ', '.', '..', '/', '//', '../../x', '/tmp', 'a/b', '~', '-x', '--help', '*', '%s%n',
    '{0}', '{{ 7*7 }}', '[/bold]', '[red]', '[link=x]', '\x1b[31mred', '\x1b]0;title\x07',
    '\x9b31m',
    '\x85', '\u2028', '\u202e', '\u200b', '\ufeff', '\x00', '\x7f', '\r', '\n',
    'a\nizmp: error: b', '\t',
    '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "'", '"', '&amp;', '&', ']]>',
    'é', 'e\u0301', '𝔘', '\ud800', '\udcff', 'ｆｏｏ', 'null', 'true', 'nan', 'inf', '1', '1e3',
    'base_link', 'world', 'pelvis', 'x' * 300, 'y' * 100_000, '\u0336' * 500, '?', '#', ': ', '- ',
)  # fmt: skip

WORDS = (0, 1, 2, 3, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 2**24, 2**31 - 1, 2**31,
         2**32 - 1, 2**48, 2**62, 2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip

FLOATS = (float('nan'), float('inf'), float('-inf'), 1e308, -1e308, 1e-320, -0.0, 1e30, 1e155,
          -1e9, 1e5, -1.0)  # fmt: skip


def number(rng: Generator) -> str:
    """A number as a text, or what could stand in its place."""
    return NUMBERS[rng.integers(len(NUMBERS))]


def name(rng: Generator) -> str:
    """A name that one should not use; lone surrogates are among them."""
    return NAMES[rng.integers(len(NAMES))]


def word(rng: Generator, size: int) -> bytes:
    """An integer of `size` bytes near a limit."""
    value = WORDS[rng.integers(len(WORDS))] + int(rng.integers(-1, 2))
    return (value % 2 ** (8 * size)).to_bytes(size, 'little')


def double(rng: Generator) -> bytes:
    """A float64 near or beyond a limit."""
    return struct.pack('<d', FLOATS[rng.integers(len(FLOATS))])


def encoded(text: str) -> bytes:
    """UTF-8, lone surrogates included."""
    return text.encode('utf-8', 'surrogatepass')
