"""Entities of a Rerun recording, on the timeline of the log's own stamps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps

TIMELINE = 'stamp'


class Log:
    """Writes entities, by name, into a recording.

    Args:
        rerun: the library.
        recording: its stream.
    """

    def __init__(self, rerun: Any, recording: Any) -> None:
        self.rerun, self._recording = rerun, recording

    def still(self, name: Sequence[str], *what: Any, frame: str = '') -> None:
        """Write what does not change over time, in a frame."""
        placed = [self.rerun.CoordinateFrame(frame)] if frame else []
        self._recording.log(list(name), *what, *placed, static=True)

    def over_time(self, name: Sequence[str], stamps: Stamps, columns: Any) -> None:
        """Write columns with a row for each of the stamps (K,) [ns], if there are any."""
        if not len(stamps):
            return
        times = self.rerun.TimeColumn(TIMELINE, timestamp=stamps.astype('datetime64[ns]'))
        self._recording.send_columns(
            self.rerun.new_entity_path(list(name)), indexes=[times], columns=columns
        )

    def frame(self, parent: str, child: str, stamps: Stamps, poses: Array) -> None:
        """Write where a frame is in another one.

        Args:
            parent: name of the other one.
            child: its name.
            stamps: (K,) [ns].
            poses: (K, 7) positions [m] and quaternions (x, y, z, w).
        """
        columns = self.rerun.Transform3D.columns(
            translation=poses[:, :3], quaternion=poses[:, 3:],
            parent_frame=[parent] * len(stamps), child_frame=[child] * len(stamps),
        )  # fmt: skip
        self.over_time(['frames', child], stamps, columns)

    def fixed_frame(self, parent: str, child: str, pose: Array) -> None:
        """Write where a frame is in another one, in which it does not move; pose (7,)."""
        transform = self.rerun.Transform3D(
            translation=pose[:3], quaternion=pose[3:], parent_frame=parent, child_frame=child
        )
        self.still(['frames', child], transform)


def shown_at(instants: Stamps, stamps: Stamps) -> tuple[Stamps, Array]:
    """When something is to be drawn, and how often: where it has no value it disappears.

    Args:
        instants: (K,) all instants of a span of the log, ascending [ns].
        stamps: (S,) some of them, those of the values.

    Returns:
        the instants at which it appears, changes or disappears, and 1 or 0 for each.
    """
    there = np.isin(instants, stamps)
    ends = ~there & np.append(True, there[:-1])  # at the first one, what was before disappears
    rows = there | ends
    return instants[rows], there[rows].astype(np.int64)
