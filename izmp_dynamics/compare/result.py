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
    """

    name: str
    label: str
    unit: str


QUANTITIES = (
    Quantity('margin', 'margin of the IZMP', 'mm'),
    Quantity('izmp_x', 'IZMP x (root)', 'mm'),
    Quantity('izmp_y', 'IZMP y (root)', 'mm'),
    Quantity('cop_x', 'CoP x (root)', 'mm'),
    Quantity('cop_y', 'CoP y (root)', 'mm'),
    Quantity('gap', '|IZMP − CoP|', 'mm'),
    Quantity('force', 'contact force z (root)', 'N'),
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
    chosen = list(names) or _unique([folder.resolve().name for folder in folders])
    return tuple(_load(folder, name) for folder, name in zip(folders, chosen, strict=True))


def _unique(names: list[str]) -> list[str]:
    return [
        name if names.count(name) == 1 else f'{name} ({names[: k + 1].count(name)})'
        for k, name in enumerate(names)
    ]


def _load(folder: Path, name: str) -> Result:
    report = load_report(folder)
    series = dict(_series(folder))
    if not margin_known(report):
        series.pop('margin', None)
    return Result(name, folder, report, series)


def _series(folder: Path) -> Iterator[tuple[str, Series]]:
    """What there is of `QUANTITIES`."""
    for whole in Replayed.spans(folder, [f'/{topic}' for topic in _SERIES], 1e9):
        for topic in (topic for topic in _SERIES if f'/{topic}' in whole.batch.topics):
            stamps, values = whole.values(f'/{topic}')
            for name, quantity in _SERIES[topic].items():
                yield name, Series((stamps - whole.start) / NANOSECONDS, quantity(values))


_SERIES: Mapping[str, Mapping[str, Callable[[Array], Array]]] = {
    'margin': {'margin': lambda margins: 1e3 * margins},
    'mr_ad/izmp': {
        'izmp_x': lambda points: 1e3 * points[:, 0],
        'izmp_y': lambda points: 1e3 * points[:, 1],
    },
    'cop': {
        'cop_x': lambda points: 1e3 * points[:, 0],
        'cop_y': lambda points: 1e3 * points[:, 1],
    },
    'gap': {'gap': lambda gaps: 1e3 * np.linalg.norm(gaps, axis=1)},
    'mr_ad/contact_wrench': {'force': lambda wrenches: wrenches[:, 2]},
}
"""Topic of the bag → quantities of its values (K, …)."""
