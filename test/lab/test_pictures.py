"""A picture of a run: stick figures; MuJoCo is loaded without a library for windows."""

import numpy as np
import pytest
from matplotlib.image import imread

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import Sampling, simulate
from izmp_lab.simulation.mujoco.spec import mujoco
from izmp_lab.simulation.pictures import body_origins, save_strip

from ..command_line import loaded_by
from ..raising import raising
from .walking import ROBOT_FILE, planned


@pytest.fixture(scope='module')
def plant():
    return build_mujoco(load_robot_file(ROBOT_FILE))


@pytest.fixture(scope='module')
def run(plant):
    return simulate(planned(steps=2).plan, plant, sampling=Sampling(divisor=50))


def test_a_strip_is_written_or_refused_in_a_sentence(run, plant, tmp_path):
    path = tmp_path / 'folder' / 'strip.png'
    save_strip(run, plant.robot, path)
    height, width, _ = imread(path).shape
    assert width > 3 * height
    assert imread(path).std() > 0.01
    with raising(IzmpError, 'not_written', path=tmp_path / 'strip.bmp3'):
        save_strip(run, plant.robot, tmp_path / 'strip.bmp3')


def test_sticks_join_the_bodies_of_the_simulation(run, plant):
    rows = [0, len(run) // 2]
    origins = body_origins(run, plant.robot, rows)
    data = mujoco.MjData(plant.model)
    for row, places in zip(rows, origins, strict=True):
        data.qpos[:3] = run.truth.root.position[row]
        mujoco.mju_mat2Quat(data.qpos[3:7], run.truth.root.rotation[row].ravel())
        data.qpos[plant.q_columns] = run.q[row]
        mujoco.mj_kinematics(plant.model, data)
        assert np.abs(places - data.xpos[1:]).max() < 1e-12


def test_mujoco_is_loaded_without_a_library_for_windows():
    loaded = loaded_by(
        'import os; os.environ.pop("MUJOCO_GL", None); import izmp_lab.simulation.mujoco.spec; '
        'assert "MUJOCO_GL" not in os.environ'
    )
    assert 'mujoco' in loaded
    assert 'glfw' not in loaded
