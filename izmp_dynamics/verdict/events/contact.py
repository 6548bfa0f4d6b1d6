"""When feet carry load, without chatter at the threshold: touchdowns, lift-offs and flights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.verdict.events.event import NONE, Event
from izmp_dynamics.verdict.formatting import newtons, seconds
from izmp_dynamics.verdict.posture import LONGEST_FLIGHT
from izmp_dynamics.verdict.scene import LANDING, Scene
from izmp_dynamics.verdict.timeline import WINDOW, Timeline, changes, running_sum

LEAST = 0.02
"""Of a flight; in less time no robot leaves the ground by a millimetre [s]."""


@dataclass(frozen=True)
class Contact:
    """A foot over K instants.

    Attributes:
        foot: which.
        carries: (K,) whether it carries load, for most of `WINDOW` around the instant.
        known: (K,) whether that is known throughout that time, which has neither a gap nor an end
            of the recording in it.
    """

    foot: Foot
    carries: Flags
    known: Flags


def contacts_of(evaluation: Evaluation, timeline: Timeline) -> list[Contact]:
    """Follow each foot of an evaluation."""
    time = timeline.time
    first = np.searchsorted(time, time - WINDOW / 2 - 1e-9, side='left')
    stop = np.searchsorted(time, time + WINDOW / 2 + 1e-9, side='right')
    inside = (time >= WINDOW / 2) & (time <= timeline.duration - WINDOW / 2)
    found = []
    for foot in evaluation.feet:
        known = np.isfinite(foot.normal_force)
        if not known.any():
            known = evaluation.columns.by_blocks(len(time), partial(_is_known, foot.sole))
        missing = ~known | timeline.gap_after
        missing[1:] |= timeline.gap_after[:-1]
        lost = running_sum(missing)
        carries = timeline.sustained(foot.loaded & known)
        found.append(Contact(foot, carries, (lost[stop] == lost[first]) & inside))
    return found


def _is_known(sole: Array, rows: slice) -> Flags:
    return np.asarray(np.isfinite(sole[rows].sum(axis=(1, 2))))


def steps(contacts: Sequence[Contact], timeline: Timeline) -> Iterator[Event]:
    """Find where feet begin and cease to carry load.

    A touchdown is as large as the largest normal force within `LANDING` [N], where that is
    measured; a lift-off as the time for which the foot carried load [s], where that is known.
    """
    for contact in contacts:
        carries, known, name = contact.carries, contact.known, contact.foot.name
        rows = changes(carries)
        landed, before = NONE, 0
        for row in rows[known[rows] & known[rows - 1]].tolist():
            at = float(timeline.time[row])
            if not known[before:row].all():
                landed = NONE
            if carries[row]:
                landed, sentence = at, f'Foot {name} touches down'
                force = contact.foot.normal_force[timeline.within(at, at + LANDING)]
                peak = float(np.fmax.reduce(force, initial=NONE))
                if np.isfinite(peak):
                    sentence += f', with a peak of {newtons(peak)} in the next {seconds(LANDING)}'
                yield Event(at, at, 'touchdown', sentence, name, peak, 'N')
            else:
                stance, sentence = at - landed, f'Foot {name} lifts off'
                if np.isfinite(stance):
                    sentence += f' after {seconds(stance)} on the ground'
                yield Event(at, at, 'lift-off', sentence, name, stance, 's')
            before = row


def flights(scene: Scene, contacts: Sequence[Contact], upright: Flags) -> Iterator[Event]:
    """Find the times without load; each is as large as it is long [s].

    Args:
        scene: the evaluation.
        contacts: its feet.
        upright: (K,) where the robot neither falls nor lies.
    """
    if not contacts:
        return
    loaded = np.any([contact.carries for contact in contacts], axis=0)
    timeline = scene.timeline
    first, stop = timeline.runs(scene.in_flight & ~loaded & upright)
    begins, ends = timeline.time[first], timeline.time[stop - 1] + timeline.span[stop - 1]
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        lasts = end - begin
        sentence = f'No foot carries load for {seconds(lasts)}'
        if lasts > LONGEST_FLIGHT:
            sentence += ': too long for a flight, so the robot is held or lies on the ground'
        if lasts >= LEAST:
            yield Event(begin, end, 'flight', sentence, size=lasts, unit='s')
