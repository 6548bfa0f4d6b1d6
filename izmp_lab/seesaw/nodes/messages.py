"""State and torques of a robot on the seesaw as messages; all of one tick bear the same stamp."""

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes.messages import (
    WorldInstant,
    header,
    point,
    pose_and_twist,
    quaternion,
    quaternion_of,
    rotation_matrix,
    vector,
    vector3,
)
from izmp_dynamics.nodes.transforms import WORLD
from izmp_dynamics.signals.imu import NORM_TOLERANCE
from izmp_lab.seesaw.mujoco_spec import BOARD
from izmp_lab.seesaw.state import BalanceState, RigidState

STATE_TOPICS = ('state/joints', 'state/root', 'state/board')
"""JointState with positions and velocities, and the Odometry of root and board."""

TORQUES = 'torques'
"""JointState with efforts; its stamp is that of the state which it answers."""

STATE_TYPES = (JointState, Odometry, Odometry)


def state_messages(
    state: BalanceState, stamp: int, joint_names: tuple[str, ...], root: str
) -> tuple[JointState, Odometry, Odometry]:
    """Write a state; see STATE_TOPICS."""
    return (
        JointState(
            header=header(stamp, ''),
            name=list(joint_names),
            position=state.q.tolist(),
            velocity=state.qd.tolist(),
        ),
        _odometry(state.root, stamp, root),
        _odometry(state.board, stamp, BOARD),
    )


def state_of(
    joints: JointState, root: Odometry, board: Odometry, joint_names: tuple[str, ...], time: float
) -> BalanceState | str:
    """Read the messages of `state_messages`; say in a sentence what is wrong with them.

    Args:
        joints: the first message.
        root: the second.
        board: the third.
        joint_names: of the robot.
        time: since the start [s].
    """
    columns = _columns(joints, joint_names, 'position', 'velocity')
    if isinstance(columns, str):
        return columns
    q, qd = columns
    at_root, at_board = _rigid(root, 'root'), _rigid(board, BOARD)
    if isinstance(at_root, str):
        return at_root
    if isinstance(at_board, str):
        return at_board
    return BalanceState(time, at_root, q, qd, at_board)


def torques_message(torques: Array, stamp: int, joint_names: tuple[str, ...]) -> JointState:
    """Write the answer to a state."""
    return JointState(header=header(stamp, ''), name=list(joint_names), effort=torques.tolist())


def torques_of(message: JointState, joint_names: tuple[str, ...]) -> Array | str:
    """Read torques (n,) [N·m]; say in a sentence what is wrong with them."""
    columns = _columns(message, joint_names, 'effort')
    return columns if isinstance(columns, str) else columns[0]


def _columns(message: JointState, names: tuple[str, ...], *fields: str) -> list[Array] | str:
    order = {name: k for k, name in enumerate(message.name)}
    missing = [name for name in names if name not in order]
    if missing:
        more = f' and {len(missing) - 1} more' if len(missing) > 1 else ''
        return f"the message lacks the joint '{missing[0]}'{more}"
    found = []
    for field in fields:
        values = np.asarray(getattr(message, field), dtype=np.float64)
        if len(values) != len(order) or not np.isfinite(values).all():
            return f'{field} must hold {len(order)} finite numbers'
        found.append(values[[order[name] for name in names]])
    return found


def _odometry(body: RigidState, stamp: int, frame: str) -> Odometry:
    """Pose in the world, and twist in the axes of the body."""
    R = body.rotation
    pose, twist = pose_and_twist(
        WorldInstant(R, body.position, body.velocity, R.T @ body.angular_velocity)
    )
    message = Odometry(header=header(stamp, WORLD), child_frame_id=frame)
    message.pose.pose.position = point(pose[:3])
    message.pose.pose.orientation = quaternion_of(pose[3:])
    message.twist.twist.linear, message.twist.twist.angular = (
        vector3(twist[:3]),
        vector3(twist[3:]),
    )
    return message


def _rigid(message: Odometry, name: str) -> RigidState | str:
    pose, twist = message.pose.pose, message.twist.twist
    position, turned = vector(pose.position), quaternion(pose.orientation)
    velocity, omega = vector(twist.linear), vector(twist.angular)
    if not np.isfinite([*position, *turned, *velocity, *omega]).all():
        return f'the pose and the velocity of the {name} must be finite numbers'
    if not abs(np.linalg.norm(turned) - 1.0) <= NORM_TOLERANCE:
        return f'the {name}: {Reason.NO_ROTATION.text}'
    R = rotation_matrix(turned)
    return RigidState(position, R, R @ velocity, R @ omega)
