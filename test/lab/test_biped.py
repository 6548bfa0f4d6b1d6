"""A robot as a walker: which leg is which, and robots that cannot walk."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.base.errors import MotionError, UnknownNameError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.walking.biped import LEFT, RIGHT, Biped

from .walking import ROBOT_FILE, biped31


def test_left_and_right_come_from_the_hips_not_from_the_order_in_the_file():
    file = load_robot_file(ROBOT_FILE)
    swapped = Biped.of(dataclasses.replace(file, feet=tuple(reversed(file.feet))))
    for biped in (biped31(), swapped):
        assert biped.legs[LEFT].sole == 'l_sole'
        assert biped.legs[RIGHT].sole == 'r_sole'
        assert biped.hip_width == pytest.approx(0.16)


def test_posture_is_taken_by_name():
    biped = biped31()
    assert biped.posture[biped.model.joint_names.index('l_elbow')] == -0.8
    assert np.count_nonzero(biped.posture) == 6
    with pytest.raises(UnknownNameError, match='l_elbows'):
        Biped.of(load_robot_file(ROBOT_FILE), {'l_elbows': 0.1})


def test_one_foot_does_not_walk():
    file = load_robot_file(ROBOT_FILE)
    with pytest.raises(MotionError, match='1 feet'):
        Biped.of(dataclasses.replace(file, feet=file.feet[:1]))
