"""Replay of a robot with odd mounts and strong rotation against truth found in another way.

The IMU sits tilted in a torso that is not the URDF's root; one force sensor reports the opposite
sign, both are tilted and have mass below; there are prismatic and mimicking joints, a GPS with an
arm and axes of its own, and a second publisher of joints at half the rate.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import shapely.geometry
from scipy.spatial.transform import Rotation

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.evaluate import replay
from izmp_dynamics.model.robot_file import load_robot_file

from .bag_columns import received_by_topic
from .odd_robot import FRAMES, GRAVITY, JOINTS, SENSORS, SOLE, Truth, positions, urdf

ROOT = 'torso'
ROBOT = """
urdf: odd.urdf
root: torso
gravity: 9.81
imu: {{gravity_removed: {gravity_removed}}}
accelerometers:
  - {{topic: acc_0}}
  - {{topic: acc_1, axes: xy}}
  - {{topic: acc_2, axes: xz}}
  - {{topic: acc_3, axes: yz}}
angular_acceleration: {{method: {method}}}
position: {{topic: position, frame: gps}}
feet:
  - name: l
    sole: sole_l
    polygon: {sole}
    wrench: {{topic: l/wrench, sign: -1, below: foot_l}}
  - name: r
    sole: sole_r
    polygon: {sole}
    wrench: {{topic: r/wrench, below: foot_r}}
ground: {{{ground}}}
rates: {{bus: 250}}
ir_md: {{step: actuator}}
"""
POSITION = {
    'odometry': ('nav_msgs/msg/Odometry', 'pose.pose', 7),
    'pose': ('geometry_msgs/msg/PoseStamped', 'pose', 7),
    'point': ('geometry_msgs/msg/PointStamped', 'point', 3),
}


@pytest.fixture(scope='module')
def truth():
    return Truth(600)


@dataclass(frozen=True)
class Case:
    """What differs between the replays."""

    ground: str
    position: str
    method: str
    gravity_removed: bool = False


@pytest.fixture(
    scope='module',
    params=[
        Case('source: sole', 'odometry', 'accelerometers'),
        Case('source: gravity', 'point', 'gyro', gravity_removed=True),
        Case('source: frame, frame: sole_l', 'pose', 'auto'),
    ],
    ids=['sole', 'gravity', 'frame'],
)
def case(request):
    return request.param


@pytest.fixture(scope='module')
def topics(case, truth, tmp_path_factory):
    """Topic → messages of the replay."""
    return replayed(tmp_path_factory.mktemp('odd'), truth, case, urdf())


def replayed(folder, truth, case, description):
    (folder / 'odd.urdf').write_text(description)
    text = ROBOT.format(
        ground=case.ground,
        method=case.method,
        gravity_removed=str(case.gravity_removed).lower(),
        sole=SOLE.tolist(),
    )
    if case.position == 'odometry':
        text = text.replace('position, frame: gps', 'position')  # its child frame says so
    (folder / 'odd.yaml').write_text(text)
    record(folder / 'bag', truth, case)
    result = replay(folder / 'bag', load_robot_file(folder / 'odd.yaml'), folder / 'out')
    found = received_by_topic(result.bag)
    return {topic: [message for _, message in rows] for topic, rows in found.items()}


def record(path, truth, case):
    with BagWriter(path) as bag:
        record_joints(bag, truth)
        orientation = Rotation.from_matrix(truth.frames['imu'].R).as_quat()
        for name in SENSORS:
            bag.add_topic(f'/{name}', 'sensor_msgs/msg/Imu', {'header.frame_id': name})
            measured = truth.imu(name)
            if name == 'imu' and case.gravity_removed:
                measured[:, 3:] += truth.frames['imu'].local(np.tile(GRAVITY, (len(measured), 1)))
            values = {'linear_acceleration': measured[:, 3:]}
            if name == 'imu':
                values |= {'angular_velocity': measured[:, :3], 'orientation': orientation}
            bag.write_batch(f'/{name}', truth.stamps, values)
        msgtype, field, width = POSITION[case.position]
        gps = truth.frames['gps']
        pose = np.hstack([gps.p, Rotation.from_matrix(gps.R).as_quat()])
        frames = {'header.frame_id': 'map'}
        if case.position == 'odometry':
            frames['child_frame_id'] = 'gps'
        bag.add_topic('/position', msgtype, frames)
        bag.write_batch('/position', truth.stamps, {field: pose[:, :width]})
        for side, sign in (('l', -1.0), ('r', 1.0)):
            like = {'header.frame_id': f'ft_{side}'}
            bag.add_topic(f'/{side}/wrench', 'geometry_msgs/msg/WrenchStamped', like)
            wrench = sign * truth.force_sensor(side)
            bag.write_batch(f'/{side}/wrench', truth.stamps, {'wrench': wrench})


def record_joints(bag, truth):
    """All but the last joint in one message, the last one in another, half as often."""
    q = positions(truth.times)
    bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState', {})
    for columns, every in ((slice(0, -1), 1), (slice(-1, None), 2)):
        like = {'name': JOINTS[columns], 'position': q[0, columns]}
        values = {'position': q[::every, columns]}
        bag.write_batch('/joint_states', truth.stamps[::every], values, like)


def rows_of(messages, truth):
    stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in messages]
    rows = np.searchsorted(truth.stamps, stamps)
    np.testing.assert_array_equal(truth.stamps[rows], stamps)
    assert len(rows) > 0.9 * len(truth.stamps) / 2
    return rows


def column(messages, get):
    values = [get(message) for message in messages]
    return np.array([[getattr(v, axis) for axis in 'xyzw' if hasattr(v, axis)] for v in values])


def wrenches(messages):
    parts = ('force', 'torque')
    return np.hstack([column(messages, lambda m, p=p: getattr(m.wrench, p)) for p in parts])


def check_wrench(topics, topic, frame, expected, truth):
    messages = topics[topic]
    assert {m.header.frame_id for m in messages} == {frame}
    error = wrenches(messages) - expected[rows_of(messages, truth)]
    assert np.abs(error[:, :3]).max() <= 0.1  # N, of some 400
    assert np.abs(error[:, 3:]).max() <= 0.05  # N·m, of some 100 about the root


def test_contact_wrenches_and_momentum_rates(topics, truth):
    root = truth.frames[ROOT]
    contact, rate = (truth.force, truth.moment), truth.momentum_rate()
    check_wrench(topics, '/mr_ad/contact_wrench', ROOT, root.wrench(*contact), truth)
    check_wrench(topics, '/mr_ad/momentum_rate', ROOT, root.wrench(*rate), truth)
    check_wrench(topics, '/feet/contact_wrench', ROOT, root.wrench(*contact), truth)
    for topic, expected in (('contact_wrench', contact), ('momentum_rate', rate)):
        check_wrench(topics, f'/ir_md/{topic}', 'world', np.hstack(expected), truth)


def test_motion_of_the_root(topics, truth):
    root = truth.frames[ROOT]
    odometry = topics['/odom']
    rows = rows_of(odometry, truth)
    assert {m.header.frame_id for m in odometry} == {'world'}
    assert {m.child_frame_id for m in odometry} == {ROOT}
    for get, expected, tolerance in (
        (lambda m: m.pose.pose.position, root.p, 1e-6),
        (lambda m: m.twist.twist.linear, root.local(root.v), 1e-3),
        (lambda m: m.twist.twist.angular, root.local(root.w), 1e-6),
    ):
        np.testing.assert_allclose(column(odometry, get), expected[rows], atol=tolerance)
    R = Rotation.from_quat(column(odometry, lambda m: m.pose.pose.orientation)).as_matrix()
    np.testing.assert_allclose(R, root.R[rows], atol=1e-9)
    rows = rows_of(topics['/root_acceleration'], truth)
    found = column(topics['/root_acceleration'], lambda m: m.accel.linear)
    np.testing.assert_allclose(found, root.local(root.a - GRAVITY)[rows], atol=1e-2)
    found = column(topics['/root_acceleration'], lambda m: m.accel.angular)
    np.testing.assert_allclose(found, root.local(root.wd)[rows], atol=2e-2)
    rows = rows_of(topics['/com'], truth)
    com = column(topics['/com'], lambda m: m.point)
    np.testing.assert_allclose(com, root.local(truth.com - root.p)[rows], atol=1e-4)


def ground(case, truth):
    """Normal, a point of the ground, corners of the soles in the world, and who is loaded."""
    soles = [truth.frames[f'sole_{side}'] for side in 'lr']
    flat = np.column_stack([SOLE, np.zeros(len(SOLE))])
    corners = np.stack([s.p[:, None] + np.einsum('tij,vj->tvi', s.R, flat) for s in soles])
    forces = np.stack([truth.foot_wrench(side)[0] for side in 'lr'])
    normals = np.stack([sole.R[:, :, 2] for sole in soles])
    pressed = np.sum(forces * normals, axis=2)
    instants, most = np.arange(len(truth.times)), pressed.argmax(axis=0)
    loaded = pressed >= 0.05 * truth.mass * 9.81
    if 'sole_l' in case.ground:
        return normals[0], soles[0].p, corners, loaded
    if 'sole' in case.ground:
        return (
            normals[most, instants],
            np.stack([s.p for s in soles])[most, instants],
            corners,
            loaded,
        )
    up = np.tile([0.0, 0.0, 1.0], (len(instants), 1))
    under = corners[most, instants]
    return up, under[instants, under[:, :, 2].argmin(axis=1)], corners, loaded  # fmt: skip


def true_zmp(truth, n, p0):
    """(T, 3) in the world: there the moment of the contact wrench is along the normal."""
    normal_force = np.sum(n * truth.force, axis=1, keepdims=True)
    height = np.sum(n * p0, axis=1, keepdims=True)
    return (np.cross(n, truth.moment) + height * truth.force) / normal_force


def test_points_gap_and_margin(topics, truth, case):
    root = truth.frames[ROOT]
    n, p0, corners, loaded = ground(case, truth)
    zmp = true_zmp(truth, n, p0)
    np.testing.assert_allclose(np.sum(n * (zmp - p0), axis=1), 0.0, atol=1e-9)
    in_root = root.local(zmp - root.p)
    for topic, tolerance in (('/mr_ad/izmp', 5e-4), ('/ir_md/izmp', 5e-4), ('/cop', 5e-4)):
        messages = topics[topic]
        assert {m.header.frame_id for m in messages} == {ROOT}
        found = column(messages, lambda m: m.point)
        np.testing.assert_allclose(found, in_root[rows_of(messages, truth)], atol=tolerance)
    stamps = [m.header.stamp for m in topics['/mr_ad/izmp']]
    assert stamps == [m.header.stamp for m in topics['/gap']]
    # the CoP may be known where a joint of the slow publisher, which moves no foot, is not
    paired = [m for m in topics['/cop'] if m.header.stamp in stamps]
    assert len(paired) == len(stamps) >= len(topics['/cop']) - 2
    izmp, cop = topics['/mr_ad/izmp'], paired
    expected = column(izmp, lambda m: m.point) - column(cop, lambda m: m.point)
    np.testing.assert_allclose(column(topics['/gap'], lambda m: m.vector), expected, atol=1e-12)
    rows = rows_of(topics['/mr_ad/izmp'], truth)
    margins = [true_margin(zmp[k], n[k], p0[k], corners[loaded[:, k], k]) for k in rows]
    np.testing.assert_allclose([m.data for m in topics['/margin']], margins, atol=1e-3)


def flat(points, n, p0):
    """Points of the world in coordinates of a plane."""
    x = np.cross(n, [0.3, 0.5, 0.1])
    x /= np.linalg.norm(x)
    return (points - p0) @ np.stack([x, np.cross(n, x)]).T


def true_margin(zmp, n, p0, corners):
    hull = shapely.geometry.MultiPoint(flat(corners.reshape(-1, 3), n, p0)).convex_hull
    point = shapely.geometry.Point(flat(zmp, n, p0))
    distance = hull.exterior.distance(point)
    return distance if hull.covers(point) else -distance


def test_support_polygons(topics, truth, case):
    root = truth.frames[ROOT]
    n, p0, corners, loaded = ground(case, truth)
    measured = {str(m.header.stamp) for m in topics['/cop']}  # elsewhere heights decide
    messages = [m for m in topics['/support_polygon'] if str(m.header.stamp) in measured]
    for k, message in zip(rows_of(messages, truth), messages, strict=True):
        found = (
            np.array([[p.x, p.y, p.z] for p in message.polygon.points]) @ root.R[k].T + root.p[k]
        )
        np.testing.assert_allclose((found - p0[k]) @ n[k], 0.0, atol=1e-5)
        hull = shapely.geometry.MultiPoint(
            flat(corners[loaded[:, k], k].reshape(-1, 3), n[k], p0[k])
        ).convex_hull
        outline = shapely.geometry.Polygon(flat(found, n[k], p0[k]))
        assert outline.symmetric_difference(hull).area <= 1e-5


def test_the_tree_of_transforms(topics, truth, case):
    """From the world through the root to every link, and to nif."""
    static = {t.child_frame_id: t for m in topics['/tf_static'] for t in m.transforms}
    root, (n, _, _, _) = truth.frames[ROOT], ground(case, truth)
    for message in topics['/tf']:
        tree = static | {t.child_frame_id: t for t in message.transforms}
        (k,) = np.flatnonzero(truth.stamps == stamp_of(message.transforms[0]))
        for name in (*truth.bodies, *FRAMES):
            R, p = pose_in_world(tree, name)
            np.testing.assert_allclose(R, truth.frames[name].R[k], atol=2e-4)
            np.testing.assert_allclose(p, truth.frames[name].p[k], atol=1e-4)
        R, p = pose_in_world(tree, 'nif')
        np.testing.assert_allclose(p, root.p[k], atol=1e-6)
        np.testing.assert_allclose(R[:, 2], n[k], atol=1e-6)
        assert abs(R[:, 0] @ root.R[k][:, 1]) <= 1e-6  # parallel to the sagittal plane
        assert R[:, 0] @ root.R[k][:, 0] > 0.0
        assert np.linalg.det(R) == pytest.approx(1.0)


def stamp_of(transform):
    return transform.header.stamp.sec * 10**9 + transform.header.stamp.nanosec


def pose_in_world(tree, name):
    R, p = np.eye(3), np.zeros(3)
    while name != 'world':
        transform = tree[name]
        t, q = transform.transform.translation, transform.transform.rotation
        turn = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix()
        R, p = turn @ R, turn @ p + [t.x, t.y, t.z]
        name = transform.header.frame_id
    return R, p


def test_a_link_called_world_closes_no_circle(truth, tmp_path):
    """Many URDFs tie the robot to such a link; here it hangs on the base like any other."""
    case = Case('source: sole', 'odometry', 'accelerometers')
    tie = (
        '<link name="world"/><joint name="tie" type="fixed"><parent link="world"/>'
        '<child link="base"/><origin xyz="0 0 1"/></joint></robot>'
    )
    topics = replayed(tmp_path, truth, case, urdf().replace('</robot>', tie))
    transforms = topics['/tf_static'][0].transforms + topics['/tf'][-1].transforms
    parents = {t.child_frame_id: t.header.frame_id for t in transforms}
    assert len(parents) == len(transforms)
    name, above = 'sole_l', []
    while name in parents:
        assert name not in above
        above.append(name)
        name = parents[name]
    assert name == 'izmp_world' == topics['/odom'][0].header.frame_id
    assert parents['world'] == 'base'
