"""A result of `izmp replay`, read back: its report, and its series as the bag holds them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.files.place import read_regular_file
from izmp_dynamics.results.topics import TOPICS

REPORT, BAG = 'report.json', 'bag'

_LARGEST = 2**30  # bytes of a report


@dataclass(frozen=True)
class Series:
    """A quantity over time.

    Attributes:
        time: (K,) after the first instant of the recording [s], ascending.
        values: (K,).
    """

    time: Array
    values: Array


@dataclass(frozen=True)
class Quantity:
    """What is compared.

    Attributes:
        name: short name.
        label: for a person.
        unit: of the values.
        topic: of the bag.
        of: the quantity (K,) from the values (K, …) of the topic.
    """

    name: str
    label: str
    unit: str
    topic: str
    of: Callable[[Array], Array]


def _axis(axis: int) -> Callable[[Array], Array]:
    return lambda points: 1e3 * points[:, axis]


QUANTITIES = (
    Quantity('margin', 'margin of the IZMP', 'mm', '/margin', lambda margins: 1e3 * margins),
    Quantity('izmp_x', 'IZMP x (root)', 'mm', '/mr_ad/izmp', _axis(0)),
    Quantity('izmp_y', 'IZMP y (root)', 'mm', '/mr_ad/izmp', _axis(1)),
    Quantity('cop_x', 'CoP x (root)', 'mm', '/cop', _axis(0)),
    Quantity('cop_y', 'CoP y (root)', 'mm', '/cop', _axis(1)),
    Quantity('gap', '|IZMP − CoP|', 'mm', '/gap', lambda gaps: 1e3 * np.linalg.norm(gaps, axis=1)),
    Quantity('force', 'contact force z (root)', 'N', '/mr_ad/contact_wrench', lambda w: w[:, 2]),
)
"""In the order of the page; the IZMP is that of MR-AD."""


@dataclass(frozen=True)
class Result:
    """A folder of results.

    Attributes:
        name: unique among those that are compared.
        folder: where it is.
        report: what report.json holds.
        series: name of the quantity → series, as far as there are any.
    """

    name: str
    folder: Path
    report: Mapping[str, Any]
    series: Mapping[str, Series]

    def touchdowns(self, foot: str) -> Array:
        """Times at which a foot touches down [s]."""
        times = [
            event['begin']
            for event in self.report['events']
            if event['kind'] == 'touchdown' and event['subject'] == foot
        ]
        return np.array(times, dtype=np.float64)

    @property
    def duration(self) -> float:
        """Of the recording [s]."""
        return float(self.report['duration'])


def load_results(folders: Sequence[Path], names: Sequence[str] = ()) -> tuple[Result, ...]:
    """Read results.

    Args:
        folders: as `izmp replay -o` wrote them.
        names: of the results; the names of the folders if none are given.

    Raises:
        ReplayError: a folder is no result, or one of an older version; or the names do not fit.
        BagError: its bag cannot be read.
    """
    if len(folders) < 2:
        raise ReplayError(
            f'A comparison needs two results or more, not {len(folders)}.', kind='too_few_results'
        )
    if names and (len(names) != len(folders) or len(set(names)) != len(names)):
        raise ReplayError(
            f'There are {len(folders)} results, so --names must be as many different names with '
            f'commas between them, not {", ".join(names)}.',
            kind='names', names=tuple(names),
        )  # fmt: skip
    found = [folder.resolve().name for folder in folders]
    unique = [
        name if found.count(name) == 1 else f'{name} ({found[: k + 1].count(name)})'
        for k, name in enumerate(found)
    ]
    return tuple(_load(*each) for each in zip(folders, names or unique, strict=True))


def _load(folder: Path, name: str) -> Result:
    report = _report_of(folder)
    series = dict(_series(folder, int(report['start_stamp'] or 0)))
    if not margin_known(report):
        series.pop('margin', None)
    return Result(name, folder, report, series)


def _report_of(folder: Path) -> Mapping[str, Any]:
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


def _series(folder: Path, start: int) -> Iterator[tuple[str, Series]]:
    """What there is of `QUANTITIES`, in seconds after a stamp [ns]."""
    with BagReader(folder / BAG) as reader:
        there = {quantity.topic for quantity in QUANTITIES} & set(reader.topics)
        for batch in reader.batches(sorted(there), 1e9) if there else ():
            for quantity in QUANTITIES:
                messages = batch.topics.get(quantity.topic)
                if messages is not None and len(messages):
                    stamps, values = TOPICS[quantity.topic[1:]].read(messages)
                    time = (stamps - start) / NANOSECONDS
                    yield quantity.name, Series(time, quantity.of(values))
