"""Events of simulated twins and of made-up evaluations: which, when, how large."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.rotations import rotated, rotated_back
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.verdict.events.event import (
    KINDS,
    STEPS,
    Event,
    event_message,
    from_where,
)
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summary_of
from izmp_lab.walking.walk_parameters import WalkParameters

from .report_scenarios import bump, falling, part, standing, walking, with_feet
from .report_twins import twin


def events(evaluation, *kinds):
    found = summary_of(evaluation).events
    return [event for event in found if not kinds or event.kind in kinds]


def test_they_are_in_the_order_of_time_and_of_a_known_kind():
    found = events(walking(duration=6.0))
    assert [event.begin for event in found] == sorted(event.begin for event in found)
    assert all(0.0 <= event.begin <= event.end <= 6.0 for event in found)
    assert {event.kind for event in found} <= set(KINDS)
    assert {event.kind for event in found} >= set(STEPS)


@pytest.mark.parametrize(
    ('axis', 'depth', 'edge'), [(1, 0.25, 'left'), (1, -0.25, 'right'), (0, 0.25, 'front')]
)
def test_an_excursion_names_the_edge(axis, depth, edge):
    (found,) = events(standing(offset=bump(4.0, 0.35, depth, axis)), 'excursion')
    assert found.begin == pytest.approx(4.0, abs=0.15)
    assert found.sentence.startswith(f'IZMP, averaged over 0.14 s, outside the {edge} edge for 0.')
    assert found.significance > 5.0
    assert found.unit == 'm'


def test_a_page_has_one_significance_and_one_instant_of_an_excursion():
    summary = summary_of(standing(duration=5.0, offset=bump(2.0, 0.35, 0.25)))
    found = {event.kind: event for event in summary.events}
    (listed,) = summary.judged.excursions
    assert found['excursion'].significance == listed.significance
    assert summary.verdict.margin == -listed.depth == summary.judged.averaged_margin
    assert summary.verdict.margin_time == listed.deepest == found['lowest margin'].begin


def test_an_excursion_that_a_push_made_says_so():
    evaluation = standing(duration=6.0, offset=bump(4.0, 0.18, 0.25))
    force = np.zeros((len(evaluation.stamps), 3))
    within = (evaluation.time >= 4.0) & (evaluation.time < 4.18)
    force[within] = evaluation.nif_R_root()[within, 0] * 42.0
    found = events(replace(evaluation, external_force=force), 'excursion', 'push')
    sentences = {event.kind: event.sentence for event in found}
    assert sentences['push'] == 'Pushed from behind with 42.0 N for 0.18 s'
    assert sentences['excursion'].endswith('; pushed from behind with 42.0 N')


@pytest.mark.parametrize(
    ('degrees', 'edge', 'side'),
    [(170, 'rear', 'the front'), (-80, 'left', 'the right'), (20, 'front', 'behind')],
)
def test_ahead_is_where_the_soles_point(degrees, edge, side):
    """The x axis of a root may point backwards, as the iCub's."""
    evaluation = standing(duration=6.0, offset=bump(4.0, 0.35, 0.25, axis=0))
    force = np.zeros((len(evaluation.stamps), 3))
    within = (evaluation.time >= 4.0) & (evaluation.time < 4.35)
    force[within] = evaluation.nif_R_root()[within, 0] * 42.0
    R = Rotation.from_euler('ZX', [degrees, 180.0], degrees=True).as_matrix()  # z downwards
    seen = with_feet(replace(evaluation, external_force=force), axes=evaluation.feet[0].axes @ R)
    found = {event.kind: event.sentence for event in events(seen)}
    assert f'outside the {edge} edge' in found['excursion']
    assert found['push'].startswith(f'Pushed from {side} with 42.0 N')


@pytest.mark.parametrize(
    ('direction', 'begin', 'duration', 'half_width', 'pushes', 'errors'),
    [
        ([0.2, 0.1, -1.0], 0.0, 0.08, 0.01, 0, 1),  # a stumble: as the foot lands, and no longer
        ([0.2, 0.1, -1.0], 0.17, 0.08, 0.01, 1, 0),  # with nothing that lands or lifts off
        ([1.0, 0.5, -5.0], 0.17, 0.08, 0.1, 0, 1),  # but what lands is smoothed
        ([0.2, 0.1, -1.0], 0.0, 1.0, 0.03, 1, 0),  # it goes on between steps
        ([0.0, 1.0, -0.2], 0.0, 0.08, 0.01, 1, 0),
        ([0.0, 0.145, 0.0], 0.0, 0.08, 0.1, 0, 0),  # less than 5 σ in the mean: not even an error
    ],
)
def test_a_vertical_shock_while_a_foot_lands_is_no_push(
    direction, begin, duration, half_width, pushes, errors
):
    evaluation = replace(walking(duration=8.0), filter_bandwidth=bandwidth(half_width))
    loaded, time = evaluation.feet[0].loaded, evaluation.time
    lands = time[1:][loaded[1:] & ~loaded[:-1]][2]
    force = np.random.default_rng(0).normal(0.0, 0.5, (len(time), 3))
    at = (time >= lands + begin) & (time < lands + begin + duration)
    force[at] += 60.0 * np.array(direction)
    triangle = np.maximum(
        1.0 - np.abs(np.arange(-1.0, 1.0, (time[1] - time[0]) / half_width)), 0.0
    )
    force = np.stack([np.convolve(axis, triangle / triangle.sum(), 'same') for axis in force.T], 1)
    force = np.einsum('kji,kj->ki', evaluation.nif_R_root(), force)
    summary = summary_of(replace(evaluation, external_force=force))
    forces = summary.external_forces
    assert (len(forces.pushes), len(forces.errors)) == (pushes, errors)


def test_a_push_on_a_robot_that_tips_is_level_by_gravity():
    """Its sole, and so the ground's normal, is tilted by 40°."""
    evaluation = standing(duration=6.0)
    within = (evaluation.time >= 4.0) & (evaluation.time < 4.18)
    up = evaluation.normal
    tilted = np.where(within[:, None], np.cross([0.0, 1.0, 0.0], up) * 0.64 + up * 0.77, up)
    tilted /= np.linalg.norm(tilted, axis=1)[:, None]
    force = np.where(within[:, None], evaluation.nif_R_root()[:, 0] * 42.0, 0.0)
    seen = replace(evaluation, up=up, normal=tilted, external_force=force)
    (push,) = summary_of(seen).pushes
    assert push.force == pytest.approx([42.0, 0.0, 0.0], abs=0.1)


def shift_of_weight(begin):
    """To the left while something acts for 0.2 s from `begin` on, and back."""

    def offset(time):
        return 0.06 * np.stack(
            [0.0 * time, np.interp(time - begin, [0.0, 0.2, 0.4], [0, -1, 0])], 1
        )

    return offset


def delayed(evaluation, late):
    """The CoP of force sensors that are late [s]."""
    time, cop, nif = evaluation.time, evaluation.tracks['cop'], evaluation.nif_R_root()
    parts = [rotated(nif, each) for each in (*np.split(cop.wrench, 2, axis=1), cop.point)]
    behind = np.stack([np.interp(time - late, time, axis) for axis in np.hstack(parts).T], axis=1)
    *wrench, point = (rotated_back(nif, each) for each in np.split(behind, 3, axis=1))
    return replace(cop, wrench=np.hstack(wrench), point=point)


def pushed_at(*above, sizes=(60.0,), late=0.0, begin=4.0, axis=0):
    """A second after another, so far above the centre of mass and 0.1 m to the left of it.

    Args:
        above: [m].
        sizes: [N], from behind, or from the right along axis 1.
        late: so much later than the motion come the forces of the feet [s].
        begin: of the first [s].
        axis: along which it acts.
    """
    evaluation = standing(duration=6.0, offset=shift_of_weight(begin), cop_limit=1.0)
    time, axes = evaluation.time, np.moveaxis(evaluation.nif_R_root(), 1, 0)
    wrench = np.zeros((len(time), 6))
    for k, (height, size) in enumerate(zip(above, sizes, strict=True)):
        acts = (time >= begin + k) & (time < begin + k + 0.2)
        point = evaluation.com + 0.1 * axes[1] + height * axes[2] + 0.2 * axes[0]
        push = np.hstack([size * axes[axis], np.cross(point, size * axes[axis])])
        wrench[acts] += push[acts]
    moved = evaluation.tracks['mr_ad']
    tracks = evaluation.tracks | {
        'mr_ad': replace(moved, wrench=moved.wrench + wrench),
        'cop': delayed(evaluation, late),
    }
    return summary_of(replace(evaluation, tracks=tracks, external_force=wrench[:, :3]))


HEIGHT = float(np.median(Scene(standing(duration=6.0)).height))


def test_the_line_of_action_of_a_push_passes_where_it_acts():
    summary = pushed_at(0.3)
    (push,) = summary.pushes
    assert push.point == pytest.approx((0.0, 0.1, 0.3), abs=3.0 * push.point_sigma)
    assert 0.0 < push.point_sigma < 0.02
    (told,) = [found.sentence for found in summary.findings if found.key == 'push']
    assert re.search(r' to the left of and 0?\d+ mm above the centre of mass \(± ', told)


@pytest.mark.parametrize(('of_height', 'late', 'pushes'), [
    (0.95, 0.0, 0),
    (0.7, 0.0, 1),
    (1.0, 0.045, 0),
    (0.7, 0.045, 1),
])  # fmt: skip
def test_a_force_at_the_feet_is_an_error_of_their_sensors(of_height, late, pushes):
    """Also by the delay of the feet that explains most of what CoP and IZMP differ by."""
    found = pushed_at(-of_height * HEIGHT, sizes=[12.0], late=late, begin=3.4, axis=1)
    forces = found.external_forces
    assert (len(forces.pushes), len(forces.errors)) == (pushes, 1 - pushes)


@pytest.mark.parametrize(('size', 'pushes'), [(60.0, 0), (150.0, 1)])
def test_a_push_is_compared_with_errors_at_the_feet(size, pushes):
    assert len(pushed_at(-HEIGHT, 0.0, sizes=[60.0, size]).pushes) == pushes


def test_a_push_is_found_beside_what_a_tilted_imu_leaves_throughout():
    """As an IMU mounted 2.5° off: 4 % of the weight, which is more than an eighth of the push."""
    evaluation = standing(duration=6.0)
    weight, time = evaluation.total_mass * evaluation.gravity, evaluation.time
    force = np.tile([-0.044 * weight, 0.0, 0.0], (len(time), 1))
    force += np.random.default_rng(0).normal(0.0, 0.2, force.shape)
    force[(time >= 4.0) & (time < 4.2), 1] += 0.12 * weight
    force = np.einsum('kji,kj->ki', evaluation.nif_R_root(), force)
    (push,) = summary_of(replace(evaluation, external_force=force)).pushes
    assert push.force == pytest.approx([0.0, 0.12 * weight, 0.0], abs=0.002 * weight)


def test_the_uncertainty_of_a_push_covers_what_distorts_it():
    """As where a robot falls: for the last 0.04 s of 0.2 s the feet shake as well.

    What differs much is not of the push; what is like it distorts its mean.
    """
    evaluation = standing(duration=6.0)
    time, force = evaluation.time, np.random.default_rng(0).normal(0.0, 0.2, (1, 3))
    force = np.where(((time >= 4.0) & (time < 4.2))[:, None], [64.0, 0.0, 0.0], force)
    for shake, distorts in (([0.0, 40.0, 0.0], 0.0), ([50.0, 30.0, 0.0], 2.0)):
        force[(time >= 4.16) & (time < 4.2)] = shake
        seen = np.einsum('kji,kj->ki', evaluation.nif_R_root(), force)
        (push,) = summary_of(replace(evaluation, external_force=seen)).pushes
        assert distorts < abs(push.size - 64.0) < push.uncertainty < 20.0


@pytest.mark.parametrize(('ended', 'named'), [(0.08, True), (0.2, False)])
def test_a_push_that_ended_longer_ago_than_is_averaged_is_no_cause(ended, named):
    evaluation = standing(duration=6.0, offset=bump(4.0, 0.4, 0.12), cop_limit=0.2)
    (found,) = events(evaluation, 'excursion')
    assert '; the measured CoP is at the edge too' in found.sentence
    force = np.zeros((len(evaluation.stamps), 3))
    end = found.begin - ended
    within = (evaluation.time >= end - 0.2) & (evaluation.time < end)
    force[within] = evaluation.nif_R_root()[within, 0] * 42.0
    found, push = events(replace(evaluation, external_force=force), 'excursion', 'push')[::-1]
    assert push.end <= found.begin
    assert ('pushed from behind' in found.sentence) is named


def test_the_onset_of_a_fall_is_not_before_the_push():
    """The centre of mass is thrown to the left from one instant to the next."""
    evaluation = standing(duration=6.0)
    way = np.maximum(evaluation.time - 4.0, 0.0)[:, None] * [0.0, 2.0, -1.0]
    thrown = evaluation.com + np.einsum('kij,kj->ki', evaluation.nif_R_root().swapaxes(1, 2), way)
    onset = events(replace(evaluation, com=thrown), 'fall')[0].begin
    assert 4.0 <= onset < 4.04


def unloaded(evaluation, *spans):
    """No foot carries load in these spans (from, to) [s]."""
    time = evaluation.time
    up = np.any([(time >= begin) & (time < end) for begin, end in spans], axis=0)
    return with_feet(
        evaluation,
        loaded=lambda foot: foot.loaded & ~up,
        normal_force=lambda foot: np.where(up, 0.0, foot.normal_force),
    )


def test_without_load_the_robot_flies_or_is_held():
    evaluation = standing(duration=6.0)
    lifted = unloaded(evaluation, (2.0, 2.2), (4.0, 9.0))
    flight, held = events(lifted, 'flight')
    assert (flight.begin, flight.end) == pytest.approx((2.0, 2.2), abs=0.01)
    assert flight.sentence == 'No foot carries load for 0.20 s'
    assert held.sentence.endswith('so the robot is held or lies on the ground')
    steps = events(lifted, *STEPS)
    lands = [event.kind == 'touchdown' for event in steps]
    assert lands == [False, False, True, True, False, False]
    assert steps[-1].size == pytest.approx(1.8, abs=0.02)


def test_chatter_at_the_threshold_and_gaps_are_no_steps():
    evaluation = standing(duration=4.0)
    left, right = evaluation.feet
    chatter = (np.arange(len(evaluation.stamps)) % 40) > 2
    unknown = np.where(evaluation.time < 2.0, left.normal_force, np.nan)
    feet = (replace(left, loaded=chatter & (evaluation.time < 2.0), normal_force=unknown), right)
    assert events(replace(evaluation, feet=feet), *STEPS) == []


def test_a_fall_to_the_ground_has_an_impact():
    """The centre of mass sinks at 1.44 m/s until 6.5 s."""
    fall, impact = events(falling(), 'fall', 'point of no return', 'impact')
    assert (fall.kind, impact.kind) == ('fall', 'impact')  # it sinks over its feet
    assert fall.begin == pytest.approx(6.06, abs=0.03)
    assert impact.begin == fall.end == pytest.approx(6.5, abs=0.03)
    assert impact.size == pytest.approx(1.44, abs=0.01)


@pytest.mark.parametrize('nothing', ['feet', 'loads'])
def test_without_a_support_polygon_there_is_no_point_of_no_return(nothing):
    evaluation = falling()
    unloaded = np.zeros(len(evaluation.stamps), dtype=bool)
    without = with_feet(evaluation, loaded=unloaded, normal_force=np.where(unloaded, 0.0, np.nan))
    without = replace(evaluation, feet=()) if nothing == 'feet' else without
    found = events(without, 'fall', 'point of no return', 'impact')
    assert [event.kind for event in found] == ['fall', 'impact']
    assert found[0].begin == pytest.approx(6.06, abs=0.03)
    assert found[0].sentence.startswith('The robot sinks, impact 0.')


def test_without_the_centre_of_mass_there_is_an_excursion_and_no_fall():
    evaluation = standing(offset=bump(9.4, 1.0, 0.3), cop_limit=0.4)
    unknown = replace(evaluation, com=np.full_like(evaluation.com, np.nan))
    assert [event.kind for event in events(unknown, 'excursion', 'fall')] == ['excursion']


def test_a_fall_has_its_onset_before_the_point_of_no_return(fall, biped31):
    """Pushed at 1 s for 0.25 s; the capture point leaves the feet before the centre of mass."""
    found = events(twin(fall, biped31), 'push', 'fall', 'point of no return', 'impact', 'slip')
    assert [event.kind for event in found] == ['push', 'fall', 'point of no return']
    push, onset, lost_ = found
    assert push.begin < onset.begin < push.end + 0.1
    assert onset.begin < lost_.begin < onset.end
    assert 'the impact is not recorded' in onset.sentence
    assert onset.size > 0.5


def test_an_ordinary_sway_has_no_event_but_its_steps_and_lowest_margin(sway, biped31):
    kinds = {event.kind for event in events(twin(sway[1], biped31))}
    assert kinds == {'lowest margin', *STEPS}


def test_lost_messages_and_offsets_are_sensor_faults():
    evaluation = walking(duration=4.0)
    start = int(evaluation.stamps[0])
    outage = Outage('/imu', start + 10**9, start + 15 * 10**8, 'hangs')
    left, right = evaluation.feet
    offset = replace(left, normal_force=left.normal_force + 30.0)
    hung, wrong = events(
        replace(evaluation, outages=(outage,), feet=(offset, right)), 'sensor fault'
    )
    assert (hung.begin, hung.end, hung.subject) == (1.0, 1.5, '/imu')
    assert hung.sentence == '/imu repeats one value for 0.50 s while the robot moves'
    assert wrong.size == pytest.approx(30.0, abs=0.1)
    assert 'measures 30.0 N while it is in the air' in wrong.sentence


def test_a_foot_that_turns_on_the_ground_slips():
    """By 0.2 rad about the normal, half a sole's diagonal of 134 mm: 27 mm."""
    evaluation = standing(duration=2.0)
    angle = 0.2 * np.clip((evaluation.time - 0.7) / 0.1, 0.0, 1.0)
    left, right = evaluation.feet
    middle = left.sole.mean(axis=1, keepdims=True)
    turn = Rotation.from_rotvec(angle[:, None] * evaluation.normal).as_matrix()
    turned = np.einsum('kij,kvj->kvi', turn, left.sole - middle) + middle
    (found,) = events(replace(evaluation, feet=(replace(left, sole=turned), right)), 'slip')
    assert (found.begin, found.end) == pytest.approx((0.71, 0.79), abs=0.02)
    assert found.size == pytest.approx(0.8 * 0.2 * 0.134, abs=0.004)  # from a tenth to nine
    assert 'left_foot turns on the ground' in found.sentence


def test_a_flight_that_a_gap_cuts_off_ends_there():
    evaluation = standing(duration=6.0)
    gap = (evaluation.time >= 2.1) & (evaluation.time < 2.6)
    (flight,) = events(part(unloaded(evaluation, (2.0, 2.2)), ~gap), 'flight')
    assert (flight.begin, flight.end) == pytest.approx((2.0, 2.1), abs=0.01)


def test_outages_are_as_long_as_they_are_and_count_within_the_evaluation():
    evaluation = standing(duration=4.0)
    start = int(evaluation.stamps[0])
    spans = {'/before': (-2.0, -1.0), '/starts_late': (-1.0, 0.5), '/dies': (3.0, 6.0)}
    outages = tuple(
        Outage(topic, start + round(begin * 1e9), start + round(end * 1e9), 'stops')
        for topic, (begin, end) in spans.items()
    )
    late, dies = events(replace(evaluation, outages=outages), 'sensor fault')
    assert (late.begin, late.end, late.size) == (0.0, 0.5, 1.5)
    assert (dies.begin, dies.end, dies.size) == (3.0, pytest.approx(4.0), 3.0)
    assert dies.sentence == '/dies sends no message for 3.00 s'


def shifted(evaluation, k, distance=0.02, start=3.0):
    """The feet, of which one slides forward within 0.1 s."""
    share = np.clip((evaluation.time - start) / 0.1, 0.0, 1.0)[:, None, None]
    way = distance * share * evaluation.feet[k].axes[:, None, :, 0]
    feet = list(evaluation.feet)
    feet[k] = replace(feet[k], sole=feet[k].sole + way)
    return replace(evaluation, feet=tuple(feet))


def test_a_jump_of_the_localizer_is_no_slip_but_a_slip_is():
    evaluation = standing(duration=6.0)
    jump = np.where(evaluation.time >= 3.0, 0.02, 0.0)[:, None] * np.eye(3)[0]
    jumps = replace(evaluation, world_p_root=evaluation.world_p_root + jump)
    assert events(jumps, 'slip') == []
    away = jump * (evaluation.time < 3.2)[:, None]
    comes_back = replace(evaluation, world_p_root=evaluation.world_p_root + away)
    assert events(comes_back, 'slip') == []
    left, right = evaluation.feet
    alone = (left, replace(right, loaded=np.abs(evaluation.time - 3.1) > 0.6))
    assert events(replace(comes_back, feet=alone), 'slip') == []
    assert len(events(replace(jumps, feet=alone), 'slip')) == 1  # cannot be distinguished
    (slip,) = events(shifted(evaluation, 0), 'slip')
    assert (slip.begin, slip.end) == pytest.approx((3.0, 3.1), abs=0.03)
    assert slip.subject == evaluation.feet[0].name
    assert slip.size == pytest.approx(0.02, abs=0.003)
    assert np.isnan(slip.significance)


@pytest.mark.parametrize('k', [0, 1, 2])
def test_of_three_feet_the_one_slides_that_moves_against_both_others(k):
    """Whatever they carry."""
    evaluation = replace(standing(duration=6.0), world_p_root=None, world_R_root=None)
    left, right = evaluation.feet
    behind = left.sole - 0.3 * left.axes[:, None, :, 0]
    third = replace(left, name='third', sole=behind, normal_force=2.0 * left.normal_force)
    evaluation = replace(evaluation, feet=(left, right, third))
    (slip,) = events(shifted(evaluation, k), 'slip')
    assert slip.subject == evaluation.feet[k].name


@pytest.fixture(scope='module')
def slippery(biped31, tmp_path_factory):
    """Four steps where the friction is 0.1: the run with its truth, and its evaluation."""
    from izmp_lab.simulation.physics import Physics
    from izmp_lab.simulation.scenarios import simulate_walk

    bag = tmp_path_factory.mktemp('ice') / 'bag'
    walk = simulate_walk(
        biped31, bag, parameters=WalkParameters(steps=4, stand=1.0), physics=Physics(friction=0.1)
    )
    return walk.run, twin(bag, biped31)


def test_on_ice_feet_slip_as_far_as_they_do(slippery):
    """Within 3 mm of the truth, meanwhile."""
    run, evaluation = slippery
    found = events(evaluation, 'slip')
    assert len(found) >= 3
    time = (run.stamps - evaluation.stamps[0]) / 1e9
    for event in found:
        rows = [int(np.searchsorted(time, at)) for at in (event.begin, event.end)]
        corners = run.truth.feet[event.subject].corners
        before, after = (corners[row].mean(axis=0) for row in rows)
        assert np.linalg.norm(after - before) == pytest.approx(event.size, abs=0.003)
        side = 'left' if (after - before)[1] > 0 else 'right'
        assert f'slides to the {side}' in event.sentence or f'and to the {side}' in event.sentence


@pytest.mark.parametrize(
    ('force', 'words'),
    [([1, 0, 0], 'behind'), ([-1, 0.2, 0], 'the front'), ([0, 1, 0], 'the right'),
     ([0, -1, 0.5], 'the left'), ([1, 1, 0], 'behind and the right'), ([0, 0, -1], 'above')],
)  # fmt: skip
def test_directions_are_seen_from_the_robot(force, words):
    assert from_where(np.array(force, float)) == f'from {words}'


def test_a_message_has_exact_stamps_and_leaves_out_what_is_not_known():
    origin = 1_720_000_000_123_456_789
    found = event_message(Event(0.5, 0.75, 'fall', 'It falls', size=1.5, unit='m/s'), origin)
    assert found.begin == origin + 500_000_000
    assert found.level == 2
    assert dict(found.values) == {
        'begin': '1720000000.623456789', 'end': '1720000000.873456789',
        'size': '1.5', 'unit': 'm/s',
    }  # fmt: skip
