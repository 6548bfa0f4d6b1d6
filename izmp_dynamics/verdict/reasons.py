"""Why a verdict is as it is, in words: one table of sentences, and the parts that they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Flags
from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.base.robust import lowest
from izmp_dynamics.stability.alarm_rule import HORIZON
from izmp_dynamics.stability.held_joints import REMEDY as JOINTS_REMEDY
from izmp_dynamics.verdict.errors import TOLERANCE, Excursion, TrackError
from izmp_dynamics.verdict.formatting import instant, mm, percent, seconds, times
from izmp_dynamics.verdict.pushes import ExternalForces
from izmp_dynamics.verdict.scene import LIKELY, Scene
from izmp_dynamics.verdict.statistics import TrackStatistics
from izmp_dynamics.verdict.timeline import Indices

HEADLINES = {
    'stable': 'Stable',
    'marginal': 'Marginal',
    'disturbed': 'Disturbed',
    'unstable': 'Unstable',
    'fell': 'Fell',
    'unclear': 'Cannot say',
    'open_end': 'Cannot say how it ends',
}
"""State, or a reason with a heading of its own → heading."""


CONSTANT_SHARE = 0.5
"""A constant offset that is less than this share of the median error is no bias [-]."""


class Reason(NamedTuple):
    """Why a verdict is as it is.

    Attributes:
        state: a key of `HEADLINES`.
        sentence: for `formatting.worded`, from a `Case`, its `scene` and `track`, and the data of
            the rule.
        advice: likewise.
    """

    state: str
    sentence: str
    advice: str = ''


SEE_MISSING = 'See “Not evaluated” and “Signal health”.'
_GATED = 'See “Signal health” for the samples left out.'
_NO_FALL = 'If the robot sat or lay down or was carried on purpose, this is not a fall.'
_CHECK_SIGNALS = 'If nothing touched it, check the signals around that instant.'
_CHECK_SOLES = (
    'First measure the soles: the polygons in the robot file may be too small, as are those that '
    'izmp draft derives from forces. If they are right, move the planned ZMP inwards.'
)
_TOO_WRONG = (
    'the {track.described} is {case.wrong}; the support polygon reaches {scene.room:mm} from '
    'its middle to its edge.{case.cop}'
)
_WITHIN_ERROR = (
    'within its error the {track.described} stayed inside the support polygon for the '
    '{track.evaluated_time:s} evaluated. At {worst.start:at} it appears up to '
    '{worst.depth:mm}{case.known} outside for {worst.duration:s}, '
)
_ON_LINES = 'for {share:%} of the time on the ground the robot stands on one or two point feet'

REASONS = {
    'leg_joints_absent': Reason('unclear', '{why}.', JOINTS_REMEDY),
    'input_wrong': Reason('unclear', '{finding.sentence}', '{finding.remedy}'),
    'height': Reason(
        'fell',
        'the centre of mass {sank}; it was below one half from {low:at} on{after}.',
        _NO_FALL,
    ),
    'tilt': Reason(
        'fell',
        'from {low:at} on the robot is tilted by more than 45° and its centre of mass is beside '
        'its feet; that {sank}{after}.',
        _NO_FALL,
    ),
    'nothing_evaluated': Reason(
        'unclear', 'no instant of the recording could be evaluated.', SEE_MISSING
    ),
    'nothing_evaluated/point': Reason(
        'unclear',
        'no instant has an IZMP, or a CoP from six-axis force sensors, and a support polygon.',
        SEE_MISSING,
    ),
    'no_feet': Reason(
        'unclear',
        'no feet are described, so there is no support polygon to compare with.',
        'Name the feet with their soles in the robot file.',
    ),
    'no_load/unknown': Reason(
        'unclear', 'at no instant is it known which foot carries load.', SEE_MISSING
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
    'line_support': Reason(
        'unclear',
        f'{_ON_LINES}, which span no polygon. Whether the next feet landed in time is not known: '
        '{why}.',
        'See the fall probability, which takes the swinging feet into account, and the margin, '
        'which is here the distance from the line between the feet.',
    ),
    'contact_estimated': Reason(
        'unclear',
        f'{_ON_LINES}, as far as is known: not every foot measures its force. So it is not known '
        'whether the next feet landed in time.',
        'Record the force on each foot (wrench or force in the robot file). See the fall '
        'probability, which takes the swinging feet into account.',
    ),
    'soles_overlap': Reason('unclear', '{finding.sentence}', '{finding.remedy}'),
    'too_short': Reason(
        'unclear',
        'the robot stands on its feet for only {time:s} of the recording; a verdict needs '
        '{needed:s}.',
        'Make a longer recording.',
    ),
    'too_short/point': Reason(
        'unclear',
        'on the ground the {track.described} has a value for only {time:s}; a verdict needs '
        '{needed:s}.',
        f'Make a longer recording. {_GATED}',
    ),
    'too_few_values': Reason(
        'unclear',
        'the {track.described} has a value for only {share:%} of the loaded time.',
        _GATED,
    ),
    'falling_at_end': Reason(
        'unstable',
        'the robot falls: when the recording ends at {scene.timeline.duration:at}, the centre of '
        'mass is at {share:%} of its initial height and sinks at {speed:.1f} m/s. The outcome is '
        'not recorded.',
    ),
    'open_end': Reason(
        'unclear', 'when the recording ends at {scene.timeline.duration:at}, {signs}.'
    ),
    'noise': Reason('unclear', _TOO_WRONG, '{case.advice}'),
    'bias': Reason('unclear', _TOO_WRONG, '{case.advice}'),
    'noise/rare': Reason(
        'unclear',
        'for 5 % of the time the {track.described} is more than '
        '{track.error.uncertainty:mm} off the measured CoP; the support polygon reaches only '
        '{scene.room:mm} from its middle to its edge.',
        '{advice}',
    ),
    'noise/stepping': Reason(
        'unclear',
        'the {track.described} and the measured CoP are {apart:mm} apart on average; the support '
        'polygon reaches only {scene.room:mm} from its middle to its edge. So it is not known '
        'which feet carry.',
        'Has each foot its own sensor? Compare topics and fields under feet in the robot file.',
    ),
    'near_edge': Reason(
        'unclear',
        'the {track.described} is {case.wrong}; its smallest margin is '
        '{track.averaged_margin:mm} at {track.averaged_margin_time:at}, so it may have been '
        'outside for long enough to tip the robot.',
        '{case.advice}',
    ),
    'outside_for_long': Reason(
        'unclear',
        'the {track.described} lies outside the support polygon for {longest.duration:s} from '
        '{longest.start:at} on, by up to {longest.depth:mm}, yet the robot does not fall; if it '
        'were really outside, it would fall within about {scene.falls_for:s}.{case.cop}',
        'Check ground plane, soles, masses and the mounting of the IMU, and whether something '
        'else held the robot.',
    ),
    'tipping': Reason('unstable', '{left}: enough to tip the robot.{case.cop}', _CHECK_SOLES),
    'pushed': Reason(
        'disturbed',
        '{left}. The measured CoP stayed at least {inside:mm} inside meanwhile, so the robot was '
        'pushed or touched something other than the ground, {enough} to tip it.{case.at_edge}',
        _CHECK_SIGNALS,
    ),
    'pushed/by': Reason(
        'disturbed',
        'pushed {push.described} at {push.start:at}, {left}. The measured CoP stayed at least '
        '{inside:mm} inside meanwhile; the push was {enough} to tip the robot.{case.at_edge}',
        _CHECK_SIGNALS,
    ),
    'pushed/edge': Reason(
        'disturbed',
        'pushed {push.described} at {push.start:at}, {left}; the push was {enough} to tip the '
        'robot.{case.at_edge}',
        _CHECK_SIGNALS,
    ),
    'pushed/brief': Reason(
        'disturbed',
        'pushed {push.described} at {push.start:at} for {push.duration:s}, in which the '
        '{track.described} lay {depth:mm} outside the support polygon on average: too short to '
        'tip the robot.',
        _CHECK_SIGNALS,
    ),
    'pushed/stepping': Reason(
        'disturbed',
        'pushed {push.described} at {push.start:at}: {left}, and further steps brought it back.',
        _CHECK_SIGNALS,
    ),
    'brief/stepping': Reason(
        'marginal', '{left}, and further steps brought it back.', _CHECK_SIGNALS
    ),
    'stepping': Reason(
        'stable',
        f'{_ON_LINES}, and the next feet landed in time: at each of {{count}} touchdowns (of one '
        'or more feet) the capture point was within the old and the new feet, at least '
        '{capture_margin:mm} from their edge (at {at:at}).',
    ),
    'brief': Reason('marginal', '{left}: too short to tip the robot.{case.at_edge}', _CHECK_SOLES),
    'inside': Reason(
        'stable',
        'the {track.described} stayed inside the support polygon{but} for the '
        '{track.evaluated_time:s} evaluated; minimum margin: {track.averaged_margin:margin}'
        '{case.known} at {track.averaged_margin_time:at}.{case.bound}{case.single}{case.at_edge}',
    ),
    'within_error': Reason('stable', _WITHIN_ERROR + 'which is less than that error.'),
    'within_error/cop': Reason(
        'stable',
        _WITHIN_ERROR + 'but the measured CoP was {worst.cop_margin:mm} inside; the two are also '
        '{elsewhere:mm} apart at {elsewhere_time:at}, where nothing pushed.',
    ),
}
"""Reason, and after a slash its variant → state, sentence and advice."""


ALSO = {
    'filtered': ' The filter has a bandwidth of {passed:Hz}, less than the {averaged:Hz} of the '
    'average over {scene.averaging_time:s}: faster motion is not seen.',
    'far_off': ' The {track.described} is judged, as the {first.described} appears up to '
    '{far_off.depth:mm} outside at {far_off.start:at}.',
    'few_values': ' The {track.described} is judged, as the {first.described} has a value for '
    'only {first.evaluated_time:s}.',
    'likely_fall': '{case.likely_fall}',
    'pushed': ' {case.pushes}',
    'unknown_end': ' From {until:at} to the end ({rest:s}) nothing is known: the robot may have '
    'fallen.',
}
"""What follows the sentence of a reason, in this order."""


@dataclass(frozen=True)
class Case:
    """What a verdict rests on, and what is said of it.

    Attributes:
        scene: the evaluation.
        tracks: its tracks in numbers.
        forces: the pushes.
        doubts: findings with which no verdict can be true.
        track: the one that is judged; None without one.
    """

    scene: Scene
    tracks: Mapping[str, TrackStatistics] = field(default_factory=dict)
    forces: ExternalForces = field(default_factory=ExternalForces)
    doubts: Sequence[Finding] = ()
    track: TrackStatistics | None = None

    @property
    def _point(self) -> TrackStatistics:
        """The track of a case in which its point decides."""
        assert self.track is not None
        return self.track

    @property
    def wrong(self) -> str:
        """Whether the point is biased or noisy."""
        error = self._point.error
        if error.biased:
            return bias_in_words(error)
        return f'too noisy: {noise_in_words(self.scene, error)}'

    @property
    def advice(self) -> str:
        """What would help."""
        return advice(self.scene, self._point.error)

    @property
    def known(self) -> str:
        """The uncertainty of a margin, in brackets; nothing measures that of the CoP."""
        track = self._point
        if track.name == 'cop':
            return ''
        assumed = (
            '' if track.error.against == 'cop' else ', assumed: there is no CoP to measure it'
        )
        return f' (± {mm(track.error.uncertainty)}{assumed})'

    @property
    def bound(self) -> str:
        """Why a margin that is smaller than its uncertainty is none the less enough."""
        scene, track = self.scene, self._point
        if track.name == 'cop' or not track.averaged_margin < track.error.uncertainty:
            return ''
        if track.error.against == 'cop' and not scene.feet_are_doubtful:
            closest = float(np.fmin.reduce(scene.averaged['cop'].margin))
            if closest >= 0:
                return (
                    ' That is less than its uncertainty, but the measured CoP stayed '
                    f'{mm(closest)} inside.'
                )
        return ' Even if it was wrong by that, it was outside too briefly to tip the robot.'

    @property
    def single(self) -> str:
        """Why instants outside count for nothing where the average is inside."""
        scene, track = self.scene, self._point
        if not track.smallest_margin < min(0.0, track.averaged_margin):
            return ''
        lasts = track.longest_outside
        outside = f' Single instants reach {mm(-track.smallest_margin)} outside for up to'
        if lasts < scene.averaging_time:
            return f'{outside} {seconds(lasts)}, too short to tip it.'
        return (
            f'{outside} {seconds(lasts)}; only the average over '
            f'{seconds(scene.averaging_time)}, against all soles that carry meanwhile, can tip it.'
        )

    @property
    def at_edge(self) -> str:
        """That the point was at the edge for longer than a fall takes."""
        scene, near = self.scene, self.scene.judged_margin(self._point.name) < TOLERANCE
        longest, start = scene.timeline.longest_run(near)
        if longest <= scene.falls_for:
            return ''
        return (
            f' For {seconds(scene.timeline.total(near))} in all it was at the edge (within '
            f'{mm(TOLERANCE)} of it, or outside), for up to {seconds(longest)} (from '
            f'{instant(start)} on): the soles rolled over their edges or rocked on them, or their '
            'polygons are too small.'
        )

    @property
    def cop(self) -> str:
        """Where the CoP was."""
        cop = self.tracks.get('cop')
        against_it = self._point.error.against == 'cop'
        if cop is None or not against_it or not np.isfinite(cop.averaged_margin):
            return ''
        if cop.averaged_margin < 0:
            return f' The measured CoP was inside for {percent(cop.inside_share)} of the time.'
        closest = mm(cop.averaged_margin)
        return f' The measured CoP stayed inside; it came as close as {closest} to the edge.'

    @property
    def likely_fall(self) -> str:
        """That a fall was likelier than not although none came."""
        scene = self.scene
        probability = np.empty(0) if scene.fall_risk is None else scene.fall_risk[0]
        row = lowest(-probability)
        if row is None or probability[row] < LIKELY:
            return ''
        return (
            f' At {instant(float(scene.timeline.time[row]))} a fall within {HORIZON:g} s was '
            f'likelier than not ({probable(scene, slice(row, row + 1))}): the capture point was '
            'beyond what the feet, and steps like those before, can bring back. None came: either '
            'a step that was not expected caught it, or the signals are wrong there.'
        )

    @property
    def pushes(self) -> str:
        """What pushed."""
        pushes = self.forces.pushes
        largest = max(pushes, key=lambda push: push.size)
        often = '' if len(pushes) == 1 else f' {times(len(pushes))}, hardest'
        return f'It was pushed{often} {largest.described} at {instant(largest.start)}.'


def bias_in_words(error: TrackError) -> str:
    """How far a point is off, by a bias or as the motion changes; noise is not the reason."""
    axes = ''
    if np.isfinite(error.bias):
        axes = f'{mm(error.bias_x)} in x and {mm(error.bias_y)} in y of the loaded sole'
    noise = f'with a noise of only {mm(error.averaged_scatter)} (σ)'
    off = f'its median distance from the measured CoP is {mm(error.slow)}'
    if _changes(error):
        return (
            f'off by an error that changes with the motion: {off} (constant part: {axes}), {noise}'
        )
    return f'biased: {off}{axes and f" ({axes})"}, {noise}'


def _changes(error: TrackError) -> bool:
    """Whether most of an error that is no noise is no constant offset either."""
    return error.bias < CONSTANT_SHARE * error.slow


def advice(scene: Scene, error: TrackError, rare: bool = False) -> str:
    """What helps against a bias, or against noise, of a point that is so throughout or `rare`ly.

    First, sensors that seem to measure less than a whole wrench; not the filter that is on.
    """
    filtering = scene.evaluation.filtering
    if not error.biased and filtering:
        return (
            f'{filtering[0].upper()}{filtering[1:]} is on already. What helps: less noisy joint '
            'angles or IMU, stamps taken at the instant of measurement, or a longer half-width, '
            'which costs bandwidth.'
        )
    if not error.biased:
        return (
            'Set a filter in the robot file (filter.half_width), or use less noisy sensors and '
            'better stamps; “izmp check” shows which.'
        )
    feet = [
        foot.name
        for foot in scene.evaluation.feet
        if foot.only_normal_found and not foot.normal_only
    ]
    first = (
        f'First set wrench.normal_only: true for {list_names(feet)}: the horizontal forces and '
        'torques there are zero throughout, so this CoP is not a valid reference. '
    )
    tilt = np.degrees(np.arctan2(error.bias, scene.initial_height))
    why = f'a bias. An IMU mounted {tilt:.1f}° off causes such an error, as do wrong masses'
    if rare or _changes(error):
        why = (
            'an error that changes with the motion. Late or turned sensors cause such an error, '
            'as do wrong masses'
        )
    return (
        f'{first if feet else ""}No filter removes {why} and offsets: “izmp calibrate BAG --robot '
        'ROBOT -o OUT” estimates them and tests the result on motion that was held out.'
    )


def noise_in_words(scene: Scene, error: TrackError) -> str:
    """How noisy a point is, instant by instant and averaged."""
    against = 'about the measured CoP' if error.against == 'cop' else 'on its own'
    return (
        f'it scatters by {mm(error.scatter)} (σ per axis) {against} from instant to instant, and '
        f'averaged over {seconds(scene.averaging_time)} it is uncertain by {mm(error.usual)}'
    )


def left_polygon(track: TrackStatistics, excursions: Sequence[Excursion]) -> str:
    """When a point left the polygon, for how long and how far; the worst excursion is first."""
    count, worst = len(excursions), excursions[0]
    deepest = max(excursions, key=lambda excursion: excursion.depth)
    lasts = seconds(sum(excursion.duration for excursion in excursions))
    known = '' if track.name == 'cop' else f' (± {mm(track.error.uncertainty)})'
    far = f'by up to {mm(deepest.depth)}{known} at {instant(deepest.deepest)}'
    when = f'for {lasts} from {instant(worst.start)} on, {far}'
    if count > 1:
        when = f'{times(count)}, for {lasts} in all and {far}, the worst from '
        when += f'{instant(worst.start)} on'
    return f'the {track.described} left the support polygon {when}'


def probable(scene: Scene, rows: Indices | Flags | slice) -> str:
    """State the largest probability of a fall at some instants, and whether it is doubtful."""
    probability, assumed = scene.evaluation.fall_probability, scene.evaluation.fall_assumed
    largest = 0.0 if probability is None else float(np.nanmax(probability[rows], initial=0.0))
    doubt = assumed is not None and bool(assumed[rows].any())
    return f'probability {percent(largest)}{", without a measured orientation" if doubt else ""}'
