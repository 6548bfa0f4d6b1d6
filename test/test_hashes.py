"""Hashes of the inputs: those of the files."""

import hashlib
from pathlib import Path

import pytest

from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.urdf import read_urdf
from izmp_dynamics.results.files import file_hash, input_hashes

ROBOT = Path(__file__).parents[1] / 'robots/biped31/robot.yaml'


@pytest.fixture
def inputs(tmp_path):
    """A bag of two files, a robot file and its URDF."""
    bag = tmp_path / 'bag'
    bag.mkdir()
    (bag / 'empty.mcap').write_bytes(b'')
    (bag / 'large.mcap').write_bytes(bytes(range(256)) * 40_000)  # more than is read at a time
    robot = load_robot_file(ROBOT)
    return bag, robot, read_urdf(robot.urdf_path)


def test_they_are_the_sha_256_of_the_files(inputs):
    bag, robot, urdf = inputs
    found = input_hashes(*inputs)
    files = {path.name: path for path in (*bag.iterdir(), ROBOT)} | {robot.urdf: urdf.path}
    assert found == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()
    }


def test_a_file_that_cannot_be_read_is_an_error_of_the_caller(inputs):
    bag, robot, urdf = inputs
    assert set(input_hashes(bag / 'missing', robot, urdf)) == {robot.urdf, ROBOT.name}
    with pytest.raises(FileNotFoundError):
        file_hash(bag / 'missing')
