"""The motion `sway`: stand, shift the weight left and right, fore and aft, squat, stand.

Both soles stay where they are. The pelvis translates and turns, the arms and the trunk move along,
so that every joint group, all six directions of the root and the angular acceleration take part.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError, UnknownNameError
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.walking.leg_ik import Leg
from izmp_lab.walking.plan import MotionPlan, PlannedFoot, RootMotion, window

BIPED31_POSTURE: Mapping[str, float] = {
    'l_shoulder_pitch': 0.3, 'l_shoulder_roll': 0.2, 'l_elbow': -0.8,
    'r_shoulder_pitch': 0.3, 'r_shoulder_roll': -0.2, 'r_elbow': -0.8,
}  # fmt: skip
"""Joint positions of biped31 at rest [rad]; all other joints of the upper body are at zero."""

BIPED31_GESTURES: Mapping[str, Mapping[str, float]] = {
    'lateral': {'waist_yaw': -0.10, 'neck_yaw': 0.15, 'l_shoulder_roll': 0.10,
                'r_shoulder_roll': 0.10},
    'fore_aft': {'l_shoulder_pitch': 0.30, 'r_shoulder_pitch': -0.30, 'l_elbow': 0.15,
                 'r_elbow': -0.15, 'waist_yaw': 0.15},
    'squat': {'l_shoulder_pitch': -0.80, 'r_shoulder_pitch': -0.80, 'waist_pitch': 0.15,
              'neck_pitch': -0.10},
}  # fmt: skip
"""What each part of the motion adds to the posture at its full amplitude [rad]."""


@dataclass(frozen=True)
class SwayParameters:
    """How far and how fast.

    Attributes:
        height: of the root above the soles while standing [m].
        ahead: how far the standing COM lies ahead of the middle of the soles' frames [m].
        lateral: amplitude of the pelvis to the sides [m].
        fore_aft: amplitude of the pelvis along x [m].
        squat: how far the pelvis goes down [m].
        squat_back: how far it goes back meanwhile, as the knees come forward [m].
        turn: amplitudes of the pelvis' roll (lateral), pitch (fore-aft) and yaw (lateral) [rad].
        stand: time of standing before and after [s].
        period: of one swing to both sides, or fore and aft [s].
        squat_time: from standing to standing [s].
    """

    height: float = 0.87
    ahead: float = 0.03
    lateral: float = 0.05
    fore_aft: float = 0.025
    squat: float = 0.12
    squat_back: float = 0.05
    turn: tuple[float, float, float] = (0.04, 0.06, 0.12)
    stand: float = 0.5
    period: float = 1.75
    squat_time: float = 2.0

    @property
    def duration(self) -> float:
        """Length of the whole motion [s]."""
        return 2 * self.stand + 4 * self.period + self.squat_time


@dataclass(frozen=True)
class Stance:
    """How a robot stands while it sways.

    Attributes:
        soles: frames of the left and the right sole.
        posture: joint → position at rest [rad].
        gestures: 'lateral', 'fore_aft', 'squat' → joint → amplitude added meanwhile [rad].
    """

    soles: tuple[str, str] = ('l_sole', 'r_sole')
    posture: Mapping[str, float] = field(default_factory=lambda: BIPED31_POSTURE)
    gestures: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: BIPED31_GESTURES)


def plan_sway(
    model: RobotModel,
    parameters: SwayParameters | None = None,
    stance: Stance | None = None,
    time_step: float = 0.002,
) -> MotionPlan:
    """Plan the sway of a robot on level ground.

    Args:
        model: the robot; its legs must have the geometry of `leg_ik`.
        parameters: amplitudes and times.
        stance: soles, posture and gestures; those of biped31 by default.
        time_step: between the rows of the plan [s].

    Returns:
        The plan, without torques; the world's origin lies between the soles.

    Raises:
        MotionError: if a pose is out of reach or a joint exceeds a limit.
        UnknownNameError: if the robot lacks a joint or frame of the stance.
    """
    parameters, stance = parameters or SwayParameters(), stance or Stance()
    if parameters.height <= parameters.squat:
        raise MotionError(
            f'The squat of {parameters.squat} m is deeper than the pelvis is high '
            f'({parameters.height} m).',
            kind='squat_too_deep',
            squat=parameters.squat,
            height=parameters.height,
        )
    legs = [Leg.of(model, sole) for sole in stance.soles]
    rows = round(parameters.duration / time_step) + 1
    times: Array = time_step * np.arange(rows, dtype=np.float64)
    course = _course(parameters, times)
    q = _upper_body(model, stance, course)
    soles = [_standing_sole(model, leg) for leg in legs]
    offset, rotation = _pelvis(parameters, course)
    position = _standing_root(model, legs, soles, q[0], parameters) + offset
    _solve_legs(q, legs, soles, position, rotation)
    root = RootMotion.from_poses(position, rotation, time_step)
    feet = tuple(
        PlannedFoot(
            leg.sole,
            np.tile(sole, (len(times), 1)),
            np.tile(np.eye(3), (len(times), 1, 1)),
            np.ones(len(times), dtype=bool),
        )
        for leg, sole in zip(legs, soles, strict=True)
    )
    return MotionPlan.from_positions('sway', model, time_step, q, root, feet)


def _course(parameters: SwayParameters, times: Array) -> dict[str, Array]:
    """Amplitudes over time of the three parts: −1 … 1 for the swings, 0 … 1 for the squat."""
    swing = 2 * parameters.period
    starts = parameters.stand + swing * np.arange(3)
    waves = {}
    for part, start in zip(('lateral', 'fore_aft'), starts, strict=False):
        wave = np.sin(2 * np.pi * (times - start) / parameters.period)
        waves[part] = wave * window(times, start, start + swing, 0.75 * parameters.period)
    bottom = 0.5 * parameters.squat_time
    waves['squat'] = window(times, starts[2], starts[2] + parameters.squat_time, bottom)
    return waves


def _pelvis(parameters: SwayParameters, course: dict[str, Array]) -> tuple[Array, Array]:
    """Offset (T, 3) of the pelvis from where it stands [m], and its rotation (T, 3, 3)."""
    offset = np.stack(
        [
            parameters.fore_aft * course['fore_aft'] - parameters.squat_back * course['squat'],
            parameters.lateral * course['lateral'],
            -parameters.squat * course['squat'],
        ],
        axis=1,
    )
    roll, pitch, yaw = parameters.turn
    angles = np.stack(
        [roll * course['lateral'], pitch * course['fore_aft'], yaw * course['lateral']], axis=1
    )
    return offset, Rotation.from_euler('xyz', angles).as_matrix()


def _upper_body(model: RobotModel, stance: Stance, course: dict[str, Array]) -> Array:
    """Joint positions (T, n) of posture and gestures; the legs are still at zero."""
    q = np.zeros((len(course['squat']), model.dof))
    for joint, position in stance.posture.items():
        q[:, _column(model, joint)] += position
    for part, gesture in stance.gestures.items():
        for joint, amplitude in gesture.items():
            q[:, _column(model, joint)] += amplitude * course[part]
    return q


def _column(model: RobotModel, joint: str) -> int:
    if joint not in model.joint_names:
        raise UnknownNameError('joint', joint, model.joint_names, f"in robot '{model.name}'")
    return model.joint_names.index(joint)


def _standing_sole(model: RobotModel, leg: Leg) -> Array:
    """Place of a sole in the world, below its hip as with stretched legs, (3,) [m]."""
    _, p_sole = model.frame_pose(leg.sole, np.zeros(model.dof))
    return p_sole * [1.0, 1.0, 0.0]


def _standing_root(
    model: RobotModel,
    legs: list[Leg],
    soles: list[Array],
    posture: Array,
    parameters: SwayParameters,
) -> Array:
    """Find the root position (3,) [m] that has the standing COM where it is wanted.

    The root moves by what the COM lacks until that is nothing; the COM follows it nearly one to
    one, so few rounds suffice.
    """
    root, q = np.array([0.0, 0.0, parameters.height]), posture[None].copy()
    wanted = np.mean(soles, axis=0)[:2] + np.array([parameters.ahead, 0.0])
    for _ in range(20):
        _solve_legs(q, legs, soles, root[None], np.eye(3)[None])
        lack = wanted - (root + model.com(q[0]))[:2]
        root[:2] += lack
        if np.abs(lack).max() < 1e-12:
            break
    return root


def _solve_legs(
    q: Array, legs: list[Leg], soles: list[Array], position: Array, rotation: Array
) -> None:
    """Fill in the leg joints (T, 6 each) that keep the soles flat at their places."""
    root_R_world = np.swapaxes(rotation, 1, 2)
    for leg, sole in zip(legs, soles, strict=True):
        p_sole_in_root = np.einsum('tij,tj->ti', root_R_world, sole - position)
        q[:, list(leg.columns)] = leg.solve(root_R_world, p_sole_in_root)
