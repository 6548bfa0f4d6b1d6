"""How much compressed data may grow: a few bytes must not fill the memory."""

from izmp_dynamics.base.errors import BagError

RATIO = 200
"""Larger than any recording of sensors compresses by."""

ALLOWANCE = 2**28
"""Decompressed bytes that are allowed whatever the ratio is."""


class Expansion:
    """Counts the bytes of one file before and after decompression.

    Attributes:
        packed: bytes before.
        unpacked: bytes after.
    """

    def __init__(self) -> None:
        self.packed = 0
        self.unpacked = 0

    def room(self, packed: int) -> int:
        """Bytes that `packed` further bytes may be decompressed to."""
        return max(0, max(ALLOWANCE, RATIO * (self.packed + packed)) - self.unpacked)

    def add(self, packed: int, unpacked: int) -> None:
        """Count what is decompressed, or is about to be.

        Raises:
            BagError: it is more than is allowed; it is not counted then.
        """
        if unpacked > self.room(packed):
            raise BagError(
                f'it expands to more than {RATIO} times its size',
                kind='decompression_bomb', packed=packed, unpacked=unpacked,
            )  # fmt: skip
        self.packed += packed
        self.unpacked += unpacked
