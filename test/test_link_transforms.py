"""Chained link transforms equal the model's frame poses."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.model.link_transforms import LinkTransforms
from izmp_dynamics.model.robot_model import load_model

from .pinocchio_twin import robot_path
from .small_robot import ODD_ROBOT


@pytest.mark.parametrize('robot', [ODD_ROBOT, 'biped31', 'talos'])
@pytest.mark.parametrize('which_root', [0, -1])
def test_chained_transforms_are_the_frame_poses(robot, which_root):
    source = robot if robot.startswith('\n<') else robot_path(robot)
    model = load_model(source, root=load_model(source).frame_names[which_root])
    q = np.random.default_rng(2).uniform(-1, 1, (3, model.dof))
    transforms = LinkTransforms(model)
    poses = dict(zip(transforms.moving, np.moveaxis(transforms.poses(q), 1, 0), strict=True))
    for names, pose in zip(transforms.fixed, transforms.fixed_poses, strict=True):
        poses[names] = np.tile(pose, (3, 1))
    R = {model.root: Rotation.identity(3)}
    p = {model.root: np.zeros((3, 3))}
    for segment in model.tree.segments:
        pose = poses[segment.parent, segment.link]
        R[segment.link] = R[segment.parent] * Rotation.from_quat(pose[:, 3:])
        p[segment.link] = p[segment.parent] + R[segment.parent].apply(pose[:, :3])
        expected_R, expected_p = model.frame_pose(segment.link, q)
        np.testing.assert_allclose(R[segment.link].as_matrix(), expected_R, atol=1e-12)
        np.testing.assert_allclose(p[segment.link], expected_p, atol=1e-12)


def test_an_unknown_joint_position_makes_its_pose_unknown_alone():
    model = load_model(robot_path('biped31'))
    q = np.zeros((1, model.dof))
    transforms = LinkTransforms(model)
    expected = transforms.poses(q)[0]
    q[0, 0] = np.nan
    poses = transforms.poses(q)[0]
    unknown = np.isnan(poses).any(axis=1)
    assert unknown.sum() == 1
    assert np.isnan(poses[unknown, 3:]).all()
    np.testing.assert_array_equal(poses[~unknown], expected[~unknown])
