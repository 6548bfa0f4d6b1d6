"""The seesaw: a semi-cylindrical board that rolls on level ground.

The board's frame S has its origin at the board's centre of mass; at θ = 0 its axes are those of
the world: x along the axis of the cylinder, y to the left, z out of the plate. A positive θ turns
about x: the left side goes up, and the board rolls to the right.
"""

import math
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices, cross, frozen, skew
from izmp_dynamics.base.errors import MotionError, SimulationError
from izmp_dynamics.base.rotations import from_matrices
from izmp_dynamics.model.body_layout import DRIVER
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.state import BalanceState, RigidState


@dataclass(frozen=True)
class Seesaw:
    """Geometry and inertia of the board; the defaults are those of the authors' controller.

    Attributes:
        radius: ρ of the cylinder [m].
        arc_height: from the lowest line of the cylinder to the lower side of the plate [m].
        plate: thickness of the plate [m].
        com_height: of the board's centre of mass above the ground, the board being level [m].
        mass: [kg].
        inertia: (xx, yy, zz) about the centre of mass, in S [kg·m²].
        length: along the axis of the cylinder [m]; the line of contact is as long.
        feet_x: of both soles in S [m].
        feet_y: of the left sole in S; the right one mirrors it [m].
        friction: between soles and plate, as the controller assumes it [-].
        torsional_friction: of a sole about its normal [m].
    """

    radius: float = 0.362
    arc_height: float = 0.1
    plate: float = 0.004
    com_height: float = 0.102
    mass: float = 4.2
    inertia: tuple[float, float, float] = (0.0767, 0.0379, 0.1089)
    length: float = 0.32
    feet_x: float = -0.01
    feet_y: float = 0.11
    friction: float = 1.0
    torsional_friction: float = 2.0 / 150.0

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        positive = (self.radius, self.arc_height, self.mass, self.length, *self.inertia)
        if not all(0.0 < value < math.inf for value in positive):
            raise SimulationError(
                'Radius, arc height, mass, length and inertia of a seesaw must be above 0, not '
                f'{", ".join(f"{value:g}" for value in positive)}.',
                kind='board_not_positive',
                values=tuple(positive),
            )
        if self.arc_height > self.radius:
            raise SimulationError(
                f'The arc of a seesaw is at most as high as its radius, {self.radius:g} m, not '
                f'{self.arc_height:g} m.',
                kind='arc_too_high',
                arc_height=self.arc_height,
                radius=self.radius,
            )

    @property
    def top(self) -> float:
        """Height of the plate's upper side in S [m]."""
        return self.arc_height + self.plate - self.com_height

    @property
    def axis_height(self) -> float:
        """Height of the cylinder's axis in S [m]."""
        return self.radius - self.com_height

    @property
    def half_width(self) -> float:
        """Half the width of the plate: where the arc meets it [m]."""
        return math.sqrt(self.arc_height * (2.0 * self.radius - self.arc_height))

    @property
    def largest_angle(self) -> float:
        """Angle at which the edge of the plate touches the ground [rad]."""
        return math.asin(self.half_width / self.radius)

    def rolled(self, angle: float, rate: float = 0.0) -> RigidState:
        """Return the board rolled from level, its contact line then at y = 0.

        Args:
            angle: θ [rad].
            rate: θ̇ [rad/s].
        """
        c, s = math.cos(angle), math.sin(angle)
        rotation = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        axis = np.array([0.0, -self.radius * angle, self.radius])
        position = axis - rotation @ [0.0, 0.0, self.axis_height]
        omega = np.array([rate, 0.0, 0.0])
        contact = axis - [0.0, 0.0, self.radius]
        return RigidState(position, rotation, np.cross(omega, position - contact), omega)

    def contact_point(self, board: RigidState) -> Array:
        """Return the point of the board's contact line below its frame, in the world (3,) [m].

        The line is below the axis of the cylinder, by its radius.
        """
        axis = board.position + board.rotation @ [0.0, 0.0, self.axis_height]
        return frozen(axis - [0.0, 0.0, self.radius])

    def sole_in_board(self, side: int) -> Array:
        """Return the origin of a sole in S (3,) [m]; side: 1 left, −1 right."""
        return frozen([self.feet_x, side * self.feet_y, self.top])


_SIDES = (1, -1)
_E3 = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class BoardTerms:
    """Terms of the board at a state.

    Attributes:
        R: (3, 3) world_R_S.
        com: (3,) the board's centre of mass in the world [m].
        M: (6, 6) mass matrix, constant in S.
        h: (6,) Coriolis and gravity terms.
        J_feet: (12, 6) J_r: velocities of the places of both soles, in world axes.
        J_feet_dot_nu: (12,).
        J_ground: (5, 6) J_s: velocity of the contact point, angular velocity about world y, z.
        J_ground_dot_nu: (5,).
        nu: (6,) velocity.
    """

    R: Array
    com: Array
    M: Array
    h: Array
    J_feet: Array
    J_feet_dot_nu: Array
    J_ground: Array
    J_ground_dot_nu: Array
    nu: Array


def board_terms(seesaw: Seesaw, board: RigidState, gravity: float) -> BoardTerms:
    """Compute the terms of eq. 20, 22 and 24."""
    R, omega = board.rotation, board.angular_velocity
    nu = np.concatenate([R.T @ board.velocity, R.T @ omega])
    M = np.diag([seesaw.mass] * 3 + [*seesaw.inertia])
    momentum = M @ nu
    h = np.concatenate([cross(nu[3:], momentum[:3]), cross(nu[3:], momentum[3:])])
    h[:3] += R.T @ (seesaw.mass * gravity * _E3)
    centripetal = cross(omega, board.velocity)  # of the centre of mass, with ν̇_s = 0
    J_feet, J_feet_dot_nu = _feet(seesaw, board, centripetal)
    J_ground, J_ground_dot_nu = _ground(seesaw, board, centripetal)
    turn = np.kron(np.eye(2), R)
    return BoardTerms(
        R, board.position, M, h, J_feet @ turn, J_feet_dot_nu, J_ground @ turn, J_ground_dot_nu, nu
    )  # fmt: skip


def _feet(seesaw: Seesaw, board: RigidState, centripetal: Array) -> tuple[Array, Array]:
    """J̄_r (12, 6) for velocities in world axes, and its bias (12,)."""
    omega = board.angular_velocity
    jacobian, bias = np.zeros((12, 6)), np.zeros(12)
    for foot, side in enumerate(_SIDES):
        lever = board.rotation @ seesaw.sole_in_board(side)
        rows = slice(6 * foot, 6 * foot + 6)
        jacobian[rows] = _moved(lever)
        bias[rows][:3] = centripetal + cross(omega, cross(omega, lever))
    return jacobian, bias


def _ground(seesaw: Seesaw, board: RigidState, centripetal: Array) -> tuple[Array, Array]:
    """J̄_s (5, 6) for velocities in world axes, and its bias (5,)."""
    omega = board.angular_velocity
    axis = board.rotation @ [0.0, 0.0, seesaw.axis_height]
    lever = axis - seesaw.radius * _E3  # from the centre of mass to the point of contact
    jacobian = np.concatenate([_moved(lever)[:3], np.eye(6)[4:]])
    bias = np.zeros(5)
    # The lever changes as the axis turns; its other end stays below the axis, so it rolls on.
    bias[:3] = centripetal + cross(omega, cross(omega, axis))
    return jacobian, bias


def _moved(lever: Array) -> Array:
    """Return the (6, 6) map from the twist of a point to that of another, `lever` away."""
    matrix = np.eye(6)
    matrix[:3, 3:] = -skew(lever)
    return matrix


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
    return model.joints[model.chain(sole), DRIVER]
