"""iCub with 23 joints: what is changed of its URDF, and that nothing else is."""

import os

import numpy as np
import pytest

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.seesaw.balancing_robot import ICUB, RIGHT_LEG, icub_urdf
from izmp_lab.walking.biped import example_robot

from .raising import raising

MIRROR = np.diag([1.0, -1.0, 1.0])


@pytest.fixture(scope='module')
def urdf():
    return icub_urdf()


@pytest.fixture(scope='module')
def model(urdf):
    return load_model(urdf)


def test_wrists_and_neck_are_locked(model):
    assert model.dof == 23
    assert not [name for name in model.joint_names if 'neck' in name or 'wrist' in name]


def leg_tensors(model, side):
    """Name → inertia (3, 3) of a link about its own centre of mass, in root axes at zero."""
    tensors = {}
    for element in model.tree.segments:
        name = element.link
        if name[:2] == side and name[2:] in RIGHT_LEG:
            inertia = element.segment.getInertia()
            mass, com = inertia.getMass(), inertia.getCOG()
            about_origin = np.array(
                [[inertia.getRotationalInertia()[3 * i + j] for j in range(3)] for i in range(3)]
            )
            c = np.array([com[0], com[1], com[2]])
            about_com = about_origin - mass * (c @ c * np.eye(3) - np.outer(c, c))
            R, _ = model.frame_pose(name, np.zeros(model.dof))
            tensors[name[2:]] = R @ about_com @ R.T
    return tensors


def test_the_right_leg_is_the_mirror_image_of_the_left_one(model):
    left, right = leg_tensors(model, 'l_'), leg_tensors(model, 'r_')
    assert set(left) == set(right) == set(RIGHT_LEG)
    for part in RIGHT_LEG:
        assert np.linalg.eigvalsh(right[part]).min() > 1e-5
        np.testing.assert_allclose(right[part], MIRROR @ left[part] @ MIRROR, atol=1e-9)


def test_masses_and_centre_of_mass_are_those_of_the_file(model, urdf):
    original = load_model(example_robot('iCub', ICUB))
    assert model.total_mass == pytest.approx(original.total_mass, rel=1e-12)
    np.testing.assert_allclose(
        model.com(np.zeros(model.dof)), original.com(np.zeros(original.dof)), atol=1e-12
    )


@pytest.mark.parametrize('variable', ['AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH', None])
def test_the_file_is_found_below_any_prefix(tmp_path, monkeypatch, variable):
    monkeypatch.setattr('sys.path', [])
    monkeypatch.setattr('sys.prefix', str(tmp_path / 'python'))
    for name in ('AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH'):
        monkeypatch.delenv(name, raising=False)
    with raising(MissingDependencyError, 'missing_dependency', library='example-robot-data'):
        icub_urdf()
    prefix = tmp_path / (variable or 'python')
    if variable:
        monkeypatch.setenv(variable, os.pathsep.join(['', str(tmp_path / 'other'), str(prefix)]))
    file = prefix / 'share/example-robot-data/robots/icub_description/robots/icub.urdf'
    file.parent.mkdir(parents=True)
    file.touch()
    assert example_robot('iCub', ICUB) == file


def test_the_file_lacks_these_inertias():
    """The reason of the step; if it fails, the step can go."""
    for tensor in leg_tensors(load_model(example_robot('iCub', ICUB)), 'r_').values():
        assert np.abs(tensor).max() < 1e-12
