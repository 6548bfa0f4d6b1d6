"""A robot as balancing on the seesaw needs it: model, soles, posture, joints."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from lxml import etree

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.urdf import Urdf, parse_urdf, read_urdf
from izmp_lab.walking.biped import example_robot

LOCKED = ('neck', 'wrist')
"""Parts of the names of joints that are locked at zero."""

RIGHT_LEG = ('hip_1', 'hip_2', 'upper_leg', 'lower_leg', 'ankle_1')
"""Links of a leg, without l_ or r_, whose inertia the right leg lacks."""

ICUB = 'icub_description/robots/icub.urdf'
"""Where example-robot-data has iCub."""


def icub_urdf() -> Urdf:
    """Return the URDF of iCub with 23 joints and the inertias of its right leg.

    Raises:
        MissingDependencyError: if example-robot-data is not installed.
    """
    original = read_urdf(example_robot('iCub', ICUB))
    root = etree.fromstring(original.text.encode())
    _remove_shapes(root)
    for joint in _locked(root):
        joint.set('type', 'fixed')
    mend_right_leg(root, load_model(original))
    return parse_urdf(etree.tostring(root, encoding='unicode'))


def mend_right_leg(root: etree._Element, model: RobotModel) -> None:
    """Give the links of the right leg the left leg's inertias, mirrored, in place.

    At zero the legs are mirror images. With R the rotation of a link there and S the reflection
    at the sagittal plane, Θ_right = R_rᵀ S R_l Θ_left R_lᵀ S R_r.

    Args:
        root: the <robot> element.
        model: the same robot; its root's y axis is lateral.
    """
    zero = np.zeros(model.dof)
    mirror = np.diag([1.0, -1.0, 1.0])
    for part in RIGHT_LEG:
        root_R_left, _ = model.frame_pose(f'l_{part}', zero)
        root_R_right, _ = model.frame_pose(f'r_{part}', zero)
        change = root_R_right.T @ mirror @ root_R_left
        _set_tensor(root, f'r_{part}', change @ _tensor(root, f'l_{part}') @ change.T)


def _remove_shapes(root: etree._Element) -> None:
    for link in root.iter('link'):
        for shape in [*link.iter('visual', 'collision')]:
            link.remove(shape)


def _locked(root: etree._Element) -> Iterator[etree._Element]:
    for joint in root.iter('joint'):
        if joint.get('type') == 'revolute' and any(part in joint.get('name') for part in LOCKED):
            yield joint


def _inertial(root: etree._Element, link: str) -> etree._Element:
    return root.find(f"link[@name='{link}']/inertial")


def _tensor(root: etree._Element, link: str) -> Array:
    """Inertia (3, 3) of a link about its centre of mass, in the axes of the link [kg·m²]."""
    inertial = _inertial(root, link)
    values = inertial.find('inertia').attrib
    xx, xy, xz, yy, yz, zz = (float(values[f'i{k}']) for k in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz'))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    R = _rotation(inertial)
    turned: Array = R @ tensor @ R.T
    return turned


def _rotation(inertial: etree._Element) -> Array:
    from scipy.spatial.transform import Rotation

    origin = inertial.find('origin')
    rpy = '0 0 0' if origin is None else origin.get('rpy', '0 0 0')
    matrix: Array = Rotation.from_euler('xyz', [float(angle) for angle in rpy.split()]).as_matrix()
    return matrix


def _set_tensor(root: etree._Element, link: str, tensor: Array) -> None:
    inertial = _inertial(root, link)
    R = _rotation(inertial)
    turned = R.T @ tensor @ R
    values = inertial.find('inertia').attrib
    for row, column in zip(*np.triu_indices(3), strict=True):
        values[f'i{"xyz"[row]}{"xyz"[column]}'] = repr(float(turned[row, column]))


@dataclass(frozen=True)
class BalancingRobot:
    """A humanoid with two flat feet.

    Attributes:
        name: as the command line knows it: icub, biped31.
        urdf: its URDF; every engine builds its model from this text.
        model: its model; the order of joints is that of all joint arrays here.
        soles: links in the plane of the left and the right sole, x forward, z up.
        foot_box: (2, 2) x_min, x_max; y_min, y_max of the left sole in its frame; the right one's
            y is mirrored [m].
        torso: link that is pushed.
        knee: angle of the knees at rest [rad]; it decides how high the root is.
        posture: (n,) joint positions at rest [rad]; the legs' follow from the stance.
        damping: (n,) viscous friction of the joints [N·m·s/rad].
        armature: (n,) inertia of the rotors seen at the joints [kg·m²].
        torque_limit: (n,) [N·m].
    """

    name: str
    urdf: Urdf
    model: RobotModel
    soles: tuple[str, str]
    foot_box: Array
    torso: str
    knee: float
    posture: Array
    damping: Array
    armature: Array
    torque_limit: Array

    def __post_init__(self) -> None:
        """Freeze copies of the arrays."""
        for name in ('foot_box', 'posture', 'damping', 'armature', 'torque_limit'):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def foot_boxes(self) -> tuple[Array, Array]:
        """The boxes of the left and of the right sole, each in its own frame."""
        right = np.stack([self.foot_box[0], -self.foot_box[1, ::-1]])
        return self.foot_box, frozen(right)


def load_balancing_robot(name: str = 'icub') -> BalancingRobot:
    """Load a robot by name.

    Raises:
        UnknownNameError: if there is no such robot.
        MissingDependencyError: if its URDF is not installed.
    """
    if name not in ROBOTS:
        raise UnknownNameError('robot that balances', name, ROBOTS)
    return ROBOTS[name]()


def _icub() -> BalancingRobot:
    """iCub: joint damping 1 N·m·s/rad as in its URDF; foot and torque limit of the authors."""
    urdf = icub_urdf()
    model = load_model(urdf)
    return BalancingRobot(
        name='icub',
        urdf=urdf,
        model=model,
        soles=('l_sole', 'r_sole'),
        foot_box=np.array([[-0.07, 0.12], [-0.045, 0.05]]),
        torso='chest',
        knee=-0.8,
        posture=_positions(
            model,
            {
                'l_shoulder_pitch': -0.3, 'l_shoulder_roll': 0.4, 'l_elbow': 0.8,
                'r_shoulder_pitch': -0.3, 'r_shoulder_roll': 0.4, 'r_elbow': 0.8,
            },
        ),
        damping=np.full(model.dof, 1.0),
        armature=np.zeros(model.dof),
        torque_limit=np.full(model.dof, 40.0),
    )  # fmt: skip


def _biped31() -> BalancingRobot:
    """biped31, with the joint damping of iCub; its own efforts limit the torques."""
    urdf = read_urdf(find_resource('robots/biped31/biped31.urdf'))
    model = load_model(urdf)
    return BalancingRobot(
        name='biped31',
        urdf=urdf,
        model=model,
        soles=('l_sole', 'r_sole'),
        foot_box=np.array([[-0.09, 0.15], [-0.06, 0.06]]),
        torso='trunk',
        knee=0.5,
        posture=_positions(
            model,
            {
                'l_shoulder_pitch': 0.3, 'l_shoulder_roll': 0.2, 'l_elbow': -0.8,
                'r_shoulder_pitch': 0.3, 'r_shoulder_roll': -0.2, 'r_elbow': -0.8,
            },
        ),
        damping=np.full(model.dof, 1.0),
        armature=np.zeros(model.dof),
        torque_limit=model.effort_limit,
    )  # fmt: skip


ROBOTS: Mapping[str, Callable[[], BalancingRobot]] = {'icub': _icub, 'biped31': _biped31}
"""Name → what loads the robot."""


def _positions(model: RobotModel, positions: Mapping[str, float]) -> Array:
    q = np.zeros(model.dof)
    for joint, position in positions.items():
        q[model.joint_names.index(joint)] = position
    return q
