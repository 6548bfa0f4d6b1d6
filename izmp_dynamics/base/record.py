"""Records: what is known at a series of instants, an array of each quantity."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

Kind = TypeVar('Kind', bound='Record')


class Record:
    """Base of dataclasses whose fields are arrays of K rows each, one row per instant."""

    __match_args__: ClassVar[tuple[str, ...]]  # the names of the fields; a dataclass sets it

    def __len__(self) -> int:
        return len(getattr(self, self.__match_args__[0]))

    def select(self: Kind, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp] | slice) -> Kind:
        """Return the instants that `rows` selects: a mask (K,), indices (k,) or a slice."""
        return type(self)(*[getattr(self, name)[rows] for name in self.__match_args__])

    @classmethod
    def joined(cls: type[Kind], parts: Sequence[Kind]) -> Kind:
        """Return the instants of all parts, one after the other; there is at least one part."""
        columns: list[Any] = [
            np.concatenate([getattr(part, name) for part in parts]) for name in cls.__match_args__
        ]
        return cls(*columns)
