"""What the fall alarm said in a recording: when, how surely, and how long before a fall."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.robust import lowest
from izmp_dynamics.stability.alarm_rule import HORIZON
from izmp_dynamics.stability.held_joints import unknown_foot
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.formatting import instant, percent, seconds
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.verdict import SHORTEST_TIME


@dataclass(frozen=True)
class FallAlarmStatistics:
    """What the fall alarm said; NaN where there is no such number.

    Attributes:
        count: how often it was raised; None: nothing can be said about that.
        first: when, for the first time [s after the first instant].
        raised_time: how long it was raised, altogether [s].
        probability: largest probability of a fall within a second [-].
        probability_time: its instant [s after the first instant].
        known_time: time in which that probability is known [s].
        lead: from the begin of the first alarm that was raised during the fall to the end of the
            fall, its impact or the end of the recording [s]; 0 if there was none.
        sentence: all that.
    """

    count: int | None
    first: float
    raised_time: float
    probability: float
    probability_time: float
    known_time: float
    lead: float
    sentence: str


def alarms(scene: Scene) -> list[Event]:
    """Make an event of each alarm; its size is the largest probability."""
    probability, raised = scene.evaluation.fall_probability, scene.evaluation.fall_alarm
    if probability is None or raised is None:
        return []
    time, found = scene.timeline.time, []
    for first, stop in zip(*scene.timeline.runs(raised), strict=True):
        largest = float(np.nanmax(probability[first:stop], initial=0.0))
        begin, end = float(time[first]), float(time[stop - 1])
        sentence = f'Fall alarm for {seconds(end - begin)}, probability {percent(largest)}'
        found.append(Event(begin, end, 'fall alarm', sentence, size=largest))
    return found


def fall_alarm(scene: Scene, events: Sequence[Event]) -> FallAlarmStatistics | None:
    """Sum up the alarms of a recording; None where the alarm is not evaluated.

    Args:
        scene: the evaluation.
        events: of it, alarms and falls among them.
    """
    probability, raised = scene.evaluation.fall_probability, scene.evaluation.fall_alarm
    if probability is None or raised is None:
        return _unknown(scene)
    largest = lowest(-probability)
    if largest is None:
        return None
    found = [event for event in events if event.kind == 'fall alarm']
    fall = next((event for event in events if event.kind == 'fall'), None)
    lead = _lead(found, fall)
    at, most = float(scene.timeline.time[largest]), float(probability[largest])
    known = scene.timeline.total(np.isfinite(probability))
    too_short = not found and known < SHORTEST_TIME
    sentence = 'cannot say: the recording is too short' if too_short else _raised(found)
    if fall is not None:
        ground = any(event.kind == 'impact' for event in events)
        end = 'the impact' if ground else 'the end of the recording, in which the robot falls'
        missed = ', but not as the robot fell' if found else ', although the robot fell'
        sentence += f', {seconds(lead)} before {end}' if lead else missed
    sentence += (
        f'; largest probability of a fall within {HORIZON:g} s: {percent(most)}, at {instant(at)}.'
    )
    if known < 0.99 * scene.timeline.duration:
        sentence += f' It is known for {seconds(known)} of {seconds(scene.timeline.duration)}.'
    return FallAlarmStatistics(
        count=None if too_short else len(found),
        first=found[0].begin if found else np.nan,
        raised_time=scene.timeline.total(raised),
        probability=most,
        probability_time=at,
        known_time=known,
        lead=lead,
        sentence=sentence,
    )


def _unknown(scene: Scene) -> FallAlarmStatistics | None:
    """Say that it cannot be known, where a foot is that is somewhere else than evaluated."""
    held = [foot for foot in scene.evaluation.feet if foot.held_joints]
    if not held:
        return None
    why = '; '.join(unknown_foot(foot.name, foot.held_joints) for foot in held)
    nan = np.nan
    return FallAlarmStatistics(None, nan, 0.0, nan, nan, 0.0, nan, f'cannot say: {why}.')


def _lead(found: Sequence[Event], fall: Event | None) -> float:
    if fall is None:
        return float('nan')
    during = (event for event in found if event.end >= fall.begin and event.begin <= fall.end)
    return max((fall.end - event.begin for event in during), default=0.0)


def _raised(found: Sequence[Event]) -> str:
    if not found:
        return 'never'
    times = ', '.join(instant(event.begin) for event in found[:3])
    return f'raised at {times}' + (f' and {len(found) - 3} times more' if len(found) > 3 else '')
