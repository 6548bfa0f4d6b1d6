"""A robot file that places a sole on a link, for a URDF without a frame there."""

import dataclasses
import pickle

import numpy as np
import pytest
import yaml

from izmp_dynamics.base.errors import RobotFileError, UnknownNameError
from izmp_dynamics.base.rotations import from_rpy
from izmp_dynamics.diagnosis.model import model_findings
from izmp_dynamics.draft.write import write_draft
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.feet import SolePlace
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.settings import stated

from .raising import raising

PLACE = {'xyz': [0.0, 0.0, -0.08], 'rpy': [0.0, 0.0, 0.0]}


@pytest.fixture
def placed(robot_yaml, tmp_path):
    """Reads the robot file of biped31 with its soles placed on its feet."""

    def make(**change):
        for foot, side in zip(robot_yaml['feet'], 'lr', strict=True):
            foot['sole'] = {'link': f'{side}_foot', **PLACE, **change}
        (tmp_path / 'robot.yaml').write_text(yaml.safe_dump(robot_yaml))
        return load_robot_file(tmp_path / 'robot.yaml', with_urdf=True)

    return make


def test_a_sole_that_is_placed_is_a_sole_like_any_other(placed, biped31, sound_bag, tmp_path):
    robot = placed()
    expected, found = evaluate_bag(sound_bag, biped31), evaluate_bag(sound_bag, robot)
    for foot, other in zip(found.feet, expected.feet, strict=True):
        np.testing.assert_allclose(foot.sole, other.sole, atol=1e-12)
    for name, track in expected.tracks.items():
        np.testing.assert_allclose(found.tracks[name].point, track.point, atol=1e-9)
    (tmp_path / 'again.yaml').write_text(yaml.safe_dump(stated(robot)))  # as izmp calibrate
    assert load_robot_file(tmp_path / 'again.yaml').feet == robot.feet


def test_its_frame_is_a_link_also_in_other_processes(placed):
    robot = placed(rpy=[0.0, 0.0, 0.5])
    model = pickle.loads(pickle.dumps(load_model(robot.read_urdf(), robot.root)))
    mount, foot = model.mount('l_foot/sole'), model.mount('l_foot')
    offset = foot.body_R_frame.T @ (mount.p_frame_in_body - foot.p_frame_in_body)
    np.testing.assert_allclose(offset, PLACE['xyz'], atol=1e-12)
    turn = foot.body_R_frame.T @ mount.body_R_frame
    np.testing.assert_allclose(turn, from_rpy((0.0, 0.0, 0.5)), atol=1e-12)
    assert model.sha256 == load_model(robot.urdf_path).sha256
    assert robot.read_urdf(robot.read_urdf()).text == robot.read_urdf().text


@pytest.mark.parametrize(
    ('change', 'kind', 'key'),
    [
        ({'link': 'l_fot'}, 'unknown_name', 'feet[0].sole.link'),
        ({'xyz': [0.0, 0.0, -35.0]}, 'out_of_range', 'feet[0].sole.xyz[2]'),
        ({'xyz': [0.0, 0.0]}, 'wrong_length', 'feet[0].sole.xyz'),
        ({'link': None}, 'missing_key', None),
        ({'z': 0.1}, 'unknown_key', 'feet[0].sole.z'),
    ],
)
def test_mistakes_are_named(placed, robot_yaml, change, kind, key):
    with pytest.raises(RobotFileError) as caught:
        placed(**change)
    first = caught.value.data.get('mistakes', [caught.value])[0]
    assert first.kind == kind
    assert key is None or first.data['key'] == key


def test_a_link_that_is_not_there_is_named_without_the_check_of_the_file(biped31):
    feet = tuple(dataclasses.replace(foot, sole=SolePlace('fot')) for foot in biped31.feet)
    with raising(UnknownNameError, 'unknown_name', name='fot'):
        dataclasses.replace(biped31, feet=feet).read_urdf()


def test_the_draft_places_the_soles_of_a_urdf_that_has_none(sound, biped31, tmp_path):
    text = biped31.urdf_path.read_text('utf-8')
    for side in 'lr':
        text = text.replace(f'<link name="{side}_sole" />', '')
        begin = text.index(f'<joint name="{side}_sole_mount"')
        text = text[:begin] + text[text.index('</joint>', begin) + len('</joint>') :]
    (tmp_path / 'vendor.urdf').write_text(text)
    sound.copy().write(tmp_path / 'bag')
    guesses = write_draft(tmp_path / 'bag', tmp_path / 'vendor.urdf', tmp_path / 'robot.yaml')
    robot = load_robot_file(tmp_path / 'robot.yaml', with_urdf=True)
    assert 'in the plane' not in ' '.join(guesses)
    model, whole = load_model(robot.read_urdf(), robot.root), load_model(biped31.urdf_path)
    for foot, expected in zip(robot.feet, biped31.feet, strict=True):
        assert isinstance(foot.sole, SolePlace)
        pose = model.mount(foot.sole_frame).pose
        np.testing.assert_allclose(pose, whole.mount(expected.sole).pose, atol=1e-9)
        assert {tuple(corner) for corner in foot.polygon} == set(expected.polygon)
    assert not [found for found in model_findings(model, robot) if found.level == 'warning']
