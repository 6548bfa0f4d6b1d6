"""The model against a direct sum over the XML and against Pinocchio."""

import itertools
import pickle
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import ShapeError, UnknownNameError
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.simulation.mujoco.spec import mass_moments

from .pinocchio_twin import ROBOTS, robot_path
from .raising import raising

ODD_ROBOT = """
<robot name="odd">
  <link name="base"><inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><mass value="3"/>
    <inertia ixx="0.3" ixy="0.01" ixz="-0.02" iyy="0.4" iyz="0.03" izz="0.5"/></inertial></link>
  <link name="slider"><inertial><origin xyz="0 0.1 0" rpy="1 0.2 -0.7"/><mass value="1.5"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>
  <link name="plate"><inertial><origin xyz="0.2 0 -0.1" rpy="-0.3 0.9 0"/><mass value="0.7"/>
    <inertia ixx="0.01" ixy="0" ixz="0.002" iyy="0.012" iyz="0" izz="0.015"/></inertial></link>
  <link name="tip"><inertial><mass value="0.4"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.0012"/></inertial></link>
  <link name="wheel"><inertial><origin xyz="0 0 0.05" rpy="0.1 0.1 0.1"/><mass value="0.9"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.006"/></inertial></link>
  <link name="sensor"/>
  <joint name="slide" type="prismatic"><origin xyz="0.1 0.2 0.3" rpy="0.2 -0.1 0.5"/>
    <parent link="base"/><child link="slider"/><axis xyz="1 2 -1"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/></joint>
  <joint name="glue" type="fixed"><origin xyz="0 0 0.4" rpy="0.5 0.4 0.3"/>
    <parent link="slider"/><child link="plate"/></joint>
  <joint name="hinge" type="revolute"><origin xyz="0.3 0 0.1" rpy="-0.4 0.2 0"/>
    <parent link="plate"/><child link="tip"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="5" velocity="3"/>
    <mimic joint="roll" multiplier="-0.5" offset="0.2"/></joint>
  <joint name="roll" type="continuous"><origin xyz="-0.1 0.1 0" rpy="0 0 1"/>
    <parent link="base"/><child link="wheel"/><axis xyz="0 0 -2"/></joint>
  <joint name="mount" type="fixed"><origin xyz="0.01 0.02 0.03" rpy="0.1 0.2 0.3"/>
    <parent link="tip"/><child link="sensor"/></joint>
</robot>
"""


class XmlSum:
    """Poses, mass, COM and composite inertia from nothing but the XML, homogeneous matrices."""

    def __init__(self, xml: str, q: dict[str, float]) -> None:
        root = ElementTree.fromstring(xml)
        self.poses: dict[str, np.ndarray] = {}
        joints = list(root.findall('joint'))
        children = {joint.find('child').get('link') for joint in joints}
        base = next(
            link.get('name') for link in root.findall('link') if link.get('name') not in children
        )
        self.poses[base] = np.eye(4)
        while joints:
            for joint in list(joints):
                parent = joint.find('parent').get('link')
                if parent in self.poses:
                    T = self.poses[parent] @ _pose(joint.find('origin')) @ _motion(joint, q)
                    self.poses[joint.find('child').get('link')] = T
                    joints.remove(joint)
        self.parts = [
            self._part(link) for link in root.findall('link') if link.find('inertial') is not None
        ]
        masses = [mass for mass, _, _ in self.parts]
        self.mass = sum(masses)
        self.com = sum(mass * com for mass, com, _ in self.parts) / self.mass

    def _part(self, link):
        inertial = link.find('inertial')
        T = self.poses[link.get('name')] @ _pose(inertial.find('origin'))
        moments = {key: float(value) for key, value in inertial.find('inertia').items()}
        theta = np.zeros((3, 3))
        for i, j in itertools.product(range(3), repeat=2):
            theta[i, j] = moments['i' + ''.join(sorted('xyz'[i] + 'xyz'[j]))]
        mass = float(inertial.find('mass').get('value'))
        return mass, T[:3, 3], T[:3, :3] @ theta @ T[:3, :3].T

    def inertia_about(self, point):
        total = np.zeros((3, 3))
        for mass, com, theta in self.parts:
            d = com - point
            total += theta + mass * (d @ d * np.eye(3) - np.outer(d, d))
        return total


def _pose(origin):
    T = np.eye(4)
    if origin is not None:
        T[:3, 3] = [float(x) for x in (origin.get('xyz') or '0 0 0').split()]
        rpy = [float(x) for x in (origin.get('rpy') or '0 0 0').split()]
        T[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
    return T


def _motion(joint, q):
    T = np.eye(4)
    if joint.get('type') == 'fixed':
        return T
    position = q.get(joint.get('name'), 0.0)
    if (mimic := joint.find('mimic')) is not None:
        factor = float(mimic.get('multiplier') or 1.0)
        position = factor * q[mimic.get('joint')] + float(mimic.get('offset') or 0.0)
    element = joint.find('axis')
    axis = np.array(
        [float(x) for x in (element.get('xyz') if element is not None else '1 0 0').split()]
    )
    axis /= np.linalg.norm(axis)
    if joint.get('type') == 'prismatic':
        T[:3, 3] = position * axis
    else:
        T[:3, :3] = Rotation.from_rotvec(position * axis).as_matrix()
    return T


def composite_inertia(model, q):
    """Column by column: spinning up the resting robot about its COM takes M = Θ ω̇."""
    still, zero = np.zeros(model.dof), np.zeros(3)
    com = model.com(q)
    columns = []
    for axis in np.eye(3):
        phi = -np.cross(axis, com)  # so that the COM does not accelerate
        wrench, _ = MrAd(model).update(phi, zero, axis, q, still, still)
        columns.append(wrench.moment)
    return np.array(columns).T


@pytest.mark.parametrize('name', [*ROBOTS, 'biped31', 'odd'])
def test_mass_com_and_inertia_agree_with_the_xml(name):
    xml = ODD_ROBOT if name == 'odd' else Path(robot_path(name)).read_text()
    model = load_model(xml)
    rng = np.random.default_rng(3)
    for _ in range(10):
        q = rng.uniform(-1.0, 1.0, model.dof)
        direct = XmlSum(xml, dict(zip(model.joint_names, q, strict=True)))
        inertia = direct.inertia_about(direct.com)
        assert model.total_mass == pytest.approx(direct.mass, rel=1e-12)
        assert np.abs(model.com(q) - direct.com).max() <= 1e-12 * max(1, np.abs(direct.com).max())
        deviation = np.abs(composite_inertia(model, q) - inertia).max()
        assert deviation <= 1e-12 * max(1.0, np.abs(inertia).max())
    at_rest = model.tree.inertia_at_rest()
    assert at_rest.getMass() == pytest.approx(model.total_mass, rel=1e-12)
    np.testing.assert_allclose([*at_rest.getCOG()], model.com(np.zeros(model.dof)), atol=1e-12)


def test_frame_poses_agree_with_the_xml_for_every_link_and_any_root():
    q = {'slide': 0.3, 'roll': -0.8}
    direct = XmlSum(ODD_ROBOT, q)
    for root in direct.poses:
        model = load_model(ODD_ROBOT, root=root)
        positions = [q[joint] for joint in model.joint_names]
        root_T_world = np.linalg.inv(direct.poses[root])
        for frame in model.frame_names:
            R, p = model.frame_pose(frame, positions)
            expected = root_T_world @ direct.poses[frame]
            np.testing.assert_allclose(R, expected[:3, :3], atol=1e-12)
            np.testing.assert_allclose(p, expected[:3, 3], atol=1e-12)


def test_names_limits_and_mounts():
    model = load_model(ODD_ROBOT)
    assert model.joint_names == ('slide', 'roll')
    assert model.root == 'base'
    np.testing.assert_array_equal(model.position_lower, [-1.0, -np.inf])
    np.testing.assert_array_equal(model.velocity_limit, [2.0, np.inf])
    assert model.mounted_on_root('base')
    assert not model.mounted_on_root('sensor')
    assert load_model(ODD_ROBOT, root='sensor').mounted_on_root('tip')


def test_a_model_and_its_parts_and_errors_reach_another_process():
    model = load_model(robot_path('biped31'), 'trunk')
    for whole in (model, model.part('l_foot')):
        other = pickle.loads(pickle.dumps(whole))
        for name in ('joints', 'bodies', 'position_lower', 'effort_limit'):
            np.testing.assert_array_equal(getattr(other, name), getattr(whole, name))
        assert not other.bodies.flags.writeable
        for name in ('root', 'sha256', 'problems', 'joint_names', 'frame_names'):
            assert getattr(other, name) == getattr(whole, name)
        q = np.linspace(-0.3, 0.3, model.dof)
        poses = (each.frame_pose('l_foot', q) for each in (other, whole))
        for one, two in zip(*poses, strict=True):
            np.testing.assert_array_equal(one, two)
        assert other.links_carried('l_foot') == whole.links_carried('l_foot')
    with raising(UnknownNameError, 'unknown_name') as caught:
        model.mount('tail')
    error = pickle.loads(pickle.dumps(caught.value))
    assert (str(error), vars(error)) == (str(caught.value), vars(caught.value))
    assert type(error) is UnknownNameError


def test_unknown_names_and_wrong_shapes_are_refused():
    model = load_model(ODD_ROBOT)
    with raising(UnknownNameError, 'unknown_name') as unknown:
        model.frame_pose('left_foot', np.zeros(model.dof))
    assert (unknown.value.denotes, unknown.value.name) == ('frame', 'left_foot')
    assert unknown.value.valid == model.frame_names
    with raising(UnknownNameError, 'unknown_name') as unknown:
        load_model(ODD_ROBOT, root='torso')
    assert (unknown.value.denotes, unknown.value.name) == ('link', 'torso')
    with raising(ShapeError, 'shape') as shape:
        model.com(np.zeros(5))
    assert (shape.value.name, shape.value.got) == ('q', (5,))


def test_poses_and_moments_of_bodies_are_those_of_their_frames():
    model = load_model(ODD_ROBOT)
    q = np.random.default_rng(6).normal(size=model.dof)
    R, p = model.body_poses(q)
    for link in model.frame_names:
        mount = model.mount(link)
        frame_R, frame_p = model.frame_pose(link, q)
        np.testing.assert_allclose(R[mount.body] @ mount.body_R_frame, frame_R, atol=1e-14)
        origin = p[mount.body] + R[mount.body] @ mount.p_frame_in_body
        np.testing.assert_allclose(origin, frame_p, atol=1e-14)
        chain = model.chain(link)
        assert chain == sorted(chain)
        assert chain[-1:] == ([mount.body] if mount.body else [])
    moments = [mass_moments(model, body) for body in range(len(model.bodies))]
    assert sum(body.mass for body in moments) == pytest.approx(model.total_mass)
    weighted = [body.mass * p[k] + R[k] @ body.first_moment for k, body in enumerate(moments)]
    np.testing.assert_allclose(sum(weighted) / model.total_mass, model.com(q), atol=1e-14)
    with raising(ShapeError, 'shape'):
        model.body_poses(np.zeros((2, model.dof)))


def test_a_joint_sits_on_its_parent_body_where_the_body_is_at_rest():
    model = load_model(robot_path('biped31'))
    R, p = model.body_poses(np.zeros(model.dof))
    for body in range(1, len(model.bodies)):
        mount = model.joint_mount(body)
        assert mount.body < body
        np.testing.assert_allclose(R[mount.body] @ mount.body_R_frame, R[body], atol=1e-14)
        origin = p[mount.body] + R[mount.body] @ mount.p_frame_in_body
        np.testing.assert_allclose(origin, p[body], atol=1e-14)


def test_a_part_depends_on_the_joints_between_it_and_the_root():
    model = load_model(robot_path('biped31'))
    names = np.array(model.joint_names)
    assert model.joints_that_move_mass().all()
    legs = names[model.part('l_foot').joints_that_move_mass()]
    assert sorted(legs) == sorted(
        name for name in names if name.startswith(('l_hip', 'l_knee', 'l_ankle'))
    )
    odd = load_model(ODD_ROBOT)
    assert odd.part('tip').joints_that_move_mass().tolist() == [True, True]  # slide, and its mimic
    assert odd.part('wheel').joints_that_move_mass().tolist() == [False, True]
