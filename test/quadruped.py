"""A small quadruped on ball feet, and the exact forces under it while it stands still."""

from dataclasses import dataclass

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.signals.samples import Samples

LEGS = ('FL', 'FR', 'RL', 'RR')
HIPS = np.array([[0.2, 0.1, 0.0], [0.2, -0.1, 0.0], [-0.2, 0.1, 0.0], [-0.2, -0.1, 0.0]])
PLACES = np.array([[0.2, 0.13], [0.2, -0.13], [-0.2, 0.13], [-0.2, -0.13]])
"""(4, 2) where the balls touch the ground [m]."""
RADII = np.array([0.022, 0.022, 0.022, 0.03])
LENGTH, HEIGHT, LIFT, PERIOD = 0.2, 0.3, 0.05, 0.01
FOUR, THREE, TROT = (True,) * 4, (True, True, True, False), (True, False, False, True)
"""Which feet carry load."""
SLOPE = Rotation.from_euler('yx', [12.0, 7.0], degrees=True).as_matrix()
BARE_FEET = tuple(
    {'name': leg, 'sole': f'{leg}_foot', 'radius': radius}
    for leg, radius in zip(LEGS, RADII.tolist(), strict=True)
)
"""Of a robot file: feet without sensors."""
START = 1_700_000_000_000_000_000


def _link(name, mass, z=0.0):
    if not mass:
        return f'<link name="{name}"/>'
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {z}"/><mass value="{mass}"/><inertia '
        'ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
    )


def _joint(name, parent, child, xyz, axis):
    kind = 'revolute' if axis else 'fixed'
    moves = f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="50" velocity="20"/>'
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{xyz}"/><parent link="{parent}"/>'
        f'<child link="{child}"/>{moves if axis else ""}</joint>'
    )


def robot_of(folder, **changes):
    """The robot file; every foot has a sensor in the axes of its shank."""
    parts = [_link('trunk', 10.0)]
    for leg, hip in zip(LEGS, HIPS, strict=True):
        down = f'0 0 {-LENGTH}'
        parts += [
            _link(f'{leg}_hip', 0.5), _link(f'{leg}_thigh', 0.8, -0.05),
            _link(f'{leg}_calf', 0.2, -0.1), _link(f'{leg}_foot', 0.0),
            _joint(f'{leg}_a', 'trunk', f'{leg}_hip', ' '.join(map(str, hip)), '1 0 0'),
            _joint(f'{leg}_t', f'{leg}_hip', f'{leg}_thigh', '0 0 0', '0 1 0'),
            _joint(f'{leg}_k', f'{leg}_thigh', f'{leg}_calf', down, '0 1 0'),
            _joint(f'{leg}_f', f'{leg}_calf', f'{leg}_foot', down, ''),
        ]  # fmt: skip
    (folder / 'quadruped.urdf').write_text(f'<robot name="quadruped">{"".join(parts)}</robot>')
    feet = [
        foot | {'wrench': {'topic': f'{foot["name"]}/wrench', 'frame': foot['sole']}}
        for foot in BARE_FEET
    ]
    stated = {'urdf': 'quadruped.urdf', 'imu': {'frame': 'trunk'}, 'feet': feet} | changes
    path = folder / 'robot.yaml'
    path.write_text(yaml.safe_dump(stated))
    return load_robot_file(path)


def leg_angles(foot):
    """Abduction, hip and knee (…, 3) that bring the foot (…, 3) there, seen from the hip [m]."""
    x, y, z = np.moveaxis(foot, -1, 0)
    below = np.hypot(y, z)
    knee = -2.0 * np.arccos(np.hypot(x, below) / (2.0 * LENGTH))
    return np.stack([np.arctan2(y, -z), np.arctan2(-x, below) - knee / 2, knee], axis=-1)


@dataclass
class Stance:
    """The robot at K instants at which it stands still.

    Attributes:
        rig: the robot.
        q: (K, 12) joint positions [rad].
        R: (3, 3) world_R_root.
        ground_R_world: (3, 3), z along the normal.
        com: (K, 2) where the line of gravity through it meets the ground [m].
        contacts: (K, 4, 3) lowest points of the balls in the root frame [m].
        forces: (K, 4, 3) on the feet, in root axes [N].
    """

    rig: object
    q: np.ndarray
    R: np.ndarray
    ground_R_world: np.ndarray
    com: np.ndarray
    contacts: np.ndarray
    forces: np.ndarray

    @property
    def normal(self):
        """(3,) of the ground, in root axes."""
        return self.R.T @ self.ground_R_world[2]

    def signals(self):
        """Signal → samples, as the sensors measure them."""
        count, level = len(self.q), Rotation.from_matrix(self.R).as_quat()
        values = {
            'joints': self.q,
            'imu': np.tile([0.0, 0.0, 0.0, *(self.rig.robot.gravity * self.R[2])], (count, 1)),
            'orientation': np.tile(level, (count, 1)),
        }
        for k, leg in enumerate(LEGS):
            R, p = self.rig.model.frame_pose(f'{leg}_foot', self.q)
            moments = np.cross(self.contacts[:, k] - p, self.forces[:, k])
            both = np.stack([self.forces[:, k], moments], axis=1)
            values[f'feet[{leg}]'] = np.einsum('kij,kni->knj', R, both).reshape(count, 6)
        stamps = START + round(1e9 * PERIOD) * np.arange(1, count + 1)
        return {name: Samples(stamps, np.array(each)) for name, each in values.items()}

    def record(self, path, efforts=None):
        """Write a bag, with torques (K, n) [N·m] if there are any."""
        signals = self.signals()
        x = {name: samples.values for name, samples in signals.items()}
        names = list(self.rig.model.joint_names)
        parts = {'position': x['joints']} | ({} if efforts is None else {'effort': efforts})
        like = {'name': names} | {part: np.zeros(len(names)) for part in parts}
        rates, felt = np.hsplit(x['imu'], 2)
        imu = {
            'orientation': x['orientation'], 'angular_velocity': rates, 'linear_acceleration': felt
        }  # fmt: skip
        topics = {
            '/joint_states': ('sensor_msgs/msg/JointState', like, parts),
            '/imu': ('sensor_msgs/msg/Imu', {'header.frame_id': 'trunk'}, imu),
        }
        for leg in LEGS:
            force, moment = np.hsplit(x[f'feet[{leg}]'], 2)
            like = {'header.frame_id': f'{leg}_foot'}
            parts = {'wrench.force': force, 'wrench.torque': moment}
            topics[f'/{leg}/wrench'] = ('geometry_msgs/msg/WrenchStamped', like, parts)
        with BagWriter(path) as bag:
            for topic, (msgtype, like, values) in topics.items():
                bag.add_topic(topic, msgtype, like)
                bag.write_batch(topic, signals['joints'].stamps, values)
        return path


def stand(rig, com, carries, lift=LIFT, slope=None, turn=None):
    """Stand still at K instants.

    Args:
        rig: the robot.
        com: (2,) where the line of gravity through the COM meets the ground, as far as one foot
            that is lifted does not shift it [m].
        carries: (K, 4) which feet carry load.
        lift: (K,) how high the others are [m].
        slope: (3, 3) world_R_ground; level without it.
        turn: (3, 3) ground_R_root; parallel without it.
    """
    slope, turn = (np.eye(3) if R is None else R for R in (slope, turn))
    carries = np.atleast_2d(carries)
    lifts = np.where(carries, 0.0, np.broadcast_to(lift, len(carries))[:, None])
    balls = np.dstack([np.broadcast_to(PLACES, (*carries.shape, 2)), RADII + lifts])
    names = [f'{leg}_{part}' for leg in LEGS for part in 'atk']
    order = [names.index(name) for name in rig.model.joint_names]
    up, trunk = slope.T @ [0.0, 0.0, 1.0], np.array([0.0, 0.0, HEIGHT])
    for _ in range(60):
        feet = (balls - trunk) @ turn - HIPS
        q = leg_angles(feet).reshape(len(carries), -1)[:, order]
        centre = rig.model.com(q) @ turn.T + trunk
        meets = centre - (centre[:, 2:] / up[2]) * up
        trunk[:2] += com - meets[-1, :2]
    touch = np.dstack([balls[..., :2], lifts])
    weight = rig.model.total_mass * rig.robot.gravity
    forces = np.zeros((*carries.shape, 3))
    for k, on in enumerate(carries):
        arms = [np.cross(np.eye(3), p) for p in touch[k, on]]
        A = np.block([[np.tile(np.eye(3), len(arms))], [np.hstack(arms)]])
        b = weight * np.concatenate([up, np.cross(centre[k], up)])
        forces[k, on] = np.linalg.lstsq(A, b, rcond=1e-10)[0].reshape(-1, 3)
        assert np.abs(A @ forces[k, on].ravel() - b).max() < 1e-6 * weight
    return Stance(
        rig, q, slope @ turn, slope.T, meets[:, :2], (touch - trunk) @ turn, forces @ turn
    )


def rig_of(folder, **changes):
    """The robot, prepared for evaluation."""
    return make_rig(robot_of(folder, **changes))
