"""Live figures of the graph for the terminal."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PointStamped, Vector3Stamped
from rclpy.node import Node
from rich.table import Table
from rich.text import Text
from std_msgs.msg import Float64

from izmp_dynamics.nodes.messages import vector
from izmp_dynamics.nodes.qos import RESULT

POINTS = {'mr_ad/izmp': 'IZMP (MR-AD)', 'ir_md/izmp': 'IZMP (IR-MD)', 'cop': 'CoP'}

LATE, FACTOR = 'finding late', 'real-time factor'
"""Values of diagnostics: of the graph, if results are late; of a simulation."""

_OTHERWISE = re.compile(r'(late|push)\b|\w+(\[.*?\])?\.(?!lost|skipped|raised)')
"""Keys of findings that are not listed at the end: events, faults of samples, what is said
otherwise."""

_LASTING = 2
"""Reports from which on a finding is listed: some hold for a moment at the start only."""

_STYLES = {DiagnosticStatus.OK: 'green', DiagnosticStatus.WARN: 'yellow'}


class _Numbers:
    """What is said of a series of numbers, however long it is."""

    count, last, least, total, below_zero = 0, 0.0, math.inf, 0.0, 0

    def add(self, value: float) -> None:
        self.count += 1
        self.last = value
        self.least = min(self.least, value)
        self.total += value
        self.below_zero += value < 0.0


class Figures:
    """Subscribes to points, margin, gap and diagnostics.

    Args:
        awaited: lists the topics of the robot on which nothing has come so far.

    Attributes:
        over: whether the source has ended, so that silence is no finding.
    """

    def __init__(self, node: Node, awaited: Callable[[], Sequence[str]] = tuple) -> None:
        self._awaited = awaited
        self._points: dict[str, str] = {}
        self._counts = dict.fromkeys(POINTS, 0)
        self._margins = _Numbers()
        self._gap = 0.0
        self._worst_gap = 0.0
        self.over = False
        self._held: Counter[str] = Counter()
        self._findings: dict[str, str] = {}
        self._reports, self._late, self._how_late = 0, 0, ''
        self._factors, self._slow = _Numbers(), False
        self._statuses: dict[str, DiagnosticStatus] = {}
        for topic in POINTS:
            node.create_subscription(PointStamped, topic, self._taker(topic), RESULT)
        node.create_subscription(Float64, 'margin', self._take_margin, RESULT)
        node.create_subscription(Vector3Stamped, 'gap', self._take_gap, RESULT)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._take_diagnostics, RESULT)

    def table(self) -> Table:
        """Make the picture of now."""
        table = Table(title='izmp live', title_justify='left')
        table.add_column('')
        table.add_column('now')
        table.add_column('in all')
        awaited = self._awaited()
        if awaited:
            table.add_row('waiting for', Text(', '.join(awaited), style='yellow'), '')
        for topic, name in POINTS.items():
            where = self._points.get(topic, '–')
            table.add_row(name, where, f'{self._counts[topic]} points')
        margins = self._margins
        if margins.count:
            style = 'green' if margins.last > 0.0 else 'bold red'
            last = Text(f'{1e3 * margins.last:.0f} mm', style=style)
            table.add_row('margin', last, f'least {1e3 * margins.least:.0f} mm')
            table.add_row(
                'IZMP – CoP',
                f'{1e3 * self._gap:.1f} mm',
                f'largest {1e3 * self._worst_gap:.1f} mm',
            )
        for name, status in sorted(self._statuses.items()):
            style, values = _STYLES.get(status.level, 'red'), _values(status)
            age = values.get('age of the stamps when published', values.get(FACTOR, ''))
            table.add_row(name, Text(status.message, style=style), age)
        return table

    @property
    def nothing_came(self) -> bool:
        """Whether no point came out, as messages are missing."""
        return not any(self._counts.values()) and bool(self._awaited())

    def summary(self) -> str:
        """Say what came out, and what casts doubt on it."""
        return '\n'.join([*self._outcome(), *self._doubts()])

    def _outcome(self) -> Iterator[str]:
        points = ', '.join(f'{self._counts[topic]} {name}' for topic, name in POINTS.items())
        if self.nothing_came:
            yield f'No results. No messages on {", ".join(self._awaited())}.'
            return
        margins = self._margins
        if not margins.count:
            yield f'Points: {points}. No margin: was a foot ever loaded?'
            return
        outside = margins.below_zero / margins.count
        yield f'Points: {points}'
        yield (
            f'Margin: least {1e3 * margins.least:.1f} mm, outside the support polygon '
            f'{outside:.1%} of the time'
        )
        yield f'Largest gap between IZMP and CoP: {1e3 * self._worst_gap:.1f} mm'
        yield from self._slowness()

    def _doubts(self) -> Iterator[str]:
        """List the findings of the graph: in how many reports each, one a second, and the last."""
        for key, count in self._held.most_common():
            if count >= _LASTING:
                yield f'For {count} s: {self._findings[key]}'

    def _slowness(self) -> Iterator[str]:
        if self._late:
            yield f'Late in {self._late} of {self._reports} s. {self._how_late}'
        if self._slow:
            factor = self._factors.total / self._factors.count
            yield (
                f'The simulation ran at {factor:.2f} of real time: the computer was too slow for '
                'it or for the graph, for which it waits. The results are those of a fast one.'
            )

    def _taker(self, topic: str) -> Callable[[PointStamped], None]:
        def take(message: PointStamped) -> None:
            x, y, z = (1e3 * vector(message.point)).tolist()
            where = f'x {x:6.0f}  y {y:6.0f}  z {z:6.0f} mm in {message.header.frame_id}'
            self._points[topic] = where
            self._counts[topic] += 1

        return take

    def _take_margin(self, message: Float64) -> None:
        self._margins.add(message.data)

    def _take_gap(self, message: Vector3Stamped) -> None:
        self._gap = float(np.linalg.norm(vector(message.vector)))
        self._worst_gap = max(self._worst_gap, self._gap)

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._statuses[status.name] = status
            values = _values(status)
            if FACTOR not in values:
                self._reports += 1
                self._late += LATE in values
                self._how_late = values.get(LATE, self._how_late)
                self._note(values)
            elif float(values[FACTOR]) > 0.0:
                self._factors.add(float(values[FACTOR]))
                self._slow |= status.level != DiagnosticStatus.OK

    def _note(self, values: dict[str, str]) -> None:
        if self.over:
            return
        begun = any(self._counts.values())
        for name, sentence in values.items():
            what, _, key = name.partition(' ')
            awaited = key.startswith('no_message') and not begun
            if what == 'finding' and not awaited and not _OTHERWISE.match(key):
                self._held[key] += 1
                self._findings[key] = sentence


def _values(status: DiagnosticStatus) -> dict[str, str]:
    return {item.key: item.value for item in status.values}
