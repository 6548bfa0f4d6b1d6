"""Worlds made for Webots: syntax, and the same robot as in the URDF."""

import math
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import IzmpError, MotionError, SimulationError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.simulation.terrain import Slope
from izmp_lab.simulation.webots.options import DeviceNames, Options
from izmp_lab.simulation.webots.proto import tensor_of
from izmp_lab.simulation.webots.vrml import Document, Node, write
from izmp_lab.simulation.webots.world import PLUGIN, make_world
from izmp_lab.walking.footsteps import Ramp

from ..command_line import izmp
from ..raising import raising
from .vrml_reader import parse
from .webots_nodes import check

ROBOTS = Path(__file__).parents[2] / 'robots'
BIPED31 = ROBOTS / 'biped31' / 'robot.yaml'
JOINTS = ('HingeJoint', 'SliderJoint')


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    return make_world(BIPED31, tmp_path_factory.mktemp('worlds'), slope_deg=10.0)


class Made:
    """A world, its PROTO and robot file, the model of the URDF that it was made from, its q."""

    def __init__(self, world, model):
        self.world, self.model = world, model
        self.proto, self.file = proto_of(world), load_robot_file(world.robot)
        (self.robot,) = self.proto.nodes
        given = {
            node.fields['device'][0].fields['name']: node.fields['jointParameters']
            for node in self.robot.nodes()
            if node.type in JOINTS
        }
        positions = [given[name].fields['position'][0] for name in model.joint_names]
        self.q = np.array(positions)

    def assert_at(self, frame, R, p, point=(0.0, 0.0, 0.0)):
        """The pose is that of a frame of the URDF, moved to a point of it."""
        frame_R, frame_p = self.model.frame_pose(frame, self.q)
        np.testing.assert_allclose(R, frame_R, atol=1e-9)
        assert p == pytest.approx(frame_p + frame_R @ point, abs=1e-9)


@pytest.fixture(scope='module', params=['biped31', 'itu_biped', 'odd'])
def made(request, world, tmp_path_factory):
    if request.param == 'odd':
        return Made(*odd_world(tmp_path_factory.mktemp('odd')))
    folder = ROBOTS / request.param
    if request.param != 'biped31':
        world = make_world(folder / 'robot.yaml', tmp_path_factory.mktemp(request.param))
    return Made(world, load_model(folder / f'{request.param}.urdf'))


ODD = """
<robot name="odd-robot">
  <link name="world"/>
  <joint name="tie" type="floating"><parent link="world"/><child link="base"/></joint>
  <link name="base"><inertial><origin xyz="0.1 0 0.02" rpy="0.3 -0.2 1.1"/>
    <mass value="2.34567891"/>
    <inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.0005" izz="0.04"/>
    </inertial></link>
  <link name="imu"/>
  <joint name="imu_mount" type="fixed"><origin xyz="0 0 0.1" rpy="0 0.1 0"/>
    <parent link="base"/><child link="imu"/></joint>
  <link name="box"><inertial><mass value="0.5"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial>
    <collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
  <joint name="box_mount" type="fixed"><origin xyz="0.123456789 0 0" rpy="0.1 0.2 0.3"/>
    <parent link="base"/><child link="box"/></joint>
  <link name="slide"><inertial><origin xyz="0 0 -0.05"/><mass value="0.7"/>
    <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.001"/></inertial></link>
  <joint name="lift" type="prismatic"><origin xyz="0 0.1 -0.2" rpy="0.4 0.1 -0.7"/>
    <parent link="box"/><child link="slide"/><axis xyz="1 2 -2"/>
    <limit lower="0.05" upper="0.3" velocity="0.5" effort="77"/></joint>
  <link name="foot"><inertial><origin xyz="0.02 0 -0.01" rpy="0 0 0.5"/><mass value="1.2"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.006" iyz="0" izz="0.008"/></inertial>
    <collision><geometry><box size="0.2 0.1 0.04"/></geometry></collision></link>
  <joint name="ankle" type="revolute"><origin xyz="0 0 -0.3" rpy="0 0 1.5"/>
    <parent link="slide"/><child link="foot"/><axis xyz="0 1 1"/>
    <limit lower="-1" upper="-0.2" velocity="3" effort="20"/><dynamics damping="0.25"/></joint>
  <link name="sole"/>
  <joint name="sole_mount" type="fixed"><origin xyz="0 0 -0.04" rpy="0 0 0.2"/>
    <parent link="foot"/><child link="sole"/></joint>
  <link name="wheel"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="spin" type="continuous"><origin xyz="0.3 0 0"/><parent link="base"/>
    <child link="wheel"/><axis xyz="0 0 -1"/></joint>
  <gazebo reference="imu"><sensor type="imu" name="gone"/></gazebo>
</robot>
"""


def odd_world(folder, text=ODD, root='box'):
    folder.mkdir(exist_ok=True)
    (folder / 'odd.urdf').write_text(text)
    corners = [[0.1, 0.05], [-0.1, 0.05], [-0.1, -0.05], [0.1, -0.05]]
    robot = {
        'urdf': 'odd.urdf', 'root': root, 'imu': {'frame': 'imu'},
        'feet': [{'name': 'foot', 'sole': 'sole', 'polygon': corners}],
    }  # fmt: skip
    if text == ODD:
        robot['segments'] = {'slide': {'topic': 'slide/imu', 'frame': 'slide'}}
    (folder / 'robot.yaml').write_text(yaml.safe_dump(robot))
    made = make_world(folder / 'robot.yaml', folder / 'worlds')
    return made, load_model(folder / 'odd.urdf')


def proto_of(world):
    return parse(world.proto.read_text())


def pose(node):
    *axis, angle = node.fields['rotation']
    R = Rotation.from_rotvec(angle * np.array(axis)).as_matrix()
    return R, np.array(node.fields['translation'])


def solids(solid, R=np.eye(3), p=np.zeros(3)):  # noqa: B008
    """Yield all solids and devices with their pose in the robot."""
    yield solid, R, p
    for child in solid.fields.get('children', []):
        end = child.fields['endPoint'] if child.type in JOINTS else child
        if 'rotation' in end.fields and end.type not in ('Pose', 'Transform'):
            turned, place = pose(end)
            yield from solids(end, R @ turned, p + R @ place)


def whole(robot):
    """Mass, centre of mass and inertia about it of all that has Physics."""
    mass, moment, about = 0.0, np.zeros(3), np.zeros((3, 3))
    for solid, R, p in solids(robot):
        physics = solid.fields.get('physics')
        if physics is None:
            continue
        m = physics.fields['mass'][0]
        com = p + R @ physics.fields['centerOfMass']
        xx, yy, zz, xy, xz, yz = physics.fields['inertiaMatrix']
        tensor = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        mass, moment = mass + m, moment + m * com
        about = about + tensor + m * (com @ com * np.eye(3) - np.outer(com, com))
    com = moment / mass
    return mass, com, about - mass * (com @ com * np.eye(3) - np.outer(com, com))


def test_files_are_what_webots_takes(made):
    proto, scene = made.proto, parse(made.world.world.read_text())
    check(made.robot, proto.interface)
    assert scene.external == [made.world.proto.name]
    assert proto.interface.name == made.world.proto.stem
    *base, robot = scene.nodes
    for node in base:
        check(node)
    assert robot.type == proto.interface.name
    assert set(robot.fields) <= set(proto.interface.fields)
    assert robot.fields['controller'] == '<extern>'
    assert robot.fields['supervisor'] is True


def test_nothing_is_downloaded_and_all_is_silent(world):
    text = world.world.read_text() + world.proto.read_text()
    assert not re.search(r'https?:|webots:', text)
    for node in proto_of(world).nodes[0].nodes():
        if node.type.endswith('Motor'):
            assert node.fields['sound'] == ''  # the default is an asset
    (info,) = (n for n in parse(world.world.read_text()).nodes if n.type == 'WorldInfo')
    contacts = [contact.fields for contact in info.fields['contactProperties']]
    materials = [(c['material1'], c['material2']) for c in contacts]
    assert materials == [('sole', 'ground'), ('default', 'ground')]
    assert all(c[f'{sound}Sound'] == '' for c in contacts for sound in ('bump', 'roll', 'slide'))


def test_mass_com_and_inertia_are_the_urdfs(made):
    mass, com, inertia = whole(made.robot)
    assert mass == pytest.approx(made.model.total_mass, abs=1e-9)
    assert com == pytest.approx(made.model.com(made.q), abs=1e-9)
    assert inertia == pytest.approx(inertia_of(made.model, made.q), abs=1e-8)


def inertia_of(model, q):
    """Inertia (3, 3) of a robot about its centre of mass, summed up link by link with KDL."""
    total, frames = model.tree.inertias[model.root], {model.root: None}
    for segment in model.tree.segments:
        at = segment.offset
        if segment.driver in model.joint_names:
            at = segment.multiplier * q[model.joint_names.index(segment.driver)] + segment.offset
        frame = segment.segment.pose(at)
        above = frames[segment.parent]
        frames[segment.link] = frame if above is None else above * frame
        total = total + frames[segment.link] * segment.segment.getInertia()
    return tensor_of(total)


def test_axes_limits_and_torques_are_the_urdfs(made):
    model, seen = made.model, set()
    for solid, R, p in solids(made.robot):
        for joint in solid.fields.get('children', []):
            if joint.type not in JOINTS:
                continue
            motor, sensor = joint.fields['device']
            name = motor.fields['name']
            seen.add(name)
            column = model.joint_names.index(name)
            body = int(np.flatnonzero(model.joints[1:, 2] == column)[0]) + 1
            link = next(link for link in model.frame_names if model.mount(link).body == body)
            axis, anchor = axis_of(model, link, made.q)
            parameters = joint.fields['jointParameters'].fields
            assert R @ parameters['axis'] == pytest.approx(axis, abs=1e-9)
            if 'anchor' in parameters:
                assert p + R @ parameters['anchor'] == pytest.approx(anchor, abs=1e-9)
            assert sensor.fields['name'] == f'{name}_sensor'
            strength = motor.fields.get('maxTorque', motor.fields.get('maxForce'))[0]
            for written, stated in (
                (strength, model.effort_limit[column]),
                (motor.fields['maxVelocity'][0], model.velocity_limit[column]),
            ):
                assert written == pytest.approx(stated if np.isfinite(stated) else 1e6, abs=1e-9)
            limits = model.position_lower[column], model.position_upper[column]
            if np.isfinite(limits[0]):
                found = [motor.fields[f'{end}Position'][0] for end in ('min', 'max')]
                assert found == pytest.approx(limits)
            else:
                assert 'minPosition' not in motor.fields
    assert seen == set(model.joint_names)


@pytest.mark.parametrize(
    ('limits', 'written'),
    [('lower="0" upper="0"', (-1e-6, 1e-6)), ('lower="-1" upper="inf"', (-1.0, 1e6)),
     ('lower="-inf" upper="0.5"', (-1e6, 0.5))],
)  # fmt: skip
def test_a_motor_gets_the_limits_of_a_joint(tmp_path, limits, written):
    world, _ = odd_world(tmp_path, ODD.replace('lower="-1" upper="-0.2"', limits))
    (motor,) = (
        node for node in proto_of(world).nodes[0].nodes() if node.fields.get('name') == 'ankle'
    )
    assert (*motor.fields['minPosition'], *motor.fields['maxPosition']) == written


def axis_of(model, link, q):
    """Axis (3,) of the joint that moves a link and a point (3,) on it, in the root."""
    mount = model.mount(link)
    R, p = model.frame_pose(link, q)
    body_R = R @ mount.body_R_frame.T
    origin = p - body_R @ mount.p_frame_in_body
    return body_R[:, 2], origin


def test_solids_stand_where_the_links_are(made):
    for solid, R, p in solids(made.robot):
        if solid.type == 'Solid':
            made.assert_at(solid.fields['name'], R, p)


def test_sensors_sit_in_their_frames(made):
    file, names = made.file, DeviceNames.of(made.file)
    devices = {
        solid.fields['name']: (solid.type, R, p)
        for solid, R, p in solids(made.robot)
        if solid.type not in ('Robot', 'Solid')
    }
    wanted = {
        names.imu_accelerometer: ('Accelerometer', file.imu.frame),
        names.imu_gyro: ('Gyro', file.imu.frame),
        names.inertial_unit: ('InertialUnit', file.imu.frame),
    }
    for name, sensor in zip(names.accelerometers, file.all_accelerometers, strict=True):
        wanted[name] = ('Accelerometer', sensor.frame)
    for unit, name in zip(file.segments, names.unit_accelerometers, strict=True):
        wanted[name] = ('Accelerometer', unit.frame)
    for unit, name in zip(file.segments, names.unit_gyros, strict=True):
        wanted[name] = ('Gyro', unit.frame)
    if names.gps:
        wanted[names.gps] = ('GPS', file.position.frame)
    for name, (kind, frame) in wanted.items():
        found, *pose = devices.pop(name)
        assert found == kind
        made.assert_at(frame, *pose)
    for foot, pads in zip(file.feet, names.pads, strict=True):
        for name, corner in zip(pads, foot.polygon, strict=True):
            found, *pose = devices.pop(name)
            assert found == 'TouchSensor'
            made.assert_at(foot.sole, *pose, (*corner, 0.0))
    assert not devices


def test_only_pads_touch_the_ground(made):
    for solid, _, _ in solids(made.robot):
        if solid.type == 'TouchSensor':
            shape = solid.fields['boundingObject']
            (sphere,) = shape.fields['children']
            assert shape.fields['translation'][2] == sphere.fields['radius'][0]
            assert solid.fields['contactMaterial'] == 'sole'
        elif solid.name in ('l_foot', 'r_foot', 'foot'):
            assert 'boundingObject' not in solid.fields
    assert all(foot.wrench.below is None for foot in made.file.feet)


def test_robot_stands_on_the_ground(made):
    R, p = pose(parse(made.world.world.read_text()).nodes[-1])
    lowest = min(
        (p + R @ (sole_p + sole_R @ [x, y, 0.0]))[2]
        for foot in made.file.feet
        for sole_R, sole_p in [made.model.frame_pose(foot.sole, made.q)]
        for x, y in foot.polygon
    )
    assert lowest == pytest.approx(0.0, abs=1e-8)


def test_shapes_are_the_urdfs_and_those_of_massless_links_go_to_what_carries_them(tmp_path):
    folder = tmp_path / 'odd'
    folder.mkdir()
    (folder / 'part.stl').touch()
    shape = '<{0}><origin xyz="0 0 0.1" rpy="0 0.5 0"/><geometry>{1}</geometry></{0}>'
    part = '<mesh filename="part.stl" scale="1 2 1"/>'
    shapes = ''.join(
        shape.format(kind, geometry)
        for kind in ('visual', 'collision')
        for geometry in (
            part,
            '<cylinder radius="0.1" length="0.3"/>',
            '<mesh filename="no.stl"/>',
        )
    )
    text = ODD.replace('<link name="imu"/>', f'<link name="imu">{shapes}</link>')
    world, model = odd_world(folder, text)
    robot = proto_of(world).nodes[0]
    mesh, cylinder = (
        node for node in robot.fields['children'] if node.type.startswith(('P', 'T'))
    )
    (bound,) = robot.fields['boundingObject'].fields['children']  # nothing collides scaled
    imu_R, imu_p = model.frame_pose('imu', np.zeros(model.dof))
    turned = imu_R @ Rotation.from_euler('y', 0.5).as_matrix()
    for node in (mesh, cylinder, bound):
        R, p = pose(node)
        np.testing.assert_allclose(R, turned, atol=1e-9)
        assert p == pytest.approx(imu_p + imu_R @ [0.0, 0.0, 0.1], abs=1e-9)
    assert (mesh.type, mesh.fields['scale']) == ('Transform', (1.0, 2.0, 1.0))
    assert bound.fields['children'][0].fields == {'radius': (0.1,), 'height': (0.3,)}


def test_meshes_are_found_whatever_their_path(tmp_path):
    folder = tmp_path / 'site-packages' / 'odd_description'
    folder.mkdir(parents=True)
    shapes = {
        'base': 'meshes/a/part.stl', 'slide': 'meshes/b/part.stl', 'foot': 'meshes/a/part.stl',
        'wheel': 'package://odd_description/meshes/wheel.dae',
    }  # fmt: skip
    text = ODD
    for link, file in shapes.items():
        visual = f'<visual><geometry><mesh filename="{file}"/></geometry></visual>'
        mesh = folder / file.removeprefix('package://odd_description/')
        mesh.parent.mkdir(parents=True, exist_ok=True)
        mesh.touch()
        text = text.replace(f'<link name="{link}">', f'<link name="{link}">{visual}')
    world, _ = odd_world(folder, text)
    proto = proto_of(world)
    check(proto.nodes[0], proto.interface)
    urls = {}
    for solid, _, _ in solids(proto.nodes[0]):
        for child in solid.fields.get('children', []):
            meshes = [node for node in child.nodes() if 'url' in node.fields]
            if child.type == 'Pose' and meshes:
                urls[solid.name or 'base'] = meshes[0].fields['url']
    assert urls == {
        'base': ['../meshes/a/part.stl'], 'slide': ['../meshes/b/part.stl'],
        'foot': ['../meshes/a/part.stl'], 'wheel': ['../meshes/wheel.dae'],
    }  # fmt: skip
    assert [mesh.get('filename') for mesh in ElementTree.parse(world.urdf).iter('mesh')] == [
        '../meshes/a/part.stl', '../meshes/b/part.stl', '../meshes/a/part.stl',
        'package://odd_description/meshes/wheel.dae',
    ]  # fmt: skip


STRANGE = {'slide': 'trunk.1', 'foot': '1trunk', 'box': 'my trunk', 'wheel': 'trunk_1'}


def test_links_of_any_name_get_def_names(tmp_path):
    text = ODD
    for link, name in STRANGE.items():
        text = text.replace(f'"{link}"', f'"{name}"')
    (tmp_path / 'a').mkdir()
    with pytest.raises(IzmpError):  # the robot file names the link 'box'
        odd_world(tmp_path / 'a', text)
    world, _ = odd_world(tmp_path / 'b', text, root='my trunk')
    proto = proto_of(world)
    check(proto.nodes[0], proto.interface)
    found = {solid.fields['name']: solid.name for solid, _, _ in solids(proto.nodes[0])
             if solid.type == 'Solid'}  # fmt: skip
    assert found == {
        'trunk.1': 'trunk_1_2', '1trunk': 'link_1trunk', 'my trunk': 'my_trunk',
        'trunk_1': 'trunk_1',
    }  # fmt: skip


def test_ground_is_that_of_the_simulation(world):
    floor, ramp = (node for node in parse(world.world.read_text()).nodes if node.type == 'Solid')
    assert floor.fields['name'] == 'floor'
    terrain = Slope(Ramp(np.radians(10.0), 0.6))
    for solid, x in ((floor, 0.2), (ramp, 2.0)):
        R, p = pose(solid)
        height = p[2] - (R[:2, 2] @ ([x, 0.0] - p[:2])) / R[2, 2]
        assert height == pytest.approx(float(terrain.height(np.array([x, 0.0]))), abs=1e-9)


def test_made_again_it_is_the_same_byte_for_byte(world):
    files = (world.world, world.proto, world.urdf, world.robot)
    before = [path.read_bytes() for path in files]
    folder = world.world.parent
    again = ('make-world', '--robot', BIPED31, '--slope-deg', 10, '-o', folder)
    refused = izmp(*again)
    assert refused.status == 1
    assert 'exists; choose another place or add --overwrite' in refused.err
    made = izmp(*again, '--overwrite')
    assert made.status == 0, made.err
    assert str(world.proto) in made.out
    assert [path.read_bytes() for path in files] == before
    assert sorted(path.name for path in folder.parent.glob('.izmp*')) == []


def test_driver_finds_its_plugin_and_no_second_gps(world):
    webots = ElementTree.parse(world.urdf).getroot().find('webots')
    plugin = webots.find('plugin')
    assert plugin.get('type') == PLUGIN
    assert all(element.text for element in plugin)  # the driver crashes of an empty one
    options = Options.read({element.tag: element.text for element in plugin})
    assert options.slope_deg == 10.0
    assert options.file == load_robot_file(world.robot)
    assert webots.find('device').get('reference') == options.devices.gps
    assert webots.findtext('device/ros/enabled') == 'false'
    assert load_model(world.urdf).total_mass == load_model(options.file.urdf_path).total_mass


MASSLESS = """
  <link name="slide"/>
"""


@pytest.mark.parametrize(
    ('change', 'error', 'kind'),
    [
        (lambda text: re.sub(r'<link name="slide">.*?</link>', MASSLESS, text, flags=re.S),
         SimulationError, 'massless_link'),
        (lambda text: text.replace(
            '<axis xyz="0 0 -1"/>', '<axis xyz="0 0 -1"/><mimic joint="lift"/>'),
         SimulationError, 'mimic_joints'),
        (lambda text: text.replace('mass value="1.2"', 'mass value="0"'),
         SimulationError, 'massless_link'),
        (lambda text: text.replace('iyy="0.006" iyz="0" izz="0.008"', 'iyy="1e-9" izz="1e-9"'),
         SimulationError, 'foot_too_light'),
    ],
    ids=['massless', 'mimic', 'weightless foot', 'foot without inertia'],
)  # fmt: skip
def test_robots_that_webots_cannot_have_are_refused(tmp_path, change, error, kind):
    with raising(error, kind):
        odd_world(tmp_path, change(ODD))
    assert not (tmp_path / 'worlds').exists()


def test_wrong_wishes_end_in_a_sentence(tmp_path):
    shutil.copytree(BIPED31.parent, tmp_path / 'mine')
    own = tmp_path / 'mine' / 'robot.yaml'
    with raising(SimulationError, 'time_step', time_step=3, valid=(2, 8)):
        make_world(own, tmp_path / 'w', time_step=3)
    with raising(MotionError, 'slope_out_of_range', slope=math.radians(40.0)):
        make_world(own, tmp_path / 'w', slope_deg=40.0)
    with raising(SimulationError, 'foreign_file', path=tmp_path / 'mine' / 'biped31.urdf'):
        make_world(own, tmp_path / 'mine')
    assert sorted(path.name for path in (tmp_path / 'mine').glob('*.wbt')) == []
    own.write_text(own.read_text().replace(', frame: accelerometer_2', ''))
    with raising(SimulationError, 'sensor_without_frame', topic='accelerometers/accelerometer_2'):
        make_world(own, tmp_path / 'w')
    refused = izmp('make-world', '--speed', 'fast', '-o', tmp_path / 'w')
    assert refused.status == 1
    assert "'speed' of the plugin is 'fast'" in refused.err
    assert not (tmp_path / 'w').exists()


@given(st.floats(-1e6, 1e6), st.text())
def test_numbers_and_strings_are_written_so_that_they_are_read(number, text):
    node = Node('Solid', {'mass': (number,), 'name': text, 'many': [number, 0.0]})
    (read,) = parse(write(Document([node]))).nodes
    assert read.fields['mass'] == pytest.approx((number,), rel=1e-11)
    assert read.fields['name'] == text
