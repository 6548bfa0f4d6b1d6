"""What happened when: the list from which a reader jumps to an instant."""

from dataclasses import dataclass
from math import isfinite

from izmp_dynamics.report.formatting import mm, newtons, seconds
from izmp_dynamics.report.pushes import direction_of
from izmp_dynamics.report.summary import Summary


@dataclass(frozen=True)
class Event:
    """One event.

    Attributes:
        begin: [s] after the first instant.
        end: [s]; the same for an instant.
        kind: 'excursion', 'push' or 'lowest margin'.
        sentence: what happened.
    """

    begin: float
    end: float
    kind: str
    sentence: str


def events_of(summary: Summary) -> list[Event]:
    """List the events of a report in the order of time."""
    events = []
    judged = summary.judged
    if judged is not None:
        name = judged.described
        for found in judged.excursions:
            lasts, depth = seconds(found.duration), mm(found.depth)
            sentence = (
                f'{name}, averaged, outside the support polygon for {lasts}, at most {depth}'
            )
            events.append(Event(found.start, found.start + found.duration, 'excursion', sentence))
        if isfinite(judged.averaged_margin):
            when, over = judged.averaged_margin_time, seconds(summary.verdict.averaging_time)
            sentence = (
                f'Smallest margin of {name}, averaged over {over}: {mm(judged.averaged_margin)}'
            )
            events.append(Event(when, when, 'lowest margin', sentence))
    for push in summary.pushes:
        sentence = (
            f'External force {direction_of(push)}, {newtons(push.size)} for '
            f'{seconds(push.duration)}'
        )
        events.append(Event(push.start, push.start + push.duration, 'push', sentence))
    return sorted(events, key=lambda event: (event.begin, event.kind))
