"""What a soak test ends with: instants expected, given, lost by reason; memory; restarts."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console
from rich.table import Table

BUS = 125
"""Rate of the bus [Hz]."""

HALF = 1_000_000
"""Half a joint sample, by which an instant may be ahead of its tick [ns]."""

SETTLED = 1.0
"""Time after the first result after a fault in which losses still count as those of it [s]."""

UNSEEN = 'given, but not received by this test'
"""What is said of results that were published, by the numbers that the middleware gives them."""

COUNTED = {
    'skipped': 'computer too slow (skipped)',
    'lost': 'dropped by the middleware',
    'no_sample': 'no sample of a sensor in time',
    'raised': 'an error in the node',
}
"""Key of a counter of the nodes → reason where no fault explains a loss; the first that fits."""

WARM, SHORTEST = 90.0, 60.0
"""Time in which the memory of a process grows at first, and which a slope takes after it [s]."""


@dataclass
class Injected:
    """A fault that took place.

    Attributes:
        reason: what it was, for the table.
        begin: by the clock [ns].
        end: likewise.
    """

    reason: str
    begin: int
    end: int


@dataclass
class Record:
    """What was seen in a soak test.

    Attributes:
        samples: (N, 2) of every joint sample: when it was due, its stamp [ns].
        given: stamp of a result → when it was published [ns].
        unseen: stamps of two results [ns], and how many were published between them that did not
            come.
        twice: results whose stamp had come before.
        not_finite: results with a number that is none.
        faults: what was injected.
        counted_at: times in which a counter of `COUNTED` increased.
        restarts: process → how often it was killed, how often it died by itself.
        memory: process, start → (time, resident [MB]).
        counted: key of a counter of the diagnostics → number.
        answers: of parameters: 'accepted', 'refused', 'no answer' → number.
    """

    samples: np.ndarray
    given: dict = field(default_factory=dict)
    unseen: list = field(default_factory=list)
    twice: int = 0
    not_finite: int = 0
    faults: list = field(default_factory=list)
    counted_at: list = field(default_factory=list)
    restarts: dict = field(default_factory=dict)
    memory: dict = field(default_factory=lambda: defaultdict(list))
    counted: dict = field(default_factory=dict)
    answers: dict = field(default_factory=dict)


def expected_instants(samples):
    """(K, 2) samples that are the first of their tick of the bus, in each time of the clock."""
    seconds, rest = np.divmod(samples[:, 1] + HALF, 10**9)
    ticks = seconds * BUS + rest * BUS // 10**9
    first = np.ones(len(samples), dtype=bool)
    first[1:] = ticks[1:] != ticks[:-1]
    first[:1] = False  # it is not known whether it is the first
    return samples[first]


def losses(record):
    """Count the instants that were lost.

    Returns:
        How many were expected; reason → (number of faults, instants lost, longest time to the next
        result [s]); when those were due whose reason is not known [ns].
    """
    first = min(record.given.values(), default=0)
    expected = expected_instants(record.samples)
    if not len(expected):
        return 0, {}, np.zeros(0, np.int64)
    expected = expected[(expected[:, 0] >= first) & (expected[:, 0] < expected[-1, 0] - 2 * 10**9)]
    lost = np.array([row[0] for row in expected if int(row[1]) not in record.given], np.int64)
    table = defaultdict(lambda: [0, 0, 0.0])
    due = {int(stamp): int(when) for when, stamp in record.samples}
    results = sorted((when, due.get(stamp, when)) for stamp, when in record.given.items())
    came, dues = np.array(results, np.int64).reshape(-1, 2).T
    for before, after, number in record.unseen:
        inside = (lost > due.get(before, 0)) & (lost < due.get(after, 0))
        between = np.flatnonzero(inside)[:number]
        table[UNSEEN][1] += len(between)
        lost = np.delete(lost, between)
    for fault in sorted(record.faults, key=lambda fault: fault.begin):
        after = came[np.searchsorted(came, fault.end) :]
        back = int(after[0]) if len(after) else int(record.samples[-1, 0])
        begin = fault.begin - 10**8
        if fault.reason.startswith('kill'):  # what the process was at work on is lost with it
            begin = min([begin, *dues[came < fault.begin][-1:].tolist()])
        inside = (lost >= begin) & (lost <= back + SETTLED * 1e9)
        row = table[fault.reason]
        row[0] += 1
        row[1] += int(np.count_nonzero(inside))
        row[2] = max(row[2], (back - fault.end) * 1e-9)
        lost = lost[~inside]
    order = list(COUNTED.values()).index
    for span in sorted(record.counted_at, key=lambda span: order(span.reason)):
        inside = (lost >= _oldest(span, came, dues)) & (lost <= span.end)
        if inside.any():
            table[span.reason][1] += int(np.count_nonzero(inside))
            lost = lost[~inside]
    if len(lost):
        table['not known'][1] = len(lost)
    return len(expected), dict(table), lost


def _oldest(span, came, dues):
    """Since when [ns] instants may be meant that a node counted between two reports.

    It is at work on instants as old as those of the results that come then, and of the next one.

    Args:
        span: the reports.
        came: (G,) when results were published, in order [ns].
        dues: (G,) when their instants were due [ns].
    """
    first, stop = np.searchsorted(came, [span.begin, span.end])
    return min([span.begin, *dues[first : stop + 1].tolist()])


def memory_slopes(record):
    """Process → slope [MB/h] over all its lives, and its last size [MB]; None: too short."""
    sums, last = defaultdict(lambda: [0.0, 0.0]), {}
    for (name, _), points in sorted(record.memory.items()):
        last[name] = points[-1][1]
        times, sizes = np.array(points).T
        late = times > times[0] + WARM
        if late.any() and np.ptp(times[late]) >= SHORTEST:
            t, m = times[late] - times[late].mean(), sizes[late] - sizes[late].mean()
            sums[name][0] += float(t @ m)
            sums[name][1] += float(t @ t)
    return {
        name: (3600.0 * sums[name][0] / sums[name][1] if sums[name][1] else None, last[name])
        for name in last
    }


def show(record):
    """Print the tables; return whether nothing happened that must not."""
    console = Console(width=100)
    expected, lost, unknown = losses(record)
    total = sum(row[1] for row in lost.values())
    table = Table(title='Instants')
    for head in ('', 'faults', 'instants', 'longest time to the next result [s]'):
        table.add_column(head.replace('[', r'\['), justify='right')
    table.add_row('expected', '', f'{expected}', '')
    table.add_row('given', '', f'{expected - total}', '')
    for reason, (number, instants, longest) in sorted(lost.items()):
        name = reason if reason == UNSEEN else f'lost: {reason}'
        table.add_row(name, f'{number}', f'{instants}', f'{longest:.1f}')
    console.print(table)
    for stretch in np.split(unknown, np.flatnonzero(np.diff(unknown) > 10**9) + 1):
        if len(stretch):
            first, last = (stretch[[0, -1]] - record.samples[0, 0]) * 1e-9
            console.print(f'Not known: {len(stretch)} instants from {first:.2f} to {last:.2f} s.')
    table = Table(title='Processes')
    for head in ('', 'killed', 'died by itself', 'memory [MB]', 'slope [MB/h]'):
        table.add_column(head.replace('[', r'\['), justify='right')
    for name, (slope, size) in memory_slopes(record).items():
        killed, died = record.restarts[name]
        shown = '-' if slope is None else f'{slope:+.1f}'
        table.add_row(name, f'{killed}', f'{died}', f'{size:.0f}', shown)
    console.print(table)
    answers = ', '.join(f'{number} {answer}' for answer, number in record.answers.items())
    console.print(f'Parameters: {answers or "none set"}.')
    console.print(f'Results that came twice: {record.twice}; not finite: {record.not_finite}.')
    counted = sorted(record.counted.items(), key=lambda item: -item[1])[:20]
    listed = ', '.join(f'{key} {number}' for key, number in counted)
    console.print(f'Counted by the nodes: {listed}', markup=False)
    died = sum(died for _, died in record.restarts.values())
    return not (died or record.not_finite or record.answers.get('no answer'))
