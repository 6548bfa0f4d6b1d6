"""The robot biped31: its URDF, its measures and its robot file."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.walking.biped import BIPED31_POSTURE
from izmp_lab.walking.sway import BIPED31_GESTURES

FOLDER = Path(__file__).parents[2] / 'robots/biped31'


@pytest.fixture(scope='module')
def xml():
    return ElementTree.parse(FOLDER / 'biped31.urdf').getroot()


def test_the_urdf_is_what_its_script_writes():
    spec = importlib.util.spec_from_file_location('make_urdf', FOLDER / 'make_urdf.py')
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert (FOLDER / 'biped31.urdf').read_text(encoding='utf-8') == script.urdf()


def test_31_joints_without_findings(model):
    assert model.dof == 31
    assert model.total_mass == pytest.approx(27.6, abs=1e-12)
    assert model.problems == ()
    for part, joints in (('hip', 6), ('knee', 2), ('ankle', 4), ('waist', 3), ('neck', 2),
                         ('shoulder', 6), ('elbow', 2), ('wrist', 6)):  # fmt: skip
        assert sum(part in name for name in model.joint_names) == joints


def test_it_is_1_65_m_tall(model):
    zero = np.zeros(model.dof)
    _, p_head = model.frame_pose('head', zero)
    _, p_sole = model.frame_pose('l_sole', zero)
    top_of_head = p_head[2] + 2 * 0.105
    assert top_of_head - p_sole[2] == pytest.approx(1.65, abs=1e-12)


def test_left_and_right_are_mirror_images(model):
    zero = np.zeros(model.dof)
    for name in model.frame_names:
        if name.startswith('l_'):
            _, left = model.frame_pose(name, zero)
            _, right = model.frame_pose('r' + name[1:], zero)
            assert np.allclose(right, left * [1, -1, 1], atol=1e-15)
    rng = np.random.default_rng(0)
    q = rng.uniform(-0.3, 0.3, model.dof)
    assert np.allclose(model.com(mirrored(model, q)), model.com(q) * [1, -1, 1], atol=1e-12)
    limits = np.where(keeps_sense(model), model.position_lower, model.position_upper)
    assert np.allclose(mirrored(model, model.position_lower), limits, atol=1e-12)


def keeps_sense(model):
    """Which joints turn about the y axis: their sense survives the mirror."""
    return np.array([any(p in n for p in ('pitch', 'knee', 'elbow')) for n in model.joint_names])


def mirrored(model, q):
    """The joint positions of the mirror image: sides swapped, rolls and yaws reversed."""
    twins = [{'l_': 'r_', 'r_': 'l_'}.get(n[:2], n[:2]) + n[2:] for n in model.joint_names]
    swapped = q[[model.joint_names.index(twin) for twin in twins]]
    return np.where(keeps_sense(model), swapped, -swapped)


def test_limits_are_those_of_motors_and_allow_the_posture(model):
    for limit in (model.position_lower, model.position_upper):
        assert np.isfinite(limit).all()
    assert ((model.velocity_limit >= 6) & (model.velocity_limit <= 15)).all()
    assert ((model.effort_limit >= 10) & (model.effort_limit <= 200)).all()
    for gesture in BIPED31_GESTURES.values():
        for joint in {**BIPED31_POSTURE, **gesture}:
            column = model.joint_names.index(joint)
            position = BIPED31_POSTURE.get(joint, 0.0) + gesture.get(joint, 0.0)
            assert model.position_lower[column] < position < model.position_upper[column]


def test_sensors_sit_on_the_pelvis_on_three_orthogonal_arms(model):
    zero = np.zeros(model.dof)
    imu_R, p_imu = model.frame_pose('imu_link', zero)
    arms = []
    for name in ('accelerometer_1', 'accelerometer_2', 'accelerometer_3'):
        assert model.mounted_on_root(name)
        R, p = model.frame_pose(name, zero)
        assert np.array_equal(R, imu_R)
        arms.append(p - p_imu)
    assert np.allclose(arms, 0.1 * np.eye(3), atol=1e-15)
    assert model.mounted_on_root('gps_link')


def test_the_sole_polygon_is_the_outline_of_the_collision_shape(xml):
    file = load_robot_file(FOLDER / 'robot.yaml')
    for foot in file.feet:
        (collision,) = xml.findall(f"link[@name='{foot.wrench.below}']/collision")
        x, y, z = (float(value) for value in collision.find('origin').get('xyz').split())
        size = [float(value) for value in collision.find('geometry/box').get('size').split()]
        polygon = np.array(foot.polygon)
        assert np.allclose(polygon.max(axis=0), [x + size[0] / 2, y + size[1] / 2])
        assert np.allclose(polygon.min(axis=0), [x - size[0] / 2, y - size[1] / 2])
        assert z - size[2] / 2 == pytest.approx(-0.08)
