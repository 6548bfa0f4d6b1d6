"""A real robot: iCub walking, jittering stamps, tilted IMU, vertical foot forces only."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.evaluate import replay
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import load_robot_file

from .conftest import REPOSITORY
from .recorded import evaluate_bag

MEASURED_FORCE = 329.4  # [N] mean sum of the feet's vertical forces


@pytest.fixture(scope='module')
def robot(icub_walking):
    return load_robot_file(
        REPOSITORY / 'examples' / 'icub_walking' / 'robot.yaml', icub_walking / 'robot.urdf'
    )


def filtered(robot, half_width=0.08):
    return dataclasses.replace(robot, filter=Filter(half_width=half_width))


@pytest.fixture(scope='module')
def results(icub_walking, robot):
    """Of all signals up to 4 Hz."""
    return evaluate_bag(icub_walking, filtered(robot))


def normal_force(results, name):
    return np.einsum('tj,tj->t', results.wrenches[name][:, :3], results.ground.plane.normal)


def test_mean_contact_force_is_the_measured_one(icub_walking, robot, results):
    for each in (results, evaluate_bag(icub_walking, filtered(robot, None))):
        force = normal_force(each, 'mr_ad')
        assert np.nanmean(force) == pytest.approx(MEASURED_FORCE, rel=0.02)


def test_lateral_zmp_follows_the_load_split_of_the_feet(results):
    """Between the sole origins, the ZMP moves as the feet share the load."""
    left, right = results.ground.soles
    across = left.p - right.p
    width = np.linalg.norm(across, axis=1)
    along = np.einsum('tj,tj->t', results.points['mr_ad'] - right.p, across) / width**2
    split = left.normal_force / (left.normal_force + right.normal_force)
    known = np.isfinite(along) & np.isfinite(split)
    assert known.mean() > 0.9
    assert np.corrcoef(along[known], split[known])[0, 1] >= 0.85


def test_mr_ad_and_ir_md_agree_when_filtered(results):
    gap = np.linalg.norm(results.points['mr_ad'] - results.points['ir_md'], axis=1)
    assert np.nanmedian(gap) < 0.02


def test_the_report_says_what_the_recording_lacks(icub_walking, robot, tmp_path):
    replay(icub_walking, robot, tmp_path / 'out')
    page = (tmp_path / 'out' / 'report.html').read_text()
    for sentence in ('r_wrist_prosup', 'only the normal force is measured', 'Cannot say'):
        assert sentence in page
