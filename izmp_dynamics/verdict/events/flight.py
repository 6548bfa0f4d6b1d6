"""Flight: every foot is measured, and none carries load."""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.verdict.events.contact import Contact
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.formatting import seconds
from izmp_dynamics.verdict.scene import LONGEST_FLIGHT, Scene
from izmp_dynamics.verdict.timeline import Mask

LEAST = 0.02
"""Of a flight; in less time no robot leaves the ground by a millimetre [s]."""


def flights(scene: Scene, contacts: Sequence[Contact], afoot: Mask) -> list[Event]:
    """Find the times without load; each is as large as it is long [s].

    Args:
        scene: the evaluation.
        contacts: its feet.
        afoot: (K,) where the robot neither falls nor lies.
    """
    if not contacts:
        return []
    loaded = np.any([contact.carries for contact in contacts], axis=0)
    take, timeline = scene.store.take, scene.timeline
    first, stop = timeline.runs(scene.in_flight & ~loaded & afoot)
    begins = take(timeline.time, first)
    ends = take(timeline.time, stop - 1) + take(timeline.span, stop - 1)
    return [
        _flight(begin, end)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        if end - begin >= LEAST
    ]


def _flight(begin: float, end: float) -> Event:
    lasts = end - begin
    sentence = f'No foot carries load for {seconds(lasts)}'
    if lasts > LONGEST_FLIGHT:
        sentence += ': too long for a flight, so the robot is held or lies'
    return Event(begin, end, 'flight', sentence, size=lasts, unit='s')
