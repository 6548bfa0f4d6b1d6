"""Everything the report says in numbers: one value that feeds page, report.json and terminal."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from itertools import combinations
from typing import Any

import numpy as np

from izmp_dynamics.report.formatting import instant, mm, newtons, percent, ratio, seconds
from izmp_dynamics.report.pushes import PushStatistics, push_remarks, push_statistics
from izmp_dynamics.report.scene import Scene
from izmp_dynamics.report.statistics import (
    PairStatistics,
    TrackStatistics,
    pair_statistics,
    track_statistics,
)
from izmp_dynamics.report.verdict import Verdict, judge
from izmp_dynamics.sensing.faults import Fault
from izmp_dynamics.stability.evaluation import Evaluation, SignalHealth

FORCE_DEVIATION = 0.05
"""Deviation of a mean contact force from the weight that is worth a remark."""

LONG_ENOUGH = 2.0
"""Time [s] after which the mean contact force of a robot that stays up is its weight."""


@dataclass(frozen=True)
class FootStatistics:
    """One foot over the recording.

    Attributes:
        name: its name in the robot file.
        loaded_share: share of the time in which it carries load.
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
        measured_force: time mean of the feet's measured normal force.
        measured_over_weight: the same, divided by the weight.
        verdict: was the robot stable?
        tracks: statistics of each wrench source by name.
        pairs: the sources compared with each other.
        feet: the feet in the order of the robot file.
        pushes: external forces besides gravity and ground contact, in the order of time.
        remarks: what a reader should know before trusting the numbers, one sentence each.
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
    measured_force: float
    measured_over_weight: float
    verdict: Verdict
    tracks: Mapping[str, TrackStatistics]
    pairs: tuple[PairStatistics, ...]
    feet: tuple[FootStatistics, ...]
    pushes: tuple[PushStatistics, ...]
    remarks: tuple[str, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    health: tuple[SignalHealth, ...]
    parameters: Mapping[str, str]
    hashes: Mapping[str, str]

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
        return plain


def summarise(scene: Scene) -> Summary:
    """Compute the summary of `scene`."""
    evaluation = scene.evaluation
    tracks = {name: track_statistics(scene, name) for name in scene.names}
    pairs = tuple(pair_statistics(scene, *pair) for pair in combinations(scene.names, 2))
    measured = _mean(scene.measured_force)
    verdict = judge(scene, tracks)
    pushes = push_statistics(scene)
    stamps = evaluation.stamps
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
        measured_force=measured,
        measured_over_weight=measured / scene.weight if scene.weight > 0 else np.nan,
        verdict=verdict,
        tracks=tracks,
        pairs=pairs,
        feet=tuple(_feet(scene)),
        pushes=pushes,
        remarks=tuple(_remarks(scene, tracks, measured, verdict)) + push_remarks(pushes),
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
    """Say in three lines of plain text what the figures of the report show."""
    return [
        summary.verdict.text,
        f'Agreement: {_agreement(summary)}',
        f'Forces: {_forces(summary)}',
    ]


def _agreement(summary: Summary) -> str:
    pairs = [pair for pair in summary.pairs if pair.count]
    if not pairs:
        return 'only one method could be evaluated, so there is nothing to compare.'
    texts = (f'{p.label} {mm(p.mean)} on average, {mm(p.largest)} at most' for p in pairs)
    return '; '.join(texts) + '.'


def _forces(summary: Summary) -> str:
    weight = f'weight {newtons(summary.weight)}'
    feet = f'feet measured {newtons(summary.measured_force)}'
    time = f'{seconds(summary.loaded_time)} of {seconds(summary.duration)} on the ground'
    methods = [
        f'{track.label} {newtons(track.mean_normal_force)} '
        f'({ratio(track.force_over_weight)} of the weight)'
        for track in summary.tracks.values()
        if track.name != 'cop'
    ]
    measured = [feet] if math.isfinite(summary.measured_force) else []
    return '; '.join([*methods, *measured, weight, time]) + '.'


def _feet(scene: Scene) -> list[FootStatistics]:
    everything = np.ones(len(scene.loaded), dtype=bool)
    return [
        FootStatistics(
            foot.name,
            scene.timeline.share(np.asarray(foot.loaded, dtype=bool), everything),
            _mean(foot.normal_force),
        )
        for foot in scene.evaluation.feet
    ]


def _remarks(
    scene: Scene, tracks: dict[str, TrackStatistics], measured: float, verdict: Verdict
) -> list[str]:
    """Collect what an expert would point at before discussing the numbers."""
    remarks = []
    judged = tracks.get(verdict.judged_by or '')
    loaded = scene.timeline.total(scene.loaded)
    if scene.loaded.any():
        last = float(scene.timeline.time[np.flatnonzero(scene.loaded)[-1]])
        if scene.timeline.duration - last > 0.5:
            remarks.append(f'From {instant(last)} to the end no foot carries load.')
    if judged and loaded > 0 and judged.evaluated_time < 0.99 * loaded:
        remarks.append(
            f'For {percent(1 - judged.evaluated_time / loaded)} of the loaded time the '
            f'{judged.described} has no value.'
        )
    for track in tracks.values():
        if track is not judged and track.scatter > scene.room:
            remarks.append(
                f'The {track.described} is too noisy to judge by: it scatters by '
                f'{mm(track.scatter)}.'
            )
    cop = tracks.get('cop')
    if cop is not None and cop.excursions:
        remarks.append(
            f'The measured CoP lies up to {mm(max(e.depth for e in cop.excursions))} outside the '
            'support polygon, which is impossible: check soles, ground plane and force sensors.'
        )
    return remarks + _force_remarks(scene, tracks, measured)


def _force_remarks(scene: Scene, tracks: dict[str, TrackStatistics], measured: float) -> list[str]:
    if scene.timeline.duration < LONG_ENOUGH or not scene.weight > 0:
        return []
    remarks = []
    for track in tracks.values():
        if track.name != 'cop' and abs(track.force_over_weight - 1) > FORCE_DEVIATION:
            remarks.append(
                f'The mean contact force of {track.label} is {ratio(track.force_over_weight)} '
                'of the weight: check masses, gravity and the mounting of the accelerometer.'
            )
    if abs(measured / scene.weight - 1) > FORCE_DEVIATION:
        remarks.append(
            f'The feet measure {ratio(measured / scene.weight)} of the weight: check their '
            'calibration and the mass of the model.'
        )
    return remarks


def _mean(values: np.ndarray) -> float:
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else float('nan')


def _key(key: Any) -> str:
    return key.key if isinstance(key, Fault) else str(key)


def _plain(value: Any) -> Any:
    """Turn nested values into JSON's types; numbers that are not finite become None."""
    if is_dataclass(value):
        return {entry.name: _plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return None if value is None else str(value)
