"""How `izmp check` shows what it found."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from izmp_dynamics.bags.batch import Topic
from izmp_dynamics.base.faults import left_out
from izmp_dynamics.check import CheckResult
from izmp_dynamics.cli.terminal import printable
from izmp_dynamics.results.evaluation import SignalHealth

_STYLES = {'error': 'red', 'warning': 'yellow', 'note': 'dim'}


def show_result(console: Console, result: CheckResult) -> None:
    """Print the signals, the findings and whether a replay would work."""
    console.print(_signals(result.signals) if result.signals else _topics(result.topics))
    used = {signal.topic for signal in result.signals}
    others = [topic.name for topic in result.topics if topic.name not in used]
    if result.signals and others:
        console.print(Text(printable(f'Not used: {", ".join(others)}'), style='dim'))
    for finding in result.findings:
        message = printable(f'{finding.level}: {finding.sentence}')
        remedy = printable(f' {finding.remedy}'.rstrip())
        text = Text(message, style=_STYLES[finding.level])
        console.print(text.append(remedy, style='not dim default'))
    warnings = sum(finding.level == 'warning' for finding in result.findings)
    but = ''
    if result.usable and result.no_verdict:
        console.print(Text(printable(result.no_verdict), style='yellow'))
        but = ', but gives no verdict'
    console.print(
        f'This recording can be replayed{but}; {warnings or "no"} warning{"s"[: warnings != 1]}.'
        if result.usable
        else 'This recording cannot be replayed with this robot file.'
    )


def _signals(signals: Sequence[SignalHealth]) -> Table:
    table = Table(title='Signals in use', title_justify='left', box=box.SIMPLE)
    for heading in ('topic', 'used as'):
        table.add_column(heading, overflow='fold')
    for heading in ('messages', 'rate [Hz]', 'gap [ms]', 'left out'):
        table.add_column(Text(heading), justify='right', no_wrap=True)
    for signal in signals:
        table.add_row(
            Text(printable(signal.topic)),
            Text(printable(signal.used_as)),
            str(signal.count),
            f'{signal.rate:.1f}',
            f'{1e3 * signal.longest_gap:.1f}',
            str(left_out(signal.gated)),
        )
    return table


def _topics(topics: Sequence[Topic]) -> Table:
    table = Table(title='Topics in the bag', title_justify='left', box=box.SIMPLE)
    for heading in ('topic', 'type', 'messages'):
        table.add_column(
            heading, overflow='fold', justify='right' if heading == 'messages' else 'left'
        )
    for topic in topics:
        name, msgtype = Text(printable(topic.name)), Text(printable(topic.msgtype))
        table.add_row(name, msgtype, str(topic.count))
    return table
