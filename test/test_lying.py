"""Robots that fall on their side, stand up from the ground, fall twice, or hang."""

from dataclasses import replace

import numpy as np
import pytest

from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summary_of

from .report_scenarios import HEIGHT, SOLE, assemble, bump, falling, standing
from .test_events import events, shifted, unloaded


def straddling(duration=8.0, rate=125.0):
    """Stands with its feet wide apart; on its side its centre of mass is at 0.56 of 0.8 m."""
    time = np.arange(round(duration * rate) + 1) / rate
    soles = [np.tile(SOLE + np.array([0.0, side * 0.5]), (len(time), 1, 1)) for side in (1, -1)]
    sway = np.column_stack([0.01 * np.sin(time), 0.01 * np.cos(time)])
    loaded = [np.ones(len(time), dtype=bool)] * 2
    rng = np.random.default_rng(1)
    evaluation = assemble(time, sway, {'mr_ad': sway, 'cop': sway}, soles, loaded, rng)
    return replace(evaluation, up=evaluation.normal)


def tipped(evaluation, begin, angle=90.0, end=np.inf):
    """The robot rolls to its left within 0.3 s, and back: what is up changes, the feet do not."""
    time = evaluation.time
    roll = np.radians(angle) * (
        np.clip((time - begin) / 0.3, 0.0, 1.0) - np.clip((time - end) / 0.3, 0.0, 1.0)
    )
    left = evaluation.nif_R_root()[:, 1]
    up = np.cos(roll)[:, None] * evaluation.normal - np.sin(roll)[:, None] * left
    return replace(evaluation, up=up)


def sunk(evaluation, *spans, share=0.9):
    """The centre of mass sinks by a share of its height within 0.5 s, and rises again."""
    low = sum(
        np.clip((evaluation.time - a) / 0.5, 0, 1) - np.clip((evaluation.time - b) / 0.5, 0, 1)
        for a, b in spans
    )
    return replace(
        evaluation, com=evaluation.com - share * HEIGHT * low[:, None] * evaluation.normal
    )


def test_who_lies_on_its_side_fell_though_it_is_more_than_half_as_high():
    evaluation = unloaded(tipped(straddling(), 4.0), (4.2, 9.0))
    summary = summary_of(evaluation)
    assert (summary.verdict.state, summary.verdict.reason) == ('fell', 'tilt')
    assert 'from 4.1' in summary.verdict.sentence
    assert 'sank to ' in summary.verdict.sentence
    (fall,) = (event for event in summary.events if event.kind == 'fall')
    assert fall.begin == pytest.approx(4.1, abs=0.15)
    assert not [event for event in summary.events if event.begin > 5.0]


def test_a_robot_that_leans_over_its_feet_stands():
    """As one that bows: the trunk is tilted, and the centre of mass stays over the feet."""
    evaluation = tipped(straddling(), 4.0, 60.0)
    feet = np.mean([foot.sole.mean(axis=1) for foot in evaluation.feet], axis=0)
    bowing = replace(evaluation, com=feet + 0.7 * HEIGHT * evaluation.up)
    assert summary_of(bowing).verdict.state == 'stable'


def test_who_is_tipped_for_a_moment_did_not_fall():
    assert summary_of(tipped(straddling(), 4.0, 90.0, end=4.4)).verdict.state != 'fell'


def test_a_recording_may_begin_on_the_ground():
    """It stands up at 3 s and falls at 8 s: heights count from where it stands."""
    evaluation = sunk(standing(duration=12.0), (-1.0, 3.0), (8.0, 20.0), share=0.7)
    scene = Scene(evaluation)
    assert scene.initial_height == pytest.approx(HEIGHT, rel=0.1)
    verdict = summary_of(evaluation).verdict
    assert verdict.state == 'fell'
    assert 'from 8.' in verdict.sentence
    assert [round(event.begin) for event in events(evaluation, 'fall')] == [8]
    up = summary_of(sunk(standing(duration=12.0), (-1.0, 3.0), share=0.7)).verdict
    assert up.state == 'stable'
    assert up.time_constant == pytest.approx(0.28, abs=0.02)


def test_each_fall_is_found_and_when_the_robot_is_up_again():
    evaluation = sunk(standing(duration=20.0), (3.0, 7.0), (12.0, 30.0))
    summary = summary_of(evaluation)
    assert 'It was up again at 7.' in summary.verdict.sentence
    found = [event for event in summary.events if event.kind in ('fall', 'impact')]
    assert [event.kind for event in found] == ['fall', 'impact'] * 2
    assert [event.begin for event in found] == pytest.approx([3.05, 3.5, 12.05, 12.5], abs=0.05)


def test_who_lies_has_neither_excursions_nor_flights_nor_slips_nor_pushes():
    lying = sunk(standing(duration=10.0, offset=bump(7.0, 0.4, 0.4)), (4.0, 30.0))
    lying = unloaded(shifted(lying, 0, distance=0.05, start=6.0), (8.0, 8.4))
    force = np.zeros((len(lying.stamps), 3))
    force[(lying.time >= 7.0) & (lying.time < 7.3), 0] = 80.0
    summary = summary_of(replace(lying, external_force=force))
    assert summary.verdict.state == 'fell'
    assert {event.kind for event in summary.events if event.begin > 4.6} <= {'lowest margin'}
    assert summary.verdict.sentence.count('left the support polygon') == 0
    assert 'push' not in {finding.key for finding in summary.findings}


@pytest.mark.parametrize('lies', [True, False])
def test_feet_that_need_not_carry_the_robot_are_not_called_wrong(lies):
    """It lies, or hangs, for half of the time."""
    evaluation = falling(start=5.0) if lies else standing()
    summary = summary_of(unloaded(evaluation, (5.2, 11.0)))
    assert summary.measured_over_weight < 0.6
    assert 'mean_foot_force' not in {finding.key for finding in summary.findings}


def test_forces_of_a_fall_at_the_end_are_not_called_wrong():
    summary = summary_of(unloaded(falling(start=2.6, duration=3.0), (2.68, 9.0)))
    assert summary.measured_over_weight < 0.93
    assert 'mean_foot_force' not in {finding.key for finding in summary.findings}


def test_height_counts_from_the_lowest_sole_whichever_carries():
    """On its side the robot rests on its right foot, and the upper one feels something."""
    evaluation = tipped(straddling(), 4.0)
    upper = evaluation.feet[0].sole.mean(axis=1)
    swap = (evaluation.time > 6.0)[:, None]
    changing = replace(evaluation, ground_point=np.where(swap, upper, evaluation.ground_point))
    height = Scene(changing).height[evaluation.time > 5.0]
    assert np.ptp(height) < 0.05
    assert height.mean() == pytest.approx(0.56, abs=0.03)
