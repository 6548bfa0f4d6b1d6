"""Joints that the URDF and the recording do not agree on are named, with numbers and when."""

import io
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from izmp_dynamics.base.finding import Finding
from izmp_dynamics.check import CheckResult
from izmp_dynamics.cli.check_view import show_result
from izmp_dynamics.recording.joint_watch import JointPresence, name_findings
from izmp_dynamics.stability.held_joints import held_joints
from izmp_dynamics.verdict.summary import summary_of

from .bag_surgery import JOINTS, renamed, with_joints
from .conftest import REPOSITORY
from .test_input_findings import evaluated

URDF = (REPOSITORY / 'robots' / 'biped31' / 'biped31.urdf').read_text()
NUMBER = r'([\d.]+)'


def column(part, joint):
    """Positions of a joint, a view."""
    return part['position'][:, part.like['name'].index(joint)]


def moving(sound, count=2):
    """Joints in the order of how much they move."""
    ranges = np.ptp(sound[JOINTS]['position'], axis=0)
    names = np.array(sound[JOINTS].like['name'])
    return [str(name) for name in names[np.argsort(-ranges)][:count]]


def other_joint(joint, kind=None, mimic=''):
    """The URDF with another type of one joint, or with a mimic."""
    found = re.search(rf'<joint name="{joint}".*?</joint>', URDF, re.DOTALL)[0]
    changed = found.replace('type="revolute"', f'type="{kind}"') if kind else found
    return URDF.replace(found, changed.replace('</joint>', f'{mimic}</joint>'))


def desk_with(corrupted, tmp_path, urdf, damage=lambda part: part):
    """The sound recording with other joint states, and a robot with another URDF."""

    def change(draft, robot):
        parts = damage(draft[JOINTS])
        draft.replace(JOINTS, *(parts if isinstance(parts, list) else [parts]))
        robot['urdf'] = 'bag/robot.urdf'

    desk = corrupted(change)
    (desk.bag / 'robot.urdf').write_text(urdf)
    return desk


def found_by_both(desk, pattern):
    """The match of a pattern in the warnings of a check and in the notes of an evaluation."""
    findings, evaluation = evaluated(desk)
    warnings = [str(found) for found in findings.values() if found.level == 'warning']
    noted, found = (re.search(pattern, ' '.join(texts)) for texts in (evaluation.notes, warnings))
    assert bool(noted) == bool(found)
    return noted


def test_a_fixed_joint_that_moves_is_named_with_how_much(corrupted, sound, tmp_path):
    (joint,) = moving(sound, 1)
    desk = desk_with(corrupted, tmp_path, other_joint(joint, 'fixed'))
    found = found_by_both(desk, rf'fixed in the URDF move: {joint} \(by {NUMBER}\)')
    moved = np.ptp(column(sound[JOINTS], joint))
    assert float(found[1]) == pytest.approx(moved, rel=0.02)


def test_a_fixed_joint_that_flickers_or_jumps_once_is_not_named(corrupted, sound, tmp_path):
    (joint,) = moving(sound, 1)

    def still(part):
        positions = column(part, joint)
        positions[:] = 0.3 + 0.001 * np.sign(np.sin(np.arange(len(part))))
        positions[100], positions[200] = 7.0, np.nan
        return part

    desk = desk_with(corrupted, tmp_path, other_joint(joint, 'fixed'), still)
    assert not found_by_both(desk, 'fixed in the URDF')


def follower(sound, offset_in_recording, size=None):
    """A joint that mimics another one, in the URDF and, off by some angle, in the recording."""
    leader, joint = moving(sound)
    tag = f'<mimic joint="{leader}" multiplier="-0.5" offset="0.1"/>'

    def follow(part):
        rows = slice(0, size)
        driven = -0.5 * column(part, leader) + 0.1
        column(part, joint)[:] = driven
        column(part, joint)[rows] += offset_in_recording
        return part

    return leader, joint, other_joint(joint, mimic=tag), follow


@pytest.mark.parametrize(('off', 'size'), [(0.04, None), (1.0, 5)], ids=['play', 'seldom'])
def test_a_mimic_joint_within_its_play_or_seldom_elsewhere_is_not_named(
    corrupted, sound, tmp_path, off, size
):
    *_, urdf, follow = follower(sound, off, size)
    assert not found_by_both(desk_with(corrupted, tmp_path, urdf, follow), 'Mimic joints')


@pytest.mark.parametrize('apart', [False, True])
def test_a_mimic_joint_that_is_elsewhere_is_named_with_how_far(corrupted, sound, tmp_path, apart):
    leader, joint, urdf, follow = follower(sound, 0.2)

    def publish(part):
        part = follow(part)
        if not apart:
            return part
        place = part.like['name'].index(joint)
        others = [k for k in range(len(part.like['name'])) if k != place]
        alone = with_joints(part, [place])
        alone.received += 300_000
        alone['header.stamp'] += 300_000
        return [with_joints(part, others), alone]

    desk = desk_with(corrupted, tmp_path, urdf, publish)
    pattern = rf'Mimic joints .* {joint} \(by up to {NUMBER} from -0.5 · {leader} \+ 0.1\)'
    assert float(found_by_both(desk, pattern)[1]) == pytest.approx(0.2, abs=0.005)


def test_a_mimic_joint_whose_driver_has_no_publisher_is_compared_with_zero(
    corrupted, sound, tmp_path
):
    leader, joint, urdf, follow = follower(sound, 0.0)

    def without_driver(part):
        part = follow(part)
        column(part, joint)[:] = 0.6
        return renamed(part, lambda name: 'unknown' if name == leader else name)

    desk = desk_with(corrupted, tmp_path, urdf, without_driver)
    found = found_by_both(desk, rf'{joint} \(by up to {NUMBER} from')
    assert float(found[1]) == pytest.approx(0.5)


def read(begin, end, present):
    """Messages from `begin` to `end` [s] at 10 Hz with some of three joints."""
    stamps = np.arange(begin, end, 0.1) * 1e9
    there = np.tile(np.array(present, bool), (len(stamps), 1))
    return SimpleNamespace(stamps=stamps.astype(np.int64), present=there)


def test_joints_that_start_late_or_stop_are_named_in_pieces_as_well():
    watch = JointPresence(('hip', 'knee', 'ankle', 'absent'), (0, 1, 2))
    for piece in (
        read(5.0, 7.0, [1, 1, 0, 0]), read(7.0, 7.0, [0, 0, 0, 0]), read(7.0, 9.05, [1, 0, 1, 0]),
    ):  # fmt: skip
        watch.watch(piece)
    knee, ankle = sorted(watch.findings('/js', 5_000_000_000), key=lambda f: 'ankle' in f.sentence)
    assert knee.sentence.startswith('/js (knee): no value after 1.90 s, for 2.10 s.')
    assert ankle.sentence.startswith('/js (ankle): no value before 2.00 s, for 2.00 s.')


def test_a_recording_without_joints_has_no_findings():
    watch = JointPresence(('hip',), ())
    watch.watch(read(0.0, 1.0, [0]))
    assert not list(watch.findings('/js', 0))


def test_a_joint_that_stops_is_a_fault_of_the_report_and_found_by_check(corrupted):
    def stop_joint(draft, robot):
        part = draft[JOINTS]
        others = list(range(1, len(part.like['name'])))
        early = part.between(0.0, 1.2)
        draft.replace(JOINTS, part.rows(early), with_joints(part.rows(~early), others))

    desk = corrupted(stop_joint)
    findings, evaluation = evaluated(desk)
    (event,) = (e for e in summary_of(evaluation).events if e.kind == 'sensor fault')
    assert 'has no value for 0.8' in event.sentence
    for texts in (evaluation.notes, map(str, findings.values())):
        assert any('no value after 1.' in text for text in texts)


SOLES = {'left': 'l_sole', 'right': 'r_sole'}


def columns_without(model, *absent):
    return [k for k, name in enumerate(model.joint_names) if name not in absent]


def findings_without(model, *absent, others):
    found = name_findings(model, columns_without(model, *absent), others, {})
    return {each.kind: each for each in found}


def test_joints_under_other_names_are_guessed_by_their_spelling(model):
    others = ('left_knee', 'gripper')
    found = findings_without(model, 'l_knee', 'neck_yaw', others=others)['joints_unknown']
    assert found.level == 'warning'
    assert 'left_knee, gripper' in found.sentence
    assert found.remedy.endswith('By the spelling left_knee may be l_knee of the URDF.')


def test_joints_of_a_gripper_that_the_urdf_lacks_are_a_note(model):
    (found,) = findings_without(model, others=('gripper',)).values()
    assert (found.level, found.remedy) == ('note', '')


def test_only_joints_between_root_and_sole_that_can_move_hold_a_foot(model):
    columns = columns_without(model, 'l_knee', 'neck_yaw')
    held = held_joints(model, columns, SOLES)
    assert held == {'left': ('l_knee',)}
    (found,) = name_findings(model, columns, (), held)
    assert (found.kind, "'left'" in found.sentence) == ('leg_joints_absent', True)
    knee = model.joint_names.index('l_knee')
    locked = [np.array(limit) for limit in (model.position_lower, model.position_upper)]
    for limit in locked:
        limit[knee] = 0.0
    locked_model = replace(model, position_lower=locked[0], position_upper=locked[1])
    assert not held_joints(locked_model, columns, SOLES)


def test_a_renamed_knee_reaches_the_evaluation(corrupted):
    def damage(draft, robot):
        other = {'l_knee': 'left_knee'}
        draft.replace(JOINTS, renamed(draft[JOINTS], lambda name: other.get(name, name)))

    found, evaluation = evaluated(corrupted(damage))
    assert [foot.held_joints for foot in evaluation.feet] == [('l_knee',), ()]
    assert {'joints_unknown', 'leg_joints_absent'} <= set(found)
    assert not {'calibration_may_help', 'tilted_force', 'feet_exchanged'} & set(found)
    alarm, verdict = (getattr(summary_of(evaluation), name) for name in ('fall_alarm', 'verdict'))
    assert evaluation.fall_probability is None
    assert (alarm.count, alarm.known_time) == (None, 0.0)
    assert alarm.sentence == f'Fall alarm: cannot say, {verdict.sentence}'
    assert 'l_knee' in alarm.sentence


def test_the_last_line_of_check_says_that_there_is_no_verdict():
    console = Console(file=io.StringIO(), width=200)
    found = Finding('leg_joints_absent', 'warning', 'The position of a foot is not known.')
    show_result(console, CheckResult((), (), (found,), 'Cannot say: where the foot is.'))
    *_, why, last = console.file.getvalue().splitlines()
    assert why == 'Cannot say: where the foot is.'
    assert last == 'This recording can be replayed, but gives no verdict; 1 warning.'
