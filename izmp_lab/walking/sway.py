"""The motion `sway`: stand, shift the weight left and right, fore and aft, squat, stand.

Both soles stay where they are. The pelvis translates and turns, the arms and the trunk move along,
so that every joint group, all six directions of the root and the angular acceleration take part.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.walking.biped import BIPED31_POSTURE, posture_of
from izmp_lab.walking.leg_ik import Leg
from izmp_lab.walking.plan import MotionPlan, PlannedFoot, RootMotion, window

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


def plan_sway(
    model: RobotModel,
    parameters: SwayParameters | None = None,
    time_step: float = 0.002,
) -> MotionPlan:
    """Plan the sway of a robot on level ground.

    Args:
        model: the robot, with the joints of biped31's upper body and its soles `l_sole` and
            `r_sole`; its legs must have the geometry of `leg_ik`.
        parameters: amplitudes and times.
        time_step: between the rows of the plan [s].

    Returns:
        The plan, without torques; the world's origin lies between the soles.

    Raises:
        MotionError: if a pose is out of reach or a joint exceeds a limit.
        UnknownNameError: if the robot lacks such a joint or sole.
    """
    parameters = parameters or SwayParameters()
    if parameters.height <= parameters.squat:
        raise MotionError(
            f'The squat of {parameters.squat} m is deeper than the pelvis is high '
            f'({parameters.height} m).',
            kind='squat_too_deep',
            squat=parameters.squat,
            height=parameters.height,
        )
    legs = [Leg.of(model, sole) for sole in ('l_sole', 'r_sole')]
    rows = round(parameters.duration / time_step) + 1
    times: Array = time_step * np.arange(rows, dtype=np.float64)
    course = _course(parameters, times)
    q = _upper_body(model, course)
    stretched = np.zeros(model.dof)  # the soles are on the ground, below where they are then
    soles = [model.frame_pose(leg.sole, stretched)[1] * [1.0, 1.0, 0.0] for leg in legs]
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


def _upper_body(model: RobotModel, course: dict[str, Array]) -> Array:
    """Joint positions (T, n) of posture and gestures; the legs are still at zero."""
    q = np.tile(posture_of(model, BIPED31_POSTURE), (len(course['squat']), 1))
    for part, gesture in BIPED31_GESTURES.items():
        q += np.outer(course[part], posture_of(model, gesture))
    return q


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
