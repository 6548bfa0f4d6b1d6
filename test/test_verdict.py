import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from izmp_dynamics.report.page import cards
from izmp_dynamics.verdict.events.find import find_events
from izmp_dynamics.verdict.expect import Limits, check_limits
from izmp_dynamics.verdict.reasons import HEADLINES, Case
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summary_lines, summary_of
from izmp_dynamics.verdict.verdict import judge

from .report_scenarios import (
    HEIGHT,
    blank,
    bump,
    falling,
    known_until,
    part,
    standing,
    walking,
    with_feet,
    with_parts,
    with_tracks,
    without,
)


def verdict_of(evaluation):
    return summary_of(evaluation).verdict


def test_a_walk_inside_the_polygon_is_stable():
    verdict = verdict_of(walking())
    assert verdict.state == 'stable'
    assert verdict.judged_by == 'mr_ad'
    assert 'for the 12.00 s evaluated' in verdict.sentence
    assert 'minimum margin: 50 mm (± 0.18 mm) at' in verdict.sentence


def test_brief_crossings_are_stable_and_counted():
    def twice(time):
        return bump(3.0, 0.02, 0.2)(time) + bump(6.0, 0.03, 0.2)(time)

    summary = summary_of(standing(offset=twice))
    assert summary.verdict.state == 'stable'
    (found,) = summary.findings
    assert found.key == 'crossings[mr_ad]'
    assert (
        'crosses the edge twice, for up to 32 ms (from 6.00 s on) and by up to 55 mm'
        in found.sentence
    )


OUTSIDE = {
    # offset of the IZMP, up to where the CoP follows; state and reason, and what is said
    'brief': (bump(3.2, 0.2, 0.13), 0.2, 'marginal', 'brief', 'too short to tip the robot'),
    'pushed': (bump(3.2, 0.2, 0.17), None, 'disturbed', 'pushed', 'not enough to tip it'),
    'hard': (bump(4.0, 0.35, 0.25), None, 'disturbed', 'pushed', 'at least 98 mm inside'),
    'tips': (bump(6.0, 0.8, 0.19), 0.149, 'unstable', 'tipping', 'for 0.76 s from 6.04 s on'),
    'edge': (bump(3.2, 0.6, 0.093), 0.2, 'stable', 'inside', 'or within 5.0 mm of its edge'),
    'near': (bump(3.2, 1.2, 0.085), None, 'stable', 'inside', 'uncertainty, but the measured CoP'),
}


@pytest.mark.parametrize('name', OUTSIDE)
def test_where_the_cop_is_and_how_long_it_lasts_decides_what_a_stay_outside_means(name):
    """Marginal and Disturbed differ in the cause, not in the size."""
    offset, cop_limit, state, reason, words = OUTSIDE[name]
    evaluation = standing(offset=offset, cop_limit=cop_limit)
    verdict = verdict_of(evaluation)
    assert (verdict.state, verdict.reason) == (state, reason)
    assert words in verdict.sentence
    if name == 'hard':
        assert 'the ground, enough to tip it' in verdict.sentence
    if name == 'tips':
        assert 'enough to tip the robot' in verdict.sentence
        assert verdict_of(without(evaluation, 'cop')).state == 'unstable'
    if name == 'edge':
        assert 'CoP stayed' not in verdict.sentence
        assert 'outside too briefly to tip the robot' in verdict.sentence


def test_without_a_force_that_pushes_an_excursion_is_an_error():
    offset, cop_limit, *_ = OUTSIDE['pushed']
    evaluation = standing(offset=offset, cop_limit=cop_limit)
    force = np.random.default_rng(0).normal(0.0, 0.3, (len(evaluation.time), 3))
    verdict = verdict_of(replace(evaluation, external_force=force))
    assert (verdict.state, verdict.reason) == ('stable', 'within_error')


def test_flickering_across_the_edge_is_noise():
    def flicker(time):
        return np.where((np.arange(len(time)) % 8 == 0)[:, None], [0.0, 0.25], [0.0, 0.0])

    verdict = verdict_of(standing(offset=flicker))
    assert (verdict.state, verdict.reason) == ('unclear', 'noise')


def test_long_at_the_edge_is_said_whatever_the_verdict():
    def near_the_edge(seconds):
        def offset(time):
            to_edge = np.column_stack([0.0 * time, 0.148 - 0.06 * np.sin(2.1 * time)])
            return np.where(bump(3.0, seconds, 1.0)(time)[:, 1:] > 0.0, to_edge, 0.0)

        return verdict_of(standing(offset=offset, cop_limit=0.2))

    assert near_the_edge(2.0).state == near_the_edge(0.6).state == 'stable'
    assert near_the_edge(2.0).sentence.endswith(
        '(from 3.11 s on): the soles rolled over their edges or rocked on them, or their polygons '
        'are too small.'
    )
    assert 'rocked' not in near_the_edge(0.6).sentence


def test_soles_that_are_too_small_are_suspected_where_the_cop_reaches_their_edge():
    evaluation = walking()
    assert 'cop_at_edge' not in [found.key for found in summary_of(evaluation).findings]

    def small(foot):
        middle = foot.sole.mean(axis=1, keepdims=True)
        return middle + 0.2 * (foot.sole - middle)

    (found,) = summary_of(with_feet(evaluation, sole=small)).findings
    assert found.key == 'cop_at_edge'
    assert 'or the soles are larger than in the robot file' in found.sentence
    for name in ('brief', 'tips'):
        offset, cop_limit, *_ = OUTSIDE[name]
        verdict = verdict_of(standing(offset=offset, cop_limit=cop_limit))
        assert verdict.advice.startswith('First measure the soles')


def test_the_card_of_the_margin_shows_the_excursion_that_decides():
    offset, cop_limit, *_ = OUTSIDE['brief']
    evaluation = standing(offset=offset, cop_limit=cop_limit)
    summary = summary_of(evaluation)
    name = summary.verdict.judged_by  # its smallest margin is that of what is put down to an error
    error = replace(summary.tracks[name], averaged_margin=-0.3, averaged_margin_time=9.0)
    tracks = summary.tracks | {name: error}
    case = Case(Scene(evaluation), tracks, summary.external_forces)
    verdict = judge(case)
    report = replace(summary, verdict=verdict, tracks=tracks).as_dict()
    card = cards(report)[0]
    assert f'by up to {card.value.lstrip("−")} ' in report['verdict']['sentence']
    when = card.note.rpartition('; ')[2]
    assert f') {when}:' in report['verdict']['sentence']
    events = find_events(case, verdict)
    (lowest,) = (event for event in events if event.kind == 'lowest margin')
    assert (lowest.size, lowest.begin) == (verdict.margin, verdict.margin_time)
    assert '; −300 mm at 9.00 s is put down to an error' in lowest.sentence


@pytest.mark.parametrize(('bandwidth', 'slow'), [(1.3, True), (4.0, False)])
def test_a_filter_that_is_slower_than_the_average_is_named(bandwidth, slow):
    summary = summary_of(replace(walking(3.0), filter_bandwidth=bandwidth))
    assert ('bandwidth of 1.3 Hz, less than the 2.2 Hz' in summary.verdict.sentence) is slow
    note = cards(summary.as_dict())[0].note
    assert ('averaged over 0.14 s after a filter of 1.3 Hz' in note) is slow


def test_a_bias_against_sensors_of_normal_forces_alone_names_them():
    evaluation = standing(offset=lambda time: np.full((len(time), 2), 0.08))
    assert 'normal_only' not in verdict_of(evaluation).advice
    verdict = verdict_of(with_feet(evaluation, only_normal_found=True))
    assert verdict.reason == 'bias'
    assert verdict.advice.startswith('First set wrench.normal_only: true for ')


@pytest.mark.parametrize(('frequency', 'changes'), [(0.0, False), (0.5, True)])
def test_an_error_that_changes_with_the_motion_is_no_bias(frequency, changes):
    wave = lambda time: 0.12 * np.cos(2 * np.pi * frequency * time)  # noqa: E731
    evaluation = standing(offset=lambda time: np.column_stack([wave(time), 0 * time]))
    verdict = verdict_of(evaluation)
    assert verdict.reason == 'bias'
    assert ('changes with the motion: its median distance' in verdict.sentence) is changes
    assert ('biased: its median distance' in verdict.sentence) is not changes
    assert ('No filter removes a bias' in verdict.advice) is not changes
    tilt = re.search(r'mounted (\d+\.\d)° off causes such an error', verdict.advice)
    assert (tilt is None) is changes
    if tilt is not None:
        height = Scene(evaluation).initial_height
        assert height * np.tan(np.radians(float(tilt[1]))) == pytest.approx(0.12, abs=0.01)


@pytest.mark.parametrize('cop_limit', [0.2, None])
def test_a_point_that_is_often_farther_off_than_the_soles_reach_is_not_judged_by(cop_limit):
    """Neither marginal nor unstable with the CoP at the edge, nor pushed with that inside."""
    often = lambda time: sum(bump(at, 0.5, 0.6)(time) for at in (2.0, 4.0, 6.0, 8.0))  # noqa: E731
    verdict = verdict_of(standing(offset=often, cop_limit=cop_limit))
    assert (verdict.state, verdict.reason) == ('unclear', 'noise')
    assert verdict.sentence.startswith('for 5 % of the time')
    assert 'mounted' not in verdict.advice


@pytest.mark.parametrize('moves', [0.4, 3.0])
def test_the_uncertainty_of_a_robot_that_stands_is_not_that_of_its_first_step(moves):
    evaluation = standing(offset=bump(10.0 - moves, moves, 0.02))
    speed = np.where(evaluation.time > 10.0 - moves, 0.05, 0.0)
    com = evaluation.com.mean(axis=0) + np.cumsum(speed)[:, None] * [0.008, 0.0, 0.0]
    known = summary_of(replace(evaluation, com=com)).judged.error.uncertainty
    assert known == pytest.approx(0.02, abs=0.002)


def test_a_margin_below_zero_of_single_instants_is_explained():
    offset = lambda time: 0.3 * (np.abs(time[:, None] - 4.0) < 0.01) * [0.0, 1.0]  # noqa: E731
    summary = summary_of(standing(offset=offset))
    assert summary.verdict.state == 'stable'
    assert summary.judged.smallest_margin < 0.0 < summary.judged.averaged_margin
    assert 'outside for up to 24 ms, too short to tip it.' in summary.verdict.sentence
    assert 'Single instants' not in verdict_of(standing()).sentence


def test_a_fall_is_a_fall_whatever_the_points_say():
    verdict = verdict_of(falling(start=6.0))
    assert verdict.state == 'fell'
    assert 'sank to 10.0 % of its initial height' in verdict.sentence
    assert 'from 6.2' in verdict.sentence or 'from 6.3' in verdict.sentence
    assert verdict_of(replace(falling(), feet=())).state == 'fell'


def test_a_height_that_only_dips_is_no_fall():
    """A sole named wrongly, or a deep bow: who is up again after a moment did not fall."""
    evaluation = standing()
    dip = 0.9 * HEIGHT * ((evaluation.time > 4.0) & (evaluation.time < 4.3))
    dipping = replace(evaluation, com=evaluation.com - dip[:, None] * evaluation.normal)
    assert verdict_of(dipping).state != 'fell'


def test_squatting_is_no_fall():
    evaluation = standing()
    lowered = evaluation.com - 0.3 * evaluation.normal
    com = np.where(evaluation.time[:, None] < 5.0, evaluation.com, lowered)
    assert verdict_of(replace(evaluation, com=com)).state == 'stable'


@pytest.mark.parametrize('with_cop', [True, False])
def test_noise_larger_than_the_polygon_is_called_noise(with_cop):
    evaluation = walking(noise={'mr_ad': 0.12, 'ir_md': 1.5})
    evaluation = evaluation if with_cop else without(evaluation, 'cop')
    verdict = verdict_of(evaluation)
    assert verdict.state == 'unclear'
    assert 'too noisy' in verdict.sentence
    assert ('measured CoP stayed inside' in verdict.sentence) == with_cop
    assert 'Set a filter in the robot file' in verdict.advice
    filtered = verdict_of(replace(evaluation, filtering='the matched filter of half-width 16 ms'))
    assert filtered.advice.startswith('The matched filter of half-width 16 ms is on')
    assert 'or a longer half-width, which costs bandwidth' in filtered.advice


@pytest.mark.parametrize('sigma', [0.005, 0.015, 0.03])
@pytest.mark.parametrize('with_cop', [True, False])
def test_moderate_noise_never_makes_a_good_walk_unstable(sigma, with_cop):
    for seed in range(3):
        evaluation = walking(noise={'mr_ad': sigma}, seed=seed, duration=30.0)
        verdict = verdict_of(evaluation if with_cop else without(evaluation, 'cop'))
        assert verdict.state == 'stable'


def test_a_method_that_is_metres_off_does_not_change_the_verdict():
    good, bad = walking(), walking(noise={'ir_md': 3.0})
    assert verdict_of(bad) == verdict_of(good)
    assert [found.key for found in summary_of(bad).findings] == ['noisy[ir_md]']


def test_outside_for_long_without_falling_is_a_contradiction():
    evaluation = without(standing(offset=bump(2.0, 5.0, 0.25)), 'cop')
    verdict = verdict_of(evaluation)
    assert verdict.state == 'unclear'
    assert 'yet the robot does not fall' in verdict.sentence
    assert 'held the robot' in verdict.advice


def test_what_comes_and_goes_too_fast_to_tip_the_robot_is_stated_and_not_judged():
    def restless(time):
        return np.stack([0.0 * time, 0.25 * np.sin(2 * np.pi * 4.0 * time)], axis=1)

    summary = summary_of(without(standing(offset=restless), 'cop'))
    assert summary.verdict.state == 'stable'
    assert [found.key for found in summary.findings] == ['crossings[mr_ad]']


def test_without_an_izmp_the_cop_is_judged():
    summary = summary_of(without(walking(), 'mr_ad', 'ir_md'))
    assert summary.verdict.state == 'stable'
    assert summary.verdict.judged_by == 'cop'
    assert summary.verdict.sentence.startswith('the CoP stayed')


def test_ir_md_is_judged_where_mr_ad_has_hardly_any_value():
    evaluation = walking()
    track = evaluation.tracks['mr_ad']
    brief = replace(track, margin=np.where(evaluation.time < 2.4, track.margin, np.nan))
    both = replace(evaluation, tracks={**evaluation.tracks, 'mr_ad': brief})
    summary = summary_of(both)
    assert (summary.verdict.state, summary.verdict.judged_by) == ('stable', 'ir_md')
    why = 'The IZMP (IR-MD) is judged, as the IZMP (MR-AD) has a value for only 2.40 s.'
    assert why in summary.verdict.sentence
    assert 'no_value[mr_ad]' in [finding.key for finding in summary.findings]
    alone = verdict_of(replace(evaluation, tracks={'mr_ad': brief}))
    assert alone.state == 'unclear'
    assert 'has a value for only 20.0 % of the loaded time' in alone.sentence


def unloaded(evaluation):
    return with_feet(evaluation, loaded=lambda foot: np.zeros_like(foot.loaded))


def pointed(evaluation):
    return with_feet(evaluation, sole=lambda foot: foot.sole[:, :1] * 0.0)


def normal_forces_alone(evaluation):
    return with_feet(evaluation, normal_only=True)


def ended(evaluation, row):
    """The evaluation whose tracks have no value from a row on."""

    def cut(values):
        return np.concatenate([values[:row], np.full_like(values[row:], np.nan)])

    return with_tracks(evaluation, cut)


FEW = blank(part(walking(), slice(0, 3)), 'mr_ad')
"""Instants without any average."""


@pytest.mark.parametrize(
    ('evaluation', 'what'),
    [
        (replace(walking(), feet=()), 'no feet are described'),
        (unloaded(walking()), 'no foot carries load at any instant'),
        (pointed(walking()), 'span no polygon'),
        (replace(walking(), tracks={}), 'no instant has an IZMP'),
        (
            normal_forces_alone(without(walking(), 'mr_ad', 'ir_md')),
            'a CoP from six-axis force sensors',
        ),
        (blank(without(walking(), 'ir_md', 'cop'), 'mr_ad'), 'no instant has an IZMP'),
        (part(walking(), slice(0, 0)), 'no instant of the recording'),
        (part(walking(), slice(0, 1)), 'for only 0.00 s'),
        (part(walking(), slice(0, 40)), 'a verdict needs 1.00 s'),
        (ended(part(walking(), slice(0, 200)), 110), 'has a value for only 0.88 s; a verdict'),
        (FEW, 'a verdict needs 1.00 s'),
        (without(FEW, 'cop'), 'a verdict needs 1.00 s'),
    ],
)
def test_what_is_missing_is_named(evaluation, what):
    summary = summary_of(evaluation)
    assert summary.verdict.state == 'unclear'
    assert what in summary.verdict.sentence
    assert len(summary_lines(summary)) == 3


def test_remarks_name_what_an_expert_would_see():
    evaluation = walking()
    heavy = summary_of(replace(evaluation, total_mass=1.2 * evaluation.total_mass))
    assert any(
        'check scale and mounting of the accelerometers, and gravity' in remark
        for remark in heavy.remarks
    )
    assert any('The feet measure 83.3 % of the weight' in remark for remark in heavy.remarks)
    early = evaluation.time < 6.0
    lifted = summary_of(with_feet(evaluation, loaded=lambda foot: foot.loaded & early))
    keys = [found.key for found in lifted.findings]
    assert keys == ['unloaded_at_end']
    assert 'to the end no foot carries load' in lifted.remarks[0]
    cop, offset = evaluation.tracks['cop'], np.array([0.0, 0.3, 0.0])
    moved = replace(cop, point=cop.point + offset, margin=cop.margin - 0.3)
    impossible = replace(evaluation, tracks={**evaluation.tracks, 'cop': moved})
    keys = [found.key for found in summary_of(impossible).findings]
    assert 'cop_outside' in keys
    assert 'biased[mr_ad]' in keys
    assert summary_of(evaluation).remarks == ()


@pytest.mark.parametrize('rows', [5, -5])
def test_a_delay_that_is_most_of_the_distance_of_izmp_and_cop_is_named(rows):
    """By 40 ms; noise as large is no delay."""
    evaluation = standing(offset=lambda time: 0.03 * np.sin(6.0 * time[:, None] + [0.0, 1.0]))
    izmp = evaluation.tracks['mr_ad']
    late = replace(evaluation.tracks['cop'], point=np.roll(izmp.point, rows, axis=0))
    summary = summary_of(replace(evaluation, tracks={**evaluation.tracks, 'cop': late}))
    (said,) = (text for text in summary.remarks if 'izmp calibrate' in text)
    assert said.startswith(f'The measured CoP is 40 ms {"behind" if rows > 0 else "ahead of"} the')
    noisy = walking(noise={'mr_ad': 0.01})
    assert not any(' ms behind' in text for text in summary_of(noisy).remarks)


def test_a_cop_outside_in_a_fall_is_not_impossible():
    evaluation = falling()
    cop, outside = evaluation.tracks['cop'], evaluation.time >= 5.2
    point = cop.point + np.where(outside[:, None], [0.0, 0.3, 0.0], 0.0)
    moved = replace(cop, point=point, margin=np.where(outside, cop.margin - 0.3, cop.margin))
    summary = summary_of(replace(evaluation, tracks={**evaluation.tracks, 'cop': moved}))
    assert summary.verdict.state == 'fell'
    assert 'cop_outside' not in [found.key for found in summary.findings]


@pytest.mark.parametrize('cop_limit', [0.149, 0.16])
def test_of_a_robot_that_tips_as_the_recording_ends_nobody_says_that_it_did_not_fall(cop_limit):
    evaluation = standing(duration=6.6, offset=bump(6.0, 0.8, 0.19), cop_limit=cop_limit)
    summary = summary_of(evaluation)
    assert summary.verdict.reason == 'tipping'
    assert 'cop_outside' not in [found.key for found in summary.findings]
    assert not any('did not fall' in remark for remark in summary.remarks)


def test_the_verdict_depends_neither_on_the_world_nor_on_the_start_of_time():
    evaluation = walking()
    alone = replace(evaluation, world_p_root=None, world_R_root=None)
    earlier = replace(evaluation, stamps=evaluation.stamps - evaluation.stamps[0])
    assert verdict_of(alone) == verdict_of(earlier) == verdict_of(evaluation)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_pattern_of_missing_values_has_a_verdict(data):
    """NaN anywhere is no value; it never is an error nor a number in the result."""
    evaluation = part(walking(duration=4.0, rate=50.0), slice(0, data.draw(st.integers(0, 200))))
    count = len(evaluation.stamps)
    seed = data.draw(st.integers(0, 2**16))
    share = data.draw(st.sampled_from([0.0, 0.05, 0.5, 0.98, 1.0]))
    rng = np.random.default_rng(seed)

    def holes(values):
        values = values.copy()
        values[rng.random(count) < share] = False if values.dtype == bool else np.nan
        return values

    dropped = data.draw(st.sets(st.sampled_from(['mr_ad', 'ir_md', 'cop'])))
    patchy = with_parts(without(evaluation, *dropped), holes)
    normal, com = holes(evaluation.normal), holes(evaluation.com)
    summary = summary_of(replace(patchy, normal=normal, com=com))
    assert summary.verdict.state in HEADLINES
    assert 'nan' not in ' '.join(summary_lines(summary)).lower()


def with_held_knee(evaluation, loaded=True):
    left, right = evaluation.feet
    left = replace(left, held_joints=('l_knee',), loaded=left.loaded & loaded)
    return replace(evaluation, feet=(left, right))


def test_a_foot_above_which_a_joint_is_not_recorded_cannot_be_judged_by():
    verdict = verdict_of(with_held_knee(walking()))
    assert (verdict.state, verdict.reason) == ('unclear', 'leg_joints_absent')
    assert 'l_knee' in verdict.sentence
    assert 'URDF' in verdict.advice


def test_nothing_is_concluded_from_a_foot_of_which_it_is_not_known_where_it_is():
    evaluation = standing(offset=bump(4.0, 0.35, 0.25))
    assert 'excursion' in [event.kind for event in summary_of(evaluation).events]
    summary = summary_of(with_held_knee(evaluation))
    assert not {'excursion', 'push', 'lowest margin'} & {event.kind for event in summary.events}
    assert summary.judged is None
    assert summary.verdict.reason == 'leg_joints_absent'
    assert cards(summary.as_dict())[0][:3] == ('Smallest margin', '–', 'the verdict says why')


def test_a_foot_that_never_carries_need_not_be_known():
    assert verdict_of(with_held_knee(walking(), loaded=False)).reason != 'leg_joints_absent'


def test_a_verdict_that_is_not_known_to_the_end_says_up_to_when_it_is():
    summary = summary_of(known_until(walking(), 7.0))
    verdict = summary.verdict
    assert (verdict.state, verdict.known_until) == ('stable', pytest.approx(7.0, abs=0.01))
    assert verdict.headline == 'Stable until 7.00 s'
    assert 'From 7.00 s to the end (5.00 s) nothing is known' in verdict.sentence
    assert not any('From 7.00 s' in remark for remark in summary.remarks)
    (limit,) = check_limits(summary, Limits(verdict=('stable',)))
    assert not limit.met
    assert np.isnan(verdict_of(known_until(walking(), 11.6)).known_until)


def test_three_lines_for_the_terminal():
    lines = summary_lines(summary_of(walking()))
    assert lines[0].startswith('Stable: the IZMP (MR-AD) stayed inside')
    assert lines[1].startswith('Agreement: MR-AD – IR-MD')
    assert 'MR-AD – CoP 0.50 mm on average' in lines[1]
    assert 'RMSE 0.40 mm in x, 0.40 mm in y of the loaded sole, of which mean bias' in lines[1]
    assert lines[2].startswith('Forces: MR-AD 270.6 N (100.0 % of the weight)')
    assert all('\n' not in line for line in lines)


def test_an_error_elsewhere_is_named_with_its_instant_and_size():
    """Five gaps of 0.25 m within 3 s, the first for less time than the others."""
    bumps = [bump(start, 0.15 if start > 3.0 else 0.12, 0.25) for start in (3, 3.7, 4.4, 5.1, 5.8)]
    evaluation = standing(60.0, offset=lambda time: sum(each(time) for each in bumps))
    summary = summary_of(evaluation)
    verdict = summary.verdict
    assert (verdict.state, verdict.reason) == ('stable', 'within_error')
    lowest = next(event for event in summary.events if event.kind == 'lowest margin')
    assert lowest.size < 0.0
    assert lowest.sentence.endswith(': within its error it is inside')
    found = re.search(r'also ([\d.]+) mm apart at ([\d.]+) s, where nothing', verdict.sentence)
    size, at = map(float, found.groups())
    assert 100.0 < size <= 300.0
    assert any(start - 0.2 < at < start + 0.4 for start in (3, 3.7, 4.4, 5.1, 5.8))


def test_an_izmp_that_is_off_by_more_than_the_soles_reach_leaves_the_verdict_to_the_cop():
    bumps = [bump(start, 0.12, 0.9) for start in (3, 3.7, 4.4, 5.1, 5.8)]
    summary = summary_of(standing(60.0, offset=lambda time: sum(each(time) for each in bumps)))
    assert (summary.verdict.state, summary.verdict.judged_by) == ('stable', 'cop')
    why = r'The CoP is judged, as the IZMP \(MR-AD\) appears up to \d+ mm outside at \d\.\d+ s'
    assert re.search(why, summary.verdict.sentence)
    assert summary.verdict.margin == summary.tracks['cop'].averaged_margin > 0.0


@pytest.mark.parametrize(('scale', 'by_cop'), [(1.0, True), (1.2, False)])
def test_the_cop_of_feet_that_do_not_measure_the_weight_proves_nothing(scale, by_cop):
    evaluation = with_feet(standing(), normal_force=lambda foot: scale * foot.normal_force)
    summary = summary_of(evaluation)
    error = replace(summary.judged.error, uncertainty=0.11)  # the margin is 0.09 m
    tracks = {**summary.tracks, 'mr_ad': replace(summary.judged, error=error)}
    verdict = judge(Case(Scene(evaluation), tracks, summary.external_forces))
    assert ('mean_foot_force' in [found.key for found in summary.findings]) is not by_cop
    assert ('but the measured CoP stayed' in verdict.sentence) is by_cop


def raised(evaluation):
    first, *others = evaluation.feet
    sole = first.sole + 0.06 * evaluation.normal[:, None]
    return replace(evaluation, feet=(replace(first, sole=sole), *others))


def in_newton_millimetres(evaluation):
    cop = evaluation.tracks['cop']
    far = replace(cop, margin=cop.margin - 70.0)
    return replace(evaluation, tracks={**evaluation.tracks, 'cop': far})


@pytest.mark.parametrize(
    ('change', 'key'), [(raised, 'carries_in_air'), (in_newton_millimetres, 'foot_unit')]
)
def test_soles_at_two_heights_and_a_cop_far_beyond_the_robot_leave_no_verdict(change, key):
    summary = summary_of(change(standing(4.0)))
    assert (summary.verdict.state, summary.verdict.reason) == ('unclear', 'input_wrong')
    assert [finding.key for finding in summary.findings] == [key]


def test_a_push_that_lifts_a_foot_is_in_the_headline():
    """The IZMP is where the left foot stood just before: inside on average, outside meanwhile."""
    evaluation = standing(offset=bump(4.06, 0.04, 0.12))
    pushed, lifted = (
        (evaluation.time >= begin) & (evaluation.time < 4.1) for begin in (4.0, 4.06)
    )
    feet = list(evaluation.feet)
    feet[0] = replace(feet[0], loaded=~lifted)
    tracks = {
        name: replace(track, margin=np.where(lifted, margin, track.margin))
        for (name, track), margin in zip(evaluation.tracks.items(), (-0.2, -0.2, 0.0), strict=True)
    }
    rng = np.random.default_rng(0)
    force = rng.normal(0.0, 0.3, (len(pushed), 3)) - 60.0 * np.outer(pushed, [0.0, 1.0, 0.0])
    force = np.einsum('kji,kj->ki', evaluation.world_R_root, force)
    changed = replace(evaluation, feet=tuple(feet), tracks=tracks, external_force=force)
    verdict = verdict_of(changed)
    assert (verdict.state, verdict.reason) == ('disturbed', 'pushed')
    assert verdict.sentence.startswith('pushed from the left with')


@pytest.mark.parametrize('turn', [0.0, 90.0, 180.0])
def test_an_imu_that_is_turned_about_the_vertical_is_found_by_the_forces(turn):
    """Of a root that does not turn itself, so that gyroscope and orientation say nothing."""
    evaluation = standing()
    time, mass = evaluation.time, evaluation.total_mass
    level = np.outer(np.ones_like(time), [0.0, 0.0, 1.0])
    com = np.outer(np.sin(2.0 * time), [0.02, 0.0, 0.0]) + HEIGHT * level
    root = np.column_stack([0.2 * np.sin(3.0 * time), 0.3 * np.cos(2.0 * time), 0.0 * time])
    by_joints = np.outer(-0.08 * np.sin(2.0 * time), [1.0, 0.0, 0.0])
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    true = root @ [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
    moved = mass * (root + by_joints + evaluation.gravity * level)
    wrench = np.hstack([moved, np.zeros_like(moved)])
    tracks = evaluation.tracks | {'mr_ad': replace(evaluation.tracks['mr_ad'], wrench=wrench)}
    verdict = verdict_of(
        replace(
            evaluation, normal=level, com=com, tracks=tracks, external_force=mass * (root - true)
        )
    )
    assert (verdict.reason == 'input_wrong') == (turn > 0.0)
    assert (f'if it is turned by {turn:.0f}°' in verdict.sentence) == (turn > 0.0)


@pytest.mark.parametrize(('tilt', 'certain'), [(30.0, False), (60.0, True)])
def test_of_a_force_that_no_slope_tilts_so_far_nothing_else_is_said(tilt, certain):
    evaluation = standing()
    track, normal = evaluation.tracks['mr_ad'], evaluation.normal
    force = np.tan(np.radians(tilt)) * np.roll(normal, 1, axis=1) + normal
    force *= evaluation.total_mass * evaluation.gravity * np.cos(np.radians(tilt))
    wrench = np.hstack([force, np.zeros_like(force)])
    tracks = {**evaluation.tracks, 'mr_ad': replace(track, wrench=wrench)}
    summary = summary_of(replace(evaluation, tracks=tracks))
    assert (summary.verdict.sentence.startswith('On average the contact force')) is certain
    assert ([found.kind for found in summary.findings] == ['tilted_force']) is certain
