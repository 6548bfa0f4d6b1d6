"""Points, polygon, forces, series and events in a Rerun recording."""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.export.log import Log, shown_at
from izmp_dynamics.pages.look import LIGHT
from izmp_dynamics.results.replayed import Replayed, Timed
from izmp_dynamics.verdict.events.event import ERROR, OK, WARN, Event, event_message

COLOURS = {
    name: list(bytes.fromhex(LIGHT[colour].lstrip('#')))
    for name, colour in {
        'mr_ad': 'mr-ad', 'ir_md': 'ir-md', 'cop': 'cop', 'com': 'ink',
        'push': 'other', 'fall': 'other', 'polygon': 'sole',
    }.items()
}  # fmt: skip
"""Of tracks and other things, as in the report: red, green, blue."""

POINTS = {'mr_ad': '/mr_ad/izmp', 'ir_md': '/ir_md/izmp', 'cop': '/cop', 'com': '/com'}
FORCES = {'mr_ad': '/mr_ad/contact_wrench', 'cop': '/feet/contact_wrench'}
"""Name → topic."""

ARROW = 0.5
"""Length of an arrow of the robot's weight [m]; a push is three times as long."""


def draw_points(log: Log, replayed: Replayed) -> None:
    """Write the points and the support polygon of a span."""
    for name, topic in POINTS.items():
        if topic in replayed.batch.topics:
            stamps, points = replayed.values(topic)
            entity = ['points', name]
            dot = log.rerun.Points3D.from_fields(colors=[COLOURS[name]], radii=[0.01])
            log.still(entity, dot, frame=replayed.root)
            at, counts = shown_at(replayed.instants, stamps)
            columns = log.rerun.Points3D.columns(positions=points.reshape(-1, 3))
            log.over_time(entity, at, columns.partition(counts))
    if '/support_polygon' in replayed.batch.topics:
        stamps, polygons = replayed.polygons
        look = log.rerun.LineStrips3D.from_fields(colors=[COLOURS['polygon']], radii=[0.003])
        log.still(['polygon'], look, frame=replayed.root)
        at, counts = shown_at(replayed.instants, stamps)
        closed = [np.vstack([corners, corners[:1]]) for corners in polygons]
        columns = log.rerun.LineStrips3D.columns(strips=closed)
        log.over_time(['polygon'], at, columns.partition(counts))


def draw_forces(log: Log, replayed: Replayed) -> None:
    """Write a span's contact forces, at IZMP and CoP, and pushes, at the centre of mass."""
    for name, topic in FORCES.items():
        if topic in replayed.batch.topics:
            origins, contact = replayed.values(POINTS[name]), replayed.values(topic)
            _arrows(log, replayed, ['forces', name], name, origins, contact, 1.0)
    if any(event['kind'] == 'push' for event in replayed.report['events']):
        stamps, forces = replayed.values('/external_wrench')
        pushed = _during(replayed, stamps)
        push = (stamps[pushed], forces[pushed])
        _arrows(log, replayed, ['push'], 'push', replayed.values('/com'), push, 3.0)


def _arrows(
    log: Log, replayed: Replayed, entity: list[str], name: str, origins: Timed, forces: Timed,
    stretched: float,
) -> None:  # fmt: skip
    stamps, first, second = np.intersect1d(origins[0], forces[0], return_indices=True)
    scale = stretched * ARROW / float(replayed.report['weight'])
    look = log.rerun.Arrows3D.from_fields(colors=[COLOURS[name]], radii=[0.004])
    log.still(entity, look, frame=replayed.root)
    at, counts = shown_at(replayed.instants, stamps)
    columns = log.rerun.Arrows3D.columns(
        origins=origins[1].reshape(-1, 3)[first],
        vectors=scale * forces[1].reshape(-1, 6)[second, :3],
    )
    log.over_time(entity, at, columns.partition(counts))


def _during(replayed: Replayed, stamps: Stamps) -> Array:
    """Which instants (K,) lie within a push."""
    within = np.zeros(len(stamps), dtype=bool)
    time = (stamps - replayed.start) / NANOSECONDS
    for event in replayed.report['events']:
        if event['kind'] == 'push':
            within |= (time >= event['begin']) & (time <= event['end'])
    return within


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
