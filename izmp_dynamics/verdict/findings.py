"""What a reader should know before trusting the numbers: findings with keys.

A key is `kind` or `kind[track]`; the same keys stand in report.json and, from the last seconds of
a running robot, in /diagnostics. The sentence may change, the key does not.
docs/report_json.md lists them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from izmp_dynamics.base.conventions import Flags
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.base.finding import Finding, one_per_cause, warning
from izmp_dynamics.base.robust import lowest
from izmp_dynamics.diagnosis.forces import delay_findings, motion_findings
from izmp_dynamics.diagnosis.legs import legs_findings
from izmp_dynamics.stability.clearance import stays_point
from izmp_dynamics.verdict.errors import TOLERANCE, Excursion
from izmp_dynamics.verdict.formatting import instant, mm, newtons, percent, ratio, seconds, times
from izmp_dynamics.verdict.pushes import ExternalForces, push_remarks
from izmp_dynamics.verdict.reasons import Case, bias_in_words, noise_in_words
from izmp_dynamics.verdict.rules import USABLE_SHARE
from izmp_dynamics.verdict.scene import LABELS, Scene
from izmp_dynamics.verdict.statistics import TrackStatistics

NOISY_CROSSINGS, NOISY_SHARE = 3, 0.125
"""Crossings of the edge and scatter over room from which on noise of single instants is stated."""

SHORT = 0.5
"""Time at the end without load, and share of time without a value, below which nothing is said."""


OF_TRACKS = ('noisy', 'biased', 'crossings', 'no_value', 'mean_force')
"""Kinds of findings about a track."""

FORBIDDING = (
    'beyond_limits', 'carries_in_air', 'constant', 'dead_contact', 'feet_exchanged', 'foot_pulls',
    'foot_scale', 'foot_unit', 'forces_contradict', 'imu_turned', 'legs_exchanged',
    'mean_foot_force', 'no_inertial', 'sole_off', 'tilted_force', 'unit_turned', 'units_exchanged',
)  # fmt: skip
"""Kinds of findings with which no verdict can be true."""

ABSENT = ('no_imu', 'not_in_bag', 'no_messages', 'ambiguous_topic', 'foot_without_wrench')
"""Kinds of findings on topics that the robot file or the bag lacks."""

TURNED = 45.0
"""Mean tilt of the contact force against the soles from which on no slope explains it [°]."""

MUCH_TOO_HIGH = 0.025
"""A sole that is farther off its foot is another one, and no shoe [m]."""

KINDS = (
    *OF_TRACKS, *FORBIDDING, *ABSENT, 'support_unknown', 'support_unknown_at_end', 'flight',
    'unloaded_at_end', 'cop_outside', 'cop_at_edge', 'push', 'unexplained_force',
    'damaged_bag', 'soles_overlap',
    Reason.IMU_CONTRADICTS.value,
)  # fmt: skip
"""All kinds of findings."""


def is_key(text: str) -> bool:
    """Whether a report can have a finding with this key, or of this kind."""
    kind, bracket, name = text.partition('[')
    if not bracket:
        return kind in KINDS
    if kind == Reason.IMU_CONTRADICTS.value:
        return name.endswith(']')
    return kind in OF_TRACKS and name in [f'{track}]' for track in LABELS]


def forbidding(scene: Scene) -> tuple[Finding, ...]:
    """Find what is wrong with robot file or sensors to such a degree that no verdict is true."""
    found = [*scene.evaluation.doubts]
    if not scene.foot_pose_unknown:
        found += scene.of_feet
        found += legs_findings(scene.evaluation, scene.stands)
        pressed = scene.stands & (scene.measured_force > USABLE_SHARE * scene.weight)
        if 'mr_ad' in scene.evaluation.tracks and scene.timeline.total(pressed) > SHORT:
            found += motion_findings(scene.evaluation, pressed)
    sure = (each for each in found if each.kind in FORBIDDING and _is_certain(each, scene))
    return tuple(one_per_cause(sure))


def _is_certain(finding: Finding, scene: Scene) -> bool:
    """Whether a finding leaves no other explanation."""
    if 'certain' in finding.data:
        return bool(finding.data['certain'])
    if finding.kind == 'feet_exchanged':
        return bool(finding.data['follows'] < 0.0)
    if finding.kind == 'sole_off':
        return bool(abs(finding.data['z']) > MUCH_TOO_HIGH)
    if finding.kind == 'tilted_force':
        return bool(finding.data['tilt'] > TURNED)
    if finding.kind != 'constant':
        return True
    # An IMU may be derived from a foot at rest; contact flags, or a foot in the air, be constant.
    forces = {
        f'feet[{foot.name}]': foot.normal_force
        for foot in scene.evaluation.feet
        if not foot.normal_only
    }
    found = [forces[signal] for signal in finding.data['signals'] if signal in forces]
    if any(np.isnan(force).all() for force in found):  # a foot in the air measures zero
        return True
    stuck = any(np.nan_to_num(force).any() for force in found)
    return stuck and any(np.ptp(np.nan_to_num(f)) > 0.0 for f in forces.values() if len(f))


def find(
    case: Case, judged: TrackStatistics | None, falls: Sequence[tuple[float, float]] = ()
) -> tuple[Finding, ...]:
    """Collect what an expert would point at before discussing the numbers.

    Beside findings with which no verdict can be true, nothing that rests on the same numbers is.

    Args:
        case: what the verdict rests on.
        judged: the track that it judges.
        falls: begin and end of each, and of an end that may be one [s].
    """
    scene, tracks = case.scene, case.tracks
    if case.doubts:
        return *case.doubts, *_inputs(scene)
    overlap = scene.sole_overlap
    found = [
        *_inputs(scene),
        *([] if overlap is None else [replace(overlap, sentence=str(overlap), remedy='')]),
        *_support(scene),
        *_gaps(scene, tracks, judged),
        *(finding for track in tracks.values() for finding in _errors(scene, track, judged)),
        *_cop_findings(scene, tracks, falls),
        *_forces(scene),
        *_pushes(case.forces),
        *(each for each in scene.of_feet if each.kind == 'dead_contact'),
        *delay_findings(scene.late_cop),
    ]
    return tuple(found)


def _inputs(scene: Scene) -> Iterator[Finding]:
    """All that follows concerns only what could be read, and the topics that are there."""
    if scene.evaluation.damage:
        yield warning('damaged_bag', scene.evaluation.damage)
    for found in scene.evaluation.doubts:
        if (found.kind in ABSENT and found.level == 'warning') or found.data.get('judged_by'):
            yield warning(found.kind, str(found))


def _support(scene: Scene) -> Iterator[Finding]:
    """Flight, and instants at which the support is not known: two different things."""
    timeline = scene.timeline
    in_flight = scene.in_flight & ~scene.lies
    flight = timeline.total(in_flight)
    if scene.loaded.any():
        last = int(np.flatnonzero(scene.loaded)[-1])
        after = scene.in_flight[last + 1 :]
        at = float(timeline.time[last])
        if timeline.duration - at > SHORT and after.any():
            yield warning(
                'unloaded_at_end',
                f'From {instant(at)} to the end no foot carries load.',
            )
            flight -= timeline.total(in_flight & (timeline.time > at))
        elif timeline.duration - at > SHORT:
            yield warning(
                'support_unknown_at_end',
                f'From {instant(at)} to the end it is not known whether a foot carries load.',
            )
    if flight > 0:
        yield warning(
            'flight',
            f'For {seconds(flight)} every foot is measured, and none carries load.',
        )


def _gaps(
    scene: Scene, tracks: Mapping[str, TrackStatistics], judged: TrackStatistics | None
) -> Iterator[Finding]:
    """Time without a value, of the judged track and what it stands in for, which is no flight."""
    for signal in scene.evaluation.health:
        number = signal.gated.get(Fault(Reason.IMU_CONTRADICTS), 0)
        if number:
            yield warning(
                Reason.IMU_CONTRADICTS.value,
                f'At {number} instants the vertical of {signal.topic} contradicts the joints: '
                'there the ground is not known. Its IMU is not mounted as stated, or an '
                'encoder lost its zero.',
                subject=signal.topic,
            )
    unknown = scene.unknown_time
    if unknown > 0.01 * scene.timeline.duration:
        yield warning(
            'support_unknown',
            f'For {seconds(unknown)} of {seconds(scene.timeline.duration)} nothing is known about '
            f'the support{_lost_to(scene, ~scene.support_known)}. It does not count as flight.',
        )
    stands = scene.loaded & ~scene.lies
    loaded = scene.timeline.total(stands)
    for track in tracks.values() if judged is not None else ():
        margin = scene.evaluation.tracks[track.name].margin
        value = scene.timeline.total(stands & np.isfinite(margin))
        if loaded > 0 and value < 0.99 * loaded:
            yield warning(
                'no_value',
                f'For {percent(1 - value / loaded)} of the loaded time the '
                f'{track.described} has no value{_lost_to(scene, stands & np.isnan(margin))}.',
                subject=track.name,
            )
        if track is judged:
            return


def _lost_to(scene: Scene, lost: Flags) -> str:
    """The reason that left out about as much as is lost (K,), in brackets; empty without one.

    Repeats are no loss, unless they last: then there is no sample at an instant.
    """
    count = np.count_nonzero(lost)
    reasons = [
        (abs(number - count), f'{signal.topic}: {fault.text}')
        for signal in scene.evaluation.health
        for fault, number in signal.gated.items()
        if (fault.reason.leaves_out and fault.reason is not Reason.REPEATED)
        or fault.reason is Reason.NO_SAMPLE
        if 2 * number >= count
    ]
    return f' (mostly: {min(reasons)[1]})' if reasons else ''


def _errors(
    scene: Scene, track: TrackStatistics, judged: TrackStatistics | None
) -> Iterator[Finding]:
    """Noise and bias of a point: two different things, with different remedies."""
    error, subject = track.error, f'The {track.described}'
    unusable = error.usual > USABLE_SHARE * scene.room
    if unusable and error.biased:
        sentence = f'{subject} is {bias_in_words(error)}.'
        yield warning('biased', sentence, subject=track.name)
    elif unusable:
        sentence = f'{subject} is too noisy for a verdict: {noise_in_words(scene, error)}.'
        yield warning('noisy', sentence, subject=track.name)
    elif track is judged and _crosses_by_noise(scene, track):
        outside = f'{percent(1 - track.inside_share)} of the time'
        sentence = (
            f'{subject} is noisy from instant to instant: it scatters by {mm(error.scatter)} (σ '
            f'per axis), crosses the edge {times(track.crossings)} and is outside for {outside}, '
            f'{seconds(track.longest_outside)} at most at a time, too short to tip a robot. The '
            f'verdict uses its average over {seconds(scene.averaging_time)}.'
        )
        yield warning('noisy', sentence, subject=track.name)
    elif track is judged and track.smallest_margin < -TOLERANCE:
        sentence = (
            f'From instant to instant {subject[0].lower()}{subject[1:]} crosses the edge '
            f'{times(track.crossings)}, for up to {seconds(track.longest_outside)} (from '
            f'{instant(track.longest_outside_time)} on) and by up to '
            f'{mm(-track.smallest_margin)} (at {instant(track.smallest_margin_time)}).'
        )
        yield warning('crossings', sentence, subject=track.name)


def _crosses_by_noise(scene: Scene, track: TrackStatistics) -> bool:
    scatters = track.error.scatter > NOISY_SHARE * scene.room
    return track.name != 'cop' and track.crossings >= NOISY_CROSSINGS and scatters


def _cop_findings(
    scene: Scene, tracks: Mapping[str, TrackStatistics], falls: Sequence[tuple[float, float]]
) -> Iterator[Finding]:
    """A CoP outside is impossible, unless the robot tips over that edge; at the edge, unusual."""
    cop = tracks.get('cop')
    if cop is None or not scene.cop_is_whole:
        return
    others = [scene.averaged[name].margin for name in tracks if name != 'cop'][:1]
    tipping: list[Excursion] = []
    margin = scene.judged_margin('cop')
    stays_up = np.ones(len(margin), dtype=np.bool_)
    for begin, stop in falls:
        stays_up[scene.timeline.within(begin - scene.falls_for, stop)] = False
    impossible: list[Excursion] = []
    for found in cop.excursions:
        if found.depth <= max(TOLERANCE, cop.error.usual):
            continue
        end, time = found.start + found.duration, scene.timeline.time
        rows = slice(np.searchsorted(time, found.start), np.searchsorted(time, end, side='right'))
        izmp = np.concatenate([margin[rows] for margin in others]) if others else np.empty(0)
        at_edge = bool(np.nanmin(izmp, initial=np.inf) < TOLERANCE)
        falling = any(
            begin - scene.falls_for <= found.start <= stop and begin <= end
            for begin, stop in falls
        )
        if falling and at_edge:
            tipping.append(found)
        elif not falling and not (at_edge and found.duration < scene.falls_for):
            impossible.append(found)
    edge = stays_up & (margin < TOLERANCE)
    row = lowest(np.where(edge, margin, np.nan))
    points = any(stays_point(foot.sole) for foot in scene.evaluation.feet)
    if impossible:
        worst = max(impossible, key=lambda found: found.depth)
        yield warning(
            'cop_outside',
            f'The measured CoP lies up to {mm(worst.depth)} outside the support polygon '
            f'(at {instant(worst.start)}, for {seconds(worst.duration)}), which is impossible: '
            'the soles are larger than in the robot file, or ground plane or force sensors are '
            'wrong.',
        )
    elif tipping:
        worst = max(tipping, key=lambda found: found.depth)
        yield warning(
            'cop_at_edge',
            f'At {instant(worst.start)} the measured CoP is up to {mm(worst.depth)} beyond the '
            'edge, as is the IZMP: the robot rocks or tips over that edge, the only part of '
            'the sole on the ground.',
        )
    elif row is not None and not points:
        often = times(len(scene.timeline.runs(edge)[0]))
        side = 'inside' if margin[row] > 0.0 else 'outside'
        yield warning(
            'cop_at_edge',
            f'{often[0].upper()}{often[1:]} the measured CoP came to the edge of the support '
            f'polygon, for {seconds(scene.timeline.total(edge))} in all; at '
            f'{instant(scene.timeline.time[row])} it was {mm(abs(margin[row]))} {side}. The robot '
            'did not fall: a sole rolled over its edge, as at heel strike and push-off, or '
            'rocked on it, or the soles are larger than in the robot file, so that margins are '
            'too small; measure them.',
        )


def _forces(scene: Scene) -> Iterator[Finding]:
    stands = scene.long_standing
    if not stands.any():
        return
    found = motion_findings(scene.evaluation, stands)
    yield from (each for each in found if each.kind == 'mean_force')
    if scene.feet_are_doubtful:
        feet = scene.feet_over_weight
        yield warning(
            'mean_foot_force',
            f'The feet measure {ratio(feet)} of the weight: check '
            f'{"whether the robot file has all feet, " if feet < 1.0 else ""}their '
            'calibration and the mass of the model. On a slope it is the cosine of its angle.',
        )


def _pushes(forces: ExternalForces) -> Iterator[Finding]:
    for sentence in push_remarks(forces.pushes):
        yield warning('push', sentence)
    if forces.errors:
        often, total = times(len(forces.errors)), sum(each.duration for each in forces.errors)
        largest = max(each.size for each in forces.errors)
        yield warning(
            'unexplained_force',
            f'{often[0].upper()}{often[1:]}, for {seconds(total)} in all, the contact force of '
            f'the motion and that of the feet differ by up to {newtons(largest)}. Such '
            'differences recur in this recording, act at the feet, are vertical at a touchdown, '
            'or come with motion of which it holds too little to tell a push from an error.',
        )
