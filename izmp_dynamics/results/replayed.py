"""A result of `izmp replay`, read back: its report, and its bag as arrays."""

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.bags.batch import Batch, RawMessages
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.regular_file import read_regular_file
from izmp_dynamics.results.topics import TOPICS

REPORT, BAG = 'report.json', 'bag'

_LARGEST = 2**30  # bytes of a report

SPAN = 30.0
"""So much of a log is held at once [s]."""

_NIF = re.compile('(izmp_)*nif')

Timed = tuple[Stamps, Array]
"""Stamps (K,) [ns], ascending, and values (K, …)."""


@dataclass(frozen=True)
class Replayed:
    """A span of what `izmp replay -o` wrote.

    Attributes:
        report: what report.json holds.
        batch: messages of its bag, of a span of time.
    """

    report: Mapping[str, Any]
    batch: Batch

    @classmethod
    def spans(
        cls, folder: Path, topics: Collection[str] = (), span: float | None = None
    ) -> Iterator['Replayed']:
        """Read a folder, span by span.

        Args:
            folder: what `izmp replay -o` wrote.
            topics: that are read, as far as they are there; all if none are given.
            span: so much of the log is held at once [s]; `SPAN` if none is given.

        Raises:
            ReplayError: it is no result, or one of an older version.
            BagError: its bag cannot be read.
        """
        report = load_report(folder)
        with BagReader(folder / BAG) as reader:
            there = [topic for topic in reader.topics if topic in (topics or reader.topics)]
            for batch in reader.batches(there, span or SPAN) if there else ():
                yield cls(report, batch)

    @property
    def start(self) -> int:
        """Stamp of the instant from which the times of the report count [ns]."""
        return int(self.report['start_stamp'] or 0)

    @property
    def root(self) -> str:
        """Link in whose frame points and forces are given."""
        return str(self.report['root'])

    @property
    def urdf(self) -> str:
        """Text of the URDF."""
        (text,) = self.batch['/robot_description'].decode().texts('data')
        return text

    @property
    def located(self) -> bool:
        """Whether the pose of the root in the world is known, at some instants at least."""
        return '/odom' in self.batch.topics

    def values(self, topic: str) -> Timed:
        """Numbers (K, …) of a topic of `TOPICS`, its fields side by side; maybe none, (0, 7)."""
        messages = self._messages(topic)
        return _nothing(7) if messages is None else TOPICS[topic[1:]].read(messages)

    @property
    def level_frame(self) -> Timed:
        """(K, 4) quaternions (x, y, z, w) of the frame nif, level with the ground, in the root."""
        messages = self._messages('/tf')
        stamps, turned = ([each] for each in _nothing(4))
        for group in messages.decode().groups if messages is not None else ():
            children = {
                text: path.removesuffix('.child_frame_id')
                for path, text in group.layout.strings.items()
                if isinstance(text, str)
                and path.endswith('.child_frame_id')
                and _NIF.fullmatch(text)
            }
            if messages is not None and children:
                place = children[max(children, key=len)]  # the shorter ones are links
                stamps.append(messages.received[group.index])
                turned.append(group[f'{place}.transform.rotation'].reshape(-1, 4))
        return _ordered(np.concatenate(stamps), np.concatenate(turned))

    @property
    def instants(self) -> Stamps:
        """(K,) all instants of which anything is known [ns]."""
        return np.unique(np.concatenate([each.received for each in self.batch.topics.values()]))

    @property
    def polygons(self) -> tuple[Stamps, list[Array]]:
        """Stamps (K,) [ns] and support polygons, (C, 3) each, in the root frame [m]."""
        messages = self._messages('/support_polygon')
        found: list[tuple[int, Array]] = []
        for group in messages.decode().groups if messages is not None else ():
            corners = np.asarray(group['polygon.points'], float).reshape(len(group), -1, 3)
            if messages is not None:
                found += zip(messages.received[group.index].tolist(), corners, strict=True)
        found.sort(key=lambda each: each[0])
        return np.array([stamp for stamp, _ in found], np.int64), [each for _, each in found]

    @property
    def soles(self) -> dict[str, tuple[str, Array]]:
        """Name of a foot with a flat sole → its frame, and corners (C, 3) in it [m]."""
        parameters, found = self.report['parameters'], {}
        for foot in (each['name'] for each in self.report['feet']):
            polygon = parameters.get(f'feet[{foot}].polygon', '()').removesuffix(' m')
            if not (corners := ast.literal_eval(polygon)):
                continue
            flat = np.pad(np.array(corners, float), ((0, 0), (0, 1)))
            found[foot] = (parameters.get(f'feet[{foot}].sole', f'{foot}/sole'), flat)
        return found

    def _messages(self, topic: str) -> RawMessages | None:
        """The messages of a topic; None without any."""
        messages = self.batch.topics.get(topic)
        return messages if messages is not None and len(messages) else None


def load_report(folder: Path) -> Mapping[str, Any]:
    """Read the report.json of a result.

    Raises:
        ReplayError: the folder is no result, or one of an older version.
    """
    try:
        report = json.loads(read_regular_file(folder / REPORT, _LARGEST))
        if not isinstance(report, dict) or 'start_stamp' not in report:
            raise ValueError('it is no report of izmp replay')
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ReplayError(
            f"'{folder}' is no result of izmp replay: {REPORT}: {reason}.",
            kind='not_a_result', folder=folder,
        ) from error  # fmt: skip
    if 'events' not in report:
        raise ReplayError(
            f"'{folder}' was written by an older version, without events; run izmp replay again.",
            kind='older_result', folder=folder,
        )  # fmt: skip
    if not _is_whole(report):
        raise ReplayError(
            f"'{folder / REPORT}' is damaged; run izmp replay again.",
            kind='damaged_report', folder=folder,
        )  # fmt: skip
    return report


def _is_whole(report: Mapping[str, Any]) -> bool:
    """Whether there is what is read of a report."""
    kinds = {'verdict': dict, 'tracks': dict, 'events': list, 'feet': list, 'parameters': dict,
             'root': str, 'robot': str, 'duration': float | int, 'weight': float | int,
             'start_stamp': int | None}  # fmt: skip
    return (
        all(isinstance(report.get(key), kind) for key, kind in kinds.items())
        and {'reason', 'headline', 'state', 'judged_by'} <= report['verdict'].keys()
        and all(
            isinstance(each, dict) and isinstance(each.get('name'), str) for each in report['feet']
        )
        and all(
            isinstance(each, dict)
            and isinstance(each.get('kind'), str)
            and isinstance(each.get('begin'), float | int)
            and {'subject', 'end'} <= each.keys()
            for each in report['events']
        )
    )


def margin_known(report: Mapping[str, Any]) -> bool:
    """Whether the joints say where all feet are that the robot stands on."""
    return bool(report['verdict']['reason'] != 'leg_joints_absent')


def _nothing(width: int) -> Timed:
    return np.empty(0, np.int64), np.empty((0, width))


def _ordered(stamps: Stamps, values: Array) -> Timed:
    order = np.argsort(stamps, kind='stable')
    return stamps[order], values[order]
