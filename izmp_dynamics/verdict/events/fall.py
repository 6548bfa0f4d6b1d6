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
from izmp_dynamics.base.robust import lowest
from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.stability.alarm_rule import HORIZON
from izmp_dynamics.stability.held_joints import unknown_foot
from izmp_dynamics.stability.support_polygon import margins, plane_axes
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.formatting import instant, mm, percent, seconds
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.timeline import Indices, Mask
from izmp_dynamics.verdict.tipping import sole_frame
from izmp_dynamics.verdict.verdict import FALLING_HEIGHT, FALLING_SPEED, SHORTEST_TIME, Verdict

SMOOTHING = 0.04
"""Time over which velocities are averaged [s]."""

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
    com, capture = _margins(scene, slice(near, after))
    searched = np.arange(np.searchsorted(time, time[low] - SEARCHED), low + 1) - near
    lost = _for_good(com, searched)
    onset = _for_good(capture, searched if lost is None else searched[searched <= lost])
    lost, onset = (None if row is None else near + row for row in (lost, onset))
    speed = _sinking_speed(scene)
    hit = _impact(time[:stop], speed[:stop], low if lost is None else lost, low)
    sinks = _sinks(scene, low)
    begin = min(row for row in (onset, lost, sinks) if row is not None)
    end = stop - 1 if hit is None else hit
    sinking = float(np.nanmax(speed[begin : end + 1], initial=0.0))
    over_feet = bool(np.isfinite(com[searched]).any())
    stages = [Event(
        float(time[begin]), float(time[end]), 'fall',
        _sentence(time, begin, lost, hit, _how(sinking, over_feet)), size=sinking, unit='m/s',
    )]  # fmt: skip
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


def _how(sinking: float, over_feet: bool) -> str:
    if not sinking > FALLING_SPEED:
        return 'tips'
    return 'sinks over its feet' if over_feet else 'sinks'


def _sentence(time: Array, begin: int, lost: int | None, hit: int | None, how: str) -> str:
    if lost is None:
        sentence = f'The robot {how}'
    else:
        after = seconds(float(time[lost] - time[begin]))
        sentence = f'The robot falls: point of no return {after} after the onset'
    if hit is None:
        return f'{sentence}; the impact is not recorded'
    return f'{sentence}, impact {seconds(float(time[hit] - time[begin]))} after the onset'


def _margins(scene: Scene, rows: slice) -> tuple[Array, Array]:
    """(S,) distance of the projections of COM and capture point from the edge [m].

    The velocity is the mean over the time before, so that no push acts before it begins.
    """
    evaluation = scene.evaluation
    if not evaluation.feet:
        com, capture = np.full((2, rows.stop - rows.start), np.nan)
        return com, capture
    up, centre = evaluation.normal[rows], evaluation.com[rows]
    if evaluation.up is not None:
        known = np.isfinite(evaluation.up[rows]).all(axis=1, keepdims=True)
        up = np.where(known, evaluation.up[rows], up)
    axes = plane_axes(up)
    velocity = np.full((len(up), 2), np.nan)
    m = _half_width(scene)
    earlier = np.maximum(np.arange(len(up)) - m, 0)
    for k, foot in enumerate(evaluation.feet):
        R, middle = sole_frame(foot.sole[rows])
        on: Mask = scene.supporting[rows] == k
        velocity[on] = _velocity(
            scene.timeline.time[rows],
            rotated(axes, centre - middle),
            rotated(axes, R[:, :, 0]),
            m,
        )[earlier[on]]
    thrown = np.einsum('kij,ki->kj', axes, velocity) * scene.time_constant
    loaded = np.stack([foot.loaded[rows] for foot in evaluation.feet], axis=1)
    soles = tuple(foot.sole[rows] for foot in evaluation.feet)
    com, capture = margins((centre, centre + thrown), soles, loaded, up)
    return com, capture


def _velocity(time: Array, position: Array, fixed: Array, m: int) -> Array:
    """Velocity (K, 2) on the ground of a position (K, 2) from a sole that rests on it [m/s].

    Args:
        time: (K,) [s].
        position: (K, 2) along axes that yaw with the root [m].
        fixed: (K, 2) a direction that is fixed to the sole, along the same axes.
        m: instants to either side over which it is averaged.
    """
    change = _slope(time, fixed, m)
    yaw = fixed[:, 0] * change[:, 1] - fixed[:, 1] * change[:, 0]
    yaw = yaw / np.einsum('ki,ki->k', fixed, fixed)  # of the sole, seen from the axes
    across = np.column_stack([-position[:, 1], position[:, 0]])
    velocity: Array = _slope(time, position, m) - yaw[:, None] * across
    return velocity


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


def _sinks(scene: Scene, low: int) -> int:
    """Row at which the COM begins to be lower than when it stands, before it is low."""
    stands = FALLING_HEIGHT * scene.initial_height
    high = np.flatnonzero(scene.height >= stands)
    high = high[: np.searchsorted(high, low)]
    return int(high[-1]) + 1 if len(high) else low


def _sinking_speed(scene: Scene) -> Array:
    """(K,) speed of the centre of mass downwards [m/s]."""
    return -_slope(scene.timeline.time, scene.height, _half_width(scene))


def _half_width(scene: Scene) -> int:
    """Instants to either side of one by which a velocity is averaged."""
    return max(1, round(SMOOTHING / 2 / scene.timeline.usual_step))


def _slope(time: Array, values: Array, m: int) -> Array:
    """Derivative of values (K,) or (K, d) between the instants `m` before and after each."""
    if len(time) < 2:
        return np.full(values.shape, np.nan)
    after = np.minimum(np.arange(len(time)) + m, len(time) - 1)
    before = np.maximum(np.arange(len(time)) - m, 0)
    span = (time[after] - time[before]).reshape(-1, *[1] * (values.ndim - 1))
    slope: Array = (values[after] - values[before]) / span
    return slope


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
