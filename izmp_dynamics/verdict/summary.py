"""Everything the report says in numbers: one value that feeds page, report.json and terminal."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from itertools import combinations
from typing import Any

import numpy as np

from izmp_dynamics.base.faults import Fault
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.base.robust import lowest, mean
from izmp_dynamics.results.evaluation import Evaluation, SignalHealth
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.events.fall import FallAlarmStatistics, fall_alarm
from izmp_dynamics.verdict.events.find import find_events
from izmp_dynamics.verdict.findings import find, forbidding
from izmp_dynamics.verdict.formatting import mm, newtons, ratio, seconds
from izmp_dynamics.verdict.pushes import ExternalForces, Gap, PushStatistics, external_forces
from izmp_dynamics.verdict.reasons import Case
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import (
    PairStatistics,
    TrackStatistics,
    pair_statistics,
    track_statistics,
)
from izmp_dynamics.verdict.verdict import Verdict, judge


@dataclass(frozen=True)
class FootStatistics:
    """One foot over the recording.

    Attributes:
        name: its name in the robot file.
        loaded_share: share of the time in which it carries load, where that is known.
        mean_force: mean measured normal force [N]; NaN without a sensor.
    """

    name: str
    loaded_share: float
    mean_force: float


@dataclass(frozen=True)
class Summary:
    """An evaluation in numbers. Lengths in m, times in s, forces in N, shares from 0 to 1.

    Attributes:
        robot: name of the robot.
        root: name of its root link.
        total_mass: [kg].
        gravity: [m/s²].
        weight: m·g.
        instants: number of evaluated instants.
        start_stamp: first instant [ns]; None without any.
        duration: time from the first to the last instant.
        loaded_time: time with a foot on the ground.
        flight_time: time in which every foot is measured and none carries load.
        unknown_time: the rest of the duration: nothing is known about the support.
        measured_force: time mean of the feet's measured normal force.
        measured_over_weight: the same, divided by the weight.
        verdict: was the robot stable?
        tracks: statistics of each wrench source by name.
        pairs: the sources compared with each other.
        feet: the feet in the order of the robot file.
        external_forces: those besides gravity and ground contact: pushes, and what is an error.
        largest_tilt: of the root from where it is while the robot stands [rad]; NaN if unknown.
        largest_tilt_time: when.
        fall_alarm: what the fall alarm said; None where it is not evaluated.
        events: what happened when, in the order of time.
        findings: what a reader should know before trusting the numbers, with keys.
        missing: what could not be evaluated, and why.
        notes: anomalies of the inputs.
        health: what was found on each input topic.
        parameters: what was used, by dotted name.
        hashes: SHA-256 of the inputs by file name.
    """

    robot: str
    root: str
    total_mass: float
    gravity: float
    weight: float
    instants: int
    start_stamp: int | None
    duration: float
    loaded_time: float
    flight_time: float
    unknown_time: float
    measured_force: float
    measured_over_weight: float
    verdict: Verdict
    tracks: Mapping[str, TrackStatistics]
    pairs: tuple[PairStatistics, ...]
    feet: tuple[FootStatistics, ...]
    external_forces: ExternalForces
    largest_tilt: float
    largest_tilt_time: float
    fall_alarm: FallAlarmStatistics | None
    events: tuple[Event, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    health: tuple[SignalHealth, ...]
    parameters: Mapping[str, str]
    hashes: Mapping[str, str]

    @property
    def remarks(self) -> tuple[str, ...]:
        """The findings as sentences, less what the verdict says already."""
        track = self.verdict.judged_by
        said = {'noise': f'noisy[{track}]', 'bias': f'biased[{track}]'}
        keys = {said.get(self.verdict.reason, self.verdict.reason)}
        if math.isfinite(self.verdict.known_until):
            keys.add('support_unknown_at_end')
        return tuple(
            finding.sentence
            for finding in self.findings
            if finding.key not in keys and not finding.sentence.startswith(self.verdict.sentence)
        )

    @property
    def pushes(self) -> tuple[PushStatistics, ...]:
        """The external forces that are pushes, in the order of time."""
        return self.external_forces.pushes

    @property
    def judged(self) -> TrackStatistics | None:
        """The track that the verdict rests on."""
        return self.tracks.get(self.verdict.judged_by or '')

    def pair(self, first: str, second: str) -> PairStatistics | None:
        """The comparison of two tracks that have common instants."""
        found = (p for p in self.pairs if (p.first, p.second) == (first, second) and p.count)
        return next(found, None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain types for strict JSON: None where there is no value."""
        verdict = {
            'state': self.verdict.state,
            'headline': self.verdict.headline,
            'text': self.verdict.text,
        }
        plain: dict[str, Any] = _plain(self)
        plain['verdict'] = verdict | plain['verdict']
        plain['remarks'] = list(self.remarks)
        return plain


def summarise(scene: Scene, gap: Gap | None = None) -> Summary:
    """Compute the summary of `scene`; its `gap` may have earlier instants, see `pushes`."""
    evaluation = scene.evaluation
    doubts = forbidding(scene)
    forces = ExternalForces() if doubts else external_forces(scene, gap)
    pushed = forces.about(scene)
    tracks = {name: track_statistics(scene, name, pushed) for name in scene.names}
    pairs = tuple(pair_statistics(scene, *pair) for pair in combinations(scene.names, 2))
    measured = scene.timeline.mean(scene.measured_force)
    case = Case(scene, tracks, forces, doubts)
    verdict = judge(case)
    judged = tracks.get(verdict.judged_by or '')
    row = lowest(-scene.tilt)
    stamps = evaluation.stamps
    events = find_events(case, verdict)
    falls = [(event.begin, event.end) for event in events if event.kind == 'fall']
    if verdict.reason in ('open_end', 'tipping'):  # how that ends is not recorded
        falls.append((scene.timeline.duration - scene.falls_for, scene.timeline.duration))
    return Summary(
        robot=evaluation.robot,
        root=evaluation.root,
        total_mass=evaluation.total_mass,
        gravity=evaluation.gravity,
        weight=scene.weight,
        instants=len(stamps),
        start_stamp=int(stamps[0]) if len(stamps) else None,
        duration=scene.timeline.duration,
        loaded_time=scene.timeline.total(scene.loaded),
        flight_time=scene.timeline.total(scene.in_flight),
        unknown_time=scene.unknown_time,
        measured_force=measured,
        measured_over_weight=measured / scene.weight if scene.weight > 0 else np.nan,
        verdict=verdict,
        tracks=tracks,
        pairs=pairs,
        feet=tuple(
            FootStatistics(
                foot.name,
                scene.timeline.share(foot.loaded, scene.support_known),
                mean(foot.normal_force),
            )
            for foot in evaluation.feet
        ),
        external_forces=forces,
        largest_tilt=np.nan if row is None else float(scene.tilt[row]),
        largest_tilt_time=np.nan if row is None else float(scene.timeline.time[row]),
        fall_alarm=fall_alarm(scene, events, doubts),
        events=events,
        findings=find(case, judged, falls),
        missing=tuple(evaluation.missing),
        notes=tuple(evaluation.notes),
        health=tuple(evaluation.health),
        parameters=dict(evaluation.parameters),
        hashes=dict(evaluation.hashes),
    )


def summary_of(evaluation: Evaluation) -> Summary:
    """Compute the summary of an evaluation, without figures."""
    return summarise(Scene(evaluation))


def summary_lines(summary: Summary) -> list[str]:
    """Say in a few lines of plain text what the figures of the report show."""
    alarm = summary.fall_alarm
    return [
        summary.verdict.text,
        f'Agreement: {_agreement(summary)}',
        f'Forces: {_forces(summary)}',
        *([alarm.sentence] if alarm is not None else []),
    ]


def _agreement(summary: Summary) -> str:
    pairs = [pair for pair in summary.pairs if pair.count]
    if not pairs and {'mr_ad', 'cop'} <= set(summary.tracks):
        return (
            'normal forces alone give a CoP to compare with between two feet only, and there is '
            'nothing else.'
        )
    if not pairs:
        return 'only one method could be evaluated, so there is nothing to compare.'
    judged = summary.verdict.judged_by
    return '; '.join(_distance(pair, pair.first == judged) for pair in pairs) + '.'


def _distance(pair: PairStatistics, by_axis: bool) -> str:
    """How far two points are apart, and per axis from the CoP."""
    text = f'{pair.label} {mm(pair.mean)} on average, {mm(pair.largest)} at most'
    sole = pair.in_frame('sole')
    if pair.along != 'plane':
        return f'{text} (along the {pair.along})'
    if sole is None or pair.second != 'cop' or not by_axis:
        return text
    return (
        f'{text} (RMSE {mm(sole.rmse_x)} in x, {mm(sole.rmse_y)} in y of the loaded sole, of '
        f'which mean bias {mm(sole.bias_x)}, {mm(sole.bias_y)})'
    )


def _forces(summary: Summary) -> str:
    weight = f'weight {newtons(summary.weight)}'
    feet = f'feet measured {newtons(summary.measured_force)}'
    time = f'{seconds(summary.loaded_time)} of {seconds(summary.duration)} on the ground'
    if summary.flight_time > 0:
        time += f', {seconds(summary.flight_time)} in flight'
    if summary.unknown_time > 0.01 * summary.duration:
        time += f', {seconds(summary.unknown_time)} without a value'
    methods = [
        f'{track.label} {newtons(track.mean_normal_force)} '
        f'({ratio(track.force_over_weight)} of the weight)'
        for track in summary.tracks.values()
        if track.name != 'cop'
    ]
    measured = [feet] if math.isfinite(summary.measured_force) else []
    return '; '.join([*methods, *measured, weight, time]) + '.'


def _plain(value: Any) -> Any:
    """Turn nested values into JSON's types; numbers that are not finite become None."""
    if isinstance(value, Finding):
        return {'key': value.key, 'sentence': value.sentence}
    if is_dataclass(value):
        return {entry.name: _plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        keys = (key.key if isinstance(key, Fault) else str(key) for key in value)
        return dict(zip(keys, map(_plain, value.values()), strict=True))
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return None if value is None else str(value)
