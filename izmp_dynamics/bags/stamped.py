"""What all stamped messages have in common: stamps, frames, and what could not be read."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.cdr_decoder import Decoded
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import BagError

HeaderValues = tuple[Stamps, Stamps, tuple[str, ...], int, str | None]
"""The attributes of `Stamped`, in their order."""


@dataclass(frozen=True)
class Stamped:
    """What every batch of stamped messages begins with.

    Attributes:
        stamps: (T,) stamps in the headers [ns].
        received: (T,) receive stamps [ns].
        frame_ids: the different frames in the headers, sorted; more than one is a fault.
        broken: messages that could not be read.
        fault: why the first of those could not be read; None when there is none.
    """

    stamps: Stamps
    received: Stamps
    frame_ids: tuple[str, ...]
    broken: int
    fault: str | None

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def frame_id(self) -> str | None:
        """The frame, if it is always the same."""
        return self.frame_ids[0] if len(self.frame_ids) == 1 else None


def expect(messages: RawMessages, *types: str) -> None:
    """Refuse messages of other types with a `BagError`."""
    if messages.msgtype not in types:
        raise BagError(
            f"Topic '{messages.topic}' has the type {messages.msgtype}; "
            f'expected {" or ".join(types)}.',
            kind='wrong_type', topic=messages.topic, msgtype=messages.msgtype, valid=types,
        )  # fmt: skip


def header_values(messages: RawMessages, decoded: Decoded) -> HeaderValues:
    """Stamps, receive stamps, frames, number of broken messages and the first fault."""
    stamps: Stamps = decoded.column('header.stamp').astype(np.int64)
    frames = decoded.texts('header.frame_id')
    return stamps, messages.received[decoded.index], frames, decoded.broken, decoded.fault


def floats(decoded: Decoded, path: str, width: int) -> Array:
    """(T, width) contiguous numbers of `path`."""
    if not decoded.groups:
        return np.zeros((0, width))
    return np.ascontiguousarray(decoded.column(path), np.float64)
