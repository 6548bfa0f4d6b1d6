"""Falls: onset, point of no return and impact; what the fall alarm said, and how long before.

* Onset: the capture point ξ = c + ċ √(h/g) (Pratt et al., 2006) leaves the support polygon and
  does not come back: from here on only a step saves the robot.
* Point of no return: the projection of the centre of mass does so too: from here on gravity tips
  the robot even if it stands still, so that no torque of the ankles brings it back.
* Impact: the centre of mass, which has sunk faster and faster, is slowed down.

All along gravity, where the orientation of the root is known, else along the ground's normal: a
sole that tips takes the plane of the ground with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.base.robust import lowest
from izmp_dynamics.stability.alarm_rule import HORIZON
from izmp_dynamics.stability.fall_alarm import without_orientation
from izmp_dynamics.stability.held_joints import unknown_foot
from izmp_dynamics.verdict.capture import capture_margins, half_width, slope
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.formatting import instant, mm, percent, seconds
from izmp_dynamics.verdict.reasons import probable
from izmp_dynamics.verdict.rules import FALLING_HEIGHT, FALLING_SPEED, SHORTEST_TIME
from izmp_dynamics.verdict.scene import LIKELY, Scene
from izmp_dynamics.verdict.timeline import Indices
from izmp_dynamics.verdict.verdict import Verdict

BRAKED = 0.5
"""An impact takes this share of the speed of sinking away [-]."""

UNBRAKED = 0.9
"""Share of the largest speed that the body has until it hits the ground [-]."""

SEARCHED = 2.0
"""The onset is looked for so long before the robot has sunk, the impact so long after [s]."""


def falls(scene: Scene, verdict: Verdict) -> list[Event]:
    """Find the falls of an evaluation, in their order; one to the end of a recording is the last.

    Each ends before the robot is up again.
    """
    found = [event for rows in scene.lying for event in _fall(scene, rows.start, rows.stop)]
    known = np.flatnonzero(np.isfinite(scene.height))
    if verdict.reason == 'falling_at_end' and len(known):
        found += _fall(scene, int(known[-1]), len(scene.height))
    return found


def _fall(scene: Scene, low: int, stop: int) -> list[Event]:
    """The stages of a fall after which the robot is down from the row `low` on, until `stop`."""
    time = scene.timeline.time
    near, after = np.searchsorted(time, [time[low] - SEARCHED - 1.0, time[low] + 1.0]).tolist()
    com, capture = capture_margins(scene, slice(near, after))
    searched = np.arange(np.searchsorted(time, time[low] - SEARCHED), low + 1) - near
    lost = _for_good(com, searched)
    onset = _for_good(capture, searched if lost is None else searched[searched <= lost])
    lost, onset = (None if row is None else near + row for row in (lost, onset))
    over_soles = -slope(time, scene.height, half_width(scene))  # (K,) downwards [m/s]
    hit = _impact(time[:stop], over_soles[:stop], low if lost is None else lost, low)
    sinks = _sinks(scene, low)
    begin = min(row for row in (onset, lost, sinks) if row is not None)
    speed = _sinking(scene, over_soles, begin)
    end = stop - 1 if hit is None else hit
    sinking = float(np.nanmax(speed[begin : end + 1], initial=0.0))
    over_feet = bool(np.isfinite(com[searched]).any())
    how = 'sinks over its feet' if over_feet else 'sinks'
    sentence = f'The robot {how if sinking > FALLING_SPEED else "tips"}'
    if lost is not None:
        after = seconds(float(time[lost] - time[begin]))
        sentence = f'The robot falls: point of no return {after} after the onset'
    if hit is None:
        sentence += '; the impact is not recorded'
    else:
        sentence += f', impact {seconds(float(time[hit] - time[begin]))} after the onset'
    stages = [
        Event(float(time[begin]), float(time[end]), 'fall', sentence, size=sinking, unit='m/s')
    ]
    if lost is not None:
        beyond = -float(capture[lost - near])
        stages.append(Event(
            float(time[lost]), float(time[lost]), 'point of no return',
            'The centre of mass is beyond the edge of the support polygon for good'
            + (f', the capture point {mm(beyond)} beyond' if beyond > 0.0 else ''),
            size=beyond, unit='m',
        ))  # fmt: skip
    if hit is not None:
        stages.append(Event(
            float(time[hit]), float(time[hit]), 'impact',
            f'The body hits the ground; its centre of mass sank at {speed[hit]:.1f} m/s',
            size=float(speed[hit]), unit='m/s',
        ))  # fmt: skip
    return stages


def _for_good(margin: Array, rows: Indices) -> int | None:
    """First of the rows from which on a margin (S,), where it is known, stays below zero.

    None if it is not known to be below, or is positive when it is last known.
    """
    known = rows[np.isfinite(margin[rows])]
    inside = np.flatnonzero(margin[known] > 0)
    beyond = known[inside[-1] + 1 if len(inside) else 0 :]
    return int(beyond[0]) if len(beyond) else None


def _impact(time: Array, speed: Array, begin: int, low: int) -> int | None:
    """Row until which the COM sinks about as fast as ever, if most of that is lost then."""
    stop = int(np.searchsorted(time, time[low] + SEARCHED))
    within = speed[begin:stop]
    if not (within > 0.0).any():  # it never sinks
        return None
    fastest = int(np.nanargmax(within))
    largest = within[fastest]
    slow = np.flatnonzero(within[fastest:] < (1.0 - BRAKED) * largest)
    if not len(slow):
        return None
    until = within[fastest : fastest + slow[0]]
    return begin + fastest + int(np.flatnonzero(until >= UNBRAKED * largest)[-1])


def _sinking(scene: Scene, over_soles: Array, begin: int) -> Array:
    """(K,) speed of the COM downwards [m/s], from when no foot carries on by its acceleration.

    Feet that fly up are no ground. What the speed gains follows from the contact force: g − F/m.
    """
    evaluation, m = scene.evaluation, half_width(scene)
    last = begin + int(np.argmax(~scene.loaded[begin:])) - m - 1
    if scene.loaded[begin:].all() or last < 0 or 'mr_ad' not in evaluation.tracks:
        return over_soles
    up = evaluation.normal[last:]
    if evaluation.up is not None:
        up = np.where(np.isfinite(evaluation.up[last:]), evaluation.up[last:], up)
    force = np.einsum('ki,ki->k', up, evaluation.tracks['mr_ad'].wrench[last:, :3])
    gains = (evaluation.gravity - force / evaluation.total_mass) * scene.timeline.span[last:]
    falling = over_soles[last] + np.cumsum(gains)
    return np.append(over_soles[:last], np.where(np.isfinite(falling), falling, over_soles[last:]))


def _sinks(scene: Scene, low: int) -> int:
    """Row at which the COM begins to be lower than when it stands, before it is low."""
    stands = FALLING_HEIGHT * scene.initial_height
    high = np.flatnonzero(scene.height >= stands)
    high = high[: np.searchsorted(high, low)]
    return int(high[-1]) + 1 if len(high) else low


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
    if scene.fall_risk is None:
        return []
    probability, raised = scene.fall_risk
    time, found = scene.timeline.time, []
    for first, stop in zip(*scene.timeline.runs(raised), strict=True):
        largest = float(np.nanmax(probability[first:stop], initial=0.0))
        begin, end = float(time[first]), float(time[stop - 1])
        sentence = f'Fall alarm for {seconds(end - begin)}, {probable(scene, slice(first, stop))}'
        found.append(Event(begin, end, 'fall alarm', sentence, size=largest))
    return found


def fall_alarm(
    scene: Scene, events: Sequence[Event], doubts: Sequence[Finding] = ()
) -> FallAlarmStatistics | None:
    """Sum up the alarms of a recording; None where the alarm is not evaluated.

    Args:
        scene: the evaluation.
        events: of it, alarms and falls among them.
        doubts: findings with which no verdict can be true.
    """
    if scene.fall_risk is None or doubts:
        held = [foot for foot in scene.evaluation.feet if foot.held_joints]
        why = '; '.join(unknown_foot(foot.name, foot.held_joints) for foot in held)
        return _cannot_say(why or 'robot file or sensors are wrong') if held or doubts else None
    probability, raised = scene.fall_risk
    largest, known = lowest(-probability), scene.timeline.total(np.isfinite(probability))
    found = [event for event in events if event.kind == 'fall alarm']
    fall = next((event for event in events if event.kind == 'fall'), None)
    if largest is None or (not found and fall is None and known < SHORTEST_TIME):
        return _cannot_say('the recording is too short')
    lead = np.nan
    if fall is not None:
        during = [e for e in found if e.end >= fall.begin and e.begin <= fall.end]
        lead = max((fall.end - event.begin for event in during), default=0.0)
    at, most = float(scene.timeline.time[largest]), float(probability[largest])
    sentence = _raised(found)
    if fall is not None:
        ground = any(event.kind == 'impact' for event in events)
        end = 'the impact' if ground else 'the end of the recording, in which the robot falls'
        missed = ', but not when the robot fell' if found else ', although the robot fell'
        sentence += f' ({seconds(lead)} before {end})' if lead else missed
    when = '' if most < 1e-3 else f', at {instant(at)}'
    highest = percent(most).replace('< ', 'below ')
    sentence += f'. Highest probability of a fall within {HORIZON:g} s: {highest}{when}.'
    if known < 0.99 * scene.timeline.duration:
        sentence += f' It is known for {seconds(known)} of {seconds(scene.timeline.duration)}.'
    if scene.evaluation.fall_assumed is not None:
        assumed = scene.timeline.total(scene.evaluation.fall_assumed & np.isfinite(probability))
        if assumed > 0.01 * known:
            sentence += without_orientation(f' for {seconds(assumed)} of it')
    landed = np.array([event.begin for event in events if event.kind == 'touchdown'])
    steps = len(landed) > 1 or not all(foot.loaded[largest] for foot in scene.evaluation.feet)
    if steps and most > LIKELY and fall is None and np.count_nonzero(landed <= at) < 2:
        sentence += (
            ' Fewer than two steps had been seen by then, so no further one is expected: for a '
            'robot or a human that walks fast or runs, the probability is far too high.'
        )
    return FallAlarmStatistics(
        count=len(found),
        first=found[0].begin if found else np.nan,
        raised_time=scene.timeline.total(raised),
        probability=most,
        probability_time=at,
        known_time=known,
        lead=lead,
        sentence=sentence,
    )


def _cannot_say(why: str) -> FallAlarmStatistics:
    nan = np.nan
    return FallAlarmStatistics(
        None, nan, 0.0, nan, nan, 0.0, nan, f'Fall alarm: cannot say, {why}.'
    )


def _raised(found: Sequence[Event]) -> str:
    if not found:
        return 'No fall alarm'
    times = ', '.join(instant(event.begin) for event in found[:3])
    return f'Fall alarm at {times}' + (
        f' and {len(found) - 3} more times' if len(found) > 3 else ''
    )
