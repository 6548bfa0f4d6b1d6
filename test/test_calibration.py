"""Calibration from walking: planted errors are found, and what cannot be known is said."""

import dataclasses
import json
import re
import shutil
from contextlib import nullcontext

import numpy as np
import pytest
import yaml

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import ReplayError, UnknownNameError
from izmp_dynamics.base.rotations import from_matrices, from_rpy
from izmp_dynamics.calibration.calibrate import CalibrationError, _prepared, estimate_corrections
from izmp_dynamics.calibration.choice import (
    Candidate,
    Trial,
    best_of,
    finished,
)
from izmp_dynamics.calibration.files import write_calibration
from izmp_dynamics.calibration.force_sensors import (
    Mounting,
    cube_rotations,
    find_mounting,
    judge_force_sensors,
    with_mountings,
)
from izmp_dynamics.calibration.held_out import Squares, folds
from izmp_dynamics.calibration.inertias import link_inertias
from izmp_dynamics.calibration.parameters import LAG, LEAST_LAG, make_layout
from izmp_dynamics.calibration.residuals import contacts, decide_contacts
from izmp_dynamics.calibration.result import sentences
from izmp_dynamics.calibration.segments import prepare, read_segments
from izmp_dynamics.calibration.solver import estimate
from izmp_dynamics.check import check
from izmp_dynamics.cli.main import main
from izmp_dynamics.diagnosis.filter_choice import Trial as NoiseTrial
from izmp_dynamics.diagnosis.filter_choice import chosen_filter
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.settings import stated
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.stability.clearance import CLEARANCE_WITH_FORCES, clearances
from izmp_dynamics.verdict.summary import summary_of
from izmp_lab.simulation.noisy_signals import SensorErrors, WrenchErrors

from .bag_surgery import IMU, JOINTS, LEFT, RIGHT, Draft
from .planted import ERRORS, NOISE, PAYLOAD, SHIFT, nominal, recorded, true_robot
from .raising import raising

STANDARD = ('delays', 'imu_rotation', 'gyroscope_bias', 'accelerometer_bias', 'ft_offsets',
            'ft_rotation', 'payload')  # fmt: skip


@pytest.fixture(scope='module')
def robot(biped31):
    return nominal(biped31)


@pytest.fixture(scope='module')
def true(biped31, tmp_path_factory):
    """The robot as it is, with a URDF that is right."""
    return true_robot(biped31, tmp_path_factory.mktemp('true'))


@pytest.fixture(scope='module')
def walks(true):
    """A walk of six seconds and another one that turns."""
    from izmp_lab.simulation.scenarios import simulate_walk
    from izmp_lab.walking.walk_parameters import WalkParameters

    straight = simulate_walk(true, parameters=WalkParameters(steps=8, stand=1.2)).run
    turning = simulate_walk(true, parameters=WalkParameters(steps=6, speed=0.2, turn_rate=0.3)).run
    return {'straight': straight, 'turning': turning}


@pytest.fixture(scope='module')
def bag(walks, robot, tmp_path_factory):
    return recorded(walks['straight'], robot, tmp_path_factory.mktemp('bags') / 'walk')


@pytest.fixture(scope='module')
def calibrated(bag, robot, tmp_path_factory):
    """The calibration of the walk with planted errors, and the folder of its files."""
    calibration = estimate_corrections([bag], robot)
    folder = tmp_path_factory.mktemp('calibrated') / 'out'
    return calibration, write_calibration(calibration, folder), folder


def values(result):
    return {estimate.name: estimate.value for estimate in result.estimates}


def test_planted_errors_are_found(calibrated):
    _, result, _ = calibrated
    assert result.accepted
    assert result.groups == STANDARD
    found = values(result)
    assert found['imu.delay'] == pytest.approx(ERRORS.imu_delay, abs=5e-4)
    assert found['imu.gyroscope_delay'] == pytest.approx(ERRORS.gyroscope_delay, abs=3e-3)
    turn = from_matrices(from_rpy(ERRORS.imu_rotation)).as_rotvec()
    for axis, planted in zip('xyz', turn, strict=True):
        assert found[f'imu.rotation.{axis}'] == pytest.approx(planted, abs=np.radians(0.5))
    for axis, planted in zip('xyz', ERRORS.gyroscope_bias, strict=True):
        assert found[f'imu.gyroscope_bias.{axis}'] == pytest.approx(planted, abs=1e-3)
    for foot, errors in ERRORS.feet.items():
        assert found[f'feet[{foot}].wrench.delay'] == pytest.approx(0.0, abs=5e-4)
        for k, axis in enumerate(('Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz')):
            tolerance = 0.3 if k < 3 else 0.02
            name = f'feet[{foot}].wrench.offset.{axis}'
            assert found[name] == pytest.approx(errors.offset[k], abs=tolerance), name
    assert found['payload.mass'] == pytest.approx(PAYLOAD, abs=0.05)
    assert found['payload.com.x'] == pytest.approx(SHIFT[0], abs=1e-3)
    assert found['payload.com.y'] == pytest.approx(SHIFT[1], abs=1e-3)


def test_the_calibrated_robot_agrees_on_a_walk_that_was_not_seen(
    calibrated, walks, robot, biped31, tmp_path
):
    """Another walk, through the pipeline: from centimetres to less than a millimetre."""
    _, _, folder = calibrated
    unseen = recorded(walks['turning'], robot, tmp_path / 'unseen', seed=2)
    ideal = recorded(walks['turning'], robot, tmp_path / 'ideal', SensorErrors())
    smooth = Filter(half_width=0.04)
    truth = evaluate_bag(ideal, dataclasses.replace(robot, filter=smooth)).tracks['cop'].point
    rms = {}
    for name, file in (
        ('wrong', robot),
        ('calibrated', load_robot_file(folder / 'robot.calibrated.yaml')),
    ):
        file = dataclasses.replace(file, filter=smooth)
        track = evaluate_bag(unseen, file).tracks['mr_ad']
        rms[name] = np.sqrt(np.nanmean((track.point - truth)[:, :2] ** 2, axis=0))
    assert rms['wrong'].max() > 0.02
    assert rms['calibrated'].max() < 0.8e-3


def test_the_files_state_what_was_found(calibrated, bag, biped31):
    calibration, result, folder = calibrated
    assert {path.name for path in folder.iterdir()} == set(result.files)
    text = (folder / 'robot.calibrated.yaml').read_text(encoding='utf-8')
    assert str(bag) in text
    assert 'imu.delay: ' in text
    robot = load_robot_file(folder / 'robot.calibrated.yaml')
    assert robot.imu == calibration.robot.imu
    assert robot.feet == calibration.robot.feet
    with BagReader(bag) as reader:  # live there is no choice of a filter
        model = load_model(calibration.urdf, robot.root)
        chosen = chosen_filter(NoiseTrial(Recording(reader, nominal(biped31), model)))
    assert chosen.half_width > 0.0
    assert robot.filter.half_width == pytest.approx(chosen.half_width, rel=1e-6)
    trunk = values(result)['payload.mass']
    model, before = load_model(robot.urdf_path), load_model(calibration.robot.urdf_path)
    assert model.total_mass - before.total_mass == pytest.approx(trunk, abs=1e-6)
    report = json.loads((folder / 'report.json').read_text(encoding='utf-8'))
    assert report['accepted'] is True
    assert report['sentences'] == sentences(result)
    effects = [effect['izmp'] for effect in report['effects']]
    assert effects == sorted(effects, reverse=True)
    page = (folder / 'report.html').read_text(encoding='utf-8')
    assert 'The IMU is turned by' in page
    assert 'prefers-color-scheme: dark' in page
    assert 'feet[l_foot].wrench.offset.Fx' in page


def test_the_command_prints_json_for_programs_and_else_what_to_do_next(
    calibrated, bag, tmp_path, capsys, monkeypatch
):
    calibration, result, _ = calibrated
    monkeypatch.setattr(
        'izmp_dynamics.calibration.calibrate.estimate_corrections', lambda *_, **__: calibration
    )
    file, out = tmp_path / 'robot.yaml', tmp_path / 'out'
    stated_robot = dataclasses.replace(calibration.robot, urdf=str(calibration.robot.urdf_path))
    file.write_text(yaml.safe_dump(stated(stated_robot)), encoding='utf-8')
    command = ['calibrate', str(bag), '--robot', str(file), '-o', str(out)]
    assert main([*command, '--json']) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((out / 'report.json').read_text(encoding='utf-8'))
    assert printed['sentences'] == sentences(result)
    assert main([*command, '--overwrite']) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f'Next: izmp replay {bag} --robot {out / "robot.calibrated.yaml"} -o OUT'


def test_where_nothing_is_wrong_nothing_is_changed(true, walks, tmp_path, capsys):
    """Ideal sensors and the right URDF: what is left is the simulation's, and is left alone."""
    ideal = recorded(walks['straight'], true, tmp_path / 'ideal', SensorErrors())
    file = tmp_path / 'robot.yaml'
    file.write_text(yaml.safe_dump(stated(true)), encoding='utf-8')
    out = tmp_path / 'out'
    assert main(['calibrate', str(ideal), '--robot', str(file), '-o', str(out)]) == 0
    printed = ' '.join(capsys.readouterr().out.split())
    gap = re.search(r'Your sensors agree to (0\.\d+) mm: .* nothing to correct', printed)[1]
    assert 'turns by only 0°' in printed
    page = (out / 'report.html').read_text(encoding='utf-8')
    assert f'<title>biped31: Your sensors agree to {gap} mm</title>' in page.replace('\xa0', ' ')
    assert 'class="verdict fell"' not in page
    assert {path.name for path in out.iterdir()} == {'report.html', 'report.json'}
    report = json.loads((out / 'report.json').read_text(encoding='utf-8'))
    assert (report['accepted'], report['agrees']) == (False, True)
    assert float(gap) == pytest.approx(1e3 * max(report['before']['izmp']), rel=0.06)
    estimates = report['estimates']
    assert not any(estimate['used'] for estimate in estimates)
    assert all(e['value'] == 0.0 for e in estimates if e['group'] != 'level')


def test_a_refusal_says_what_to_record_even_if_quiet(walks, true, tmp_path, capsys):
    run = walks['straight']
    short = recorded(_rows(run, np.arange(len(run)) < 1200), true, tmp_path / 'short')
    file, out = tmp_path / 'robot.yaml', tmp_path / 'out'
    file.write_text(yaml.safe_dump(stated(true)), encoding='utf-8')
    command = ['calibrate', str(short), '--robot', str(file), '-o', str(out), '--quiet']
    assert main(command) == 1
    printed = capsys.readouterr()
    assert not printed.out
    assert 'Record 20 s of walking in which nobody pushes the robot' in printed.err
    assert 'class="verdict fell"' in (out / 'report.html').read_text(encoding='utf-8')


def test_forces_that_a_driver_smooths_agree_once_calibrated(walks, true, tmp_path):
    """Its low-pass is undone, and taken for no delay; motion and feet differ nowhere then."""
    errors = SensorErrors(feet={foot: WrenchErrors(noise=0.3) for foot in ERRORS.feet}, **NOISE)
    sharp = recorded(walks['straight'], true, tmp_path / 'sharp', errors)
    draft = Draft.of_bag(sharp, (JOINTS, IMU, LEFT, RIGHT), 0.0, 60.0)
    bag = draft.low_passed((LEFT, RIGHT), 0.05).write(tmp_path / 'smooth')
    calibration = estimate_corrections([bag], true)
    assert calibration.result.accepted
    for foot in calibration.robot.feet:
        assert foot.wrench.time_constant == pytest.approx(0.05, abs=0.003)
        assert (foot.wrench.delay or 0.0) == pytest.approx(0.0, abs=0.003)
    evaluation = evaluate_bag(bag, calibration.robot)
    forces = summary_of(evaluation).external_forces
    assert (forces.pushes, forces.errors) == ((), ())


def test_a_turned_force_sensor_with_the_other_sign_is_found_and_named(walks, robot, tmp_path):
    rotation = (0.0, np.pi / 2, 0.0)
    errors = SensorErrors(
        feet={'l_foot': WrenchErrors(rotation=rotation, scale=-1.0, noise=0.3)}, **NOISE
    )
    turned = recorded(walks['straight'], robot, tmp_path / 'turned', errors)
    calibration = estimate_corrections([turned], robot, groups=['ft_offsets'], find_ft_frame=True)
    left, right = calibration.result.notes[:2]
    assert "'l_foot' is turned by" in left, left
    assert 'other sign' in left
    assert "'r_foot' is mounted as stated" in right
    assert calibration.result.accepted
    wrench = calibration.robot.feet[0].wrench
    assert wrench.sign == -1.0
    np.testing.assert_allclose(from_rpy(wrench.rotation), from_rpy(rotation), atol=1e-6)


def test_turned_force_sensors_are_found_beside_a_tilted_imu(walks, robot, tmp_path):
    """By a quarter turn, and 2.5°: neither a matrix nor an offset takes the place of the turn."""
    turn = (0.0, 0.0, np.pi / 2)
    errors = SensorErrors(
        imu_rotation=(np.radians(1.8), np.radians(-1.8), 0.0),
        feet={foot: WrenchErrors(rotation=turn, noise=0.3) for foot in ('l_foot', 'r_foot')},
        **NOISE,
    )
    both = recorded(walks['straight'], robot, tmp_path / 'both', errors)
    with raising(CalibrationError, 'force_sensor_turned') as raised:
        estimate_corrections([both], robot)
    assert 'yaw 90°' in str(raised.value).replace('\xa0', ' ')
    calibration = estimate_corrections(
        [both], robot, groups=['imu_rotation', 'payload'], find_ft_frame=True
    )
    assert calibration.result.accepted
    for foot in calibration.robot.feet:
        np.testing.assert_allclose(from_rpy(foot.wrench.rotation), from_rpy(turn), atol=1e-6)
    tilt = values(calibration.result)
    assert tilt['imu.rotation.y'] == pytest.approx(np.radians(-1.8), abs=np.radians(0.3))


def test_an_offset_is_stated_as_the_sensor_reads_it(walks, robot, tmp_path):
    """Of a sensor with the other sign, turned: the sentence, the comment and the file agree."""
    rotation = (0.0, 0.0, np.pi / 2)
    errors = SensorErrors(
        feet={'l_foot': WrenchErrors(offset=(6.0, -3.0, 0.0, 0.0, 0.0, 0.0), rotation=rotation,
                                     scale=-1.0, noise=0.3)},
        **NOISE,
    )  # fmt: skip
    other = recorded(walks['straight'], robot, tmp_path / 'other', errors)
    foot = robot.feet[0]
    wrench = dataclasses.replace(foot.wrench, sign=-1, rotation=rotation)
    stated_so = dataclasses.replace(
        robot, feet=(dataclasses.replace(foot, wrench=wrench), robot.feet[1])
    )
    calibration = estimate_corrections([other], stated_so, groups=['ft_offsets', 'payload'])
    result = write_calibration(calibration, tmp_path / 'out')
    assert any('reads Fx +6.0' in line or 'reads Fx +5.9' in line for line in sentences(result))
    assert values(result)['feet[l_foot].wrench.offset.Fy'] == pytest.approx(-3.0, abs=0.2)
    text = (tmp_path / 'out' / 'robot.calibrated.yaml').read_text(encoding='utf-8')
    assert re.search(r'l_foot\].wrench.offset.Fx: \+(5\.9|6)', text)
    np.testing.assert_allclose(
        calibration.robot.feet[0].wrench.offset[:2],
        [values(result)[f'feet[l_foot].wrench.offset.F{axis}'] for axis in 'xy'],
        rtol=1e-6,
    )
    drafted = tmp_path / 'robot.yaml'
    drafted.write_text('feet:    # CHECK: measure the soles\n')
    named = dataclasses.replace(
        calibration.robot, urdf='package://my_robots/biped31.urdf', path=drafted
    )
    write_calibration(
        dataclasses.replace(calibration, robot=named, inertials={}), tmp_path / 'named'
    )
    text = (tmp_path / 'named' / 'robot.calibrated.yaml').read_text(encoding='utf-8')
    assert 'urdf: package://my_robots/biped31.urdf' in text
    assert '#   CHECK: measure the soles\n' in text
    shutil.copy(calibration.robot.urdf_path, tmp_path / 'robot.urdf')
    beside = dataclasses.replace(calibration.robot, urdf='robot.urdf', path=drafted)
    write_calibration(
        dataclasses.replace(calibration, robot=beside, inertials={}), tmp_path / 'here'
    )
    written = load_robot_file(tmp_path / 'here' / 'robot.calibrated.yaml')
    assert written.urdf == '../robot.urdf'  # both may be moved together
    assert written.urdf_path.samefile(tmp_path / 'robot.urdf')


@pytest.fixture(scope='module')
def ideal(walks, robot, tmp_path_factory):
    """The walk by sensors without errors; the URDF lacks the payload."""
    folder = tmp_path_factory.mktemp('ideal') / 'walk'
    return recorded(walks['straight'], robot, folder, SensorErrors())


@pytest.fixture(scope='module')
def whole(ideal, robot):
    """The rig, and the ideal walk as a segment."""
    rig, (segment,) = read_segments(ideal, robot, load_model(robot.urdf_path))
    return rig, segment


@pytest.fixture(scope='module')
def steps(whole):
    """The rig and the middle of the walk as a segment to be corrupted."""
    rig, whole = whole
    begin = whole.begin + nanoseconds(1.0)
    return rig, dataclasses.replace(whole, begin=begin, end=begin + nanoseconds(3.5))


def with_left(steps, robot, turn=1.0, offset=0.0, **wrench):
    """Findings where the left sensor is read with errors, under a robot file that states these."""
    rig, part = steps
    left = part.feet['l_foot']
    feet = {**part.feet, 'l_foot': Samples(left.stamps, left.values @ np.transpose(turn) + offset)}
    foot = robot.feet[0]
    stated = dataclasses.replace(foot, wrench=dataclasses.replace(foot.wrench, **wrench))
    file = dataclasses.replace(robot, feet=(stated, robot.feet[1]))
    model = load_model(robot.urdf_path)
    rig = make_rig(file, model)
    found = judge_force_sensors(rig, [dataclasses.replace(part, feet=feet)])
    assert all("'l_foot'" in finding.sentence for finding in found)
    return {finding.kind: finding for finding in found}


def turned(rpy, sign=1.0):
    return sign * np.kron(np.eye(2), from_rpy(rpy).T)


def numbers(finding, key):
    """What a finding proposes for a key."""
    return [float(part) for part in re.search(rf'{key}: \[(.*)\]', finding.remedy)[1].split(',')]


def test_sound_force_sensors_are_not_doubted(steps, robot):
    assert not with_left(steps, robot, np.eye(6))


def test_the_sensor_of_the_foot_that_stands_carries_the_other_foot(steps):
    """That hangs from the leg; as if it did not, 12 N are unexplained by the right mounting."""
    instants, _ = prepared(steps)
    for foot in instants.rig.feet:
        found = find_mounting([instants], foot)
        assert foot.below is not None
        assert found.stated == found.error < found.next_best / 5.0


def test_where_fast_motion_leaves_a_mounting_open_the_slower_decides(walks, robot, tmp_path):
    """As on an iCub with one sensor turned by 90°, which a calibration matrix would hide."""
    model, found = load_model(robot.read_urdf(), robot.root), []
    for noise in (80.0, 0.3):
        turn = WrenchErrors(rotation=(0.0, 0.0, np.pi / 2), noise=noise)
        errors = SensorErrors(feet={'l_foot': turn}, **NOISE)
        turned = recorded(walks['straight'], robot, tmp_path / str(noise), errors)
        found.append(_prepared([turned], robot, model))
    (rig, fast), (_, slow) = found
    for slower, angle in ((fast, 0.0), (slow, np.pi / 2)):
        corrected, sentences, _ = with_mountings(robot, rig, fast, lambda given=slower: given)
        assert ('is not observable' in sentences[0]) == (slower is fast)
        assert corrected.feet[0].wrench.rotation[2] == pytest.approx(angle, abs=1e-6)


def test_a_mounting_that_the_motion_refutes_is_refused_though_none_is_clear(
    bag, robot, monkeypatch
):
    found = Mounting(cube_rotations()[1], 1, error=35.0, next_best=50.0, stated=68.0)
    monkeypatch.setattr(f'{Mounting.__module__}.find_mounting', lambda segments, foot: found)
    with raising(CalibrationError, 'force_sensor_turned') as refusal:
        estimate_corrections([bag], robot, find_ft_frame=True)
    assert 'mounting in the robot file leaves 68.0' in str(refusal.value).replace('\xa0', ' ')


def test_check_names_how_a_force_sensor_is_turned(steps, robot):
    """By half a turn about its z axis, which neither the weight nor the sum of forces shows."""
    (finding,) = with_left(steps, robot, turned((0.0, 0.0, np.pi))).values()
    assert finding.kind == 'force_sensor_turned'
    assert 'yaw 180°' in finding.sentence.replace('-180', '180')
    rotation = numbers(finding, 'rotation')
    np.testing.assert_allclose(from_rpy(rotation), from_rpy((0.0, 0.0, np.pi)), atol=1e-3)


@pytest.mark.parametrize('sign', [1, -1])
def test_check_states_the_other_sign_than_the_file(steps, robot, sign):
    """The segment holds what comes out, so with sign: -1 stated, too, it is the wrong one."""
    (finding,) = with_left(steps, robot, turned((0.0, 0.0, 0.0), -1.0), sign=sign).values()
    assert finding.kind == 'force_sensor_turned'
    assert f'wrench: {{sign: {-sign}}}' in finding.remedy


def test_a_running_robot_states_how_a_force_sensor_is_turned(steps, robot):
    """With the key of `izmp check`; it is withdrawn by the watch that new settings make."""
    from izmp_dynamics.nodes.health import Health
    from izmp_dynamics.nodes.sensor_watch import ForceWatch

    rig, part = steps
    health = Health('/izmp', 'biped31', count=lambda topic: 1)
    watch = ForceWatch(robot, health, every=0.0)
    for signal, samples in (('joints', part.joints), ('imu', part.imu)):
        for stamp, values in zip(samples.stamps.tolist(), samples.values, strict=True):
            watch.see(signal, stamp, values)
    for foot, turn in (('l_foot', turned((0.0, 0.0, np.pi))), ('r_foot', np.eye(6))):
        samples = part.feet[foot]
        for stamp, values in zip(samples.stamps.tolist(), samples.values, strict=True):
            watch.see(f'feet[{foot}]', stamp, turn @ values)

    watch.inspect(rig)
    watch.judge(nullcontext())
    values = {entry.key: entry.value for entry in health.status().values}
    assert "'l_foot'" in values['finding force_sensor_turned']
    ForceWatch(robot, health)
    assert not health.holds('force_sensor_turned')


def test_check_states_the_offset_of_a_force_sensor(steps, robot):
    offset = np.array([4.0, -3.0, -35.0, 0.5, 0.2, -0.1])
    (finding,) = with_left(steps, robot, np.eye(6), offset).values()
    assert finding.kind == 'force_offset'
    assert re.search(
        r'reads -3\d\.\d N upwards without load, 1\d% of the weight', finding.sentence
    )
    found = numbers(finding, 'offset')
    np.testing.assert_allclose(found, offset, atol=0.6)


def test_what_differs_from_swing_to_swing_is_no_offset(steps, robot):
    """Nor what differs within each; 45 N on average, as on a human who walks."""
    time = 1e-9 * (steps[1].feet['l_foot'].stamps - steps[1].begin)
    for offset in (45.0 * time / time.mean(), 45.0 * (1.0 + np.sin(2.0 * np.pi * time / 0.3))):
        assert not with_left(steps, robot, np.eye(6), np.outer(offset, np.eye(6)[2]))


def test_check_names_the_link_below_a_force_sensor(steps, robot):
    """Of a sensor at the ankle that hangs above a foot which is not stated."""
    (finding,) = with_left(steps, robot, np.eye(6), below=None).values()
    assert finding.kind == 'link_below_sensor'
    assert finding.remedy == 'Set feet[l_foot].wrench.below: l_foot.'
    weight = load_model(robot.urdf_path).part('l_foot').total_mass * robot.gravity
    tared = np.array([0.0, 0.0, weight, 0.0, 0.0, 0.0])
    (finding,) = with_left(steps, robot, np.eye(6), tared).values()
    assert finding.remedy == 'Leave feet[l_foot].wrench.below out.'


def test_swaying_says_what_it_cannot_tell(biped31, sway, robot, tmp_path):
    """Both feet stay down: their horizontal forces share an offset that nothing shows."""
    swaying = recorded(sway[0], robot, tmp_path / 'sway')
    groups = ['imu_rotation', 'accelerometer_bias', 'ft_offsets']
    result = estimate_corrections([swaying], robot, groups=groups).result
    assert any("'l_foot' is never in the air" in note for note in result.notes)
    (unobservable,) = (note for note in result.notes if note.startswith('Not observable'))
    for foot in ('l_foot', 'r_foot'):
        assert f'feet[{foot}].wrench.offset.Fy' in unobservable
    assert np.all(result.after.against(result.before) <= 1.0)


def test_check_suggests_what_a_calibration_would_find(bag, ideal, robot):
    """With a filter, as noise hides the rest; without a gap nothing is suggested."""
    smooth = dataclasses.replace(robot, filter=Filter(half_width=0.04))
    (found,) = (f for f in check(bag, smooth).findings if f.kind == 'calibration_may_help')
    assert found.level == 'note'
    assert 'imu_rotation' in found.remedy
    assert 'calibration_may_help' not in [f.kind for f in check(ideal, smooth).findings]


def test_chosen_groups_alone_change_what_a_robot_file_states(bag, robot):
    """Corrections add to what is stated: the delay is found in two parts or in one."""
    groups = ['imu_rotation', 'delays']
    calibration = estimate_corrections([bag], robot, groups=groups)
    assert calibration.result.accepted
    assert calibration.result.groups == ('delays', 'imu_rotation')
    assert calibration.robot.imu.gyroscope_bias == (0.0, 0.0, 0.0)
    assert calibration.robot.feet[0].wrench.offset == (0.0,) * 6
    assert not calibration.inertials
    half = dataclasses.replace(robot, imu=dataclasses.replace(robot.imu, delay=-0.002))
    again = estimate_corrections([bag], half, groups=groups)
    assert again.robot.imu.delay == pytest.approx(calibration.robot.imu.delay, abs=2e-5)


def by_normal_force(robot):
    return robot.with_wrenches(normal_only=True)


@pytest.mark.parametrize(
    ('change', 'options', 'kind'),
    [
        (lambda robot: robot, {'groups': ['masses']}, 'unknown_name'),
        (lambda robot: robot, {'payload_link': 'backpack'}, 'unknown_name'),
        (lambda robot: dataclasses.replace(robot, feet=()), {}, 'no_feet'),
        (by_normal_force, {'groups': []}, 'nothing_to_estimate'),
        (by_normal_force, {'groups': ['ft_rotation', 'payload']}, 'nothing_to_estimate'),
    ],
)
def test_what_cannot_be_estimated_is_refused(bag, robot, change, options, kind):
    error = UnknownNameError if kind == 'unknown_name' else CalibrationError
    with raising(error, kind):
        estimate_corrections([bag], change(robot), **options)


def test_an_earlier_result_is_replaced_only_on_request(calibrated):
    calibration, _, folder = calibrated
    with raising(ReplayError, 'place_taken'):
        write_calibration(calibration, folder)
    write_calibration(calibration, folder, overwrite=True)


def test_a_gap_ends_a_segment(walks, robot, tmp_path):
    """Samples on both sides of a gap are no neighbours; a short rest is left out."""
    run = walks['straight']
    rows = np.ones(len(run), dtype=bool)
    rows[1500:1700] = False
    bag = recorded(_rows(run, rows), robot, tmp_path / 'gap', SensorErrors())
    _, segments = read_segments(bag, robot, load_model(robot.urdf_path))
    assert [round(part.duration, 1) for part in segments] == [3.0, 2.6]


def _rows(run, rows):
    """The instants of a run that a mask selects; the truth, which is not recorded, is cut too."""

    def some(value):
        if isinstance(value, np.ndarray) and len(value) == len(rows):
            return value[rows]
        if dataclasses.is_dataclass(value):
            fields = {f.name: some(getattr(value, f.name)) for f in dataclasses.fields(value)}
            return dataclasses.replace(value, **fields)
        if hasattr(value, 'items'):
            return {key: some(item) for key, item in value.items()}
        return value

    return some(run)


def test_what_is_no_larger_than_its_deviation_is_not_corrected(steps):
    """As a delay of 21 ± 116 ms, though held-out motion seemed to need it."""
    instants, links = prepared(steps)
    layout = make_layout(instants.rig, links, 'trunk', ('accelerometer_bias', 'ft_offsets'))
    solution, bias = estimate([instants], layout), layout.of_group('accelerometer_bias')
    size, every = np.abs(solution.x), np.ones(len(solution.x), dtype=bool)
    sigma = np.where(bias, 1.1 * size, 0.01 * size)
    candidate = Candidate(layout, every, sigma, every, solution=solution)
    found = finished(candidate, [instants])
    assert not found.free[bias].any()
    assert not found.solution.x[bias].any()
    np.testing.assert_allclose(found.sigma[bias], np.hypot(sigma, size)[bias])
    known = finished(dataclasses.replace(candidate, sigma=0.01 * size), [instants])
    assert known.free.all()


def test_a_part_is_predicted_by_the_groups_that_the_others_chose():
    """Though all parts together choose the second groups."""
    one = np.ones(9)

    def trial(square):
        before, after = (
            Squares(size * one, size * one, np.full((9, 2), size), size * one)
            for size in (1.0, square)
        )
        return Trial((before,) * 4, (after,) * 4, nothing_needed=False)

    first, second = (
        Candidate(None, one, one, one, None, trial(whole), tuple(map(trial, without)))
        for whole, without in ((0.8, [0.5] * 4), (0.4, [0.4, 0.4, 0.4, 0.9]))
    )
    best = best_of([first, second])
    assert best.without == second.without
    assert [part.force[0] for part in best.trial.predicted] == [0.4, 0.4, 0.4, 0.8]


def test_a_force_that_gets_worse_is_not_made_good_by_the_moment():
    """Wrench and IZMP together are better; each quantity may vary by its noise between parts."""

    def squares(force):
        return tuple(
            Squares(np.full(9, force * part), np.ones(9), np.ones((9, 2)), np.ones(9))
            for part in (0.9, 1.1, 1.0, 1.0)
        )

    better = [part._replace(moment=0.3 * part.moment) for part in squares(153.0**2)]
    for force, name in ((153.0, ()), (157.0, ()), (167.0, ('force',))):
        after = tuple(
            b._replace(force=a.force) for a, b in zip(squares(force**2), better, strict=True)
        )
        trial = Trial(squares(153.0**2), after, nothing_needed=False)
        assert trial.worse == name
        assert trial.improves == (not name)


def prepared(steps, **changes):
    """Instants of the steps, with other signals."""
    rig, segment = steps
    links = link_inertias(rig.model)
    return prepare(dataclasses.replace(segment, **changes), rig, links, 10.0), links


def test_contact_is_decided_with_the_delayed_forces(steps):
    """Forces that are 120 ms late would leave a landed foot in the air, and so on."""
    late = {
        name: Samples(samples.stamps + nanoseconds(0.12), samples.values)
        for name, samples in steps[1].feet.items()
    }
    sound, links = prepared(steps)
    delayed, _ = prepared(steps, feet=late)
    layout = make_layout(sound.rig, links, 'trunk', ('delays',))
    known = np.array([0.12 * p.name.startswith('feet[') for p in layout.parameters])
    decide_contacts(sound, layout, 0.0 * known)
    decide_contacts(delayed, layout, known)
    np.testing.assert_array_equal(delayed.air, sound.air)
    np.testing.assert_array_equal(delayed.rest, sound.rest)
    decide_contacts(delayed, layout, 0.0 * known)
    assert np.count_nonzero(delayed.air != sound.air) > 10


def test_a_foot_without_load_on_the_ground_is_not_in_the_air(steps):
    """As while a robot sways: its force alone would say so."""
    instants, links = prepared(steps)
    layout = make_layout(instants.rig, links, 'trunk', ())
    decide_contacts(instants, layout, np.zeros(0))
    assert instants.air.any()
    both = (clearances(instants.soles) < CLEARANCE_WITH_FORCES).all(axis=1)
    assert both.any()
    count = len(instants)
    loads = (np.zeros(count), np.full(count, 270.0))
    _, air = contacts(instants.soles, loads, 270.0)
    assert not air[both].any()


def test_standing_is_in_no_part_that_is_held_out(whole):
    """A recording that begins with much standing is not cut into standing and walking."""
    instants, _ = prepared(whole)
    parts = np.array([part[0] for part in folds([instants])])
    assert not parts[:, ~instants.moving].any()
    assert (~instants.moving).any()
    assert np.ptp(parts.sum(axis=1)) <= 1
    np.testing.assert_array_equal(parts.sum(axis=0), instants.moving)


def test_a_gyroscope_that_lags_by_half_a_step_is_noticed_and_left_alone(steps):
    """MuJoCo's does, at 500 Hz by a millisecond; its accelerometer does not."""
    instants, links = prepared(steps)
    layout = make_layout(instants.rig, links, 'trunk', ('delays', 'payload'))
    solution = estimate([instants], layout)
    (lag,) = layout.value(solution.x, LAG, 1)
    assert lag == pytest.approx(1e-3, abs=2e-4)
    assert lag < LEAST_LAG
    assert layout.value(solution.x, 'imu.delay', 1) == pytest.approx(0.0, abs=2e-4)
