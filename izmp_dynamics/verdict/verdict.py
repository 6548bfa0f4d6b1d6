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
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.finding import list_names
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.stability.held_joints import REMEDY as JOINTS_REMEDY
from izmp_dynamics.stability.held_joints import unknown_foot
from izmp_dynamics.verdict.errors import TOLERANCE, Excursion, TrackError
from izmp_dynamics.verdict.formatting import instant, mm, percent, seconds, times, worded
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


class Reason(NamedTuple):
    """Why a verdict is as it is.

    Attributes:
        state: a key of `HEADLINES`.
        sentence: for `formatting.worded`, from the data of the rule.
        advice: likewise.
    """

    state: str
    sentence: str
    advice: str = ''


_SEE_MISSING = 'See “Not evaluated” and “Signal health”.'
_GATED = 'See “Signal health” for what was gated.'
_NO_FALL = 'If the robot sat or lay down or was carried on purpose, this is no fall.'

REASONS = {
    'leg_joints_absent': Reason('unclear', '{why}.', JOINTS_REMEDY),
    'height': Reason(
        'fell', 'the centre of mass {sank}; below one half from {low:at} on{after}.', _NO_FALL
    ),
    'tilt': Reason(
        'fell',
        'from {low:at} on the robot is tilted by more than 45° and its centre of mass is beside '
        'its feet; that {sank}{after}.',
        _NO_FALL,
    ),
    'nothing_evaluated': Reason(
        'unclear', 'no instant of the recording could be evaluated.', _SEE_MISSING
    ),
    'nothing_evaluated/point': Reason(
        'unclear',
        'no instant has an IZMP, or a CoP from whole wrenches, over a support polygon.',
        _SEE_MISSING,
    ),
    'no_feet': Reason(
        'unclear',
        'no feet are described, so there is no support polygon to compare with.',
        'Name the feet with their soles in the robot file.',
    ),
    'no_load/unknown': Reason(
        'unclear', 'at no instant is it known which foot carries load.', _SEE_MISSING
    ),
    'no_load': Reason(
        'unclear',
        'no foot carries load at any instant.',
        'Check the sign of the force sensors and the load threshold.',
    ),
    'no_area': Reason(
        'unclear',
        'the loaded soles span no area.',
        'Describe each sole by three corners or more.',
    ),
    'soles_overlap': Reason('unclear', '{overlap}.', OVERLAP_REMEDY),
    'too_short': Reason(
        'unclear',
        'the robot stands on its feet for only {time:s} of the recording; a verdict needs '
        '{needed:s}.',
        'A longer recording.',
    ),
    'too_short/point': Reason(
        'unclear',
        'on the ground the {track.described} has a value for only {time:s}; a verdict needs '
        '{needed:s}.',
        f'A longer recording. {_GATED}',
    ),
    'too_short/settled': Reason(
        'unclear',
        'of the {time:s} on the ground with a value all but {track.evaluated_time:s} lies within '
        '{evaluation.settle_time:s} of an end or a gap, where {evaluation.filtering} is still '
        'settling.',
        'A longer recording without gaps, or a filter that settles faster.',
    ),
    'too_few_values': Reason(
        'unclear',
        'the {track.described} has a value for only {share:%} of the loaded time.',
        _GATED,
    ),
    'falling_at_end': Reason(
        'unstable',
        'the robot falls: the centre of mass is at {share:%} of its initial height as the '
        'recording ends at {end:at}, and sinks at {speed:.1f} m/s. How that ends is not recorded.',
    ),
    'noise': Reason('unclear', '{error}{cop}', '{advice}'),
    'bias': Reason('unclear', '{error}{cop}', '{advice}'),
    'near_edge': Reason('unclear', '{error}', '{advice}'),
    'outside_for_long': Reason(
        'unclear',
        'the {track.described} lies outside the support polygon for {longest.duration:s} from '
        '{longest.start:at} on, by up to {longest.depth:mm}, and the robot does not fall; one '
        'that is really outside falls within about {falls_within:s}.{cop}',
        'Check ground plane, soles, masses and the mounting of the IMU, and whether something '
        'else held the robot.',
    ),
    'tipping': Reason('unstable', '{left}: enough to tip the robot.{cop}'),
    'pushed': Reason(
        'disturbed',
        '{left}. The measured CoP stayed at least {inside:mm} inside meanwhile, so the robot was '
        'pushed or touched something other than the ground, {enough} to tip it.{at_edge}',
        'If nothing touched it, check the signals around that instant.',
    ),
    'brief': Reason('marginal', '{left}: too short to tip the robot.{at_edge}'),
    'inside': Reason(
        'stable',
        'the {track.described} stayed inside the support polygon{but} for the '
        '{track.evaluated_time:s} that were evaluated; minimum margin: {track.averaged_margin:'
        'margin}{known} at {track.averaged_margin_time:at}.{bound}{at_edge}',
    ),
    'within_error': Reason(
        'stable',
        'within its error the {track.described} stayed inside the support polygon for the '
        '{track.evaluated_time:s} that were evaluated. At {worst.start:at} it appears up to '
        '{worst.depth:mm}{known} outside for {worst.duration:s}, {why}.',
    ),
}
"""Reason, and after a slash its variant → state, sentence and advice."""

_STAYED_UP = ('stable', 'marginal', 'disturbed')
_BY_THE_AVERAGE = ('inside', 'within_error', 'brief', 'pushed', 'tipping')

_Answer = tuple[str, dict[str, object]]
"""A key of `REASONS`, and the data of its sentence."""

_Tracks = dict[str, TrackStatistics]


def judge(scene: Scene, tracks: _Tracks) -> Verdict:
    """Judge `scene` by the statistics of its tracks (see the rules above)."""
    track = _judged(scene, tracks)
    key, data = (
        _held(scene)
        or _fallen(scene, track)
        or _missing(scene)
        or _overlapping(scene)
        or _weigh(scene, tracks, track)
    )
    state, *texts = REASONS[key]
    sentence, advice = (
        worded(text, **data, track=track, evaluation=scene.evaluation) for text in texts
    )
    reason = key.partition('/')[0]
    passed, averaged = scene.evaluation.filter_bandwidth, bandwidth(scene.averaging_time)
    slow = passed < averaged
    if slow and reason in _BY_THE_AVERAGE:
        sentence += worded(
            ' The filter before has a bandwidth of {passed:Hz}, less than the {averaged:Hz} of '
            'the average over {over:s}: what is faster is not seen.',
            passed=passed, averaged=averaged, over=scene.averaging_time,
        )  # fmt: skip
    evaluated_until = _evaluated_until(scene, track)
    until = evaluated_until if state in _STAYED_UP else np.nan
    if np.isfinite(until):
        sentence += worded(
            ' From {until:at} to the end, for {rest:s}, nothing is known: neither that the robot '
            'was stable nor that it fell.',
            until=until, rest=scene.timeline.duration - until,
        )  # fmt: skip
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


def _judged(scene: Scene, tracks: _Tracks) -> TrackStatistics | None:
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
            return 'leg_joints_absent', {'why': unknown_foot(foot.name, foot.held_joints)}
    return None


def _fallen(scene: Scene, track: TrackStatistics | None) -> _Answer | None:
    if not scene.lying:
        return None
    rows, time = scene.lying[0], scene.timeline.time
    share = scene.height[rows] / scene.initial_height
    lowest = float(np.fmin.reduce(share))
    sank, after = 'sank lower than the soles', ''
    if lowest > 0:
        sank = f'sank to {percent(lowest)} of its initial height over the soles'
    if rows.stop < len(time):
        after += f'. It is up again at {instant(time[rows.stop])}'
    outside = [found for found in track.excursions if found.cause != 'error'] if track else []
    if track and outside:
        left = min(excursion.start for excursion in outside)
        after += f'. The {track.described} left the support polygon at {instant(left)}'
    is_low = lowest < FALLEN_HEIGHT
    low = time[rows][int(np.argmax(share < FALLEN_HEIGHT))] if is_low else time[rows.start]
    return 'height' if is_low else 'tilt', {'sank': sank, 'low': low, 'after': after}


def _missing(scene: Scene) -> _Answer | None:
    """Name the first thing that is missing for any judgement."""
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


def _overlapping(scene: Scene) -> _Answer | None:
    """Refuse to judge by soles that cannot be the robot's: each reaches too far by half."""
    found = scene.sole_overlap
    if found is None or found.depth / 2 <= USABLE_SHARE * scene.room:
        return None
    return 'soles_overlap', {'overlap': found.text}


def _weigh(scene: Scene, tracks: _Tracks, track: TrackStatistics | None) -> _Answer:
    """Judge by `track`: can it be trusted, did it leave the polygon, how well did it stay in?"""
    if track is None:
        return 'nothing_evaluated/point', {}
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
        return 'too_few_values', {'share': value / loaded}
    if value < SHORTEST_TIME:
        return 'too_short/point', {'time': value, 'needed': SHORTEST_TIME}
    if track.evaluated_time < SHORTEST_TIME:
        return 'too_short/settled', {'time': value}
    return None


def _falling_at_end(scene: Scene) -> _Answer | None:
    """Find a fall that the recording does not show to its end."""
    end = scene.timeline.duration
    rows = slice(int(np.searchsorted(scene.timeline.time, end - scene.averaging_time)), None)
    known = np.isfinite(scene.height[rows])
    time, height = scene.timeline.time[rows][known], scene.height[rows][known]
    if len(time) < 3 or not scene.initial_height > 0:
        return None
    speed = -float(np.polyfit(time - time[-1], height, 1)[0])
    share = float(np.median(height[-3:])) / scene.initial_height
    if share < FALLING_HEIGHT and speed > FALLING_SPEED:
        return 'falling_at_end', {'share': share, 'speed': speed, 'end': end}
    return None


def _too_uncertain(scene: Scene, tracks: _Tracks, track: TrackStatistics) -> _Answer | None:
    """Refuse to judge by a point whose error is as large as the support polygon."""
    if track.error.usual <= USABLE_SHARE * scene.room:
        return None
    room = f'the support polygon reaches {mm(scene.room)} from its middle to its edge'
    return 'bias' if track.error.biased else 'noise', {
        **_error(scene, track, room), 'cop': _about_cop(tracks, track)
    }  # fmt: skip


def _error(scene: Scene, track: TrackStatistics, room: str) -> dict[str, object]:
    """Which error it is, noise or bias, and what would settle the verdict."""
    if track.error.biased:
        error = f'the {track.described} is biased: {bias_in_words(track.error)}; {room}.'
        return {'error': error, 'advice': _bias_advice(scene)}
    noise = noise_in_words(scene, track.error)
    error = f'the {track.described} is too noisy: {noise}; {room}.'
    return {'error': error, 'advice': noise_advice(scene)}


def bias_in_words(error: TrackError) -> str:
    """How far a biased point is off, and that noise is not the reason."""
    axes = ''
    if np.isfinite(error.bias):
        axes = f' ({mm(error.bias_x)} in x and {mm(error.bias_y)} in y of the loaded sole)'
    return (
        f'in the median it lies {mm(error.slow)} off the measured CoP{axes}, while noise leaves '
        f'only {mm(error.averaged_scatter)} (σ)'
    )


def _bias_advice(scene: Scene) -> str:
    """What helps against a bias; first, sensors that seem to measure less than a whole wrench."""
    feet = [
        foot.name
        for foot in scene.evaluation.feet
        if foot.only_normal_found and not foot.normal_only
    ]
    first = (
        f'First set wrench.normal_only: true for {list_names(feet)}: the horizontal forces and '
        'torques there are zero throughout, so that this CoP is no point to compare with. '
    )
    return (
        f'{first if feet else ""}No filter removes a bias. It would be settled by the right '
        'mounting of the IMU (imu.frame), the masses of the URDF and the offsets of the sensors: '
        '“izmp calibrate” estimates them from a walk, “izmp check” names suspects.'
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
    filtering = scene.evaluation.filtering
    if filtering:
        return (
            f'{filtering[0].upper()}{filtering[1:]} is on already: it would be settled by less '
            'noisy joint angles or IMU, stamps of the instant of measurement, or a longer '
            'half-width or lower cut-off, which costs bandwidth.'
        )
    return (
        'It would be settled by a filter in the robot file that all signals pass, or by less '
        'noisy sensors and better stamps; “izmp check” shows which.'
    )


def _contradicted(scene: Scene, tracks: _Tracks, track: TrackStatistics) -> _Answer | None:
    """Refuse an excursion that no robot survives."""
    long = [found for found in track.excursions if found.duration > scene.falls_for]
    if track.name == 'cop' or not long:
        return None
    longest = max(long, key=lambda excursion: excursion.duration)
    cop = _about_cop(tracks, track)
    return 'outside_for_long', {'longest': longest, 'falls_within': scene.falls_for, 'cop': cop}


def _outside(scene: Scene, tracks: _Tracks, track: TrackStatistics) -> _Answer | None:
    """Judge the excursions that are no errors, if there are any."""
    edge, pushed = (
        [found for found in track.excursions if found.cause == cause] for cause in ('edge', 'push')
    )
    limit = TIPPING_SHARE * scene.room
    if edge and edge[0].throw >= limit:
        return 'tipping', {'left': _left(track, edge), 'cop': _about_cop(tracks, track)}
    if not edge and not pushed:
        return None
    data: dict[str, object] = {
        'left': _left(track, pushed or edge), 'at_edge': _at_edge(scene, track)
    }  # fmt: skip
    if pushed:
        data['inside'] = min(found.cop_margin for found in pushed)
        data['enough'] = 'enough' if pushed[0].throw >= limit else 'not enough'
    return 'pushed' if pushed else 'brief', data


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
    return 'near_edge', _error(scene, track, room)


def _inside(scene: Scene, track: TrackStatistics) -> _Answer:
    known = f' (± {mm(track.error.uncertainty)})'
    if track.name == 'cop':
        known = ''  # nothing measures its error
    elif track.error.against != 'cop':
        known = f' (± {mm(track.error.uncertainty)}, assumed, as no CoP measures its error)'
    errors = [found for found in track.excursions if found.cause == 'error']
    if not errors:
        but = f' or within {mm(TOLERANCE)} of its edge' if track.averaged_margin < 0 else ''
        bound, at_edge = _bound(scene, track), _at_edge(scene, track)
        return 'inside', {'but': but, 'known': known, 'bound': bound, 'at_edge': at_edge}
    worst = max(errors, key=lambda excursion: excursion.depth)
    why = 'which is within that'
    if np.isfinite(worst.cop_margin):
        why = (
            f'but the measured CoP was {mm(worst.cop_margin)} inside, and errors as large occur '
            'elsewhere in the recording'
        )
    return 'within_error', {'worst': worst, 'known': known, 'why': why}


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
    near = scene.judged_margin(track.name) < TOLERANCE
    longest, start = scene.timeline.longest_run(near)
    if longest <= scene.falls_for:
        return ''
    return (
        f' For {seconds(scene.timeline.total(near))} it was at the edge, within {mm(TOLERANCE)} '
        f'of it or outside, at the longest for {seconds(longest)} from {instant(start)} on: the '
        'robot rocked on its edges, or the soles are described too small.'
    )


def _about_cop(tracks: _Tracks, track: TrackStatistics) -> str:
    """Say where the CoP was, as a sentence to add; empty without one."""
    cop = tracks.get('cop')
    if cop is None or track.error.against != 'cop' or not np.isfinite(cop.averaged_margin):
        return ''
    if cop.averaged_margin < 0:
        return f' The measured CoP was inside for {percent(cop.inside_share)} of its time.'
    closest = mm(cop.averaged_margin)
    return f' The measured CoP stayed inside; it came as close as {closest} to the edge.'
