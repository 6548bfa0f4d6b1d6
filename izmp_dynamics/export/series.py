"""Time series and events in a Rerun recording."""

import numpy as np

from izmp_dynamics.export.forces import COLOURS, FORCES, POINTS
from izmp_dynamics.export.log import Log, shown_at
from izmp_dynamics.export.replayed import Replayed
from izmp_dynamics.verdict.events.event import ERROR, OK, WARN, Event, event_message

_LEVELS = {OK: 'INFO', WARN: 'WARN', ERROR: 'ERROR'}
_LABELS = {'mr_ad': 'MR-AD', 'ir_md': 'IR-MD', 'cop': 'force sensors', 'fall': 'fall'}

PANELS = {
    'margin': 'Margin of the IZMP [m], positive inside',
    'x': 'IZMP and CoP, x in the root frame [m]',
    'y': 'IZMP and CoP, y in the root frame [m]',
    'force': 'Contact force, z in the root frame [N]',
    'fall': 'Probability of a fall within a second',
}
"""Name of a panel → its title."""


def write_series(log: Log, replayed: Replayed) -> None:
    """Write the numbers of a span; a line is broken where it has no value."""
    numbers = (('margin', 'mr_ad', '/margin'), ('fall', 'fall', '/fall_probability'))
    lines = []
    for panel, name, topic in numbers:
        stamps, values = replayed.values(topic)
        lines.append((panel, name, topic, (stamps, values.ravel())))
    for name in ('mr_ad', 'ir_md', 'cop'):
        stamps, points = replayed.values(POINTS[name])
        lines += [
            (axis, name, POINTS[name], (stamps, points[:, k])) for k, axis in enumerate('xy')
        ]
    for name, topic in FORCES.items():
        stamps, forces = replayed.values(topic)
        lines.append(('force', name, topic, (stamps, forces[:, 2])))
    for panel, name, topic, (stamps, values) in lines:
        if topic in replayed.batch.topics:
            entity = ['series', panel, name]
            look = log.rerun.SeriesLines(names=_LABELS[name], colors=[COLOURS[name]])
            log.still(entity, look)
            at, counts = shown_at(replayed.instants, stamps)
            shown = np.full(len(at), np.nan)
            shown[counts > 0] = values
            log.over_time(entity, at, log.rerun.Scalars.columns(scalars=shown))


def write_events(log: Log, replayed: Replayed) -> None:
    """Write the events at their begin, each with its level."""
    fields = ('begin', 'end', 'kind', 'sentence')
    messages = [
        event_message(Event(*(each[name] for name in fields)), replayed.start)
        for each in replayed.report['events']
    ]
    if messages:
        columns = log.rerun.TextLog.columns(
            text=[f'{each.name}: {each.message}' for each in messages],
            level=[_LEVELS[each.level] for each in messages],
        )
        log.over_time(['events'], np.array([each.begin for each in messages]), columns)
