"""Was the robot stable? The rules that turn statistics into a reason and its data.

The point that is judged is the IZMP of MR-AD (else of IR-MD, else the CoP), averaged over half of
the time constant with which the robot tips (see `scene`). Inside the support polygon it means
that the robot cannot tip over an edge. Outside, three facts of physics keep errors from being
called a fall:

* A robot of COM height h tips with the time constant T = √(h/g). A stay at the distance d outside
  for the time t throws its capture point about d·t/T outwards; what is small against the half
  width of the support polygon (`room`) cannot tip the robot.
* A robot that is really outside falls within about 3 T. One that is outside for longer and stands
  all the same has wrong signals, another contact, or a wrong ground plane, sole or mass. Whether
  it stands is not known of the last stay of a recording that ends with it.
* Without other contacts the IZMP is the CoP. Where a CoP is measured, their distance is the error
  of the signals, and only what stands out of it is a push.

Everything is measured in metres, seconds and standard deviations of this recording, nothing in
shares of its length: a longer recording of the same motion has the same verdict.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from izmp_dynamics.base.finding import Finding
from izmp_dynamics.base.robust import lowest, median
from izmp_dynamics.stability.held_joints import unknown_foot
from izmp_dynamics.verdict.capture import Touchdowns, all_measured, capture_margins, touchdowns
from izmp_dynamics.verdict.errors import TOLERANCE, Excursion
from izmp_dynamics.verdict.formatting import instant, mm, percent, seconds
from izmp_dynamics.verdict.posture import FALLEN_HEIGHT
from izmp_dynamics.verdict.pushes import PushStatistics, depth_during
from izmp_dynamics.verdict.reasons import Case, advice, left_polygon, probable
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import TrackStatistics, pair_statistics

STEPS = 2
"""So often feet come to a robot on a line or a point if it steps."""

SHORTEST_TIME = 1.0
"""Loaded time [s] that a verdict needs at least: one that is outside falls within less."""

UNKNOWN_END = 0.5
"""The verdict says until when it holds if nothing is known of the end for longer than this [s]."""

COVERED_SHARE = 0.5
"""Share of the loaded time in which the judged track must have a value."""

TIPPING_SHARE = 0.5
"""An excursion that throws the capture point this share of the room outwards can tip the robot."""

USABLE_SHARE = 0.5
"""A point that is uncertain by more than this share of the room cannot be judged by."""

FALLING_HEIGHT, FALLING_SPEED = 0.9, 0.3
"""It falls where its COM is lower than this share and sinks faster than this [m/s]."""

LEANS = np.radians(5.0)
"""Tilt that is worth a word [rad]."""

EMPTY_POLYGON = 1e-3
"""Room [m] below which the soles span no area."""

_Answer = tuple[str, dict[str, Any]]
"""A key of `reasons.REASONS`, and the data of its sentence."""


def decide(case: Case) -> tuple[str, dict[str, Any]]:
    """Decide why the verdict is as it is: the first rule that applies does.

    Returns:
        A key of `reasons.REASONS`, and the data of its sentence: the `case` with the track that is
        judged, and what the rule found.
    """
    scene = case.scene
    case = replace(case, track=_judged(case))
    absent = [each for each in scene.evaluation.doubts if each.data.get('judged_by')]
    key, data = (
        _foot_unknown(scene)  # cannot say
        or _input_wrong(case.doubts)  # cannot say
        or _fallen(case)  # fell
        or _input_wrong(absent)  # cannot say
        or _stepping(case)  # whatever the next feet say
        or _nothing_to_judge(scene)  # cannot say
        or _soles_overlap(scene, scene.room)  # cannot say
        or (_by_track(case, case.track) if case.track else ('nothing_evaluated/point', {}))
    )
    return key, {'case': case} | data


def _by_track(case: Case, track: TrackStatistics) -> _Answer:
    """The first rule that applies to the point of the track that is judged."""
    return (
        _too_few_values(case.scene, track)  # cannot say
        or _falling_at_end(case.scene)  # unstable
        or _open_end(case.scene, track)  # cannot say
        or _too_uncertain(case.scene, track)  # cannot say
        or _outside_for_long(case.scene, track)  # cannot say
        or _tipping(case.scene, track)  # unstable
        or _pushed(case, track)  # disturbed
        or _now_and_then_far_off(case, track)  # cannot say
        or _brief(track)  # marginal
        or _near_edge(case.scene, track)  # cannot say
        or _soles_overlap(case.scene, track.averaged_margin)  # cannot say
        or _by_cop(case, track)  # whatever that says
        or _inside(case, track)  # stable
    )


def _judged(case: Case) -> TrackStatistics | None:
    """Choose the first track that covers half of the loaded time, else the one covering most."""
    able = [track for track in case.tracks.values() if np.isfinite(track.averaged_margin)]
    enough = COVERED_SHARE * case.scene.timeline.total(case.scene.loaded & ~case.scene.lies)
    for track in able:
        if track.evaluated_time >= enough:
            return track
    return max(able, key=lambda track: track.evaluated_time, default=None)


def _foot_unknown(scene: Scene) -> _Answer | None:
    """It stands on a foot that is elsewhere than the unrecorded joints say."""
    for foot in scene.evaluation.feet:
        if foot.held_joints and foot.loaded.any():
            return 'leg_joints_absent', {'why': unknown_foot(foot.name, foot.held_joints)}
    return None


def _input_wrong(doubts: Sequence[Finding]) -> _Answer | None:
    """Robot file or sensors are wrong, or what the file states is not recorded."""
    return ('input_wrong', {'finding': doubts[0]}) if doubts else None


def _fallen(case: Case) -> _Answer | None:
    """It lies on the ground."""
    scene, track = case.scene, case.track
    if not scene.lying:
        return None
    rows, time = scene.lying[0], scene.timeline.time
    share = scene.height[rows] / scene.initial_height
    lowest = float(np.fmin.reduce(share))
    sank, after = 'sank lower than the soles', ''
    if lowest > 0:
        sank = f'sank to {percent(lowest)} of its initial height above the soles'
    if rows.stop < len(time):
        after += f'. It was up again at {instant(time[rows.stop])}'
    outside = (
        [found.start for found in track.excursions if found.cause != 'error'] if track else []
    )
    if track and outside:
        after += f'. The {track.described} left the support polygon at {instant(min(outside))}'
    is_low = lowest < FALLEN_HEIGHT
    low = time[rows][int(np.argmax(share < FALLEN_HEIGHT))] if is_low else time[rows.start]
    return 'height' if is_low else 'tilt', {'sank': sank, 'low': low, 'after': after}


def _stepping(case: Case) -> _Answer | None:
    """It trots: what counts is whether the next feet come in time, see `Touchdowns`."""
    scene, track = case.scene, case.track
    loaded = scene.timeline.total(scene.loaded)
    on_line = scene.timeline.total(scene.loaded & ~scene.spans_area)
    if not on_line > 0.0:
        return None
    steps, share, measured = touchdowns(scene), on_line / loaded, all_measured(scene)
    tips = steps.longest > scene.averaging_time and len(steps.time) >= STEPS
    if share <= 1.0 - COVERED_SHARE and not (len(steps.time) >= STEPS if measured else tips):
        return None
    ends = _falling_at_end(scene) or (_open_end(scene, track) if track else None)
    if ends is not None:
        return ends
    if not measured:
        return 'contact_estimated', {'share': share}
    why = steps.unknown(scene)
    if not why and (track is None or loaded < SHORTEST_TIME):
        why = f'the {seconds(loaded)} on the ground are too short'
    if why or track is None:
        return 'line_support', {'share': share, 'why': why}
    worst, last = int(np.argmin(steps.margin)), scene.timeline.duration - scene.falls_for
    at, margin = float(steps.time[worst]), float(steps.margin[worst])
    data: dict[str, Any] = {'capture_margin': margin, 'at': at}
    ends = (
        _too_uncertain(scene, track)
        or _feet_doubtful(case, track)
        or _ends_soon_after(scene, case.forces.pushes)
    )
    if ends is None and (steps.margin[steps.time > last] < 0.0).any():
        ends = 'open_end', {'signs': 'its capture point is outside the feet that land'}
    if ends is not None:
        return ends
    push, left = _stepped_out(case, track, steps)
    if left:
        return f'{"pushed" if push else "brief"}/stepping', data | {'push': push, 'left': left}
    return 'stepping', data | {'share': share, 'count': len(steps.time)}


def _stepped_out(
    case: Case, track: TrackStatistics, steps: Touchdowns
) -> tuple[PushStatistics | None, str]:
    """What left the feet of a robot that trots, although its next feet came, and what pushed."""
    scene, forces = case.scene, case.forces
    worst = int(np.argmin(steps.margin))
    at, margin = float(steps.time[worst]), float(steps.margin[worst])
    if margin < 0.0:
        push = forces.largest_within(at - scene.falls_for, at)
        return push, f'at {instant(at)} the capture point was {mm(-margin)} outside {_OLD_AND_NEW}'
    depths = [depth_during(scene, track, each, steps.longest) for each in forces.pushes]
    if max(depths, default=0.0) > TOLERANCE:
        push, depth = forces.pushes[int(np.argmax(depths))], mm(max(depths))
        return push, f'the {track.described} was {depth} outside {_OLD_AND_NEW} meanwhile'
    if scene.fall_risk is not None and scene.fall_risk[1].any():
        row = int(np.argmax(scene.fall_risk[1]))
        at, largest = float(scene.timeline.time[row]), probable(scene, scene.fall_risk[1])
        push = forces.largest_within(at - scene.falls_for, at)
        return push, f'at {instant(at)} the fall alarm was raised ({largest})'
    return None, ''


_OLD_AND_NEW = 'the old and the new feet'


def _feet_doubtful(case: Case, track: TrackStatistics) -> _Answer | None:
    """Which feet carry contradicts the motion, as on a line no polygon shows."""
    if track.name == 'cop' or 'cop' not in case.tracks:
        return None
    apart = pair_statistics(case.scene, track.name, 'cop').mean
    return ('noise/stepping', {'apart': apart}) if apart > USABLE_SHARE * case.scene.room else None


def _nothing_to_judge(scene: Scene) -> _Answer | None:
    """Instants, feet, load, the area of the soles or time is missing."""
    if not len(scene.timeline.time):
        return 'nothing_evaluated', {}
    if not scene.evaluation.feet:
        return 'no_feet', {}
    if not scene.loaded.any():
        return 'no_load' if scene.in_flight.any() else 'no_load/unknown', {}
    if not scene.room >= EMPTY_POLYGON:
        return 'no_area', {}
    loaded = scene.timeline.total(scene.loaded)
    if loaded < SHORTEST_TIME:
        return 'too_short', {'time': loaded, 'needed': SHORTEST_TIME}
    return None


def _soles_overlap(scene: Scene, margin: float) -> _Answer | None:
    """The soles cannot be the robot's: one may reach too far by more than a margin [m]."""
    found = scene.sole_overlap
    if found is None or found.data['depth'] <= margin:
        return None
    return 'soles_overlap', {'finding': found}


def _too_few_values(scene: Scene, track: TrackStatistics) -> _Answer | None:
    loaded = scene.timeline.total(scene.loaded)
    margin = scene.evaluation.tracks[track.name].margin
    value = scene.timeline.total(scene.spans_area & np.isfinite(margin))
    if value < COVERED_SHARE * loaded:
        return 'too_few_values', {'share': value / loaded}
    counted = min(value, track.evaluated_time)
    if counted < SHORTEST_TIME:
        return 'too_short/point', {'time': counted, 'needed': SHORTEST_TIME}
    return None


def _falling_at_end(scene: Scene) -> _Answer | None:
    """It falls, which the recording does not show to its end."""
    begin = np.searchsorted(scene.timeline.time, scene.timeline.duration - scene.averaging_time)
    known = np.isfinite(scene.height[begin:])
    time, height = scene.timeline.time[begin:][known], scene.height[begin:][known]
    if len(time) < 3 or not scene.initial_height > 0:
        return None
    speed = -float(np.polyfit(time - time[-1], height, 1)[0])
    share = float(np.median(height[-3:])) / scene.initial_height
    if share < FALLING_HEIGHT and speed > FALLING_SPEED:
        return 'falling_at_end', {'share': share, 'speed': speed}
    return None


def _open_end(scene: Scene, track: TrackStatistics) -> _Answer | None:
    """It may be about to fall as the recording ends."""
    signs = [*_alarmed_at_end(scene, track), *_leaning_at_end(scene, track)]
    if not signs:
        return None
    tilt = float(scene.tilt[-1]) if len(scene.tilt) else np.nan
    if tilt > LEANS:
        signs.append(f'it is tilted by {np.degrees(tilt):.0f}°')
    return 'open_end', {'signs': ', '.join(signs)}


def _alarmed_at_end(scene: Scene, track: TrackStatistics) -> Iterator[str]:
    """The fall alarm lasts to the end."""
    if scene.fall_risk is None:
        return
    probability, raised = scene.fall_risk
    known, time = np.flatnonzero(np.isfinite(probability)), scene.timeline.time
    if not len(known) or scene.timeline.duration - time[known[-1]] > UNKNOWN_END:
        return
    if raised[known[-1]]:
        calm = np.flatnonzero(~raised[: known[-1]])
        begin = time[calm[-1] + 1 if len(calm) else 0]
        until = time[scene.known[track.name]].max(initial=-np.inf)
        if begin > until and time[known[-1]] - begin < scene.averaging_time:
            return  # without values before and after, it may be raised for a moment
        last = probable(scene, known[-1:])
        yield f'the fall alarm is raised from {instant(begin)} on ({last})'


def _leaning_at_end(scene: Scene, track: TrackStatistics) -> Iterator[str]:
    """A robot that does not step has its capture point outside, or is at the edge for long."""
    time, known = scene.timeline.time, np.flatnonzero(scene.known[track.name])
    end = float(time[known[-1]]) if len(known) else -np.inf
    if scene.timeline.duration - end > UNKNOWN_END:
        return
    rows = slice(int(np.searchsorted(time, end - scene.falls_for)), int(known[-1]) + 1)
    loaded = np.stack([foot.loaded[rows] for foot in scene.evaluation.feet])
    if (loaded == loaded[:, :1]).all() and loaded.any():
        _, capture = capture_margins(scene, rows)
        beyond = -median(capture[time[rows] >= end - scene.averaging_time / 2])
        if beyond > TOLERANCE:
            yield f'its capture point is {mm(beyond)} outside the support polygon'
    if scene.cop_is_whole:
        first, stop = scene.timeline.runs(scene.judged_margin('cop') < TOLERANCE)
        if len(first) and end - time[stop[-1] - 1] < scene.averaging_time:
            at_edge = float(scene.timeline.span[first[-1] : stop[-1]].sum())
            if at_edge > scene.falls_for:
                yield f'the CoP has been at the edge for {seconds(at_edge)}'


def _too_uncertain(scene: Scene, track: TrackStatistics) -> _Answer | None:
    """The error of the point is as large as the support polygon."""
    if track.error.usual <= USABLE_SHARE * scene.room:
        return None
    return 'bias' if track.error.biased else 'noise', {}


def _outside_for_long(scene: Scene, track: TrackStatistics) -> _Answer | None:
    """It was outside for longer than any robot survives, and stands."""
    longest = max(track.excursions, key=lambda found: found.duration, default=None)
    if track.name == 'cop' or longest is None or longest.duration <= scene.falls_for:
        return None
    return 'outside_for_long', {'longest': longest}


def _tipping(scene: Scene, track: TrackStatistics) -> _Answer | None:
    """It was outside, over an edge, for long enough to tip."""
    edge = track.caused('edge')
    if not edge or edge[0].throw < TIPPING_SHARE * scene.room or _is_far_off(scene, track):
        return None
    return 'tipping', {'left': left_polygon(track, edge)}


def _pushed(case: Case, track: TrackStatistics) -> _Answer | None:
    """It was outside by a push: one is found there, or the CoP was inside meanwhile."""
    scene = case.scene

    def by(found: Excursion) -> PushStatistics | None:
        return case.forces.largest_within(*found.cause_within(scene.averaging_time))

    pushed = [
        found
        for found in track.excursions
        if found.cause == 'push' or (found.cause == 'edge' and by(found))
    ]
    if not pushed:
        return _pushed_briefly(case, track)
    push, inside = by(pushed[0]), min(found.cop_margin for found in pushed)
    if push is None and _is_far_off(scene, track):
        return None
    acted = [each for each in map(by, pushed) if each is not None]
    variant = '' if push is None else '/by' if inside > TOLERANCE else '/edge'
    return _ends_soon_after(scene, acted) or (f'pushed{variant}', {
        'left': left_polygon(track, pushed),
        'push': push,
        'inside': inside,
        'enough': 'enough' if pushed[0].throw >= TIPPING_SHARE * scene.room else 'not enough',
    })  # fmt: skip


def _pushed_briefly(case: Case, track: TrackStatistics) -> _Answer | None:
    """It was outside while something pushed, for less than the average feels."""
    depths = [(depth_during(case.scene, track, push), push) for push in case.forces.pushes]
    outside = [(depth, push) for depth, push in depths if depth > TOLERANCE]
    if not outside:
        return None
    depth, push = max(outside, key=lambda each: each[0])
    pushed = 'pushed/brief', {'push': push, 'depth': depth}
    return _ends_soon_after(case.scene, [push for _, push in outside]) or pushed


def _ends_soon_after(scene: Scene, pushes: Sequence[PushStatistics]) -> _Answer | None:
    """The recording ends before a robot that such a push fells would have fallen."""
    last = max(pushes, key=lambda push: push.start + push.duration, default=None)
    since = np.inf if last is None else scene.timeline.duration - last.start - last.duration
    if last is None or since >= scene.falls_for:
        return None
    signs = f'a push {last.described} ended only {seconds(since)} ago'
    return 'open_end', {'signs': f'{signs}; a fall takes {seconds(scene.falls_for)}'}


def _brief(track: TrackStatistics) -> _Answer | None:
    """It was outside, too short to tip."""
    edge = track.caused('edge')
    return ('brief', {'left': left_polygon(track, edge)}) if edge else None


def _near_edge(scene: Scene, track: TrackStatistics) -> _Answer | None:
    """The point, off by its uncertainty, could have tipped the robot."""
    return ('near_edge', {}) if track.possible_throw >= TIPPING_SHARE * scene.room else None


def _now_and_then_far_off(case: Case, track: TrackStatistics) -> _Answer | None:
    """For some of the time the point is farther off than the support polygon reaches."""
    if not _is_far_off(case.scene, track):
        return None
    return 'noise/rare', {'advice': advice(case.scene, track.error, rare=True)}


def _is_far_off(scene: Scene, track: TrackStatistics) -> bool:
    return track.error.against == 'cop' and track.error.uncertainty > scene.room


def _by_cop(case: Case, track: TrackStatistics) -> _Answer | None:
    """Its errors are as large as the soles, so the CoP is judged in its place."""
    worst = _worst_error(track)
    if worst is None or worst.depth <= case.scene.room or not case.scene.cop_is_whole:
        return None
    cop = case.tracks['cop']
    by_cop = replace(case, track=cop)
    key, data = _by_track(by_cop, cop)
    return key, {'case': by_cop, 'far_off': worst} | data


def _worst_error(track: TrackStatistics) -> Excursion | None:
    """The deepest excursion that is put down to an error."""
    return max(track.caused('error'), key=lambda found: found.depth, default=None)


def _inside(case: Case, track: TrackStatistics) -> _Answer:
    """It stayed inside, or appears outside by no more than its error."""
    worst = _worst_error(track)
    if worst is not None:
        elsewhere = _gap_elsewhere(case, track, worst)
        return f'within_error{"/cop" if elsewhere else ""}', {'worst': worst, **elsewhere}
    but = f' or within {mm(TOLERANCE)} of its edge' if track.averaged_margin < 0 else ''
    return 'inside', {'but': but}


def _gap_elsewhere(case: Case, track: TrackStatistics, worst: Excursion) -> dict[str, Any]:
    """Where else the averaged point is farthest off a CoP that is inside, if one is known [m]."""
    if not np.isfinite(worst.cop_margin):
        return {}
    scene = case.scene
    time, (begin, end) = scene.timeline.time, worst.cause_within(scene.averaging_time)
    gap = scene.averaged[track.name].point - scene.averaged['cop'].point
    counts = scene.judged[track.name] & scene.judged['cop'] & ~case.forces.about(scene)
    counts &= (time < begin) | (time > end)
    size = np.where(counts, np.linalg.norm(gap, axis=1), np.nan)
    row = lowest(-size)
    if row is None:
        return {}
    return {'elsewhere': float(size[row]), 'elsewhere_time': float(time[row])}
