"""Humans: a model, a motion and ground reaction forces of OpenSim come back the same."""

import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics import evaluate_bag, load_model
from izmp_dynamics.bags.messages import joint_state_batch, pose_batch, wrench_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import BagError, IzmpError
from izmp_dynamics.base.rotations import matrices_from_quaternions
from izmp_dynamics.bodies.opensim import opensim_library
from izmp_dynamics.bodies.plates import foot_forces, read_plates
from izmp_dynamics.bodies.recording import Foot, Joint, Link, Recording, Wrenches
from izmp_dynamics.bodies.registration import Step, find_imbalance, find_shift
from izmp_dynamics.bodies.table import Table, read_table
from izmp_dynamics.bodies.write import import_opensim, read_units
from izmp_dynamics.cli.main import main

from .requiring import need

RATE, COUNT = 200.0, 400
UP = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
"""(3, 3) from OpenSim's axes, y up, to z up."""

LINEAR = '<LinearFunction><coefficients>1 0</coefficients></LinearFunction>'
BACK = LINEAR.replace('>1 0', '>-1 0')
SPLINE = '<SimmSpline><x>-2 -1 0 1 2</x><y>0.03 0.01 0 0.01 0.04</y></SimmSpline>'
CONSTANT = '<Constant><value>0.02</value></Constant>'
X, Y, Z = '1 0 0', '0 1 0', '0 0 1'


def body(name, mass, com, inertia):
    return (
        f'<Body name="{name}"><mass>{mass}</mass><mass_center>{com}</mass_center>'
        f'<inertia>{inertia}</inertia></Body>'
    )


def joint(kind, name, parent, child, place, coordinates, axes=(), turn='0 0 0', end='0 0 0'):
    """Of axes (direction, function, coordinate), three that turn, then three that move."""
    frames = ''.join(
        f'<PhysicalOffsetFrame name="{frame}"><socket_parent>{path}</socket_parent><translation>'
        f'{at}</translation><orientation>{way}</orientation></PhysicalOffsetFrame>'
        for frame, path, at, way in (
            ('before', parent if parent == '/ground' else f'/bodyset/{parent}', place, turn),
            ('after', f'/bodyset/{child}', end, turn),
        )
    )
    names = [f'rotation{k}' for k in (1, 2, 3)] + [f'translation{k}' for k in (1, 2, 3)]
    transform = ''.join(
        f'<TransformAxis name="{axis}"><coordinates>{coordinate}</coordinates><axis>{way}</axis>'
        f'{function}</TransformAxis>'
        for axis, (way, function, coordinate) in zip(names, axes, strict=False)
    )
    transform = f'<SpatialTransform>{transform}</SpatialTransform>' if axes else ''
    listed = ''.join(f'<Coordinate name="{c}"/>' for c in coordinates.split())
    return (
        f'<{kind} name="{name}"><socket_parent_frame>before</socket_parent_frame>'
        f'<socket_child_frame>after</socket_child_frame><coordinates>{listed}</coordinates>'
        f'<frames>{frames}</frames>{transform}</{kind}>'
    )


def leg(side, z, back):
    knee = f'knee_{side}'
    return [
        joint('CustomJoint', f'hip_{side}', 'pelvis', f'femur_{side}', f'-0.05 -0.1 {z}',
              f'flex_{side} add_{side} rot_{side}',
              ((Z, LINEAR, f'flex_{side}'), (X, back, f'add_{side}'), (Y, back, f'rot_{side}'),
               (X, CONSTANT, ''), (Y, CONSTANT, ''), (Z, CONSTANT, ''))),
        joint('CustomJoint', f'knee_{side}', f'femur_{side}', f'tibia_{side}', '0 -0.4 0', knee,
              ((Z, LINEAR, knee), (X, CONSTANT, ''), (Y, SPLINE, knee),
               (X, SPLINE, knee), (Y, SPLINE, knee), (Z, CONSTANT, ''))),
        joint('PinJoint', f'ankle_{side}', f'tibia_{side}', f'calcn_{side}', '0 -0.4 0',
              f'ankle_{side}', turn='0.1 0.2 0', end='0.05 0.04 0'),
    ]  # fmt: skip


def model_text():
    shank = '0.05 0.006 0.05 0.001 0 0.002'
    bodies = [body('pelvis', 12, '-0.05 0.02 0', '0.1 0.09 0.06 0 0 0'),
              body('torso', 30, '0.02 0.3 0', '1.2 0.7 1.3 0.05 0.01 0'),
              body('arm', 4, '0 -0.3 0.02', '0.2 0.02 0.2 0 0 0')]  # fmt: skip
    joints = [
        joint('CustomJoint', 'ground_pelvis', '/ground', 'pelvis', '0 0 0',
              'tilt list turn tx ty tz',
              ((Z, LINEAR, 'tilt'), (X, LINEAR, 'list'), (Y, LINEAR, 'turn'),
               (X, LINEAR, 'tx'), (Y, LINEAR, 'ty'), (Z, LINEAR, 'tz'))),
        joint('UniversalJoint', 'back', 'pelvis', 'torso', '0 0.1 0', 'bend lean',
              end='0 -0.02 0'),
        joint('PlanarJoint', 'shoulder', 'torso', 'arm', '0 0.4 0.2', 'swing reach lift',
              turn='0.3 0 0.1'),
    ]  # fmt: skip
    for side, z, back in (('r', 0.1, LINEAR), ('l', -0.1, BACK)):
        bodies += [body(f'femur_{side}', 9, '0 -0.17 0', '0.14 0.03 0.15 0 0 0'),
                   body(f'tibia_{side}', 4, '0.01 -0.2 0', shank),
                   body(f'calcn_{side}', 1, '0.1 0.03 0', '0.001 0.004 0.004 0 0 0')]  # fmt: skip
        joints += leg(side, z, back)
    markers = ''.join(
        f'<Marker name="m{k}"><socket_parent_frame>/bodyset/calcn_r</socket_parent_frame>'
        f'<location>{x} 0 {z}</location></Marker>'
        for k, (x, z) in enumerate(((-0.05, 0.0), (0.2, 0.03), (0.18, -0.04)))
    )
    return (
        '<OpenSimDocument Version="40000"><Model name="walker"><gravity>0 -9.80665 0</gravity>'
        f'<BodySet><objects>{"".join(bodies)}</objects></BodySet><JointSet><objects>'
        f'{"".join(joints)}</objects></JointSet><MarkerSet><objects>{markers}</objects>'
        '</MarkerSet></Model></OpenSimDocument>'
    )


def table_text(names, rows, degrees='no'):
    lines = ['table', f'inDegrees={degrees}', 'endheader', '\t'.join(['time', *names])]
    return '\n'.join([*lines, *('\t'.join(map(repr, map(float, row))) for row in rows)]) + '\n'


class Walker:
    """Sways on both feet; OpenSim's inverse dynamics gives the force that the ground exerts."""

    def __init__(self, folder, osim):
        self.path = folder / 'walker.osim'
        self.path.write_text(model_text())
        self.model = osim.Model(str(self.path))
        self.state = self.model.initSystem()
        self.coordinates = sorted(self.model.getCoordinateSet(), key=self.place)
        self.names = [c.getName() for c in self.coordinates]
        self.t = np.arange(COUNT) / RATE
        count = len(self.names)
        amplitude = np.array([0.0 if n in ('tx', 'tz') else 0.04 for n in self.names])
        amplitude[self.names.index('ty')] = 0.005
        rates, phases = 2.0 + np.arange(count) % 3, np.arange(count) * 1.7
        middle = np.array([0.95 if n == 'ty' else 0.0 for n in self.names])
        s, c = np.sin(np.outer(self.t, rates) + phases), np.cos(np.outer(self.t, rates) + phases)
        self.q, self.u = middle + amplitude * s, amplitude * rates * c
        self.udot = -amplitude * rates**2 * s
        self.solver, self.osim = osim.InverseDynamicsSolver(self.model), osim

    def place(self, coordinate):
        """Of a coordinate among the speeds of the whole model."""
        coordinate.setSpeedValue(self.state, 1.0)
        place = int(np.argmax(self.state.getU().to_numpy()))
        coordinate.setSpeedValue(self.state, 0.0)
        return place

    def at(self, k):
        for c, q, u in zip(self.coordinates, self.q[k], self.u[k], strict=True):
            c.setValue(self.state, float(q), False)
            c.setSpeedValue(self.state, float(u))
        self.model.realizeVelocity(self.state)

    def ground_wrench(self, k):
        """(6,) that the ground exerts on the pelvis, about OpenSim's origin."""
        self.at(k)
        given = self.osim.Vector(len(self.names), 0.0)
        for i, value in enumerate(self.udot[k]):
            given.set(i, float(value))
        found = self.solver.solve(self.state, given).to_numpy()
        joint = dict(zip(self.names, found, strict=True))
        force = np.array([joint[n] for n in ('tx', 'ty', 'tz')])
        tilt, tip = self.q[k, self.names.index('tilt')], self.q[k, self.names.index('list')]
        Rz = np.array(
            [[np.cos(tilt), -np.sin(tilt), 0], [np.sin(tilt), np.cos(tilt), 0], [0, 0, 1]]
        )
        Rx = np.array([[1, 0, 0], [0, np.cos(tip), -np.sin(tip)], [0, np.sin(tip), np.cos(tip)]])
        axes = np.array([[0, 0, 1.0], Rz[:, 0], (Rz @ Rx)[:, 1]])
        torque = np.linalg.solve(axes, [joint[n] for n in ('tilt', 'list', 'turn')])
        place = np.array([self.q[k, self.names.index(n)] for n in ('tx', 'ty', 'tz')])
        return np.concatenate([force, torque + np.cross(place, force)])

    def poses(self):
        return {
            b.getName(): self.turned(b.getTransformInGround(self.state))
            for b in self.model.getBodySet()
        }

    def turned(self, transform):
        m = transform.R().asMat33()
        R = np.array([[m.get(i, j) for j in range(3)] for i in range(3)])
        return UP @ R @ UP.T, UP @ transform.p().to_numpy()


@pytest.fixture(scope='module')
def osim():
    before = os.environ.copy()
    osim = opensim_library()
    assert os.environ.copy() == before  # else no process that a test starts finds ROS
    return osim


@pytest.fixture(scope='module')
def imported(tmp_path_factory, osim):
    """The walker, and the folder that the command made of it; both feet on one plate."""
    folder = tmp_path_factory.mktemp('walker')
    osim.Logger.setLevelString('Off')
    walker = Walker(folder, osim)
    (folder / 'motion.mot').write_text(
        table_text(walker.names, np.column_stack([walker.t, walker.q]))
    )
    wrench = np.array([walker.ground_wrench(k) for k in range(COUNT)])
    walker.wrench = np.hstack([wrench[:, :3] @ UP.T, wrench[:, 3:] @ UP.T])
    force, moment = wrench[:, :3], wrench[:, 3:]
    point = np.stack([moment[:, 2], 0 * moment[:, 0], -moment[:, 0]], axis=1) / force[:, 1:2]
    free = moment - np.cross(point, force)
    names = [
        f'ground_{kind}{axis}' for kind in ('force_v', 'force_p', 'torque_') for axis in 'xyz'
    ]
    (folder / 'grf.mot').write_text(
        table_text(names, np.column_stack([walker.t, force, point, free]))
    )
    out = folder / 'out'
    given = ['import', 'opensim', str(walker.path), str(folder / 'motion.mot')]
    assert main([*given, '--grf', str(folder / 'grf.mot'), '-o', str(out)]) == 0
    return walker, out


def test_every_body_is_where_opensim_has_it(imported):
    walker, out = imported
    model = load_model(out / 'robot.urdf', 'pelvis')
    with BagReader(out) as bag:
        (raw,) = bag.batches(['/joint_states', '/pelvis/pose'], span_s=1e3)
    q = joint_state_batch(raw['/joint_states'], model.joint_names).positions
    pose = pose_batch(raw['/pelvis/pose'])
    R = matrices_from_quaternions(pose.orientations)
    assert model.total_mass == pytest.approx(74.0)
    for k in (0, 77, COUNT - 1):
        walker.at(k)
        for name, (R_body, p_body) in walker.poses().items():
            R_link, p_link = (part[0] for part in model.frame_pose(name, q[k : k + 1]))
            np.testing.assert_allclose(R[k] @ R_link, R_body, atol=1e-9)
            np.testing.assert_allclose(R[k] @ p_link + pose.positions[k], p_body, atol=1e-9)


@pytest.mark.parametrize('names', [('a', 'b', 'c'), ('a', 'c', 'b')])
def test_a_trunk_without_angles_is_kept_upright(names):
    """Whatever the hand of its axes; a body with angles of its own is not turned."""
    axes, R = dict(zip('abc', np.eye(3), strict=True)), Rotation.random(9, random_state=1)
    links = [Link(name, 1.0 * (name == 'torso')) for name in ('hips', 'i', 'j', 'torso')]
    joints = tuple(
        Joint(name, parent.name, child.name, UP if name == 'a' else np.eye(3), np.zeros(3),
              'continuous', axes[name])
        for name, parent, child in zip(names, links, links[1:], strict=False)
    )  # fmt: skip
    q = {name: np.zeros(9) for name in names}
    given = Recording('m', tuple(links), joints, 9.81, np.eye(3), np.arange(9), q, R.as_matrix(),
                      np.zeros((9, 3)), (), ())  # fmt: skip
    turned, zero = given.upright('torso'), np.eye(3)
    for joint in joints:
        R = R * Rotation.from_matrix(joint.R)
        R = R * Rotation.from_rotvec(np.outer(turned.q[joint.name], joint.axis))
        zero = zero @ joint.R
    level = R.as_matrix() @ zero.T
    np.testing.assert_allclose(level[:, 2], np.tile([0.0, 0.0, 1.0], (9, 1)), atol=1e-12)
    heading = np.arctan2(level[:, 1, 0], level[:, 0, 0])
    np.testing.assert_allclose(heading, np.arctan2(given.R[:, 1, 0], given.R[:, 0, 0]))
    with pytest.raises(IzmpError, match="no body that turns along with the root 'torso'"):
        turned.upright('torso')
    moved = given.with_com('torso', np.array([0.1, 0.0, 0.0]))
    assert {link.name: link.com[0] for link in moved.links if link.com.any()} == {'torso': 0.1}
    with pytest.raises(IzmpError, match="no body with mass 'head'"):
        given.with_com('head', np.zeros(3))


def test_izmp_is_the_point_of_opensims_inverse_dynamics(imported):
    """The results are written as well: at first the root is not in the world, nor its ground."""
    _, out = imported
    given = ['--robot', str(out / 'robot.yaml'), '-o', f'{out}.results', '--filter', '0.02']
    assert main(['replay', str(out), *given, '--quiet']) == 0
    result = evaluate_bag(out, out / 'robot.yaml')
    izmp, cop = result.tracks['mr_ad'].point, result.tracks['cop'].point
    both = np.isfinite(izmp + cop).all(axis=1)
    assert both.sum() > 0.9 * COUNT
    assert np.abs(izmp - cop)[both].max() < 1e-4


def test_the_sum_of_the_feet_is_what_the_plate_measures(imported):
    """Both feet stand on one plate: how its force is divided does not change the sum."""
    walker, out = imported
    with BagReader(out) as bag:
        topics = [f'/derived/calcn_{side}/wrench' for side in 'rl']
        (raw,) = bag.batches(['/plates/ground_force/wrench', *topics], span_s=1e3)
    names = ('/plates/ground_force/wrench', *topics)
    plate, *feet = (wrench_batch(raw[name]).wrenches for name in names)
    np.testing.assert_allclose(plate, walker.wrench, rtol=1e-6, atol=1e-6)
    total = np.zeros((COUNT, 6))
    for foot, name in zip(feet, ('calcn_r', 'calcn_l'), strict=True):
        assert (foot[:, 2] > 50.0).any()
        for k in range(COUNT):
            walker.at(k)
            R, p = walker.poses()[name]
            force = R @ foot[k, :3]
            total[k] += np.concatenate([force, R @ foot[k, 3:] + np.cross(p, force)])
    np.testing.assert_allclose(total, walker.wrench, atol=1e-5)


LEVEL = np.array([[0.2, 0.05], [-0.1, 0.05], [-0.1, -0.05], [0.2, -0.05]])
STAMPS = (1_000_000_000 + np.arange(COUNT) / RATE * 1e9).astype(np.int64)


def standing(left, speed=0.0):
    """Two feet, the right one at the origin, the left one at (COUNT, 3); 70 kg; on belts."""
    belt = np.outer(np.arange(COUNT) / RATE, [speed, 0.0, 0.0])
    R = np.tile(np.eye(3), (COUNT, 1, 1))
    feet = tuple(
        Foot(name, LEVEL, 0.0, R, place + belt) for name, place in (('r', 0.0 * left), ('l', left))
    )
    links = (Link('pelvis', 70.0),)
    return Recording('h', links, (), 9.81, np.eye(3), STAMPS, {}, R, 0.0 * left, feet, ())


def plate(name, force, x, y=0.0):
    """A plate that exerts vertical forces (COUNT,) at (x, y)."""
    zero = 0.0 * force
    return Wrenches(
        name, STAMPS, np.stack([zero, zero, force, y * force, -x * force, zero], axis=1)
    )


def test_plates_are_felt_by_the_feet_on_them():
    """One foot over two plates; then the other steps down beside them, and is not known."""
    late = np.arange(COUNT) >= COUNT // 2
    left = np.where(late[:, None], [0.5, 0.2, 0.0], [0.2, 0.2, 0.2])
    plates = plate('a', np.full(COUNT, 350.0), 0.0), plate('b', np.where(late, 0.0, 337.0), 0.15)
    (right, other), remarks, _ = foot_forces(standing(left), plates)
    np.testing.assert_array_equal(right.values, plates[0].values + plates[1].values)
    np.testing.assert_array_equal(right.stamps, STAMPS)
    known = np.isin(STAMPS, other.stamps)
    edge = abs(np.arange(COUNT) - COUNT // 2) < 2  # a gradient smears the step
    np.testing.assert_array_equal(known[~edge], ~late[~edge])
    assert not other.values.any()
    assert len(remarks) == 1
    assert remarks[0].startswith('In 50 % of the time a foot stands where no plate carries it')


def test_two_feet_on_one_plate_and_on_belts():
    """The lever divides between them; on belts nobody stands beside the plates."""
    left = np.tile([0.0, 0.4, 0.0], (COUNT, 1))
    whole = plate('a', np.full(COUNT, 700.0), 0.05, 0.15)
    (right, other), remarks, _ = foot_forces(standing(left), [whole])
    np.testing.assert_allclose(right.values[:, 2], 437.5)
    np.testing.assert_allclose(other.values[:, 2], 262.5)
    assert 'only the sum of their forces is measured' in remarks[0]
    alone = plate('a', np.full(COUNT, 300.0), 0.0)
    _, remarks, _ = foot_forces(standing(left), [alone])
    assert remarks[0].startswith('In 100 % of the time')
    moving = Wrenches('a', STAMPS, alone.values.copy())
    moving.values[:, 4] = -300.0 * 1.5 * np.arange(COUNT) / RATE
    (_, other), remarks, _ = foot_forces(standing(left, speed=1.5), [moving])
    assert len(other.stamps) == COUNT
    assert [remark.partition(':')[0] for remark in remarks] == [
        'The loaded feet move with 1.50 m/s'
    ]


def steps(shift, sole, headings):
    """Feet that roll over plates which are shifted; the soles are longer than they are drawn."""
    corners = np.array([[0.2, 0.05], [0.0, 0.05], [0.0, -0.05], [0.2, -0.05]])
    for heading in headings:
        R = Rotation.from_euler('z', heading, degrees=True).as_matrix()
        path = np.column_stack([np.linspace(0.02, 0.18, 50) + sole, np.zeros(50)])
        yield Step(corners, path + shift @ R[:2, :2], np.repeat(R[None], 50, axis=0))


def test_steps_show_how_plates_are_shifted():
    shift = find_shift(list(steps(np.array([0.03, -0.05]), 0.01, [0.0, 90.0, 180.0, 270.0])))
    np.testing.assert_allclose(shift.value, [0.03, -0.05], atol=1e-3)
    assert shift.clear.all()
    straight = find_shift(list(steps(np.array([0.0, 0.0]), 0.02, [0.0] * 4)))
    assert not straight.clear.any()  # a long sole, seen in one direction
    assert find_shift(list(steps(np.zeros(2), 0.0, [0.0, 180.0]))) is None


@pytest.mark.parametrize('carried', [1.0, 0.9])
def test_the_impulse_of_plates_shows_where_the_mass_is(carried):
    """A point mass that walks and hops; the model has it elsewhere, in axes that turn."""
    t, mass = np.arange(400) / 100.0, 70.0
    phases = np.outer(t, [3.0, 5.0, 7.0])
    com = [0.0, 0.0, 1.0] + np.array([0.1, 0.05, 0.02]) * np.sin(phases) + np.outer(t, [1.2, 0, 0])
    force = mass * (np.array([0.1, 0.05, 0.02]) * [-9.0, -25.0, -49.0] * np.sin(phases))
    force[:, 2] += mass * 9.81
    wrench = carried * np.hstack([force, np.cross(com, force)])
    R = Rotation.from_euler('z', 0.5 * t[:, None]).as_matrix()
    shift = np.array([-0.05, 0.01, 0.0])
    found = find_imbalance(t, com + R @ shift, R, wrench, mass, 9.81)
    if carried < 1.0:
        assert found is None  # somebody holds the rest
    else:
        np.testing.assert_allclose(found.value, shift[:2], atol=2e-3)
        assert found.clear.tolist() == [True, False]  # 10 mm may be chance


@pytest.mark.parametrize('fixed', [None, (0.3, 0.0, -0.2)])
def test_torques_about_a_fixed_point_are_found(fixed, tmp_path):
    """About the point of the force a plate exerts no horizontal torque."""
    t = np.arange(50) / 10.0
    force = np.stack([20 * np.sin(t), 700 + 50 * np.cos(t), 15 * np.cos(2 * t)], axis=1)
    point = np.stack([0.1 * t, 0 * t, 0.05 * np.sin(3 * t)], axis=1)
    free = np.stack([0 * t, 5 * np.sin(t), 0 * t], axis=1)
    given = free if fixed is None else free + np.cross(point - fixed, force)
    names = [f'f_{kind}{axis}' for kind in 'vpm' for axis in 'xyz']
    (tmp_path / 'grf.mot').write_text(table_text(names, np.column_stack([t, force, point, given])))
    (found,), remarks = read_plates(read_table(tmp_path / 'grf.mot'), UP)
    moment = np.cross(point, force) + free
    np.testing.assert_allclose(found.values[:, 3:], moment @ UP.T, atol=1e-6)
    assert bool(remarks) == (fixed is not None)


def test_moved_plates_have_their_cop_elsewhere():
    moved = plate('p', np.full(COUNT, 700.0), 0.1).moved(np.array([0.02, -0.03, 0.0])).values
    np.testing.assert_allclose(-moved[:, 4] / moved[:, 2], 0.12)
    np.testing.assert_allclose(moved[:, 3] / moved[:, 2], -0.03)


@pytest.mark.parametrize(('last', 'sentence'), [(0.02, ''), (0.0, 'not increase, row 3')])
def test_tables_of_matlab(last, sentence, tmp_path, monkeypatch):
    values = np.array([[0.0, 1.0], [0.01, 2.0], [last, 3.0]])
    table = SimpleNamespace(columns=['Header', 'tilt'], to_numpy=lambda dtype: values)
    library = SimpleNamespace(load_from_mat=lambda path: {'__header__': '', 'data': table})
    monkeypatch.setitem(sys.modules, 'matio', library)
    (tmp_path / 'a.mat').touch()
    if sentence:
        with pytest.raises(BagError, match=sentence):
            read_table(tmp_path / 'a.mat')
    else:
        found = read_table(tmp_path / 'a.mat')
        assert found.names == ('tilt',)
        np.testing.assert_allclose(found.columns(['tilt'])[:, 0], [1.0, 2.0, 3.0])


@pytest.mark.usefixtures('osim')
def test_a_model_that_is_not_there_is_named_before_a_motion_is_read(tmp_path):
    with pytest.raises(IzmpError, match='There is no model'):
        import_opensim(tmp_path / 'm.osim', tmp_path / 'm.mot', None, tmp_path / 'out')


UNITS = [f'shin_{kind}_{axis}' for kind in ('Accel', 'Gyro') for axis in 'XYZ']


@pytest.mark.parametrize(
    ('g', 'rate', 'given', 'sentence'),
    [
        (1.0, 100.0, 'shin=shank', ''),
        (9.81, 1.0, 'shin=shank', ''),
        (9810.0, 1.0, 'shin=shank', "accelerations of 9.81e+03 in the median for 'shin'"),
        (1.0, 1.0, 'foot=shank', "There is no unit 'foot'"),
        (1.0, 1.0, 'shin=hips', "There is no body beside the root 'hips'"),
    ],
)
def test_units_become_segments_in_si(g, rate, given, sentence):
    body = SimpleNamespace(name='hips', mass=1.0), SimpleNamespace(name='shank', mass=1.0)
    recording = Recording(
        'm', body, (), 9.81, np.eye(3), 10**7 * np.arange(9), {}, *[np.empty(0)] * 2, (), ()
    )
    values = np.tile([0.0, 0.0, g, rate, 0.0, 0.0], (9, 1))
    table = Table(Path('imu.mot'), 10**7 * np.arange(9), tuple(UNITS), values, None)
    pairs = dict([given.split('=')])
    if sentence:
        with pytest.raises(IzmpError, match=re.escape(sentence)):
            read_units(table, pairs, recording)
        return
    ((unit,), (remark,)) = read_units(table, pairs, recording)
    np.testing.assert_allclose(unit.values[0, 5], 9.81, rtol=1e-3)
    assert unit.values[0, 0] == pytest.approx(np.radians(rate) if rate > 36.0 else rate)
    assert ('°/s' in remark, ' g.' in remark) == (rate > 36.0, g == 1.0)


COORDINATES = ('tilt', 'list', 'turn', 'tx', 'ty', 'tz', 'knee_r')
ROWS = np.column_stack([np.arange(20) / 100.0, np.tile([0.1, 0, 0, 0, 0.9, 0, 0.2], (20, 1))])
FORCES = tuple(f'f_{kind}{axis}' for kind in 'vp' for axis in 'xyz')
GRF = np.column_stack([ROWS[:, 0], np.tile([0.0, 700, 0, 0, 0, 0], (20, 1))])
STEEP = table_text(COORDINATES, ROWS * np.array([1, 900, 1, 1, 1, 1, 1, 1]))
LONG = table_text(COORDINATES, ROWS * np.array([1, 1, 1, 1, 1, 1000, 1, 1]))
FAR = table_text(FORCES, GRF + np.array([0, 0, 0, 0, 120, 0, 0]))
LATER = table_text(FORCES, GRF + np.array([7, 0, 0, 0, 0, 0, 0]))
BAD = {
    'model': {
        re.sub('<mass>[0-9]+', '<mass>0', model_text()): 'has no masses',
        'Humpty': 'is not an OpenSim model (.osim)',
        '<OpenSimDocument>Dumpty': 'OpenSim cannot read the model',
    },
    'motion': {
        STEEP: "inDegrees=no), but 'tilt' reaches 90",
        STEEP.replace('inDegrees=no', ''): 'does not say whether angles are in degrees',
        LONG: '900 m in ty: lengths must be in metres',
        table_text(('a', 'b'), ROWS[:, :3]): "There is no coordinate 'a'",
        table_text(COORDINATES, ROWS).replace('0.9', 'up', 1): 'line 5 holds something that is no',
        'time tilt\n0 1\n': "has no line 'endheader'",
    },
    'grf': {
        table_text(('a', 'b'), ROWS[:, :3]): 'a column of them ends in vx',
        table_text(FORCES[:3], GRF[:, :4]): "There is no column 'f_px'",
        FAR: '120 m in f_px, f_py, f_pz: lengths',
        LATER: '7 to 7.19 s and 0 to 0.19 s',
    },
}
CASES = [(what, text) for what, texts in BAD.items() for text in texts]


@pytest.mark.parametrize(('what', 'bad'), CASES, ids=[BAD[what][text] for what, text in CASES])
def test_bad_files_get_a_sentence(what, bad, tmp_path, capsys, osim):
    good = {
        'model': model_text(),
        'motion': table_text(COORDINATES, ROWS),
        'grf': table_text(FORCES, GRF),
    }
    for name, text in (good | {what: bad}).items():
        (tmp_path / name).write_text(text)
    model, motion, grf = (str(tmp_path / name) for name in good)
    out = tmp_path / 'out'
    assert main(['import', 'opensim', model, motion, '--grf', grf, '-o', str(out)]) == 1
    assert BAD[what][bad] in capsys.readouterr().err
    assert not out.exists()


def write_c3d(path, ezc3d, wrench, angle):
    """One plate of type 2, z up, in millimetres: it measures what presses on it."""
    centre, count = np.array([0.1, 0.2, 0.0]), len(wrench)
    file = ezc3d.c3d()
    parameters = file['parameters']
    parameters['POINT']['RATE']['value'] = parameters['ANALOG']['RATE']['value'] = [RATE]
    parameters['POINT']['LABELS']['value'] = ['head', 'LKneeAngles']
    parameters['POINT']['UNITS']['value'] = ['mm']
    points = np.ones((4, 2, count))
    points[2, 0], points[0, 1] = 1700.0, angle
    file['data']['points'] = points
    channels = ['Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz']
    parameters['ANALOG']['LABELS']['value'] = channels
    moment = 1e3 * (wrench[:, 3:] - np.cross(centre, wrench[:, :3]))
    file['data']['analogs'] = -np.hstack([wrench[:, :3], moment]).T[None]
    square = np.array([[1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]])
    corners = 1e3 * (centre + 0.3 * square)
    plate = {
        'USED': [1], 'TYPE': [2], 'ZERO': [1, 0], 'CHANNEL': np.arange(1.0, 7.0).reshape(6, 1),
        'CORNERS': corners.T.reshape(3, 4, 1), 'ORIGIN': np.zeros((3, 1)),
        'CAL_MATRIX': np.zeros((6, 6, 0)),
    }  # fmt: skip
    for name, value in plate.items():
        file.add_parameter('FORCE_PLATFORM', name, value)
        if name in ('USED', 'TYPE', 'ZERO', 'CHANNEL'):
            parameters['FORCE_PLATFORM'][name]['type'] = 2  # integers
    file.add_parameter('POINT', 'ANGLES', ['LKneeAngles'])
    file.add_parameter('POINT', 'ANGLE_UNITS', ['deg'])
    file.write(str(path))


def test_c3d_has_the_plates_of_the_same_motion(imported, tmp_path):
    ezc3d = need('ezc3d')
    walker, out = imported
    path, angle = tmp_path / 'grf.c3d', np.linspace(0.0, 30.0, COUNT)
    write_c3d(path, ezc3d, walker.wrench, angle)
    assert main(['import', 'c3d', str(path), '-o', str(tmp_path / 'c3d')]) == 0
    motion, body = str(out.parent / 'motion.mot'), str(tmp_path / 'body')
    given = ['import', 'opensim', str(walker.path), motion, '--grf', str(path), '-o', body]
    assert main(given) == 0
    for folder in ('c3d', 'body'):
        with BagReader(tmp_path / folder) as bag:
            (raw,) = bag.batches(['/plates/plate1/wrench', '/joint_states'], span_s=1e3)
        plate = wrench_batch(raw['/plates/plate1/wrench'])
        np.testing.assert_allclose(plate.wrenches, walker.wrench, rtol=1e-5, atol=1e-3)
        joints = joint_state_batch(raw['/joint_states'])
        np.testing.assert_array_equal(joints.stamps, plate.stamps)
        if folder == 'c3d':
            knee = joints.positions[:, joints.names.index('LKneeAngles_x')]
            np.testing.assert_allclose(knee, np.radians(angle), atol=1e-6)
    text = (tmp_path / 'body' / 'robot.yaml').read_text()
    assert '# * plate1 measures what presses on it: all signs are turned.' in text


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [(None, 'No such file'), ('C3D?', 'must be a valid c3d file')],
)
def test_bad_c3d_files_get_a_sentence(text, sentence, tmp_path, capsys):
    need('ezc3d')
    if text:
        (tmp_path / 'a.c3d').write_text(text)
    assert main(['import', 'c3d', str(tmp_path / 'a.c3d'), '-o', str(tmp_path / 'out')]) == 1
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()
