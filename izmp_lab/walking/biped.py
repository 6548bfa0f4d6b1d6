"""A robot seen as a walker: two legs with a closed-form inverse, two soles, a posture above."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import MissingDependencyError, MotionError, UnknownNameError
from izmp_dynamics.model.packages import find_in_package
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_lab.walking.leg_ik import Leg


def example_robot(name: str, urdf: str) -> Path:
    """Return the path of a URDF of example-robot-data.

    Args:
        name: of the robot, for the message.
        urdf: the path below the folder of all robots.

    Raises:
        MissingDependencyError: if example-robot-data is not installed.
    """
    path = find_in_package(f'package://example-robot-data/robots/{urdf}')
    if path is None:
        raise MissingDependencyError('example-robot-data', name, 'pip install example-robot-data')
    return path


LEFT, RIGHT = 0, 1
SIDES = ('left', 'right')

BIPED31_POSTURE: Mapping[str, float] = {
    'l_shoulder_pitch': 0.3, 'l_shoulder_roll': 0.2, 'l_elbow': -0.8,
    'r_shoulder_pitch': 0.3, 'r_shoulder_roll': -0.2, 'r_elbow': -0.8,
}  # fmt: skip
"""Joint positions of biped31 at rest [rad]; all other joints of the upper body are at zero."""


@dataclass(frozen=True)
class Biped:
    """What a walking pattern generator has to know about a robot.

    Attributes:
        model: the robot.
        gravity: magnitude of gravity [m/s²].
        legs: the left and the right leg.
        polygons: corners (V, 2) of the left and the right sole in the sole's frame [m].
        posture: (n,) joint positions at rest [rad]; walking moves only the legs.
    """

    model: RobotModel
    gravity: float
    legs: tuple[Leg, Leg]
    polygons: tuple[Array, Array]
    posture: Array

    @classmethod
    def of(
        cls,
        file: RobotFile,
        posture: Mapping[str, float] | None = None,
        model: RobotModel | None = None,
    ) -> 'Biped':
        """Read a robot file; the foot whose hip has the larger y is the left one.

        Args:
            file: the robot file.
            posture: joint → position at rest [rad], all others at zero; that of biped31 if None
                and the robot has such arms, else zero.
            model: the robot, if it has been loaded already.

        Raises:
            MotionError: if the robot has not two legs with the geometry of `leg_ik`.
            UnknownNameError: if the posture names an unknown joint.
        """
        model = model or load_model(file.read_urdf(), file.root)
        if len(file.feet) != 2:
            raise MotionError(
                f"The robot '{model.name}' has {len(file.feet)} feet in its robot file; walking "
                'is planned for two.',
                kind='not_two_feet',
                robot=model.name,
                feet=len(file.feet),
            )
        if posture is None:
            arms = set(BIPED31_POSTURE) <= set(model.joint_names)
            posture = BIPED31_POSTURE if arms else {}
        pairs = [(Leg.of(model, foot.sole_frame), frozen(foot.polygon)) for foot in file.feet]
        left, right = sorted(pairs, key=lambda pair: -pair[0].p_hip_in_root[1])
        return cls(
            model=model,
            gravity=file.gravity,
            legs=(left[0], right[0]),
            polygons=(left[1], right[1]),
            posture=frozen(posture_of(model, posture)),
        )

    @property
    def hip_width(self) -> float:
        """Distance between the hips [m]; the soles of a stance below them are as far apart."""
        return float(self.legs[LEFT].p_hip_in_root[1] - self.legs[RIGHT].p_hip_in_root[1])

    @property
    def longest(self) -> Array:
        """(2,) distance from hip to ankle of the stretched left and right leg [m]."""
        return np.array([leg.thigh + leg.shank for leg in self.legs])

    @property
    def leg_columns(self) -> tuple[int, ...]:
        """Columns of the left leg's six joints in q, then of the right leg's."""
        return (*self.legs[LEFT].columns, *self.legs[RIGHT].columns)


def posture_of(model: RobotModel, posture: Mapping[str, float]) -> Array:
    """Return positions (n,) [rad] of all joints; those without one are at zero.

    Raises:
        UnknownNameError: if the robot lacks a joint.
    """
    q = np.zeros(model.dof)
    for joint, position in posture.items():
        if joint not in model.joint_names:
            raise UnknownNameError('joint', joint, model.joint_names, f"in robot '{model.name}'")
        q[model.joint_names.index(joint)] = position
    return q
