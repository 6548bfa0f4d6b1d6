"""Pushes: forces that neither the feet nor the motion explain, and that stand out."""

from izmp_dynamics.verdict.events.directions import from_where
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.formatting import newtons, seconds
from izmp_dynamics.verdict.pushes import PushStatistics


def pushes(found: tuple[PushStatistics, ...]) -> list[Event]:
    """Make an event of each push."""
    return [
        Event(
            push.start,
            push.start + push.duration,
            'push',
            f'Pushed {described(push)} for {seconds(push.duration)}',
            size=push.size,
            unit='N',
            significance=push.significance,
        )
        for push in found
    ]


def described(push: PushStatistics) -> str:
    """Where a push came from and how large it was, e.g. 'from behind with 42.0 N'."""
    return f'{from_where(push.force)} with {newtons(push.size)}'
