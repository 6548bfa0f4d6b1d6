import dataclasses

import pytest

from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.rig import make_rig

from .conftest import REPOSITORY
from .raising import raising


def test_the_link_that_the_messages_name_may_be_the_right_one(biped31):
    robot = dataclasses.replace(biped31, imu=dataclasses.replace(biped31.imu, frame='xsens'))
    for frame_id, known in (('/imu_link', True), ('camera', False), (None, False)):
        with raising(UnknownNameError, 'unknown_name', name='xsens') as refusal:
            make_rig(robot, frame_ids={robot.imu.topic: frame_id})
        assert ("messages name 'imu_link'" in str(refusal.value)) == known


@pytest.mark.parametrize(
    ('root', 'choices'),
    [
        ('xyz', 'none of the'),
        ('pelvi', "did you mean 'pelvis'"),
        ('l_foot_link', "did you mean 'l_foot'?"),
    ],
)
def test_a_root_that_is_no_link_is_answered_with_the_urdfs_own(root, choices):
    with raising(UnknownNameError, 'unknown_name', name=root) as refusal:
        load_model(REPOSITORY / 'robots' / 'biped31' / 'biped31.urdf', root)
    assert choices in str(refusal.value)
    assert "own root is 'pelvis'" in str(refusal.value)
