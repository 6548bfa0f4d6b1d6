"""Touchdowns and lift-offs."""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.verdict.events.contact import Contact
from izmp_dynamics.verdict.events.event import NONE, Event
from izmp_dynamics.verdict.formatting import newtons, seconds
from izmp_dynamics.verdict.timeline import Timeline

LANDING = 0.1
"""Time after a touchdown in which its largest force is looked for [s]."""


def steps(contacts: Sequence[Contact], timeline: Timeline) -> list[Event]:
    """Find where feet begin and cease to carry load.

    A touchdown is as large as the largest normal force within `LANDING` [N], where that is
    measured; a lift-off as the time for which the foot carried load [s], where that is known.
    """
    return [event for contact in contacts for event in _of_foot(contact, timeline)]


def _of_foot(contact: Contact, timeline: Timeline) -> list[Event]:
    events = []
    carries, known, time = contact.carries, contact.known, timeline.time
    store = timeline.store
    changes = store.changes(carries)
    changes = changes[store.take(known, changes) & store.take(known, changes - 1)]
    name, landed, before = contact.foot.name, NONE, 0
    for row in changes.tolist():
        at = float(time[row])
        if not known[before:row].all():
            landed = NONE
        if carries[row]:
            landed = at
            events.append(_touchdown(name, at, _peak(contact.foot.normal_force, time, at)))
        else:
            events.append(_lift_off(name, at, at - landed))
        before = row
        store.release()
    return events


def _peak(force: Array, time: Array, at: float) -> float:
    """Largest force (K,) within `LANDING` after an instant [N]; NaN without any."""
    rows = slice(*np.searchsorted(time, [at, at + LANDING]).tolist())
    known = force[rows][np.isfinite(force[rows])]
    return float(known.max()) if len(known) else NONE


def _touchdown(name: str, at: float, force: float) -> Event:
    sentence = f'Foot {name} touches down'
    if np.isfinite(force):
        sentence += f', with a peak of {newtons(force)} in the next {seconds(LANDING)}'
    return Event(at, at, 'touchdown', sentence, name, force, 'N')


def _lift_off(name: str, at: float, stance: float) -> Event:
    sentence = f'Foot {name} lifts off'
    if np.isfinite(stance):
        sentence += f' after {seconds(stance)} on the ground'
    return Event(at, at, 'lift-off', sentence, name, stance, 's')
