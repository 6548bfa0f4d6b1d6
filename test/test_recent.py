"""Events of the last seconds of a running robot: those that the report finds in a recording."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from izmp_dynamics.model.method import Filter
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.feet_kernel import FeetState
from izmp_dynamics.pipeline.ground import Ground
from izmp_dynamics.pipeline.world import WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.fall_alarm import FallRisk
from izmp_dynamics.stability.ground_plane import GroundPlane, Sole, Soles
from izmp_dynamics.verdict.recent import Recent

from .report_scenarios import part, standing

FALL = ('fall', 'point of no return', 'impact')


def seen(evaluation, up=None):
    """What a node evaluates, at once; the joint positions are the centre of mass."""
    stamps, com, feet = evaluation.stamps, evaluation.com, evaluation.feet
    count, unknown = len(stamps), np.full((len(stamps), 3), np.nan)
    soles = (Sole(f.axes, f.sole.mean(axis=1), f.sole, f.normal_force) for f in feet)
    state = FeetState(
        Soles.of(tuple(soles), count),
        np.stack([foot.loaded for foot in feet], axis=1),
        np.zeros(count, np.intp),
        np.full((count, len(feet), 6), np.nan),
        evaluation.tracks['cop'].wrench,
        *np.full((2, count, len(feet)), np.nan),
    )
    plane = GroundPlane(evaluation.normal, evaluation.ground_point)
    world = WorldState.unknown(count)
    if up is not None:
        world.R[:, 2] = up
    tracks = {name: evaluation.tracks[name] for name in ('mr_ad', 'cop')}
    return Evaluated(
        JointKinematics(stamps, com, com, com, np.ones(count, bool)),
        RootState(stamps, unknown, unknown, unknown),
        world,
        world.R[:, 2],
        com,
        {name: track.wrench for name, track in tracks.items()},
        {name: track.point for name, track in tracks.items()},
        {name: track.margin for name, track in tracks.items()},
        Ground(plane, state, 20.0),
    )


def instants(evaluation, up=None, falls=None):
    """One by one, with the probability of a fall and whether the alarm is raised."""
    whole, nothing = seen(evaluation, up), FallRisk.nothing(1, '')
    for k, fall in enumerate(falls or [None] * len(whole.stamps)):
        probability, alarm = (np.array([each]) for each in fall or (np.nan, False))
        risk = fall and replace(nothing, probability=probability, alarm=alarm)
        yield replace(whole.select(slice(k, k + 1)), fall=risk)


def live(evaluation, up=None, falls=None):
    """The events of the last seconds of an evaluation."""
    return judged(evaluation, up, falls).events


def judged(evaluation, up=None, falls=None, sensors=()):
    """What is found in the last seconds of an evaluation."""
    recent, rig = Recent(), rig_of(evaluation, sensors)
    for instant in instants(evaluation, up, falls):
        recent.see(instant, rig)
    return recent.judge(recent.snapshot())


def rig_of(evaluation, sensors=()):
    feet = [
        SimpleNamespace(name=foot.name, wrench=None, sensors=sensors, normal_only=bool(sensors))
        for foot in evaluation.feet
    ]
    fusion = SimpleNamespace(link=None)
    robot = SimpleNamespace(feet=feet, gravity=evaluation.gravity, filter=Filter(), fusion=fusion)
    model = SimpleNamespace(total_mass=evaluation.total_mass, com=lambda q: q)
    return SimpleNamespace(robot=robot, model=model)


def tipped(evaluation, start=6.0, within=0.6):
    """The vertical (K, 3) while the robot tips forward, rigidly, onto its face, by 88°."""
    share = np.clip((evaluation.time - start) / within, 0.0, 1.0)
    turned = np.radians(88.0) * share**2
    forward = evaluation.nif_R_root()[:, 0]
    return np.cos(turned)[:, None] * evaluation.normal - np.sin(turned)[:, None] * forward


@pytest.mark.parametrize(
    ('factors', 'turn', 'kind', 'text'),
    [
        ((0.4, 0.4), 1.0, 'foot_unit', 'multiply force.field by 2.5;'),
        ((3.0, 1.0), 1.0, 'foot_scale', "'left_foot' measures 3 times"),
        ((1.0, 1.0), -1.0, 'imu_turned', 'turned by 180° about the vertical'),
    ],
)
def test_sensors_of_another_unit_and_a_turned_imu_are_found_as_in_a_replay(
    factors, turn, kind, text
):
    evaluation = standing(duration=6.0)
    feet = tuple(
        replace(foot, normal_force=factor * foot.normal_force)
        for foot, factor in zip(evaluation.feet, factors, strict=True)
    )
    track = evaluation.tracks['mr_ad']
    wrench = track.wrench * [turn, turn, 1.0, 1.0, 1.0, 1.0]
    tracks = evaluation.tracks | {'mr_ad': replace(track, wrench=wrench)}
    found = judged(replace(evaluation, feet=feet, tracks=tracks), sensors=('force',)).findings
    (of_kind,) = (finding for finding in found if finding.kind == kind)
    assert text in of_kind.sentence


def test_a_robot_that_tips_over_with_its_soles_falls_where_the_vertical_is_known():
    """The plane of the ground tips with the soles, so only the vertical tells."""
    evaluation = standing(9.0)
    up = tipped(evaluation)
    found = [event for event in live(evaluation, up) if event.kind in FALL]
    assert [event.kind for event in found] == list(FALL)
    begin = 9.0 - 8.0
    assert found[0].begin + begin == pytest.approx(6.2, abs=0.25)
    assert found[2].begin + begin == pytest.approx(6.6, abs=0.05)
    assert not {event.kind for event in live(evaluation)} & set(FALL)


def pushed(evaluation, at, duration=0.2):
    """A push of 60 N."""
    within = (evaluation.time >= at) & (evaluation.time < at + duration)
    wrench = evaluation.tracks['mr_ad'].wrench.copy()
    wrench[within, :3] += 60.0 * evaluation.nif_R_root()[within, 0]
    tracks = evaluation.tracks | {'mr_ad': replace(evaluation.tracks['mr_ad'], wrench=wrench)}
    return replace(evaluation, tracks=tracks)


def test_a_force_that_fills_the_seconds_that_are_judged_is_still_a_push():
    """Of 60 N from 12 s on, judged every 5 s; its begin lies before the last 8 s."""
    evaluation = pushed(standing(24.0), 12.0, 99.0)
    recent, rig = Recent(), rig_of(evaluation)
    found = []
    for k, instant in enumerate(instants(evaluation)):
        recent.see(instant, rig)
        if k % 625 == 624:
            judged = recent.judge(recent.snapshot())
            start = (judged.first - int(evaluation.stamps[0])) / 1e9
            found += [(start + e.begin, e.size) for e in judged.events if e.kind == 'push']
    assert len(found) == 2
    for begin, size in found:
        assert (begin, size) == (pytest.approx(12.0, abs=0.03), pytest.approx(60.0, rel=0.02))


def test_sentences_count_from_the_first_instant_and_state_the_stamp():
    """Of a push at 9 s, which is 6.5 s after the begin of the last seconds."""
    evaluation = pushed(standing(10.5), 9.0)
    (sentence,) = [f.sentence for f in judged(evaluation).findings if f.kind == 'push']
    seconds, stamp = re.search(r'at ([0-9.]+) s \(stamp ([0-9.]+)\)', sentence).groups()
    assert float(seconds) == pytest.approx(9.0, abs=0.03)
    start = evaluation.stamps[0] * 1e-9
    assert float(stamp) == pytest.approx(start + float(seconds), abs=0.01)


def test_a_clock_that_is_set_back_begins_a_new_era():
    recent = Recent()
    (instant,) = instants(part(standing(1.0), slice(0, 1)))
    for time, era in ((0, 0), (1, 0), (1, 1), (5, 1), (2, 2)):
        stamps = instant.stamps + time
        recent.see(replace(instant, joints=replace(instant.joints, stamps=stamps)), None)
        assert recent.era == era
        assert recent.newest == stamps[0]


def test_a_fall_alarm_is_an_event_with_begin_end_and_probability():
    evaluation = standing(9.0)
    raised = (evaluation.time >= 6.0) & (evaluation.time < 6.7)
    falls = [(0.96 if each else 0.01, each) for each in raised.tolist()]
    (alarm,) = [e for e in live(evaluation, falls=falls) if e.kind == 'fall alarm']
    assert (alarm.begin, alarm.end, alarm.size) == pytest.approx((5.0, 5.7, 0.96), abs=0.02)
    falls[: len(falls) // 2] = [None] * (len(falls) // 2)  # nobody had subscribed by then
    assert sum(event.kind == 'fall alarm' for event in live(evaluation, falls=falls)) == 1
