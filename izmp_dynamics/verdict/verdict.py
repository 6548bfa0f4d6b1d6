"""Was the robot stable? The rules that turn statistics into a word and a sentence.

The point that is judged is the IZMP of MR-AD (else of IR-MD, else the CoP), averaged over half of
the time constant with which the robot tips (see `tipping`). Inside the support polygon it means
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

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.finding import list_names
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.stability.held_joints import REMEDY as JOINTS_REMEDY
from izmp_dynamics.stability.held_joints import unknown_foot
from izmp_dynamics.verdict.errors import TrackError
from izmp_dynamics.verdict.excursions import TOLERANCE, Excursion
from izmp_dynamics.verdict.formatting import hertz, instant, margin_mm, mm, percent, seconds, times
from izmp_dynamics.verdict.posture import FALLEN_HEIGHT
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import TrackStatistics
from izmp_dynamics.verdict.support import OVERLAP_REMEDY

SHORTEST_TIME = 0.5
"""Loaded time [s] that a verdict needs at least."""

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
        reason: why, as a key: 'inside', 'within_error', 'brief', 'pushed', 'tipping',
            'falling_at_end', 'height', 'tilt', 'nothing_evaluated', 'no_feet', 'no_load',
            'no_area', 'leg_joints_absent', 'soles_overlap', 'too_short', 'too_few_values',
            'noise', 'bias', 'outside_for_long', 'near_edge'.
        sentence: what was found, with numbers; continues 'headline: …'.
        advice: what to do about it, and what would settle it where the verdict is 'Cannot say';
            empty when there is nothing to do.
        judged_by: name of the track that the verdict rests on; None without one.
        uncertainty: the averaged point is right within this distance for 95 % of the time, as far
            as its error is known [m]; NaN without a track.
        room: half the smallest width of the support polygon, over the phases that last [m].
        time_constant: √(h/g) of the COM's initial height h [s].
        averaging_time: over which the judged point is averaged [s].
        filter_bandwidth: of the filter before, if that is less than the bandwidth of the average
            [Hz]; NaN otherwise.
        known_until: up to when it holds that the robot did not fall, where nothing is known from
            then to the end [s]; NaN otherwise.
        evaluated_until: whatever the state, from when on nothing is known to the end [s]; NaN if
            something is known at the end.
    """

    state: str
    reason: str
    sentence: str
    advice: str
    judged_by: str | None
    uncertainty: float
    room: float
    time_constant: float
    averaging_time: float
    filter_bandwidth: float
    known_until: float
    evaluated_until: float

    @property
    def headline(self) -> str:
        """The state as a heading, with the instant up to which it is known."""
        until = f' until {instant(self.known_until)}' if np.isfinite(self.known_until) else ''
        return HEADLINES[self.state] + until

    @property
    def text(self) -> str:
        """The verdict in one line."""
        return f'{self.headline}: {self.sentence}'


def judge(scene: Scene, tracks: dict[str, TrackStatistics]) -> Verdict:
    """Judge `scene` by the statistics of its tracks (see the rules above)."""
    track = _judged(scene, tracks)
    answer = (
        _held(scene)
        or _fallen(scene, track)
        or _missing(scene)
        or _overlapping(scene)
        or _weigh(scene, tracks, track)
    )
    state, reason, sentence, advice = answer
    passed, averaged = scene.evaluation.filter_bandwidth, bandwidth(scene.averaging_time)
    slow = passed < averaged
    if slow and reason in _BY_THE_AVERAGE:
        sentence += (
            f' The filter before has a bandwidth of {hertz(passed)}, less than the '
            f'{hertz(averaged)} of the average over {seconds(scene.averaging_time)}: what is '
            'faster is not seen.'
        )
    evaluated_until = _evaluated_until(scene, track)
    until = evaluated_until if state in _STAYED_UP else np.nan
    if np.isfinite(until):
        sentence += (
            f' From {instant(until)} to the end, for {seconds(scene.timeline.duration - until)}, '
            'nothing is known: neither that the robot was stable nor that it fell.'
        )
        advice = advice or _SEE_MISSING
    return Verdict(
        state,
        reason,
        sentence,
        advice,
        judged_by=track.name if track else None,
        uncertainty=track.error.uncertainty if track else np.nan,
        room=scene.room,
        time_constant=scene.time_constant,
        averaging_time=scene.averaging_time,
        filter_bandwidth=passed if slow else np.nan,
        known_until=until,
        evaluated_until=evaluated_until,
    )


def _evaluated_until(scene: Scene, track: TrackStatistics | None) -> float:
    """Last instant with a margin, in flight or lying [s]; NaN if that is (about) the end."""
    if track is None:
        return 0.0
    margin = scene.evaluation.tracks[track.name].margin
    known = np.flatnonzero((scene.loaded & np.isfinite(margin)) | scene.in_flight | scene.lies)
    until = float(scene.timeline.time[known[-1]]) if len(known) else 0.0
    return until if scene.timeline.duration - until > UNKNOWN_END else np.nan


_Answer = tuple[str, str, str, str]
_STAYED_UP = ('stable', 'marginal', 'disturbed')
_BY_THE_AVERAGE = ('inside', 'within_error', 'brief', 'pushed', 'tipping')
_SEE_MISSING = 'See “Not evaluated” and “Signal health”.'


def _judged(scene: Scene, tracks: dict[str, TrackStatistics]) -> TrackStatistics | None:
    """Choose the first track that covers half of the loaded time, else the one covering most."""
    able = [track for track in tracks.values() if np.isfinite(track.averaged_margin)]
    enough = COVERED_SHARE * scene.timeline.total(scene.loaded & ~scene.lies)
    for track in able:
        if track.evaluated_time >= enough:
            return track
    return max(able, key=lambda track: track.evaluated_time, default=None)


def _held(scene: Scene) -> _Answer | None:
    """Refuse to judge by a foot that stands elsewhere than the unrecorded joints say."""
    for foot in scene.evaluation.feet:
        if foot.held_joints and foot.loaded.any():
            return _unclear(
                'leg_joints_absent',
                f'{unknown_foot(foot.name, foot.held_joints)}.',
                JOINTS_REMEDY,
            )
    return None


def _fallen(scene: Scene, track: TrackStatistics | None) -> _Answer | None:
    if not scene.lying:
        return None
    rows, time = scene.lying[0], scene.timeline.time
    share = scene.height[rows] / scene.initial_height
    lowest = float(np.fmin.reduce(share))
    sank = (
        f'sank to {percent(lowest)} of its initial height over the soles'
        if lowest > 0
        else 'sank lower than the soles'
    )
    if lowest < FALLEN_HEIGHT:
        low = time[rows][int(np.argmax(share < FALLEN_HEIGHT))]
        reason = 'height'
        sentence = f'the centre of mass {sank}; below one half from {instant(low)} on'
    else:
        reason = 'tilt'
        sentence = (
            f'from {instant(time[rows.start])} on the robot is tilted by more than 45° and its '
            f'centre of mass is beside its feet; that {sank}'
        )
    if rows.stop < len(time):
        sentence += f'. It is up again at {instant(time[rows.stop])}'
    outside = [found for found in track.excursions if found.cause != 'error'] if track else []
    if track and outside:
        first = min(outside, key=lambda excursion: excursion.start)
        sentence += f'. The {track.described} left the support polygon at {instant(first.start)}'
    return (
        'fell',
        reason,
        f'{sentence}.',
        'If the robot sat or lay down or was carried on purpose, this is no fall.',
    )


def _missing(scene: Scene) -> _Answer | None:
    """Name the first thing that is missing for any judgement."""
    if not len(scene.timeline.time):
        return _unclear(
            'nothing_evaluated', 'no instant of the recording could be evaluated.', _SEE_MISSING
        )
    if not scene.evaluation.feet:
        return _unclear(
            'no_feet',
            'no feet are described, so there is no support polygon to compare with.',
            'Name the feet with their soles in the robot file.',
        )
    if not scene.loaded.any():
        if not scene.in_flight.any():
            return _unclear(
                'no_load', 'at no instant is it known which foot carries load.', _SEE_MISSING
            )
        return _unclear(
            'no_load',
            'no foot carries load at any instant.',
            'Check the sign of the force sensors and the load threshold.',
        )
    if not scene.room >= EMPTY_POLYGON:
        return _unclear(
            'no_area',
            'the loaded soles span no area.',
            'Describe each sole by three corners or more.',
        )
    loaded = scene.timeline.total(scene.loaded)
    if loaded < SHORTEST_TIME:
        return _unclear(
            'too_short',
            f'the robot stands on its feet for only {seconds(loaded)} of the recording; '
            f'a verdict needs {seconds(SHORTEST_TIME)}.',
            'A longer recording.',
        )
    return None


def _overlapping(scene: Scene) -> _Answer | None:
    """Refuse to judge by soles that cannot be the robot's: each reaches too far by half."""
    found = scene.sole_overlap
    if found is None or found.depth / 2 <= USABLE_SHARE * scene.room:
        return None
    return _unclear('soles_overlap', f'{found.text}.', OVERLAP_REMEDY)


def _weigh(
    scene: Scene, tracks: dict[str, TrackStatistics], track: TrackStatistics | None
) -> _Answer:
    """Judge by `track`: can it be trusted, did it leave the polygon, how well did it stay in?"""
    if track is None:
        return _unclear(
            'nothing_evaluated',
            'no instant has an IZMP, or a CoP from whole wrenches, over a support polygon.',
            _SEE_MISSING,
        )
    return (
        _too_little(scene, track)
        or _falling_at_end(scene)
        or _too_uncertain(scene, tracks, track)
        or _contradicted(scene, tracks, track)
        or _outside(scene, tracks, track)
        or _near_edge(scene, track)
        or _inside(scene, track)
    )


def _too_little(scene: Scene, track: TrackStatistics) -> _Answer | None:
    loaded = scene.timeline.total(scene.loaded)
    margin = scene.evaluation.tracks[track.name].margin
    value = scene.timeline.total(scene.loaded & np.isfinite(margin))
    if value < COVERED_SHARE * loaded:
        return _unclear(
            'too_few_values',
            f'the {track.described} has a value for only {percent(value / loaded)} of the loaded '
            'time.',
            'See “Signal health” for what was gated.',
        )
    if value < SHORTEST_TIME:
        return _unclear(
            'too_short',
            f'on the ground the {track.described} has a value for only {seconds(value)}; a '
            f'verdict needs {seconds(SHORTEST_TIME)}.',
            'A longer recording. See “Signal health” for what was gated.',
        )
    if track.evaluated_time < SHORTEST_TIME:
        return _unclear(
            'too_short',
            f'of the {seconds(value)} on the ground with a value all but '
            f'{seconds(track.evaluated_time)} lies within '
            f'{seconds(scene.evaluation.settle_time)} of an end or a gap, where '
            f'{scene.evaluation.filtering} is still settling.',
            'A longer recording without gaps, or a filter that settles faster.',
        )
    return None


def _falling_at_end(scene: Scene) -> _Answer | None:
    """Find a fall that the recording does not show to its end."""
    sinking = _sinking(scene)
    if sinking is None:
        return None
    share, speed = sinking
    return (
        'unstable',
        'falling_at_end',
        f'the robot falls: the centre of mass is at {percent(share)} of its initial height as the '
        f'recording ends at {instant(scene.timeline.duration)}, and sinks at {speed:.1f} m/s. How '
        'that ends is not recorded.',
        '',
    )


def _sinking(scene: Scene) -> tuple[float, float] | None:
    """Height of the COM at the end over the initial one, and its speed down; None if it stands."""
    late = scene.timeline.duration - scene.averaging_time
    rows = slice(int(np.searchsorted(scene.timeline.time, late)), None)
    known = np.isfinite(scene.height[rows])
    time, height = scene.timeline.time[rows][known], scene.height[rows][known]
    if len(time) < 3 or not scene.initial_height > 0:
        return None
    speed = -float(np.polyfit(time - time[-1], height, 1)[0])
    share = float(np.median(height[-3:])) / scene.initial_height
    if share < FALLING_HEIGHT and speed > FALLING_SPEED:
        return share, speed
    return None


def _too_uncertain(
    scene: Scene, tracks: dict[str, TrackStatistics], track: TrackStatistics
) -> _Answer | None:
    """Refuse to judge by a point whose error is as large as the support polygon."""
    if track.error.usual <= USABLE_SHARE * scene.room:
        return None
    room = f'the support polygon reaches {mm(scene.room)} from its middle to its edge'
    reason, sentence, advice = _error_in_words(scene, track, room)
    return _unclear(reason, sentence + _about_cop(tracks, track), advice)


def _error_in_words(scene: Scene, track: TrackStatistics, room: str) -> tuple[str, str, str]:
    """Which error it is, noise or bias, and what would settle the verdict."""
    error = track.error
    if error.biased:
        return (
            'bias',
            f'the {track.described} is biased: {bias_in_words(error)}; {room}.',
            f'{_only_normal(scene)}No filter removes a bias. It would be settled by the right '
            'mounting of the IMU (imu.frame), the masses of the URDF and the offsets of the '
            'sensors: “izmp calibrate” estimates them from a walk, “izmp check” names suspects.',
        )
    return (
        'noise',
        f'the {track.described} is too noisy: {noise_in_words(scene, error)}; {room}.',
        noise_advice(scene),
    )


def _only_normal(scene: Scene) -> str:
    """Name the feet whose sensors seem to measure less than a whole wrench, as a sentence."""
    feet = [
        foot.name
        for foot in scene.evaluation.feet
        if foot.only_normal_found and not foot.normal_only
    ]
    if not feet:
        return ''
    return (
        f'First set wrench.normal_only: true for {list_names(feet)}: the horizontal forces and '
        'torques there are zero throughout, so that this CoP is no point to compare with. '
    )


def bias_in_words(error: TrackError) -> str:
    """How far a biased point is off, and that noise is not the reason."""
    axes = ''
    if np.isfinite(error.bias):
        axes = f' ({mm(error.bias_x)} in x and {mm(error.bias_y)} in y of the loaded sole)'
    return (
        f'in the median it lies {mm(error.slow)} off the measured CoP{axes}, while noise leaves '
        f'only {mm(error.averaged_scatter)} (σ)'
    )


def noise_in_words(scene: Scene, error: TrackError) -> str:
    """How noisy a point is, instant by instant and averaged."""
    against = 'about the measured CoP' if error.against == 'cop' else 'on its own'
    return (
        f'it scatters by {mm(error.scatter)} (σ per axis) {against} from instant to instant, and '
        f'averaged over {seconds(scene.averaging_time)} it is uncertain by {mm(error.usual)}'
    )


def noise_advice(scene: Scene) -> str:
    """What helps against noise; not the filter that is on already."""
    if scene.evaluation.filtering:
        return (
            f'{scene.evaluation.filtering[0].upper()}{scene.evaluation.filtering[1:]} is on '
            'already: it would be settled by less noisy joint angles or IMU, stamps of the '
            'instant of measurement, or a longer half-width or lower cut-off, which costs '
            'bandwidth.'
        )
    return (
        'It would be settled by a filter in the robot file that all signals pass, or by less '
        'noisy sensors and better stamps; “izmp check” shows which.'
    )


def _contradicted(
    scene: Scene, tracks: dict[str, TrackStatistics], track: TrackStatistics
) -> _Answer | None:
    """Refuse a stay outside that no robot survives."""
    falls_within = scene.falls_for
    long = [found for found in track.excursions if found.duration > falls_within]
    if track.name == 'cop' or not long:
        return None
    longest = max(long, key=lambda excursion: excursion.duration)
    return _unclear(
        'outside_for_long',
        f'the {track.described} lies outside the support polygon for '
        f'{seconds(longest.duration)} from {instant(longest.start)} on, by up to '
        f'{mm(longest.depth)}, and the robot does not fall; one that is really outside falls '
        f'within about {seconds(falls_within)}.{_about_cop(tracks, track)}',
        'Check ground plane, soles, masses and the mounting of the IMU, and whether something '
        'else held the robot.',
    )


def _outside(
    scene: Scene, tracks: dict[str, TrackStatistics], track: TrackStatistics
) -> _Answer | None:
    """Judge the excursions that are no errors, if there are any."""
    edge = [found for found in track.excursions if found.cause == 'edge']
    pushed = [found for found in track.excursions if found.cause == 'push']
    limit = TIPPING_SHARE * scene.room
    if edge and edge[0].throw >= limit:
        sentence = f'{_left(track, edge)}: enough to tip the robot.{_about_cop(tracks, track)}'
        return 'unstable', 'tipping', sentence, ''
    if pushed:
        tips = 'enough' if pushed[0].throw >= limit else 'not enough'
        return (
            'disturbed',
            'pushed',
            f'{_left(track, pushed)}. The measured CoP stayed at least '
            f'{mm(min(found.cop_margin for found in pushed))} inside meanwhile, so the robot was '
            f'pushed or touched something other than the ground, {tips} to tip it.'
            f'{_at_edge(scene, track)}',
            'If nothing touched it, check the signals around that instant.',
        )
    if edge:
        tips = 'too short to tip the robot'
        sentence = f'{_left(track, edge)}: {tips}.{_at_edge(scene, track)}'
        return 'marginal', 'brief', sentence, ''
    return None


def _left(track: TrackStatistics, excursions: list[Excursion]) -> str:
    """When the point left the polygon, for how long and how far."""
    worst = excursions[0]
    depth = mm(max(excursion.depth for excursion in excursions))
    uncertain = '' if track.name == 'cop' else f' (± {mm(track.error.uncertainty)})'
    left = f'the {track.described} left the support polygon'
    if len(excursions) == 1:
        return (
            f'{left} for {seconds(worst.duration)} at {instant(worst.start)}, by up to {depth}'
            f'{uncertain}'
        )
    total = sum(excursion.duration for excursion in excursions)
    return (
        f'{left} {times(len(excursions))}, for {seconds(total)} in all and by up to {depth}'
        f'{uncertain}, the worst at {instant(worst.start)}'
    )


def _near_edge(scene: Scene, track: TrackStatistics) -> _Answer | None:
    """Refuse where the point, off by its uncertainty, could have tipped the robot."""
    if track.possible_throw < TIPPING_SHARE * scene.room:
        return None
    room = (
        f'its smallest margin is {mm(track.averaged_margin)} at '
        f'{instant(track.averaged_margin_time)}, so it may have been outside for long enough to '
        'tip the robot'
    )
    _, sentence, advice = _error_in_words(scene, track, room)
    return _unclear('near_edge', sentence, advice)


def _inside(scene: Scene, track: TrackStatistics) -> _Answer:
    known = f' (± {mm(track.error.uncertainty)})'
    if track.name == 'cop':
        known = ''  # nothing measures its error
    elif track.error.against != 'cop':
        known = f' (± {mm(track.error.uncertainty)}, assumed, as no CoP measures its error)'
    errors = [found for found in track.excursions if found.cause == 'error']
    time = f'the {seconds(track.evaluated_time)} that were evaluated'
    if not errors:
        but = f' or within {mm(TOLERANCE)} of its edge' if track.averaged_margin < 0 else ''
        return (
            'stable',
            'inside',
            f'the {track.described} stayed inside the support polygon{but} for {time}; '
            f'minimum margin: {margin_mm(track.averaged_margin)}{known} at '
            f'{instant(track.averaged_margin_time)}.{_bound(scene, track)}'
            f'{_at_edge(scene, track)}',
            '',
        )
    worst = max(errors, key=lambda excursion: excursion.depth)
    why = 'which is within that'
    if np.isfinite(worst.cop_margin):
        why = (
            f'but the measured CoP was {mm(worst.cop_margin)} inside, and errors as large occur '
            'elsewhere in the recording'
        )
    return (
        'stable',
        'within_error',
        f'within its error the {track.described} stayed inside the support polygon for {time}. At '
        f'{instant(worst.start)} it appears up to {mm(worst.depth)}{known} outside for '
        f'{seconds(worst.duration)}, {why}.',
        '',
    )


def _bound(scene: Scene, track: TrackStatistics) -> str:
    """Say why a margin that is smaller than its uncertainty is none the less enough."""
    if track.name == 'cop' or not track.averaged_margin < track.error.uncertainty:
        return ''
    if track.error.against == 'cop':
        closest = float(np.fmin.reduce(scene.averaged('cop').margin))
        if closest >= 0:
            return (
                ' That is less than its uncertainty, but the measured CoP stayed '
                f'{mm(closest)} inside.'
            )
    return ' Even if it was wrong by that, it was not outside for long enough to tip the robot.'


def _at_edge(scene: Scene, track: TrackStatistics) -> str:
    """Say if the point was at the edge for longer than a fall takes; empty otherwise."""
    margin = scene.judged_margin(track.name)
    near = margin < TOLERANCE
    longest, start = scene.timeline.longest_run(near)
    if longest <= scene.falls_for:
        return ''
    return (
        f' For {seconds(scene.timeline.total(near))} it was at the edge, within {mm(TOLERANCE)} '
        f'of it or outside, at the longest for {seconds(longest)} from {instant(start)} on: the '
        'robot rocked on its edges, or the soles are described too small.'
    )


def _about_cop(tracks: dict[str, TrackStatistics], track: TrackStatistics) -> str:
    """Say where the CoP was, as a sentence to add; empty without one."""
    cop = tracks.get('cop')
    if cop is None or track.error.against != 'cop' or not np.isfinite(cop.averaged_margin):
        return ''
    if cop.averaged_margin < 0:
        return f' The measured CoP was inside for {percent(cop.inside_share)} of its time.'
    closest = mm(cop.averaged_margin)
    return f' The measured CoP stayed inside; it came as close as {closest} to the edge.'


def _unclear(reason: str, sentence: str, advice: str) -> _Answer:
    return 'unclear', reason, sentence, advice
