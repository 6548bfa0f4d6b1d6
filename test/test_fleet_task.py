"""What a worker does that does not have what the command has read."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip('fsspec', reason='bags are found with fsspec')

from izmp_dynamics.fleet import task as module
from izmp_dynamics.fleet.robots import RobotFiles, robot_digest
from izmp_dynamics.fleet.sources import find_bags
from izmp_dynamics.fleet.task import Task, evaluate

from .conftest import REPOSITORY


@pytest.fixture
def task(tmp_path, monkeypatch):
    """A task with a robot of its own and a file that is never read."""
    monkeypatch.setattr(module, '_metadata', lambda bag: {})
    shutil.copytree(REPOSITORY / 'robots' / 'biped31', tmp_path / 'biped31')
    (tmp_path / 'x.mcap').write_bytes(b'x')
    robot = tmp_path / 'biped31' / 'robot.yaml'
    return Task(*find_bags([f'{tmp_path}/x.mcap']), str(robot), robot_digest(robot))


def changed(task):
    path = Path(task.robot)
    path.write_bytes(path.read_bytes() + b'\n')


def test_a_robot_file_that_another_run_of_the_process_saw_is_read_anew(task):
    path = Path(task.robot)
    assert RobotFiles([task.robot]).digest(path) == task.robot_sha256
    changed(task)
    assert RobotFiles([task.robot]).digest(path) != task.robot_sha256


@pytest.mark.parametrize('when', ['before', 'during'])
def test_a_robot_file_that_changes_is_no_verdict_about_the_bag(task, monkeypatch, when):
    evaluated = []

    def evaluate_bag(bag, robot):
        evaluated.append(bag)
        changed(task)

    monkeypatch.setattr(module, 'evaluate_bag', evaluate_bag)
    if when == 'before':
        changed(task)
    row = evaluate(task).row
    assert (row['error_kind'], row['transient']) == ('other_robot', True)
    assert task.robot in row['error']
    assert len(evaluated) == (when == 'during')
