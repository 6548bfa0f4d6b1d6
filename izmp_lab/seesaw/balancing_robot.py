"""A robot as balancing on the seesaw needs it: model, soles, posture, joints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.urdf import Urdf, read_urdf
from izmp_lab.seesaw.icub import icub_urdf


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
        """Freeze copies of the arrays and refuse impossible values."""
        for name in ('foot_box', 'posture', 'damping', 'armature', 'torque_limit'):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        for name in ('damping', 'armature'):
            if (getattr(self, name) < 0.0).any():
                raise SimulationError(
                    f'The {name} of a joint must not be negative.',
                    kind='negative',
                    quantity=name,
                )

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
