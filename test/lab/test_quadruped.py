"""Quadrupeds in MuJoCo: the IZMP is the true CoP, pushes are survived and reported."""

import dataclasses
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import MotionError, UnknownNameError
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.report.page import cards
from izmp_dynamics.stability.support_polygon import margin as polygon_margin
from izmp_dynamics.stability.support_polygon import support_polygon
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_dynamics.verdict.capture import touchdowns
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summary_of
from izmp_lab.simulation.quadruped import simulate_quadruped
from izmp_lab.studies import quadruped
from izmp_lab.studies.publish import publish
from izmp_lab.walking.biped import example_robot

from ..bag_surgery import SECOND, Draft
from ..command_line import izmp
from ..raising import raising
from .walking import exact_wrench

example_robot('go2', 'go2_description/urdf/go2.urdf')  # all tests need it


@pytest.fixture(scope='module')
def trot(tmp_path_factory):
    """A Go2 that trots and is pushed with 60 N for 0.1 s: run and bag."""
    bag = tmp_path_factory.mktemp('trot') / 'bag'
    found = simulate_quadruped('go2', 'trot', bag, duration=5.0, pushes=['60:left:2.5'])
    return found, bag


@pytest.fixture(scope='module')
def evaluated(trot):
    """The pushed trot, evaluated."""
    return evaluate_bag(trot[1], trot[1] / 'robot.yaml')


def test_on_the_exact_motion_the_izmp_of_a_trot_is_the_cop(trot):
    """But for the push, which is no force of the ground: 1e-6 mm."""
    (simulated, _), file = trot, trot[0].file
    run, root = simulated.run, simulated.run.truth.root
    wrench, _ = exact_wrench(run, load_model(file.read_urdf(), file.root), file)
    normal = root.rotation[:, 2, :]
    ground = -np.einsum('tji,tj->ti', root.rotation, root.position)
    izmp = zero_moment_point(wrench, normal, ground, 1.0)
    off = (izmp - run.truth.cop_in_root())[~run.truth.applied_wrench.any(axis=1)]
    assert np.isfinite(off).all()
    assert np.abs(off).max() < 1e-9


def test_up_a_slope_the_izmp_is_the_true_cop(tmp_path):
    """With the exact motion within 1e-6 mm, along the ground: the balls sink into it."""
    found = simulate_quadruped('go2', 'trot', tmp_path / 'bag', duration=2.7, slope=np.radians(8))
    truth, file = found.run.truth, found.file
    wrench, _ = exact_wrench(found.run, load_model(file.read_urdf(), file.root), file)
    cop, normal = truth.cop_in_root(), truth.ground_normal_in_root()
    assert np.abs(zero_moment_point(wrench, normal, cop, 1.0) - cop).max() < 1e-9
    result = evaluate_bag(tmp_path / 'bag', tmp_path / 'bag' / 'robot.yaml')
    rows = np.searchsorted(found.run.stamps, result.stamps)
    off = result.tracks['mr_ad'].point - cop[rows]
    off -= np.einsum('ti,ti->t', off, normal[rows])[:, None] * normal[rows]
    assert np.nanmean(np.linalg.norm(off, axis=1)) < 0.3e-3
    assert summary_of(result).verdict.reason == 'stepping'


def test_a_pushed_trot_goes_on_and_the_push_is_reported(trot, evaluated):
    """But for the push the IZMP of differenced encoders is at the true CoP, along the ground."""
    run, root = trot[0].run, trot[0].run.truth.root
    run.require_standing()
    assert root.position[-1, 0] > 0.35
    carrying = np.sum([foot.loaded for foot in run.truth.feet.values()], axis=0)
    assert (carrying == 2).mean() > 0.4
    rows = np.searchsorted(run.stamps, evaluated.stamps)
    np.testing.assert_array_equal(run.stamps[rows], evaluated.stamps)
    izmp = np.einsum('tij,tj->ti', root.rotation[rows], evaluated.tracks['mr_ad'].point)
    off = (izmp + root.position[rows] - run.truth.cop[rows])[:, :2]
    calm = ~run.truth.applied_wrench[rows].any(axis=1)
    assert np.nanmean(np.linalg.norm(off[calm], axis=1)) < 0.8e-3
    summary = summary_of(evaluated)
    (push,) = summary.pushes
    assert push.force == pytest.approx([0.0, 60.0, 0.0], abs=9.0)
    assert push.start == pytest.approx(2.5, abs=0.02)
    assert push.duration == pytest.approx(0.1, abs=0.02)
    verdict = summary.verdict
    assert (verdict.state, verdict.reason) == ('stable', 'stepping')
    assert 'legs_exchanged' not in {each.kind for each in summary.findings}
    assert 'pushed from the right' in verdict.sentence
    card = cards(summary.as_dict())[0]
    assert card.title == 'Capture margin'
    assert f'at least {card.value} from their edge ({card.note[-9:]})' in verdict.sentence


def test_the_capture_point_at_touchdown_is_within_the_feet(trot, evaluated):
    """Against the true centre of mass and where the feet truly are."""
    run, truth = trot[0].run, trot[0].run.truth
    found = touchdowns(Scene(evaluated))
    assert 5 <= len(found.time) <= 12
    assert 0.2 < found.longest < 0.4
    constant = np.sqrt(truth.com[0, 2] / GRAVITY)
    capture = truth.com + constant * np.gradient(truth.com, 0.002, axis=0)
    for time, margin in zip(found.time, found.margin, strict=True):
        row = np.searchsorted(run.stamps, evaluated.stamps[0] + round(1e9 * time) - 8_000_000)
        places = np.array([foot.corners[row, 0, :2] for foot in truth.feet.values()])
        room = polygon_margin(support_polygon(places), capture[row, :2])
        assert margin == pytest.approx(room, abs=0.012)  # of 120; the velocity is 40 ms old


@pytest.mark.parametrize(
    ('which', 'margin', 'expected'),
    [
        (0, -0.05, ('marginal', 'brief')),
        (-2, -0.05, ('unclear', 'open_end')),
        (0, np.nan, ('unclear', 'line_support')),
        ('push', -0.05, ('disturbed', 'pushed')),
    ],
)
def test_a_capture_point_outside_the_next_feet_is_no_stable_trot(
    evaluated, monkeypatch, which, margin, expected
):
    found = touchdowns(Scene(evaluated))
    if which == 'push':
        which = int(np.argmax(found.time > 2.6))
    elif which == -2:
        found = dataclasses.replace(found, time=found.time + evaluated_until(evaluated, found))
    margins = found.margin.copy()
    margins[which] = margin
    changed = dataclasses.replace(found, margin=margins)
    monkeypatch.setattr('izmp_dynamics.verdict.rules.touchdowns', lambda scene: changed)
    verdict = summary_of(evaluated).verdict
    assert (verdict.state, verdict.reason) == expected, verdict.text


@pytest.mark.parametrize(
    ('begin', 'expected', 'says'),
    [
        (2.52, ('disturbed', 'pushed'), 'at 2.52 s the fall alarm was raised'),
        (1.9, ('marginal', 'brief'), 'at 1.90 s the fall alarm was raised (probability 98.0 %)'),
        (None, ('disturbed', 'pushed'), 'outside the old and the new feet meanw'),
    ],
)
def test_feet_that_come_in_time_explain_neither_an_alarm_nor_a_push_beyond_all(
    evaluated, begin, expected, says
):
    time = evaluated.time
    if begin is None:
        about = (time > 2.49) & (time < 2.61)
        track = evaluated.tracks['mr_ad']
        further = track.point + 0.08 * about[:, None] * np.array([0.0, -1.0, 0.0])
        tracks = evaluated.tracks | {'mr_ad': dataclasses.replace(track, point=further)}
        changed = dataclasses.replace(evaluated, tracks=tracks)
    else:
        alarm = (time >= begin) & (time < begin + 0.5)
        probability = np.where(alarm, 0.98, evaluated.fall_probability)
        changed = dataclasses.replace(evaluated, fall_alarm=alarm, fall_probability=probability)
    verdict = summary_of(changed).verdict
    assert (verdict.state, verdict.reason) == expected, verdict.text
    assert says in verdict.sentence


LEGS = ('FL', 'FR', 'RL', 'RR')


@pytest.mark.parametrize(
    ('order', 'sensors', 'says'),
    [
        (('FR', 'FL', 'RR', 'RL'), False, 'FL_foot with FR_foot, RL_foot with RR_foot'),
        (('FR', 'FL', 'RR', 'RL'), True, 'FL_foot with FR_foot, RL_foot with RR_foot'),
        (('RL', 'RR', 'FL', 'FR'), True, 'FL_foot with RL_foot, FR_foot with RR_foot'),
        (('FR', 'FL', 'RL', 'RR'), False, 'exchanged: FL_foot with FR_foot.'),
        ('thigh', False, 'FL_thigh_joint, FR_thigh_joint, RL_thigh_joint, RR_thigh_joint'),
    ],
)
def test_exchanged_legs_and_signs_are_found(trot, order, sensors, says, tmp_path):
    simulated, bag = trot
    urdf = ElementTree.fromstring(simulated.file.read_urdf().text)
    for joint in urdf.iterfind('joint'):
        leg, _, rest = joint.get('name').partition('_')
        if order == 'thigh' and rest == 'thigh_joint':
            joint.find('axis').set('xyz', '0 -1 0')
        elif order != 'thigh' and leg in LEGS:
            joint.set('name', f'{order[LEGS.index(leg)]}_{rest}')
    path = tmp_path / 'wrong.urdf'
    ElementTree.ElementTree(urdf).write(path)
    feet = simulated.file.feet
    if not sensors:
        feet = tuple(dataclasses.replace(foot, wrench=None) for foot in feet)
    tilted = dataclasses.replace(simulated.file.imu, rotation=(0.03, 0.02, 0.0))
    wrong = dataclasses.replace(simulated.file, urdf=str(path), feet=feet, imu=tilted)
    summary = summary_of(evaluate_bag(bag, wrong))
    assert summary.verdict.state == 'unclear'
    (found,) = [each for each in summary.findings if each.kind == 'legs_exchanged']
    assert says in found.sentence


@pytest.mark.parametrize(
    ('order', 'says'),
    [
        (('FL', 'FR', 'RR', 'RL'), 'RL_foot with RR_foot.'),
        (('FR', 'FL', 'RR', 'RL'), 'FL_foot with FR_foot, RL_foot with RR_foot.'),
        (('RR', 'RL', 'FR', 'FL'), 'FL_foot with RR_foot, FR_foot with RL_foot.'),
    ],
)
def test_feet_with_each_others_sensors_are_no_stable_trot(trot, order, says, tmp_path):
    """Also where the feet seem to come in time, as the pairs that trot are the same."""
    text = (trot[1] / 'robot.yaml').read_text()
    robot = tmp_path / 'robot.yaml'
    text = re.sub(r'(\w\w)(?=_foot/wrench)', lambda found: order[LEGS.index(found[0])], text)
    robot.write_text(text)
    summary = summary_of(evaluate_bag(trot[1], robot))
    assert (summary.verdict.state, summary.verdict.reason) == ('unclear', 'input_wrong')
    (found,) = [each for each in summary.findings if each.kind.endswith('_exchanged')]
    assert found.kind == 'feet_exchanged'
    assert found.sentence.endswith(f'the foot sensors are exchanged: {says}')


def test_late_force_sensors_of_balls_are_corrected(trot, tmp_path):
    (simulated, bag), late = trot, [f'/{leg}_foot/wrench' for leg in LEGS]
    draft = Draft.of_bag(bag, ['/joint_states', '/imu', *late], 0.0, 5.0)
    for topic in late:
        draft[topic]['header.stamp'] = draft[topic].stamps + round(0.040 * SECOND)
    found = evaluate_bag(draft.write(tmp_path / 'late'), simulated.file)
    value, _ = found.parameters['feet[FL_foot].wrench.delay'].split()
    assert float(value) == pytest.approx(0.040, abs=0.005)


def test_six_axis_sensors_of_balls_are_checked(trot):
    assert izmp('check', trot[1], '--robot', trot[1] / 'robot.yaml').status == 0


def evaluated_until(evaluated, found):
    """By how much later the last touchdown would be that of the end [s]."""
    return (evaluated.stamps[-1] - evaluated.stamps[0]) / 1e9 - found.time[-1]


@pytest.mark.parametrize('share', [0.4, 0.6])
def test_without_force_sensors_a_trot_has_no_verdict(evaluated, monkeypatch, share):
    """It is on lines for 42 % of this recording, whether that is much or not."""
    monkeypatch.setattr('izmp_dynamics.verdict.rules.COVERED_SHARE', share)
    blind = np.full(len(evaluated.stamps), np.nan)
    feet = tuple(dataclasses.replace(foot, normal_force=blind) for foot in evaluated.feet)
    verdict = summary_of(dataclasses.replace(evaluated, feet=feet)).verdict
    assert (verdict.state, verdict.reason) == ('unclear', 'contact_estimated')
    assert 'not every foot measures its force' in verdict.sentence


def test_a_trot_that_ends_in_a_fall_is_not_stable(tmp_path):
    bag = tmp_path / 'bag'
    fallen = simulate_quadruped('solo12', 'trot', bag, duration=4.0, pushes=['40:right:2.0'])
    assert fallen.run.fall
    verdict = summary_of(evaluate_bag(bag, bag / 'robot.yaml')).verdict
    assert verdict.state in ('unclear', 'unstable', 'fell'), verdict.text


def test_the_command_records_a_quadruped_that_stands(tmp_path):
    bag = tmp_path / 'bag'
    options = '--gait', 'stand', '--duration', 2.5, '--feet', 'force', '-o', bag
    outcome = izmp('simulate', 'quadruped', *options)
    assert (outcome.status, outcome.err) == (0, '')
    assert outcome.out.endswith(f'Next: izmp replay {bag} --robot {bag}/robot.yaml -o OUT')
    evaluation = evaluate_bag(bag, bag / 'robot.yaml')
    gap = evaluation.tracks['mr_ad'].point - evaluation.tracks['cop'].point
    assert np.nanmax(np.abs(gap)) < 1e-4
    found = summary_of(evaluation)
    assert found.verdict.state == 'stable', found.verdict.text
    assert found.measured_over_weight == pytest.approx(1.0, abs=2e-3)


def test_what_the_page_claims_holds(tmp_path, monkeypatch):
    """Exact motion, stand, crawl and its margin, a pushed trot; one without is tested above."""
    limits = {gait: quadruped.LIMITS[gait] for gait in ('stand', 'crawl')}
    monkeypatch.setattr(quadruped, 'LIMITS', limits)
    monkeypatch.setattr(quadruped, '_DURATION', {'stand': 2.2, 'crawl': 7.0, 'trot': 3.3})
    monkeypatch.setattr(quadruped, 'PUSH_AT', 1.9)
    quick = quadruped.QuadrupedStudy(('go2',))
    results = publish(quadruped.page(quick), quick, tmp_path)
    claims = {f'{picture.name}/{fact.key}': fact for picture, fact in results.claims}
    assert len(claims) == 6
    assert all(fact.holds for fact in claims.values()), claims
    assert claims['gaps/go2_crawl'].value > 1e-4  # [mm]: the legs did move
    assert not results.missing


def test_what_cannot_be_is_refused_in_one_sentence(tmp_path):
    with raising(UnknownNameError, 'unknown_name', name='biped31'):
        simulate_quadruped('biped31', 'trot')
    with raising(UnknownNameError, 'unknown_name', name='gallop'):
        simulate_quadruped('go2', 'gallop')
    with raising(MotionError, 'gait', quantity='speed'):
        simulate_quadruped('go2', 'trot', speed=9.0)
    outcome = izmp('simulate', 'quadruped', '--encoder-bits', 0, '-o', tmp_path / 'bag')
    assert (outcome.status, outcome.out) == (2, '')
    assert '--encoder-bits' in outcome.err
    with raising(MotionError, 'gait', quantity='duration'):
        simulate_quadruped('go2', 'crawl', duration=3.0)
