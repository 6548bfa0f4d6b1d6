"""Pictures of a run: frames where there is a renderer, stick figures or a sentence elsewhere."""

import os
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image

from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.simulation.mujoco import pictures
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.pictures import (
    body_origins,
    check_clip,
    open_renderer,
    save_clip,
    save_strip,
    stick_figures,
)
from izmp_lab.simulation.mujoco.plant import Sampling, simulate
from izmp_lab.simulation.mujoco.spec import mujoco
from izmp_lab.simulation.physics import Shove

from ..raising import raising
from .walking import ROBOT_FILE, planned

FILE = load_robot_file(ROBOT_FILE)


@pytest.fixture(scope='module')
def plant():
    return build_mujoco(FILE)


@pytest.fixture(scope='module')
def run(plant):
    plan = planned(steps=2).plan
    push = Shove(60.0, 'left', 1.0, 0.2).push(plan)
    return simulate(plan, plant, sampling=Sampling(divisor=50), pushes=[push])


@pytest.fixture
def no_renderer(monkeypatch):
    monkeypatch.setenv('MUJOCO_GL', 'paper')


@pytest.fixture
def renderer(plant):
    try:
        with open_renderer(plant, 120, 160) as renderer:
            yield renderer
    except SimulationError as error:
        pytest.skip(str(error))


def test_a_picture_shows_the_robot_and_the_forces(run, renderer):
    rows = [0, np.flatnonzero(run.truth.applied_wrench.any(axis=1))[0], len(run) - 1]
    images = [renderer.image(run, int(row)).astype(float) for row in rows]
    for image in images:
        assert image.shape == (160, 120, 3)
        assert image[5].mean() > image[-5].mean()  # the sky is above
        assert image.std() > 20.0
    red = [np.sum((image[..., 0] > 120) & (image[..., 1] < 60)) for image in images]
    assert red[1] > red[0] + 20
    assert np.array_equal(renderer.image(run, 0), renderer.image(run, 0))


def test_a_strip_is_written(run, plant, renderer, tmp_path):
    path = tmp_path / 'folder' / 'strip.png'
    assert save_strip(run, plant, path) == ''
    height, width, _ = imread(path).shape
    assert width > 3 * height


def test_a_clip_lasts_as_long_as_the_run(run, plant, renderer, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, '_CLIP_SIZE', (60, 80))
    path, reported = tmp_path / 'clip.gif', []
    save_clip(run, plant, path, reported.append)
    with Image.open(path) as clip:
        assert clip.size == (60, 80)
        lasts = 0.0
        for frame in range(clip.n_frames):
            clip.seek(frame)
            lasts += 1e-3 * clip.info['duration']
    assert lasts == pytest.approx((run.stamps[-1] - run.stamps[0]) * 1e-9, abs=0.1)
    assert reported == sorted(reported)


def test_without_a_renderer_there_are_stick_figures_and_the_reason(
    run, plant, tmp_path, no_renderer
):
    path = tmp_path / 'strip.png'
    assert "OpenGL by 'paper' cannot be used" in save_strip(run, plant, path)
    assert imread(path).std() > 0.01


def test_without_a_renderer_a_clip_is_refused(plant, tmp_path, no_renderer):
    with raising(SimulationError, 'no_renderer', graphics='paper'):
        check_clip(tmp_path / 'clip.gif', plant)


def test_without_an_encoder_an_mp4_is_refused(plant, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures.shutil, 'which', lambda program: None)
    with raising(SimulationError, 'no_ffmpeg'):
        check_clip(tmp_path / 'clip.mp4', plant)
    with raising(SimulationError, 'clip_format'):
        check_clip(tmp_path / 'clip', plant)


def test_a_picture_that_cannot_be_written_is_an_error(run, plant, tmp_path, no_renderer):
    with raising(SimulationError, 'not_written', path=tmp_path / 'strip.bmp3'):
        save_strip(run, plant, tmp_path / 'strip.bmp3')


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
    lines = stick_figures(run, plant.robot, rows).axes[0].lines
    assert len(lines) == len(rows) * (plant.robot.dof + len(FILE.feet) + 1)


def test_mujoco_is_loaded_without_a_window_library_unless_one_is_named():
    code = (
        'import os, sys; import izmp_lab.simulation.mujoco.spec; '
        "print('glfw' in sys.modules, os.environ.get('MUJOCO_GL'))"
    )
    for name, shown in ((None, 'False None'), ('disable', 'False disable')):
        env = {key: value for key, value in os.environ.items() if key != 'MUJOCO_GL'}
        env |= {'MUJOCO_GL': name} if name else {}
        ended = subprocess.run(
            [sys.executable, '-c', code], env=env, capture_output=True, text=True, check=True
        )
        assert ended.stdout.strip() == shown
