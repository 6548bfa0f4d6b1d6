"""Fixed and mimic joints of the URDF that the recording contradicts are named, with numbers."""

import re

import numpy as np
import pytest

from .bag_surgery import JOINTS, renamed, with_joints
from .command_line import assert_whole
from .conftest import REPOSITORY

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
    """The match of a pattern in what `izmp check` finds and in what `izmp replay` notes."""
    outcome = desk.check()
    assert outcome.status == 0
    assert_whole(desk, desk.replay())
    noted = re.search(pattern, ' '.join(desk.report()['notes']))
    found = re.search(f'warning: .*{pattern}', outcome.out)
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


@pytest.mark.parametrize('off', [0.04, -0.04])
def test_a_mimic_joint_that_follows_within_its_play_is_not_named(corrupted, sound, tmp_path, off):
    *_, urdf, follow = follower(sound, off)
    assert not found_by_both(desk_with(corrupted, tmp_path, urdf, follow), 'Mimic joints')


def test_a_mimic_joint_that_is_seldom_elsewhere_is_not_named(corrupted, sound, tmp_path):
    *_, urdf, follow = follower(sound, 1.0, size=5)
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
