"""The answer to 'was the robot stable?': the reason that the rules found, in a sentence."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.verdict.formatting import instant, worded
from izmp_dynamics.verdict.reasons import ALSO, HEADLINES, REASONS, SEE_MISSING, Case
from izmp_dynamics.verdict.rules import UNKNOWN_END, decide
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import TrackStatistics


@dataclass(frozen=True)
class Verdict:
    """The answer to 'was the robot stable?'.

    Attributes:
        state: a key of HEADLINES.
        reason: why, as a key: 'inside', 'within_error', 'brief', 'pushed', 'tipping',
            'falling_at_end', 'open_end', 'height', 'tilt', 'nothing_evaluated', 'no_feet',
            'no_load', 'no_area', 'line_support', 'contact_estimated', 'leg_joints_absent',
            'input_wrong', 'soles_overlap', 'too_short', 'too_few_values', 'noise', 'bias',
            'outside_for_long', 'near_edge', 'stepping'.
        sentence: what was found, with numbers; continues 'headline: …'.
        advice: what to do about it, and what would settle it where the verdict is 'Cannot say';
            empty when there is nothing to do.
        judged_by: name of the track that the verdict rests on; None without one.
        uncertainty: the averaged point is right within this distance for 95 % of the time, as far
            as its error is known [m]; NaN without a track.
        margin: that decides [m]: where the robot trots that of the capture point at a touchdown;
            else, negative, of the deepest excursion that is not put down to an error, or without
            any the smallest of the averaged point; NaN without one.
        margin_time: when [s].
        margin_of: 'averaged point' or 'capture point'.
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
    margin: float
    margin_time: float
    margin_of: str
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
        return HEADLINES.get(self.reason, HEADLINES[self.state]) + until

    def averaged_margin(self, judged: TrackStatistics) -> tuple[float, float]:
        """The margin of the averaged point that counts [m], errors left out, and when it is [s].

        Args:
            judged: the track that it rests on.
        """
        if self.margin_of == 'averaged point':
            return self.margin, self.margin_time
        return judged.averaged_margin, judged.averaged_margin_time

    @property
    def text(self) -> str:
        """The verdict in one line."""
        return f'{self.headline}: {self.sentence}'


_STAYED_UP = ('stable', 'marginal', 'disturbed')
_UP = (*_STAYED_UP, 'unstable')
_BY_THE_AVERAGE = ('inside', 'within_error', 'brief', 'pushed', 'tipping')


def judge(case: Case) -> Verdict:
    """Judge an evaluation by the rules, see `rules`."""
    key, data = decide(case)
    reason, case, scene = key.partition('/')[0], data['case'], case.scene
    track, first = case.track, next(iter(case.tracks.values()), None)
    state, *texts = REASONS[key]
    passed, averaged = scene.evaluation.filter_bandwidth, bandwidth(scene.averaging_time)
    evaluated_until = _evaluated_until(scene, track)
    until = evaluated_until if state in _STAYED_UP else np.nan
    other = state in _UP and track is not None and track is not first
    also = {
        'filtered': passed < averaged and reason in _BY_THE_AVERAGE,
        'far_off': other and 'far_off' in data,
        'few_values': other and 'far_off' not in data,
        'likely_fall': state == 'stable',
        'pushed': bool(case.forces.pushes) and state in _UP and reason != 'pushed',
        'unknown_end': bool(np.isfinite(until)),
    }
    data |= {
        'scene': scene, 'track': track, 'first': first, 'passed': passed, 'averaged': averaged,
        'until': until, 'rest': scene.timeline.duration - until,
    }  # fmt: skip
    sentence, advice = (worded(text, **data) for text in texts)
    sentence += ''.join(worded(ALSO[each], **data) for each, holds in also.items() if holds)
    return Verdict(
        state,
        reason,
        sentence,
        advice or (SEE_MISSING if np.isfinite(until) else ''),
        judged_by=track.name if track else None,
        uncertainty=track.error.uncertainty if track else np.nan,
        **_deciding_margin(track, data),
        room=scene.room,
        time_constant=scene.time_constant,
        averaging_time=scene.averaging_time,
        filter_bandwidth=passed if passed < averaged else np.nan,
        known_until=until,
        evaluated_until=evaluated_until,
    )


def _deciding_margin(track: TrackStatistics | None, data: dict[str, Any]) -> dict[str, Any]:
    """The margin on which the verdict rests, see `Verdict`."""
    margin, at, of = np.nan, np.nan, 'averaged point'
    if 'capture_margin' in data:
        margin, at, of = data['capture_margin'], data['at'], 'capture point'
    elif track is not None:
        margin, at = track.averaged_margin, track.averaged_margin_time
        decide = [found for found in track.excursions if found.cause != 'error']
        if decide:  # those put down to errors may be deeper
            deepest = max(decide, key=lambda found: found.depth)
            margin, at = -deepest.depth, deepest.deepest
    return {'margin': margin, 'margin_time': at, 'margin_of': of}


def _evaluated_until(scene: Scene, track: TrackStatistics | None) -> float:
    """Last instant with a margin, in flight or lying [s]; NaN if that is (about) the end."""
    if track is None:
        return 0.0
    known = np.flatnonzero(scene.judged[track.name] | scene.in_flight | scene.lies)
    until = float(scene.timeline.time[known[-1]]) if len(known) else 0.0
    return until if scene.timeline.duration - until > UNKNOWN_END else np.nan
