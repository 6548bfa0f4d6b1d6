"""Gains of the momentum controllers, the authors' and tuned ones, and the reference of the CoM."""

import math
from dataclasses import dataclass, replace

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import SimulationError, UnknownNameError

_FORM = "'constant' or 'sine:AMPLITUDE:FREQUENCY' in metres and hertz, e.g. sine:0.025:0.25"


@dataclass(frozen=True)
class ComReference:
    """Displacement of the CoM to the left: amplitude · sin(2π frequency t), from t = 0.

    Attributes:
        amplitude: [m]; 0 to stay.
        frequency: [Hz].
    """

    amplitude: float = 0.0
    frequency: float = 0.25

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if not (0.0 <= self.amplitude <= 0.2 and 0.0 < self.frequency <= 5.0):
            raise SimulationError(
                'The reference of the CoM has an amplitude of 0 to 0.2 m and a frequency above 0 '
                f'and up to 5 Hz, not {self.amplitude:g} m and {self.frequency:g} Hz.',
                kind='reference_out_of_range',
                amplitude=self.amplitude,
                frequency=self.frequency,
            )

    @classmethod
    def parse(cls, text: str) -> 'ComReference':
        """Read 'constant' or 'sine:AMPLITUDE:FREQUENCY'.

        Raises:
            SimulationError: if the text has not that form, or as the constructor does.
        """
        kind, *values = text.split(':')
        try:
            numbers = [float(value) for value in values]
        except ValueError:
            numbers = [math.nan]
        if kind == 'constant' and not values:
            return cls()
        if kind != 'sine' or len(numbers) != 2 or not np.isfinite(numbers).all():
            raise SimulationError(
                f"The reference '{text}' is not of the form {_FORM}.",
                kind='reference_format',
                text=text,
            )
        return cls(*numbers)

    def at(self, time: float) -> Array:
        """Return displacement, velocity and acceleration (3, 3), a row each [m], [m/s], [m/s²]."""
        rate = 2.0 * math.pi * self.frequency
        sine, cosine = math.sin(rate * time), math.cos(rate * time)
        rows = np.zeros((3, 3))
        rows[:, 1] = self.amplitude * np.array([sine, rate * cosine, -(rate**2) * sine])
        return rows


MIXED, ROBOT = 'mixed', 'robot'
CONTROLLERS = (MIXED, ROBOT)
"""What is controlled beside the robot's linear momentum: the angular momentum of the whole system,
or that of the robot."""

GAIN_SETS = ('authors', 'tuned')


@dataclass(frozen=True)
class Gains:
    """Gains of a momentum controller.

    Attributes:
        com_stiffness: (3,) P of the CoM along x, y, z [1/s²].
        com_damping: (3,) D [1/s].
        angular_damping: (3,) D of the angular momentum [1/s].
        angular_stiffness: (3,) P of its integral [1/s²]; of the robot's momentum only.
        stiffness: (n,) of the posture [N·m/rad].
        damping: (n,) of the posture [N·m·s/rad].
        com_saturation: largest error of the CoM along an axis that counts [m].
        regularisation: of the wrench redundancy [-].
        pseudo_inverse_damping: added to Λ Λᵀ [-].
        lowest_normal_force: on a foot [N].
        literal_posture: whether the posture is held as eq. 12 has it, by K N_Λ M_j (q − q_d) with
            gains in [1/s²], or by K (q − q_d), as the authors' public controller does.
    """

    com_stiffness: Array
    com_damping: Array
    angular_damping: Array
    angular_stiffness: Array
    stiffness: Array
    damping: Array
    com_saturation: float = 0.3
    regularisation: float = 1e-7
    pseudo_inverse_damping: float = 0.1
    lowest_normal_force: float = 20.0
    literal_posture: bool = False

    def __post_init__(self) -> None:
        """Freeze copies of the arrays."""
        for name in ('com_stiffness', 'com_damping', 'angular_damping', 'angular_stiffness',
                     'stiffness', 'damping'):  # fmt: skip
            object.__setattr__(self, name, frozen(getattr(self, name)))


_LIMBS: tuple[tuple[str, float], ...] = (
    ('hip', 60.0), ('knee', 60.0), ('ankle', 10.0),
    ('shoulder', 10.0), ('elbow', 8.0), ('wrist', 8.0), ('neck', 10.0),
    ('pitch', 10.0), ('roll', 20.0), ('yaw', 20.0),
)  # fmt: skip
"""Part of a joint's name → impedance of the authors [N·m/rad]; the last three are the torso's."""


def gains(kind: str, joint_names: tuple[str, ...], which: str = 'authors') -> Gains:
    """Return gains.

    Args:
        kind: 'mixed' or 'robot'.
        joint_names: of the robot.
        which: 'authors' or 'tuned'.

    Raises:
        UnknownNameError: if there is no such controller or set of gains.
    """
    if kind not in CONTROLLERS:
        raise UnknownNameError('controller', kind, CONTROLLERS)
    if which not in GAIN_SETS:
        raise UnknownNameError('set of gains', which, GAIN_SETS)
    authors = _authors_mixed(joint_names) if kind == MIXED else _authors_robot(joint_names)
    return authors if which == 'authors' else _with_stiff_com(authors)


def _with_stiff_com(authors: Gains) -> Gains:
    """Make the CoM stiffer and critically damped; the authors' damping is 0.05 or 0.1 of that."""
    com = np.full(3, _TUNED_STIFFNESS)
    return replace(authors, com_stiffness=com, com_damping=2.0 * np.sqrt(com))


def _authors_mixed(joint_names: tuple[str, ...]) -> Gains:
    stiffness = _stiffness(joint_names)
    com = np.array([20.0, 10.0, 20.0])
    return Gains(
        com_stiffness=com,
        com_damping=2.0 * np.sqrt(com) / 20.0,
        angular_damping=2.0 * np.sqrt([10.0, 15.0, 10.0]),
        angular_stiffness=np.zeros(3),
        stiffness=stiffness,
        damping=2.0 * np.sqrt(stiffness) / 10.0,
    )


def _authors_robot(joint_names: tuple[str, ...]) -> Gains:
    stiffness = _stiffness(joint_names)
    for k, name in enumerate(joint_names):
        if name.partition('_')[0] in _TORSO and 'roll' in name:
            stiffness[k] = 10.0
    com, angular = np.array([20.0, 5.0, 20.0]), np.full(3, 10.0)
    return Gains(
        com_stiffness=com,
        com_damping=2.0 * np.sqrt(com) / 10.0,
        angular_damping=2.0 * np.sqrt(angular),
        angular_stiffness=angular,
        stiffness=stiffness,
        damping=2.0 * np.sqrt(stiffness) / 10.0,
    )


_TORSO = ('torso', 'waist')

_TUNED_STIFFNESS = 40.0  # [1/s²]


def _stiffness(joint_names: tuple[str, ...]) -> Array:
    return np.array(
        [next(value for part, value in _LIMBS if part in name) for name in joint_names]
    )
