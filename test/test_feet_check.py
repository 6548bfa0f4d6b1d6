"""What is wrong with the force sensors of the feet, from the evaluated numbers of a walk."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.diagnosis.forces import UNITS, feet_findings, motion_findings
from izmp_dynamics.diagnosis.legs import in_air
from izmp_dynamics.results.evaluation import Foot
from izmp_dynamics.verdict.summary import summary_of

from .report_scenarios import GRAVITY, HEIGHT, MASS, bump, part, standing, walking, without


@pytest.fixture(scope='module')
def walk():
    return walking(duration=5.0)


def with_forces(evaluation, change):
    """The evaluation with other normal forces of the feet."""
    forces = change([foot.normal_force for foot in evaluation.feet])
    feet = [
        dataclasses.replace(foot, normal_force=force)
        for foot, force in zip(evaluation.feet, forces, strict=True)
    ]
    return dataclasses.replace(evaluation, feet=tuple(feet))


def test_sound_feet_cause_no_remark(walk):
    assert not list(feet_findings(walk))
    assert not list(feet_findings(standing(duration=4.0)))


@pytest.mark.parametrize('sign', [1, -1])
def test_the_sign_that_is_not_stated_is_advised(walk, sign):
    """Whichever is wrong: with sign: -1 wrongly set, 1 is advised."""
    pulling = with_forces(walk, lambda forces: [-force for force in forces])
    feet = tuple(dataclasses.replace(foot, sign=sign) for foot in pulling.feet)
    found = list(feet_findings(dataclasses.replace(pulling, feet=feet)))
    assert {finding.kind for finding in found} == {'foot_pulls'}
    for finding in found:
        assert f'set wrench.sign: {-sign}' in finding.remedy
        assert f'wrench.sign is {sign}' in finding.remedy
    scalar = tuple(dataclasses.replace(foot, sensor=None, measured=True) for foot in feet)
    found = list(feet_findings(dataclasses.replace(pulling, feet=scalar)))
    assert {finding.remedy for finding in found} == {'Multiply force.field by −1.'}


@pytest.mark.parametrize('unit', UNITS)
def test_a_unit_is_named(walk, unit):
    other = with_forces(walk, lambda forces: [force / UNITS[unit] for force in forces])
    found = {finding.kind: finding for finding in feet_findings(other)}
    assert f'the weight in {unit}' in found['foot_unit'].sentence
    assert f'{UNITS[unit]:.6g}' in found['foot_unit'].remedy


def test_counts_in_place_of_newtons_get_a_factor(walk):
    counts = with_forces(walk, lambda forces: [force / 0.4 for force in forces])
    feet = [dataclasses.replace(foot, sensor=None, measured=True) for foot in counts.feet]
    (found,) = feet_findings(dataclasses.replace(counts, feet=tuple(feet)))
    assert (found.kind, 'multiply force.field by 0.4' in found.remedy) == ('foot_unit', True)


@pytest.mark.parametrize(
    ('says', 'what'), [(False, 'never reports load'), (True, 'reports load throughout')]
)
def test_a_dead_contact_sensor_is_named(walk, says, what):
    def judged(foot, sensor):
        """A foot that measures contact; where its sensor is believed, the chance is 0 or 1."""
        chance = np.where(sensor == foot.loaded, 1.0 * sensor, 0.7)
        nothing = np.full(len(chance), np.nan)
        blind = dataclasses.replace(foot, sensor=None, normal_force=nothing, measured=True)
        return dataclasses.replace(blind, chance=chance)

    sound = [judged(foot, foot.loaded) for foot in walk.feet]
    assert not list(feet_findings(dataclasses.replace(walk, feet=tuple(sound))))
    stuck = dataclasses.replace(sound[1], loaded=sound[1].loaded | says)
    stuck = judged(stuck, np.full(len(walk.stamps), says))
    report = dataclasses.replace(walk, feet=(sound[0], stuck))
    (found,) = feet_findings(report)
    assert (found.kind, what in found.sentence) == ('dead_contact', True)
    assert 'dead_contact' in [each.kind for each in summary_of(report).findings]


@pytest.mark.parametrize('motion', [walking(5.0), standing(5.0)])
@pytest.mark.parametrize('factor', [3.0, 0.3])
def test_one_foot_in_another_unit_is_named_with_its_factor(motion, factor):
    wrong = with_forces(motion, lambda forces: [forces[0], factor * forces[1]])
    (found,) = feet_findings(wrong)
    assert (found.kind, 'right_foot' in found.sentence) == ('foot_scale', True)
    assert f'measures {factor:g} times' in found.sentence
    assert summary_of(wrong).verdict.sentence == found.sentence


@pytest.mark.parametrize('factors', [(1.3, 0.7), (3.0, 3.0)])
def test_masses_and_a_unit_of_all_feet_scale_no_single_foot(walk, factors):
    wrong = with_forces(walk, lambda forces: list((np.transpose(forces) * factors).T))
    assert not [found for found in feet_findings(wrong) if found.kind == 'foot_scale']


@pytest.mark.parametrize(
    ('degrees', 'wrong'), [(0.0, 0.8), (20.0, 0.0), (90.0, 0.0), (90.0, 0.8), (180.0, 0.0)]
)
@pytest.mark.parametrize('motion', [walking(8.0), standing(8.0)])
def test_an_imu_that_is_turned_about_the_vertical_contradicts_the_feet_that_stand(
    motion, degrees, wrong
):
    """Without force sensors; the root tilts by 3°, so gravity shows it too.

    Also where the force is off by as much as a part of it, which is what it was 3 s before.
    """
    turned = turned_imu(without(motion, 'cop'), degrees)
    turned.tracks['mr_ad'].wrench[:, :2] += wrong * np.roll(
        turned.tracks['mr_ad'].wrench[:, :2], 375, axis=0
    )
    unmeasured = with_forces(turned, lambda forces: [np.nan * force for force in forces])
    found = [each.kind for each in feet_findings(unmeasured)]
    assert found == (['imu_turned'] if degrees > 45.0 else [])
    assert (summary_of(unmeasured).verdict.reason == 'input_wrong') == (degrees > 45.0)


def turned_imu(evaluation, degrees):
    """The contact force of a root whose specific force is turned, as that of all else is small."""
    track = evaluation.tracks['mr_ad']
    R = Rotation.from_euler('z', degrees, degrees=True).as_matrix()
    wrench = np.hstack([track.wrench[:, :3] @ R.T, track.wrench[:, 3:]])
    tracks = evaluation.tracks | {'mr_ad': dataclasses.replace(track, wrench=wrench)}
    return dataclasses.replace(evaluation, tracks=tracks)


@pytest.mark.parametrize('motion', [walking(5.0), standing(5.0)])
@pytest.mark.parametrize(('unit', 'what'), [(1.0, 'force sensor'), (np.nan, 'contact sensor')])
def test_a_sensor_without_load_is_dead_where_nothing_else_can_carry(motion, unit, what):
    """The other foot is in the air, or the IZMP beyond it for most of the time."""

    def measures(foot, loaded):
        force = np.where(loaded, foot.normal_force, 0.0) * unit
        chance = 1.0 * loaded
        return dataclasses.replace(
            foot, sensor=None, normal_force=force, loaded=loaded, chance=chance, measured=True
        )

    left, right = motion.feet
    dead = measures(right, np.zeros(len(motion.stamps), dtype=bool))
    report = dataclasses.replace(motion, feet=(measures(left, left.loaded), dead))
    (found,) = (each for each in feet_findings(report) if each.kind == 'dead_contact')
    assert f"The {what} of foot 'right_foot' never reports load" in found.sentence
    assert summary_of(report).verdict.reason == 'input_wrong'
    sound = dataclasses.replace(motion, feet=tuple(measures(f, f.loaded) for f in motion.feet))
    assert 'dead_contact' not in [each.kind for each in feet_findings(sound)]


def test_an_unused_force_sensor_may_be_that_of_a_missing_foot(walk):
    one = with_forces(walk, lambda forces: [0.3 * force for force in forces])
    (finding,) = feet_findings(one, unused_wrenches=('/r_foot/wrench',))
    assert finding.kind == 'mean_foot_force'
    assert finding.remedy.startswith('Is a foot missing from the robot file?')
    assert '/r_foot/wrench' in finding.remedy
    too_much = with_forces(walk, lambda forces: [2.0 * force for force in forces])
    for other, unused in ((one, ()), (too_much, ('/r_foot/wrench',))):
        (finding,) = feet_findings(other, unused_wrenches=unused)
        assert 'missing' not in finding.remedy


@pytest.mark.parametrize('motion', [walking, standing])
def test_exchanged_feet_are_named(motion):
    """By the foot that is in the air, or by the shift of weight while both stand."""
    exchanged = with_forces(motion(duration=5.0), lambda forces: forces[::-1])
    (finding,) = feet_findings(exchanged)
    verdict = summary_of(exchanged).verdict
    assert (verdict.state, verdict.reason) == ('unclear', 'input_wrong')
    assert verdict.sentence == finding.sentence
    assert finding.kind == 'feet_exchanged'
    assert 'feet[left_foot].wrench.topic' in finding.remedy
    assert 'feet[right_foot].wrench.topic' in finding.remedy


@pytest.mark.parametrize('order', [1, -1])
def test_a_small_shift_of_weight_shows_exchanged_feet_if_it_is_that_of_the_izmp(order):
    """For half a second by 1 % of the weight; beside 2 % of noise it says nothing."""
    sways = standing(5.0)
    shifts = part(sways, (sways.time > 0.5) & (sways.time < 1.0))
    left, right = [foot.normal_force for foot in shifts.feet][::order]
    noise = 0.02 * np.random.default_rng(0).normal(size=len(left)) * (left + right)
    for error, shown in ((0.0, order < 0), (noise, False)):
        seen = with_forces(shifts, lambda _, error=error: [left + error, right - error])
        kinds = [finding.kind for finding in feet_findings(seen)]
        assert ('feet_exchanged' in kinds) == shown


def test_a_fall_that_shifts_the_load_against_the_izmp_exchanges_no_feet():
    """It stands on both feet alike, then tips to one side with the load on the other foot."""
    evaluation = standing(9.4, offset=bump(9.1, 1.0, 1.0))
    late = evaluation.time > 9.1
    drop = 0.9 * HEIGHT * np.clip((evaluation.time - 9.0) / 0.5, 0.0, 1.0)
    com = evaluation.com - drop[:, None] * evaluation.normal
    shares = [np.where(late, share, 0.5) * MASS * GRAVITY for share in (0.1, 0.9)]
    tips = with_forces(dataclasses.replace(evaluation, com=com), lambda _: shares)
    assert 'feet_exchanged' in [finding.kind for finding in feet_findings(tips)]
    assert summary_of(tips).verdict.state == 'fell'


def test_a_heel_that_rises_is_no_foot_in_the_air():
    """The foot that carries rolls over a toe that its sole does not have, as of a human."""
    evaluation = standing(duration=6.0)
    shares = [0.5 + 0.45 * side * np.sin(2.1 * evaluation.time) for side in (1, -1)]
    feet = []
    for foot, share in zip(evaluation.feet, shares, strict=True):
        rises = 0.03 * (share > 0.9)[:, None, None] * evaluation.normal[:, None, :]
        feet.append(dataclasses.replace(foot, sole=foot.sole + rises))
    evaluation = dataclasses.replace(evaluation, feet=tuple(feet))
    assert all(in_air(evaluation, foot).any() for foot in evaluation.feet)
    forces = [share * MASS * GRAVITY for share in shares]
    assert not list(feet_findings(with_forces(evaluation, lambda _: forces)))


def crawling(exchanged=()):
    """Four flat feet, one of which is lifted by 3 cm at a time while the others share the load.

    Args:
        exchanged: two columns of forces that are each other's.
    """
    evaluation = standing(duration=4.0)
    count = len(evaluation.stamps)
    lifted = np.arange(4) == (4 * np.arange(count) // count)[:, None]
    forces = np.where(lifted, 0.0, MASS * GRAVITY / 3.0)
    columns = list(range(4))
    for k, other in zip(exchanged, reversed(exchanged), strict=True):
        columns[k] = other
    square = 0.04 * np.array([[1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]])
    feet = []
    for k, place in enumerate([[0.3, 0.2, 0], [0.3, -0.2, 0], [-0.3, 0.2, 0], [-0.3, -0.2, 0]]):
        sole = np.tile(square + place, (count, 1, 1))
        sole[:, :, 2] += np.where(lifted[:, k, None], 0.03, 0.0)
        axes = np.tile(np.eye(3), (count, 1, 1))
        feet.append(Foot(f'foot{k}', sole, forces[:, columns[k]], ~lifted[:, k], axes))
    return dataclasses.replace(evaluation, feet=tuple(feet))


@pytest.mark.parametrize('pair', [(0, 1), (1, 2), (0, 3)])
def test_exchanged_feet_of_a_quadruped_are_named(pair):
    assert not list(feet_findings(crawling()))
    (finding,) = feet_findings(crawling(pair))
    assert finding.kind == 'feet_exchanged'
    assert all(f'feet[foot{k}].wrench.topic' in finding.remedy for k in pair)


def test_whether_a_foot_is_in_the_air_is_not_known_without_a_joint_of_a_leg():
    evaluation = crawling()
    first, *others = evaluation.feet
    assert in_air(evaluation, first).any()
    held = dataclasses.replace(first, held_joints=('knee',))
    evaluation = dataclasses.replace(evaluation, feet=(held, *others))
    assert not in_air(evaluation, held).any()
    assert in_air(evaluation, others[0]).any()


def test_feet_that_measure_nothing_for_a_moment_are_compared_without_it():
    evaluation = crawling()
    for foot in evaluation.feet:
        foot.normal_force[:20] = 0.0
    assert not [found for found in feet_findings(evaluation) if found.kind == 'feet_exchanged']


def judged(evaluation, force, name='mr_ad'):
    """What is found if the motion says this contact force (K, 3)."""
    track = evaluation.tracks[name]
    wrench = np.concatenate([force, track.wrench[:, 3:]], axis=1)
    tracks = {name: dataclasses.replace(track, wrench=wrench)}
    stands = np.ones(len(force), dtype=bool)
    return list(motion_findings(dataclasses.replace(evaluation, tracks=tracks), stands))


def test_the_mean_force_is_compared_in_axes_of_the_ground(walk):
    """A root that bows by 60° turns the force in its axes; the accelerometer is right."""
    angle = np.radians(30.0 - 30.0 * np.cos(2.0 * walk.time))
    normal = np.stack([np.sin(angle), np.zeros_like(angle), np.cos(angle)], axis=1)
    bowing = dataclasses.replace(walk, normal=normal)
    force = MASS * GRAVITY * normal
    assert np.linalg.norm(force.mean(axis=0)) < 0.95 * MASS * GRAVITY
    assert not judged(bowing, force)
    found = [finding.kind for finding in judged(bowing, 0.9 * force)]
    assert found == ['mean_force']
    (finding,) = judged(bowing, 0.9 * force, 'ir_md')
    assert finding.key == 'mean_force[ir_md]'
    assert finding.sentence.startswith('The mean contact force of IR-MD')
    tilted = np.roll(force, 1, axis=1)
    assert 'tilted_force' in [finding.kind for finding in judged(bowing, tilted)]


def test_on_a_slope_the_whole_mean_force_is_the_weight(walk):
    """Along the normal it is the cosine of the slope; the tilt may be that of the ground."""
    slope = np.radians(25.0)
    normal = np.tile([np.sin(slope), 0.0, np.cos(slope)], (len(walk.time), 1))
    uphill = dataclasses.replace(walk, normal=normal)
    force = np.tile([0.0, 0.0, MASS * GRAVITY], (len(walk.time), 1))
    (finding,) = judged(uphill, force)
    assert finding.kind == 'tilted_force'
    assert finding.remedy.startswith('If the ground has no such slope')


def test_the_offset_of_a_foot_in_the_air_is_no_pull(walk):
    """A sensor without load reads some newtons less than nothing."""
    offset = with_forces(walk, lambda forces: [force - 25.0 for force in forces])
    assert 'foot_pulls' not in [found.kind for found in feet_findings(offset)]
    hanging = with_forces(walk, lambda forces: [0.0 * force - 25.0 for force in forces])
    assert 'foot_pulls' not in [found.kind for found in feet_findings(hanging)]
    turned = with_forces(walk, lambda forces: [-force for force in forces])
    assert [found.kind for found in feet_findings(turned)] == ['foot_pulls', 'foot_pulls']
