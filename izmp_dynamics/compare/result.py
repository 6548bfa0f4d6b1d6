"""A result of `izmp replay`, read back: its report, and its series as the bag holds them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.results.replayed import Replayed, load_report, margin_known


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
    report = load_report(folder)
    series = dict(_series(folder))
    if not margin_known(report):
        series.pop('margin', None)
    return Result(name, folder, report, series)


def _series(folder: Path) -> Iterator[tuple[str, Series]]:
    """What there is of `QUANTITIES`."""
    for whole in Replayed.spans(folder, {quantity.topic for quantity in QUANTITIES}, 1e9):
        for quantity in QUANTITIES:
            if quantity.topic in whole.batch.topics:
                stamps, values = whole.values(quantity.topic)
                time = (stamps - whole.start) / NANOSECONDS
                yield quantity.name, Series(time, quantity.of(values))
