"""A robot with everything at an odd angle, thrown about: its true motion and what it measures.

Of Pinocchio only the poses of the links are taken. All else follows from them and the masses in
the URDF by differences of eighth order in the world frame: no recursion, no moving frame, and
nothing of izmp_dynamics.
"""

from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

GRAVITY = np.array([0.0, 0.0, -9.81])
START = 1_700_000_000_000_000_000
RATE = 500
SENSORS = ('imu', 'acc_0', 'acc_1', 'acc_2', 'acc_3')
FRAMES = (*SENSORS, 'gps', 'ft_l', 'ft_r', 'sole_l', 'sole_r')
SOLE = np.array([(0.15, 0.05), (0.15, -0.05), (-0.05, -0.05), (-0.05, 0.05)])

_FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
_SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])


def _inertial(mass, xyz, rpy, *moments):
    keys = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
    theta = ' '.join(f'{key}="{moment}"' for key, moment in zip(keys, moments, strict=True))
    return (
        f'<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia {theta}/></inertial>'
    )


def _link(name, inertial=''):
    return f'<link name="{name}">{inertial}</link>'


def _joint(name, kind, parent, child, xyz, rpy='0 0 0', axis='1 0 0', mimic=''):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'<limit lower="-3" upper="3" effort="100" velocity="50"/>{mimic}</joint>'
    )


def _leg(side, y, sensor_rpy):
    leg = (
        _link(
            f'thigh_{side}',
            _inertial(
                3, f'0.01 {y / 5} -0.15', '0.1 0.2 0', 0.05, 0.001, 0.002, 0.05, -0.001, 0.01
            ),
        ),
        _joint(
            f'hip_{side}',
            'revolute',
            'base',
            f'thigh_{side}',
            f'0 {y} -0.05',
            '0 0.05 0.1',
            '0.1 1 0',
        ),
        _link(
            f'shank_{side}', _inertial(2, '0 0.01 -0.1', '0 0.3 0', 0.03, 0, 0.001, 0.03, 0, 0.005)
        ),
        _joint(
            f'slide_{side}',
            'prismatic',
            f'thigh_{side}',
            f'shank_{side}',
            '0.02 0 -0.3',
            '0.05 0 0',
            '0.1 0 -1',
        ),
        _link(f'ft_{side}'),
        _joint(
            f'ft_{side}_mount',
            'fixed',
            f'shank_{side}',
            f'ft_{side}',
            '0.02 0.01 -0.2',
            sensor_rpy,
        ),
        _link(
            f'foot_{side}',
            _inertial(1.2, '0.05 0 -0.03', '0.1 0 0.2', 0.004, 0.0005, 0, 0.006, 0, 0.007),
        ),
        _joint(
            f'ankle_{side}',
            'revolute',
            f'shank_{side}',
            f'foot_{side}',
            '0 0 -0.22',
            '0 0 0',
            '0 1 0.2',
        ),
        _link(f'sole_{side}'),
        _joint(
            f'sole_{side}_mount',
            'fixed',
            f'foot_{side}',
            f'sole_{side}',
            '0.03 0 -0.06',
            '0.1 -0.05 0.3',
        ),
    )
    return ''.join(leg)


def urdf(mimic=True):
    """URDF of the robot; without the mimics for an engine that does not know them."""
    mounts = {
        'imu': ('0.11 -0.07 0.23', '0.7 -0.4 1.9'), 'gps': ('-0.15 0.05 0.35', '0.3 0.8 -1.2'),
        'acc_0': ('0.25 -0.02 0.2', '1 2 3'), 'acc_1': ('0 0.2 0.3', '-1 0.3 0.5'),
        'acc_2': ('0.05 -0.1 0.55', '0.2 0.3 -2'), 'acc_3': ('-0.2 -0.1 0.1', '2 0.1 1'),
    }  # fmt: skip
    follows = [
        f'<mimic joint="{leader}" multiplier="{k}" offset="{offset}"/>' if mimic else ''
        for leader, k, offset in (('elbow_r', -0.7, 0.3), ('elbow_l', 1.5, -0.2))
    ]
    parts = [
        _link(
            'base',
            _inertial(8, '0.01 -0.02 0.05', '0.2 0.1 -0.3', 0.1, 0.01, -0.005, 0.09, 0.004, 0.08),
        ),
        _link(
            'torso',
            _inertial(12, '0.02 0.01 0.2', '0.4 -0.1 0.3', 0.3, 0.02, -0.03, 0.25, 0.01, 0.2),
        ),
        _joint('waist', 'revolute', 'base', 'torso', '0.01 0 0.12', '0.1 -0.2 0.3', '0.1 0.2 1'),
        *(
            _link(name) + _joint(f'{name}_mount', 'fixed', 'torso', name, *mount)
            for name, mount in mounts.items()
        ),
        _leg('l', 0.1, '0.5 -0.3 1.1'),
        _leg('r', -0.1, '-0.2 0.4 2.5'),
        _link('arm_r', _inertial(1.5, '0 0 -0.2', '0 0 0', 0.02, 0, 0, 0.02, 0, 0.003)),
        _joint('elbow_r', 'continuous', 'torso', 'arm_r', '0 -0.2 0.3', '0 0 0', '1 0.3 0'),
        _link('arm_l', _inertial(1.7, '0.05 0 -0.2', '0 0.1 0', 0.02, 0, 0, 0.02, 0, 0.003)),
        _joint(
            'elbow_l', 'revolute', 'torso', 'arm_l', '0 0.2 0.3', '0 0 0.4', '1 0 0.1', follows[0]
        ),
        _link('hand_l', _inertial(0.6, '0.02 0 -0.1', '0 0 0', 0.002, 0, 0, 0.002, 0, 0.001)),
        _joint(
            'wrist_l', 'revolute', 'arm_l', 'hand_l', '0 0 -0.3', '0 0.2 0', '0 1 0.1', follows[1]
        ),
    ]
    return f'<robot name="odd">{"".join(parts)}</robot>'


JOINTS = ('waist', 'hip_l', 'slide_l', 'ankle_l', 'hip_r', 'slide_r', 'ankle_r', 'elbow_r')
_AMPLITUDES = (0.5, 0.4, 0.08, 0.3, 0.5, 0.06, 0.2, 0.8)
_FREQUENCIES = (0.9, 1.1, 1.3, 0.8, 0.7, 1.2, 1.0, 0.9)


def positions(t):
    """(T, n) positions of the independent joints `JOINTS` at the times (T,) [s]."""
    phases = 2 * np.pi * np.outer(t, _FREQUENCIES) + np.arange(len(JOINTS))
    return np.array(_AMPLITUDES) * np.sin(phases)


@dataclass(frozen=True)
class Motion:
    """Motion of one frame in world axes, over T instants: (T, 3) each, R (T, 3, 3)."""

    R: np.ndarray
    p: np.ndarray
    v: np.ndarray
    a: np.ndarray
    w: np.ndarray
    wd: np.ndarray

    def local(self, vectors):
        """Vectors (T, 3) of the world in the axes of the frame."""
        return np.einsum('tji,tj->ti', self.R, vectors)

    def wrench(self, force, moment):
        """A wrench about the world's origin about that of the frame, in its axes (T, 6)."""
        return np.hstack([self.local(force), self.local(moment - np.cross(self.p, force))])


class Truth:
    """Motion of all links and the contact wrench, `count` instants at `RATE`."""

    def __init__(self, count):
        step = 1.0 / RATE
        padded = (np.arange(-4, count + 4)) * step
        self.times = padded[4:-4]
        self.stamps = START + np.round(self.times * 1e9).astype(np.int64)
        self.bodies = _bodies()
        poses = _link_poses(padded, [*self.bodies, *FRAMES])
        self.frames = {name: _motion(R, p, step) for name, (R, p) in poses.items()}
        self.mass = sum(mass for mass, _, _ in self.bodies.values())
        self.force, self.moment = self.contact_wrench(self.bodies)
        self.com = sum(
            mass * (self.frames[name].p + self.frames[name].R @ com)
            for name, (mass, com, _) in self.bodies.items()
        ) / self.mass  # fmt: skip

    def contact_wrench(self, links):
        """Σ m (a − g) and its moment about the world's origin, of some links: (T, 3) each."""
        force, moment = np.zeros((2, len(self.times), 3))
        for name in links:
            mass, com, theta = self.bodies[name]
            link = self.frames[name]
            arm = link.R @ com
            a = link.a + np.cross(link.wd, arm) + np.cross(link.w, np.cross(link.w, arm))
            f = mass * (a - GRAVITY)
            inertia = link.R @ theta @ np.swapaxes(link.R, 1, 2)
            spin = np.einsum('tij,tj->ti', inertia, link.w)
            torque = np.einsum('tij,tj->ti', inertia, link.wd) + np.cross(link.w, spin)
            force, moment = force + f, moment + np.cross(link.p + arm, f) + torque
        return force, moment

    def momentum_rate(self):
        """Force and moment about the world's origin, (T, 3) each."""
        weight = self.mass * GRAVITY
        return self.force + weight, self.moment + np.cross(self.com, weight)

    def foot_wrench(self, side):
        """Any split of the contact wrench between the feet will do; (T, 3) each, in the world."""
        left = (0.5 + 0.3 * np.sin(3 * self.times))[:, None]
        extra = np.sin(2 * self.times)[:, None] * [5.0, -3.0, 2.0, 4.0, 1.0, -2.0]
        share, sign = (left, 1.0) if side == 'l' else (1.0 - left, -1.0)
        return (
            share * self.force + sign * extra[:, :3],
            share * self.moment + sign * extra[:, 3:],
        )

    def imu(self, name):
        """(T, 6) what gyroscope and accelerometer at a frame measure."""
        frame = self.frames[name]
        return np.hstack([frame.local(frame.w), frame.local(frame.a - GRAVITY)])

    def force_sensor(self, side):
        """(T, 6) what acts on the shank through a sensor above the foot."""
        force, moment = self.foot_wrench(side)
        below_force, below_moment = self.contact_wrench([f'foot_{side}'])
        return self.frames[f'ft_{side}'].wrench(force - below_force, moment - below_moment)


def _base(t):
    """Orientation and position of the base in the world: it turns fast and drifts."""
    sway = np.array([0.06 * np.sin(6 * t), 0.05 * np.cos(5 * t), 0.04 * np.sin(7 * t + 1)])
    angles = [2 * np.sin(1.7 * t) + 0.5, 0.5 * np.sin(4.1 * t + 0.3), 0.4 * np.sin(3.3 * t + 2)]
    drift = np.array([3.0 + 0.3 * t, -2.0 + 0.1 * t, 0.8])
    return Rotation.from_euler('zyx', angles), sway + drift


def _link_poses(times, names):
    model = pin.buildModelFromXML(urdf(mimic=False), pin.JointModelFreeFlyer())
    data = model.createData()
    R, p = np.empty((len(names), len(times), 3, 3)), np.empty((len(names), len(times), 3))
    for k, (t, values) in enumerate(zip(times, positions(times), strict=True)):
        q = pin.neutral(model)
        rotation, q[:3] = _base(t)
        q[3:7] = rotation.as_quat()
        angles = dict(zip(JOINTS, values, strict=True))
        angles['elbow_l'] = -0.7 * angles['elbow_r'] + 0.3
        angles['wrist_l'] = 1.5 * angles['elbow_l'] - 0.2
        for name, angle in angles.items():
            joint = model.joints[model.getJointId(name)]
            coordinates = (np.cos(angle), np.sin(angle)) if joint.nq == 2 else (angle,)
            q[joint.idx_q : joint.idx_q + joint.nq] = coordinates
        pin.framesForwardKinematics(model, data, q)
        for i, name in enumerate(names):
            pose = data.oMf[model.getFrameId(name)]
            R[i, k], p[i, k] = pose.rotation, pose.translation
    return {name: (R[i], p[i]) for i, name in enumerate(names)}


def _differenced(weights, values):
    windows = np.lib.stride_tricks.sliding_window_view(values, len(weights), axis=0)
    return windows @ weights


def _motion(R, p, step):
    first, second = _FIRST / step, _SECOND / step**2
    rate, change = _differenced(first, R), _differenced(second, R)
    R = R[4:-4]
    w = rate @ np.swapaxes(R, 1, 2)
    wd = change @ np.swapaxes(R, 1, 2) + rate @ np.swapaxes(rate, 1, 2)
    return Motion(R, p[4:-4], _differenced(first, p), _differenced(second, p), _vee(w), _vee(wd))


def _vee(skew):
    return np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)


def _bodies():
    """Link → mass, centre of mass, inertia about it in link axes; straight from the XML."""
    bodies = {}
    for link in ElementTree.fromstring(urdf()).iter('link'):
        inertial = link.find('inertial')
        if inertial is None:
            continue
        origin, moments = inertial.find('origin'), inertial.find('inertia')
        rpy = [float(word) for word in origin.get('rpy').split()]
        R = Rotation.from_euler('xyz', rpy).as_matrix()
        xx, xy, xz, yy, yz, zz = (
            float(moments.get(key)) for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        )
        theta = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        com = np.array([float(word) for word in origin.get('xyz').split()])
        bodies[link.get('name')] = (
            float(inertial.find('mass').get('value')), com, R @ theta @ R.T,
        )  # fmt: skip
    return bodies
