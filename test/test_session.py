"""What `izmp live` looks at before it starts, and what it says of the filter."""

from dataclasses import replace

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install 'izmp_dynamics[ros]'")

import rclpy

from izmp_dynamics.base.errors import BagError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.session import LiveSession, filter_sentence

ROBOT = RobotFile(urdf='robot.urdf')


def test_a_place_that_cannot_be_written_is_refused_before_ros_starts(tmp_path):
    file = tmp_path / 'file'
    file.touch()
    with pytest.raises(BagError, match='cannot be written: Not a directory'):
        LiveSession(tmp_path / 'robot.yaml', ROBOT, record=file / 'bag')
    assert not rclpy.ok()


def test_to_try_a_place_leaves_nothing_there(tmp_path):
    LiveSession(tmp_path / 'robot.yaml', ROBOT, record=tmp_path / 'new' / 'bag')
    assert not list(tmp_path.iterdir())


def test_it_is_said_which_filter_holds():
    assert filter_sentence(ROBOT).startswith('Not filtered. izmp replay chooses a filter')
    matched = replace(ROBOT, filter=replace(ROBOT.filter, half_width=0.016))
    assert 'by the matched filter of half-width 16 ms' in filter_sentence(matched)
    low_pass = replace(ROBOT, low_pass=replace(ROBOT.low_pass, cutoff=20.0))
    assert 'by the low-pass at 20 Hz' in filter_sentence(low_pass)
