"""What a reader of a comparison has to know before its numbers."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from izmp_dynamics.compare.alignment import Alignment
from izmp_dynamics.compare.result import Result, margin_known

_DATA = {'.mcap', '.db3', '.db3-wal'}


def caveats(results: Sequence[Result], alignment: Alignment) -> Iterator[str]:
    """Name results without a verdict, margins that are not known, and different recordings."""
    for result in results:
        verdict = result.report['verdict']
        if verdict['state'] != 'unclear':
            continue
        if margin_known(result.report):
            means = 'From its margins it does not follow that the robot was stable.'
        else:
            means = (
                'Margins are not compared, and its IZMP and CoP follow from that position as well.'
            )
        yield f'{result.name} has no verdict: {verdict["sentence"]} {means}'
    if alignment.by == 'time':
        first = results[0]
        others = [other.name for other in results[1:] if _data(other) != _data(first)]
        if others:
            yield (
                f'{", ".join(others)} and {first.name} are different recordings: differences over '
                'time mean something only where the robot did the same at the same time after '
                'the first instant.'
            )


def _data(result: Result) -> frozenset[str]:
    """SHA-256 of the files of the recording."""
    hashes = result.report.get('hashes', {})
    return frozenset(
        digest for name, digest in hashes.items() if _DATA & set(PurePath(name).suffixes)
    )
