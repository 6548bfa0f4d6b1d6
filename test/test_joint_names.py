import io
from dataclasses import replace

import numpy as np
from rich.console import Console

from izmp_dynamics.base.finding import Finding
from izmp_dynamics.check import CheckResult
from izmp_dynamics.cli.check_view import show_result
from izmp_dynamics.recording.joint_watch import JointNames
from izmp_dynamics.stability.held_joints import held_joints
from izmp_dynamics.verdict.summary import summary_of

from .bag_surgery import JOINTS, renamed
from .test_input_findings import evaluated

SOLES = {'left': 'l_sole', 'right': 'r_sole'}


def columns_without(model, *absent):
    return [k for k, name in enumerate(model.joint_names) if name not in absent]


def names_without(model, *absent, others=()):
    return JointNames(model, columns_without(model, *absent), others)


def findings(names):
    return {found.kind: found for found in names.findings({})}


def test_joints_under_other_names_are_guessed_by_their_spelling(model):
    names = names_without(model, 'l_knee', 'neck_yaw', others=('left_knee', 'gripper'))
    assert names.same == {'left_knee': 'l_knee'}
    found = findings(names)['joints_unknown']
    assert found.level == 'warning'
    assert 'left_knee, gripper' in found.sentence
    assert 'left_knee may be l_knee of the URDF' in found.remedy


def test_joints_of_a_gripper_that_the_urdf_lacks_are_a_note(model):
    (found,) = findings(names_without(model, others=('gripper',))).values()
    assert (found.level, found.remedy) == ('note', '')


def test_only_joints_between_root_and_sole_that_can_move_hold_a_foot(model):
    columns = columns_without(model, 'l_knee', 'neck_yaw')
    held = held_joints(model, columns, SOLES)
    assert held == {'left': ('l_knee',)}
    (found,) = JointNames(model, columns, ()).findings(held)
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
