"""The robot at rest on the level board: feet in place, root upright, CoM amid the feet."""

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.base.rotations import from_matrices
from izmp_dynamics.model.body_layout import DRIVER
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.state import BalanceState, RigidState

_ITERATIONS = 60
_STEP = 1e-6
_REACHED = 1e-12


def stance(robot: BalancingRobot, seesaw: Seesaw) -> BalanceState:
    """Return a robot at rest on the level board, its CoM amid the feet.

    Newton's method: fifteen conditions, the twelve coordinates of the soles, x and y of the CoM
    and the mean knee angle, are met by the twelve joints of the legs and x, y, z of the root.

    Raises:
        MotionError: if the legs do not reach the places of the feet.
    """
    problem = _Stance(robot, seesaw)
    unknown = problem.guess()
    for _ in range(_ITERATIONS):
        error = problem.error(unknown)
        if np.abs(error).max() < _REACHED:
            break
        step = np.linalg.lstsq(problem.jacobian(unknown), error, rcond=None)[0]
        unknown = unknown - step * min(1.0, 0.5 / np.abs(step).max())
    else:
        raise MotionError(
            f"The robot '{robot.name}' cannot stand with its feet {2 * seesaw.feet_y:.3f} m "
            'apart.',
            kind='feet_too_far_apart',
            robot=robot.name,
            distance=2 * seesaw.feet_y,
        )
    return problem.state(unknown)


class _Stance:
    """Unknowns: positions of the leg joints (12), then x, y, z of the root in the world."""

    def __init__(self, robot: BalancingRobot, seesaw: Seesaw) -> None:
        self.robot, self.model, self.seesaw = robot, robot.model, seesaw
        self.legs = [leg_columns(robot.model, sole) for sole in robot.soles]
        self.columns = np.concatenate(self.legs)
        self.board = seesaw.rolled(0.0)
        self.targets = [self.board.position + seesaw.sole_in_board(side) for side in (1, -1)]
        self.com_x = seesaw.feet_x + float(robot.foot_box[0].mean())
        root_R_sole, _ = self.model.frame_pose(robot.soles[0], robot.posture)
        self.world_R_root = np.round(root_R_sole.T)  # the root ends up upright

    def guess(self) -> Array:
        knees = self._knees()
        q = self.robot.posture.copy()
        q[knees] = self.robot.knee
        _, p_sole = self.model.frame_pose(self.robot.soles[0], q)
        height = self.targets[0][2] - (self.world_R_root @ p_sole)[2]
        return np.concatenate([q[self.columns], [self.com_x, 0.0, height]])

    def _knees(self) -> list[int]:
        return [k for k, name in enumerate(self.model.joint_names) if 'knee' in name]

    def q(self, unknown: Array) -> Array:
        q: Array = np.array(self.robot.posture)
        q[self.columns] = unknown[:12]
        return q

    def error(self, unknown: Array) -> Array:
        q, p_root = self.q(unknown), unknown[12:]
        R = self.world_R_root
        rows = []
        for sole, target in zip(self.robot.soles, self.targets, strict=True):
            root_R_sole, p_sole = self.model.frame_pose(sole, q)
            rows.append(p_root + R @ p_sole - target)
            rows.append(from_matrices(R @ root_R_sole).as_rotvec())
        com = p_root + R @ self.model.com(q)
        knee = q[self._knees()].mean() - self.robot.knee
        return np.concatenate([*rows, [com[0] - self.com_x, com[1], knee]])

    def jacobian(self, unknown: Array) -> Array:
        columns = []
        for step in _STEP * np.eye(len(unknown)):
            change = self.error(unknown + step) - self.error(unknown - step)
            columns.append(change / (2.0 * _STEP))
        return np.stack(columns, axis=1)

    def state(self, unknown: Array) -> BalanceState:
        q = self.q(unknown)
        outside = (q < self.model.position_lower) | (q > self.model.position_upper)
        if outside.any():
            joint = self.model.joint_names[int(np.argmax(outside))]
            raise MotionError(
                f"To stand on the board, joint '{joint}' of '{self.robot.name}' would leave its "
                'limits; place the feet elsewhere or bend the knees more.',
                kind='joint_limit',
                robot=self.robot.name,
                joint=joint,
            )
        root = RigidState.at_rest(unknown[12:], self.world_R_root)
        return BalanceState(0.0, root, q, np.zeros_like(q), self.board)


def leg_columns(model: RobotModel, sole: str) -> Indices:
    """Return the columns in q of the joints between the root and a sole, from the root on."""
    columns: Indices = model.joints[model.chain(sole), DRIVER]
    return columns
