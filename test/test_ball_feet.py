"""Feet that touch the ground with balls: exact forces of a small quadruped that stands still."""

import json
import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import ReplayError, RobotFileError
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.feet_kernel import PackedFeet
from izmp_dynamics.pipeline.unloaded import UnloadedFeet
from izmp_dynamics.stability.clearance import clearances
from izmp_dynamics.stability.support_polygon import write_margins
from izmp_dynamics.verdict.summary import summary_of

from .command_line import izmp
from .pipeline_signals import FEEDINGS, columns, evaluate, walk
from .quadruped import (
    BARE_FEET,
    FOUR,
    LEGS,
    LIFT,
    PERIOD,
    PLACES,
    RADII,
    SLOPE,
    THREE,
    TROT,
    leg_angles,
    rig_of,
    robot_of,
    stand,
)
from .raising import raising

TURN = Rotation.from_euler('yxz', [6.0, -4.0, 10.0], degrees=True).as_matrix()


@pytest.fixture(scope='module')
def rig(tmp_path_factory):
    """The quadruped."""
    return rig_of(tmp_path_factory.mktemp('quadruped'))


def results(rig, stance, **options):
    """What the pipeline makes of a stance, without the ends at which nothing is known yet."""
    signals = stance.signals()
    if options:
        del signals['orientation']
    found = evaluate(Evaluator(rig, **options), [signals])
    return found.select(np.isfinite(found.wrenches['mr_ad'][:, 0]))


def edge_distance(first, second, point):
    """How far a point (2,) is to the left of the way from the first foot to the second [m]."""
    x, y = PLACES[second] - PLACES[first]
    u, v = point - PLACES[first]
    return (x * v - y * u) / np.hypot(x, y)


def room(carries, point):
    """The margin of a point (2,) inside the feet that carry, in closed form [m]."""
    around = [k for k in (0, 2, 3, 1) if carries[k]]  # counter-clockwise
    return min(
        edge_distance(*ends, point) for ends in zip(around, around[1:] + around[:1], strict=True)
    )


@pytest.mark.parametrize('slope', [np.eye(3), SLOPE], ids=['flat', 'slope'])
@pytest.mark.parametrize(
    ('carries', 'com'),
    [(FOUR, (0.03, -0.02)), (THREE, (0.05, 0.03)), (TROT, (0.04, 0.026))],
    ids=['stand', 'crawl', 'trot'],
)
def test_the_izmp_is_the_cop_and_the_margin_is_known(rig, carries, com, slope):
    """Where gravity through the COM meets the ground, however the trunk is turned.

    Of a slope across the line of two feet nothing is known: where the balls touch is off by that.
    """
    stance = stand(rig, np.array(com), np.tile(carries, (40, 1)), slope=slope, turn=TURN)
    found = results(rig, stance)
    assert len(found.stamps) > 20
    np.testing.assert_array_equal(
        found.ground.feet.loaded, np.tile(carries, (len(found.stamps), 1))
    )
    slopes = np.cross(found.ground.plane.normal, stance.normal)
    sine = 0.0 if carries is not TROT else np.linalg.norm(slopes[0])
    assert (sine > 0.1) == (carries is TROT and slope is SLOPE)
    near = 1e-6 + 0.03 * sine**2
    for name in ('mr_ad', 'cop'):
        off = found.points[name] - stance.contacts[0, 0]  # from the foot FL, which always carries
        on_ground = off @ stance.R.T @ stance.ground_R_world.T + [*PLACES[0], 0.0]
        np.testing.assert_allclose(on_ground - [*com, 0.0], 0.0, atol=near)
    at = np.interp(com[0], [-0.2, 0.2], RADII[[3, 0]])  # of the balls, between them
    expected = -at * sine if carries is TROT else room(carries, np.array(com))
    np.testing.assert_allclose(found.margins['mr_ad'], expected, atol=near)
    if carries is not TROT:
        np.testing.assert_allclose(slopes, 0.0, atol=1e-7)
        for k, foot in enumerate(found.ground.soles):
            if carries[k]:
                np.testing.assert_allclose(
                    foot.corners[:, 0] - stance.contacts[0, k], 0.0, atol=1e-8
                )
            load = stance.forces[0, k] @ stance.normal
            np.testing.assert_allclose(foot.normal_force, load, atol=1e-6)


def scalar_feet(folder, key, **stated):
    """The quadruped with feet that measure one number."""
    sensor = {'topic': 'state', 'type': 'my_robot/msg/State', 'clock': 'received', **stated}
    feet = [
        foot | {key: sensor | {'field': f'foot_force[{k}]'}} for k, foot in enumerate(BARE_FEET)
    ]
    return rig_of(folder, feet=feet)


@pytest.mark.parametrize('slope', [np.eye(3), SLOPE], ids=['flat', 'slope'])
@pytest.mark.parametrize(('carries', 'com'), [(FOUR, (0.03, -0.02)), (THREE, (0.05, 0.03))])
def test_normal_forces_and_contact_alone_do_what_six_axes_do(carries, com, slope, rig, tmp_path):
    """The CoP of normal forces, and the IZMP's margin, to 1e-6 m; dead contacts are estimated."""
    stance = stand(rig, np.array(com), np.tile(carries, (40, 1)), slope=slope, turn=TURN)
    expected = results(rig, stance)
    loads = stance.forces[0] @ stance.normal
    for key, numbers in (('force', loads), ('contact', loads > 5.0), ('contact', np.zeros(4))):
        signals = stance.signals()
        for leg, number in zip(LEGS, numbers, strict=True):
            signals[f'feet[{leg}]'].values[:] = [0.0, 0.0, number, 0.0, 0.0, 0.0]
        folder = tmp_path / f'{key}{numbers[0]}'
        folder.mkdir()
        found = evaluate(Evaluator(scalar_feet(folder, key)), [signals])
        found = found.select(np.isfinite(found.wrenches['mr_ad'][:, 0]))
        np.testing.assert_array_equal(found.ground.feet.loaded, expected.ground.feet.loaded)
        near = {'rtol': 0, 'atol': 1e-6}
        np.testing.assert_allclose(found.margins['mr_ad'], expected.margins['mr_ad'], **near)
        if key == 'force':
            np.testing.assert_allclose(found.points['cop'], expected.points['cop'], **near)
            for k, foot in enumerate(found.ground.soles):
                np.testing.assert_allclose(foot.normal_force, loads[k], atol=1e-6)
        else:
            assert 'cop' not in found.points
            np.testing.assert_allclose(found.ground.feet.shares.sum(axis=1), 1.0)


@pytest.mark.parametrize('measures', ['contact of all', 'force of one'])
def test_what_a_foot_measures_counts_though_it_rests_on_the_ground(rig, tmp_path, measures):
    """Contact, or a force beside feet without sensors."""
    stance = stand(rig, np.array([0.05, 0.03]), np.tile(FOUR, (40, 1)))
    signals = stance.signals()
    for leg, loaded in zip(LEGS, THREE, strict=True):
        signals[f'feet[{leg}]'].values[:] = [0.0, 0.0, loaded, 0.0, 0.0, 0.0]
    if measures == 'contact of all':
        measuring = scalar_feet(tmp_path, 'contact')
    else:
        last = BARE_FEET[3] | {'wrench': {'topic': 'RR_foot/wrench', 'frame': 'RR_foot'}}
        measuring = rig_of(tmp_path, feet=[*BARE_FEET[:3], last])
    found = evaluate(Evaluator(measuring), [signals])
    known = np.isfinite(found.wrenches['mr_ad'][:, 0])
    np.testing.assert_array_equal(
        found.ground.feet.loaded[known], np.tile(THREE, (known.sum(), 1))
    )
    assert (found.ground.feet.shares[known, 3] == 0.0).all()


def test_the_frame_of_a_force_sensor_on_another_leg_is_refused(tmp_path):
    first = BARE_FEET[0] | {'wrench': {'topic': 'FL_foot/wrench', 'frame': 'RL_foot'}}
    with raising(ReplayError, 'on_other_leg') as refusal:
        rig_of(tmp_path, feet=[first, *BARE_FEET[1:]])
    assert "is on the leg of foot 'RL', not on that of the sole 'FL_foot'" in str(refusal.value)


def test_a_force_that_is_not_known_leaves_no_trace_at_later_instants(rig):
    stance = stand(rig, np.array([0.05, 0.03]), np.tile(FOUR, (60, 1)))
    signals = stance.signals()
    signals['feet[FL]'] = signals['feet[FL]'].select(slice(20, None))
    signals['feet[RR]'].values[40:] = 0.0
    found = evaluate(Evaluator(rig), [signals])
    assert not np.isfinite(found.ground.soles[0].normal_force[:10]).any()
    lifted = found.stamps > signals['feet[RR]'].stamps[40]
    assert lifted.any()
    assert not found.ground.feet.loaded[lifted, 3].any()


@pytest.mark.parametrize('options', [{}, {'orientation': None}], ids=['oriented', 'not'])
@pytest.mark.parametrize('slope', [0.0, 5.0])
def test_the_ground_of_two_feet_is_as_level_as_their_line(rig, slope, options):
    """Of a slope along the line all is known, of one across it nothing: it is taken as level.

    Three feet show the ground without an orientation, too.
    """
    line = PLACES[0] - PLACES[3]
    along = Rotation.from_rotvec(np.radians(slope) * np.array([line[1], -line[0], 0.0])
                                 / np.hypot(*line)).as_matrix()  # fmt: skip
    for com, carries, R in ((np.zeros(2), TROT, along), (np.array([0.05, 0.03]), THREE, SLOPE)):
        stance = stand(rig, com, np.tile(carries, (40, 1)), slope=R)
        found = results(rig, stance, **options)
        np.testing.assert_allclose(found.ground.plane.normal - stance.normal, 0.0, atol=1e-7)


def test_a_ball_in_the_air_shows_the_offset_of_its_sensor(rig):
    """Offsets that are less than counts as load; the other feet say that it is in the air."""
    stance = stand(rig, np.array([0.05, 0.03]), np.tile(THREE, (100, 1)), slope=SLOPE)
    signals, evaluator = stance.signals(), Evaluator(rig)
    offset = np.array([0.5, -1.0, 5.0, 0.01, 0.02, -0.03])
    signals['feet[RR]'].values[:] += offset
    evaluator.unloaded = unloaded = UnloadedFeet(rig)
    heights = clearances(evaluate(evaluator, [signals]).ground.soles)[50]
    np.testing.assert_allclose(heights, [-LIFT, -LIFT, -LIFT, LIFT], atol=1e-9)
    unloaded.update()
    assert set(unloaded.swings) == {'RR'}
    np.testing.assert_allclose(unloaded.swings['RR'].excess, offset, atol=1e-9)


def test_on_level_ground_gravity_gives_the_same(rig, tmp_path):
    stance = stand(rig, np.array([0.03, -0.02]), np.tile(THREE, (40, 1)), turn=TURN)
    level = rig_of(tmp_path, ground={'source': 'gravity'})
    found, other = results(rig, stance), results(level, stance)
    np.testing.assert_allclose(other.points['cop'], found.points['cop'], atol=1e-9)
    np.testing.assert_allclose(other.margins['mr_ad'], found.margins['mr_ad'], atol=1e-9)


@pytest.mark.parametrize(
    ('carries', 'point', 'expected'),
    [
        ((True, True, False, False), (0.17, 0.02), -0.03),  # across the line of FL and FR
        ((True, True, False, False), (0.17, 0.17), -0.05),  # likewise, and beyond FL by 40 mm
        ((True, False, False, False), (0.16, 0.10), -0.05),
        ((True, True, True, True), (0.17, 0.02), 0.03),
        ((False, False, False, False), (0.17, 0.02), np.nan),
    ],
)
def test_the_margin_of_a_line_and_of_a_point_is_the_distance_from_them(carries, point, expected):
    corners = np.concatenate([PLACES, np.zeros((4, 1))], axis=1)[None]
    margins = np.empty((2, 1, 1))
    for least, found in zip((1, 3), margins, strict=True):
        write_margins(
            np.array([[[*point, 0.0]]]), corners, np.arange(4), np.array([carries]),
            np.array([[0.0, 0.0, 1.0]]), least, found,
        )  # fmt: skip
    np.testing.assert_allclose(margins[0], expected, atol=1e-12)
    np.testing.assert_allclose(margins[1], expected if sum(carries) > 2 else np.nan, atol=1e-12)


def test_in_whatever_pieces_the_messages_come_the_numbers_are_the_same(rig):
    expected, *others = (
        columns(evaluate(Evaluator(rig), feed(walk(rig)))) for feed in FEEDINGS.values()
    )
    assert np.isfinite(expected['points.mr_ad']).any()
    for found in others:
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, atol=1e-9, err_msg=name)


def summary(folder, stance):
    """What a recording says."""
    return summary_of(evaluate_bag(stance.record(folder / 'bag'), folder / 'robot.yaml'))


def lifted(duration=4.0, height=0.05):
    """Height of a foot that is lifted slowly and put down again [m]."""
    time = PERIOD * np.arange(round(duration / PERIOD))
    return height * np.sin(np.pi * np.clip((time - 1.0) / (duration - 2.0), 0.0, 1.0)) ** 2


def test_a_crawl_on_a_slope_is_stable_and_carries_the_weight(tmp_path):
    rig, lift = rig_of(tmp_path), lifted()
    carries = np.column_stack([*[np.ones(len(lift), dtype=bool)] * 3, lift < 1e-5])
    stance = stand(rig, np.array([0.06, 0.04]), carries, lift, slope=SLOPE)
    found = summary(tmp_path, stance)
    assert found.verdict.state == 'stable', found.verdict.text
    weight = rig.model.total_mass * rig.robot.gravity
    across = float(stance.ground_R_world[2, 2])
    assert found.measured_force == pytest.approx(weight * across, rel=1e-6)
    margin = found.tracks['mr_ad'].smallest_margin
    expected = [room(on, com) for on, com in zip(carries, stance.com, strict=True)]
    assert margin == pytest.approx(min(expected), abs=5e-4)  # the leg moves slowly, but it moves
    assert not [f.kind for f in found.findings if f.kind in ('mean_foot_force', 'mean_force')]


def test_a_trot_is_no_excursion_and_no_fall(tmp_path):
    """It stands on diagonals: the verdict says why it says nothing."""
    lift = np.full(300, 0.05)
    stance = stand(rig_of(tmp_path), np.zeros(2), np.tile(TROT, (300, 1)), lift)
    found = summary(tmp_path, stance)
    assert (found.verdict.state, found.verdict.reason) == ('unclear', 'line_support')
    assert '100 %' in found.verdict.sentence
    assert not {event.kind for event in found.events} & {'excursion', 'fall', 'flight'}


def test_off_the_line_of_two_feet_is_outside_nothing(tmp_path):
    """On a steep slope across it, of which two feet show nothing, the margin is −12 mm there."""
    carries = np.tile(FOUR, (300, 1))
    carries[100:200] = TROT
    steep = Rotation.from_euler('yx', [23.0, 18.0], degrees=True).as_matrix()
    stance = stand(rig_of(tmp_path), np.zeros(2), carries, 0.0, slope=steep)
    bag = stance.record(tmp_path / 'bag')
    outcome = izmp('replay', bag, '--robot', tmp_path / 'robot.yaml', '-o', tmp_path / 'out')
    assert (outcome.status, outcome.err) == (0, '')
    report = json.loads((tmp_path / 'out' / 'report.json').read_text())
    assert report['verdict']['state'] == 'stable', report['verdict']
    assert report['tracks']['mr_ad']['outside_time'] == 0.0
    assert 'excursion' not in {event['kind'] for event in report['events']}
    margins = evaluate_bag(bag, tmp_path / 'robot.yaml').tracks['mr_ad'].margin
    assert -0.014 < np.nanmin(margins) < -0.010


def test_the_model_shows_balls(tmp_path):
    robot_of(tmp_path)
    outcome = izmp('model', tmp_path / 'robot.yaml')
    assert (outcome.status, outcome.err) == (0, '')
    assert 'sole of FL (ball, radius 22 mm): FL_foot' in outcome.out


@pytest.mark.parametrize(
    ('changes', 'kind', 'sentence'),
    [
        ({'radius': 0}, 'out_of_range', r'feet\[0\].radius is 0; valid: 0.0001 to 0.5 m'),
        ({'radius': -0.022}, 'out_of_range', 'radius is -0.022; valid: 0.0001 to 0.5 m'),
        ({'radius': 22}, 'out_of_range', 'metres, not millimetres'),
        ({'polygon': [[0.1, 0.1], [-0.1, 0.1], [0.0, -0.1]]}, 'polygon_or_radius', 'both given'),
        ({'radius': None}, 'polygon_or_radius', 'both missing; a flat sole has a polygon'),
        ({'imu': {'topic': 'i'}}, 'key_without_effect', 'a ball has no plane'),
    ],
)
def test_a_robot_file_with_a_wrong_ball_is_refused_in_one_sentence(
    tmp_path, changes, kind, sentence
):
    foot = {'name': 'FL', 'sole': 'FL_foot', 'radius': 0.022} | changes
    with raising(RobotFileError, kind, path=tmp_path / 'robot.yaml') as refusal:
        robot_of(tmp_path, feet=[foot])
    assert re.search(sentence, str(refusal.value))
    assert '\n' not in str(refusal.value)


def test_imus_of_feet_need_flat_soles(tmp_path):
    with raising(RobotFileError, 'needs_flat_soles') as refusal:
        robot_of(tmp_path, ground={'source': 'feet_imus'})
    assert 'needs flat soles, but FL, FR, RL, RR touch' in str(refusal.value)


def test_balls_without_sensors_have_no_force_and_stand_by_their_height(tmp_path):
    rig = rig_of(tmp_path, feet=[*BARE_FEET])
    q = leg_angles(np.tile([0.0, 0.0, -0.3], (4, 1))).ravel()
    states = np.concatenate([[0.0, 0.0, 9.81], np.zeros(6), q, np.zeros(24)])
    for _ in range(20):  # what memory holds must not matter
        found, _ = PackedFeet.of(rig).evaluate(
            np.tile(states, (3, 1)), np.full((3, 4, 6), np.nan), np.full((3, 3), np.nan),
            None, rig.contact_force,
        )  # fmt: skip
        assert np.isnan(found.soles.forces).all()
        assert found.loaded.all()
        del found
        [np.full((4, 3), 7.0) for _ in range(50)]
