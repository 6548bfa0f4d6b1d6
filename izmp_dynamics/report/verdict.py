"""Was the robot stable? The rules that turn statistics into a word and a sentence.

The point that is judged is the IZMP of MR-AD (else of IR-MD, else the CoP). A point inside the
support polygon means that the robot cannot tip over an edge. Outside, three facts of physics keep
noise from being called a fall:

* A robot of COM height h tips with the time constant T = √(h/g). A stay at the distance d outside
  for the time t carries its capture point about d·t/T outwards; what is small against the half
  width of the support polygon (`room`) cannot tip the robot.
* A robot that is really outside falls within about 3 T. One that is outside for longer and stands
  all the same has noisy signals, another contact, or a wrong ground plane, sole or mass.
* Without other contacts the IZMP is the CoP. Where a CoP is measured, their distance is the error
  of the signals; if it is larger than the room, the IZMP cannot say on which side it lies.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.report.formatting import instant, mm, percent, seconds, times
from izmp_dynamics.report.scene import Scene
from izmp_dynamics.report.statistics import Excursion, TrackStatistics

SHORTEST_TIME = 0.5
"""Loaded time [s] that a verdict needs at least."""

COVERED_SHARE = 0.5
"""Share of the loaded time in which the judged track must have a value."""

STABLE_SHARE = 0.95
"""Share of the evaluated time inside the polygon from which on brief crossings don't matter."""

TIPPING_SHARE = 0.5
"""An excursion that throws the capture point this share of the room outwards can tip the robot."""

FALL_TIMES = 3.0
"""A tipping robot has fallen after this many time constants."""

IMPLAUSIBLE_SHARE = 0.25
"""A standing robot cannot have been outside for this share of its time, if that is long enough."""

FALLEN_HEIGHT = 0.5
"""The robot fell when its COM sank below this share of its initial height and stayed there."""

EMPTY_POLYGON = 1e-3
"""Room [m] below which the soles span no area."""

HEADLINES = {
    'stable': 'Stable',
    'marginal': 'Marginal',
    'disturbed': 'Disturbed',
    'unstable': 'Unstable',
    'fell': 'Fell',
    'unclear': 'Cannot say',
}


@dataclass(frozen=True)
class Verdict:
    """The answer to 'was the robot stable?'.

    Attributes:
        state: a key of HEADLINES.
        sentence: what was found, with numbers; continues 'headline: …'.
        advice: what to do about it; empty when there is nothing to do.
        judged_by: name of the track that the verdict rests on; None without one.
        room: half the smallest width of the support polygon, median over time [m].
        time_constant: √(h/g) of the COM's initial height h [s].
    """

    state: str
    sentence: str
    advice: str
    judged_by: str | None
    room: float
    time_constant: float

    @property
    def headline(self) -> str:
        """The state as a heading."""
        return HEADLINES[self.state]

    @property
    def text(self) -> str:
        """The verdict in one line."""
        return f'{self.headline}: {self.sentence}'


def judge(scene: Scene, tracks: dict[str, TrackStatistics]) -> Verdict:
    """Judge `scene` by the statistics of its tracks (see the rules above)."""
    track = _judged(scene, tracks)
    answer = _fallen(scene, track) or _missing(scene) or _weigh(scene, tracks, track)
    judged_by = track.name if track else None
    return Verdict(*answer, judged_by, scene.room, scene.time_constant)


_Answer = tuple[str, str, str]
_FILTER = 'Switch on a low-pass filter in the robot file, or check sensors, stamps and model.'
_SEE_MISSING = 'See “Not evaluated” and “Signal health”.'


def _judged(scene: Scene, tracks: dict[str, TrackStatistics]) -> TrackStatistics | None:
    """Choose the first track that covers half of the loaded time, else the one covering most."""
    able = [track for track in tracks.values() if np.isfinite(track.smallest_margin)]
    enough = COVERED_SHARE * scene.timeline.total(scene.loaded)
    for track in able:
        if track.evaluated_time >= enough:
            return track
    return max(able, key=lambda track: track.evaluated_time, default=None)


def _fallen(scene: Scene, track: TrackStatistics | None) -> _Answer | None:
    initial = scene.initial_height
    if not initial > 0:
        return None
    low = scene.timeline.sustained(scene.height < FALLEN_HEIGHT * initial)
    high = scene.timeline.sustained(scene.height >= FALLEN_HEIGHT * initial)
    stays = [
        slice(start, stop)
        for start, stop in zip(*scene.timeline.runs(low), strict=True)
        if scene.timeline.time[stop - 1] - scene.timeline.time[start]
        > FALL_TIMES * scene.time_constant
        or not high[stop:].any()
    ]
    if not stays:
        return None
    lowest = np.fmin.reduce(scene.height[stays[0]]) / initial
    sentence = (
        f'the centre of mass sank to {percent(max(lowest, 0.0))} of its initial height over the '
        f'ground; below one half from {instant(scene.timeline.time[stays[0].start])} on'
    )
    if track and track.excursions:
        first = min(track.excursions, key=lambda excursion: excursion.start)
        sentence += f'. The {track.described} left the support polygon at {instant(first.start)}'
    return 'fell', f'{sentence}.', 'If the robot sat or lay down on purpose, this is no fall.'


def _missing(scene: Scene) -> _Answer | None:
    """Name the first thing that is missing for any judgement."""
    if not len(scene.timeline.time):
        return _unclear('no instant of the recording could be evaluated.', _SEE_MISSING)
    if not scene.evaluation.feet:
        return _unclear(
            'no feet are described, so there is no support polygon to compare with.',
            'Name the feet with their soles in the robot file.',
        )
    if not scene.loaded.any():
        return _unclear(
            'no foot carries load at any instant.',
            'Check the sign of the force sensors and the load threshold.',
        )
    if not scene.room >= EMPTY_POLYGON:
        return _unclear(
            'the loaded soles span no area.', 'Describe each sole by three corners or more.'
        )
    return None


def _weigh(
    scene: Scene, tracks: dict[str, TrackStatistics], track: TrackStatistics | None
) -> _Answer:
    """Judge by `track`: can it be trusted, did it leave the polygon, how well did it stay in?"""
    if track is None:
        return _unclear('no instant has an IZMP or a CoP over a support polygon.', _SEE_MISSING)
    return (
        _too_little(scene, track)
        or _untrustworthy(scene, tracks, track)
        or _outside(scene, tracks, track)
        or _inside(track)
    )


def _too_little(scene: Scene, track: TrackStatistics) -> _Answer | None:
    loaded = scene.timeline.total(scene.loaded)
    if loaded < SHORTEST_TIME:
        return _unclear(
            f'the robot stands on its feet for only {seconds(loaded)} of the recording; '
            f'a verdict needs {seconds(SHORTEST_TIME)}.',
            '',
        )
    if track.evaluated_time < COVERED_SHARE * loaded:
        return _unclear(
            f'the {track.described} has a value for only {percent(track.evaluated_time / loaded)} '
            'of the loaded time.',
            'See “Signal health” for what was gated.',
        )
    return None


def _untrustworthy(
    scene: Scene, tracks: dict[str, TrackStatistics], track: TrackStatistics
) -> _Answer | None:
    """Refuse to judge by a point whose error is larger than the support polygon."""
    other = _about_cop(tracks, track)
    if track.scatter > scene.room:
        against = 'about the measured CoP' if track.scatter_against == 'cop' else 'on its own'
        return _unclear(
            f'the {track.described} is too noisy. It scatters by {mm(track.scatter)} (standard '
            f'deviation per axis) {against}, while the support polygon reaches only '
            f'{mm(scene.room)} from its middle to its edge.{other}',
            _FILTER,
        )
    falls_within = FALL_TIMES * scene.time_constant
    longest_possible = max(falls_within, IMPLAUSIBLE_SHARE * track.evaluated_time)
    if track.name == 'cop' or track.beyond_time <= longest_possible:
        return None
    share = percent(track.beyond_time / track.evaluated_time)
    outside = f'outside the support polygon for {share} of the loaded time'
    stayed_up = (
        'yet the robot stayed up; one that is really outside falls within about '
        f'{seconds(falls_within)}'
    )
    if track.longest_beyond > falls_within:
        return _unclear(
            f'the {track.described} lies {outside}, once for {seconds(track.longest_beyond)}, '
            f'{stayed_up}.{other}',
            'Check ground plane, soles and masses, and whether something else held the robot.',
        )
    return _unclear(
        f'the {track.described} is too noisy. It jumps in and out and is {outside}, '
        f'{stayed_up}.{other}',
        _FILTER,
    )


def _outside(
    scene: Scene, tracks: dict[str, TrackStatistics], track: TrackStatistics
) -> _Answer | None:
    """Judge the sustained excursions, if there are any."""
    if not track.excursions:
        return None
    worst = track.excursions[0]
    depth = mm(max(excursion.depth for excursion in track.excursions))
    left = f'the {track.described} left the support polygon'
    if track.excursion_count == 1:
        left += f' for {seconds(worst.duration)} at {instant(worst.start)}, by up to {depth}'
    else:
        left += (
            f' {times(track.excursion_count)}, for {seconds(track.excursion_time)} in all and by '
            f'up to {depth} (the worst at {instant(worst.start)})'
        )
    if worst.throw < TIPPING_SHARE * scene.room:
        inside = f'inside for {percent(track.inside_share)} of the loaded time'
        return 'marginal', f'{left}: too short to tip the robot; {inside}.', ''
    if _cop_inside(track, worst):
        return (
            'disturbed',
            f'{left}. The measured CoP stayed at least {mm(worst.cop_margin)} inside meanwhile, '
            'so the robot was pushed or touched something other than the ground.',
            'If nothing touched it, check the signals around that instant.',
        )
    return 'unstable', f'{left}: enough to tip the robot.{_about_cop(tracks, track)}', ''


def _inside(track: TrackStatistics) -> _Answer:
    where = 'inside the support polygon'
    if track.outside_time == 0 and not track.smallest_margin < 0:
        return (
            'stable',
            f'the {track.described} stayed {where} for the whole loaded time '
            f'({seconds(track.evaluated_time)}); minimum margin: '
            f'{mm(track.smallest_margin)} at {instant(track.smallest_margin_time)}.',
            '',
        )
    briefly = (
        f'it crossed the edge {times(track.crossings)}, for at most '
        f'{seconds(track.longest_outside)} and by at most {mm(-track.smallest_margin)} '
        f'(at {instant(track.smallest_margin_time)})'
    )
    share = percent(track.inside_share)
    if track.inside_share >= STABLE_SHARE:
        sentence = f'the {track.described} stayed {where} for {share} of the loaded time; '
        return 'stable', f'{sentence}{briefly}.', ''
    sentence = f'the {track.described} was {where} for only {share} of the loaded time; '
    if -track.smallest_margin <= track.scatter:
        briefly += f', all within its scatter of {mm(track.scatter)}'
    return 'marginal', f'{sentence}{briefly}.', ''


def _cop_inside(track: TrackStatistics, worst: Excursion) -> bool:
    return track.name != 'cop' and worst.cop_margin > track.tolerance


def _about_cop(tracks: dict[str, TrackStatistics], track: TrackStatistics) -> str:
    """Say where the CoP was, as a sentence to add; empty without one."""
    cop = tracks.get('cop')
    if cop is None or track.name == 'cop' or not np.isfinite(cop.smallest_margin):
        return ''
    if cop.smallest_margin < 0:
        return f' The measured CoP was inside for {percent(cop.inside_share)} of its time.'
    closest = mm(cop.smallest_margin)
    return f' The measured CoP stayed inside; it came as close as {closest} to the edge.'


def _unclear(sentence: str, advice: str) -> _Answer:
    return 'unclear', sentence, advice
